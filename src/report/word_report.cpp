// SPDX-License-Identifier: Apache-2.0
#include "report/word_report.hpp"

#include <fmt/format.h>

#include "report/html_page.hpp"
#include "report/plots.hpp"

namespace quern::report {
namespace {

using sink = std::function<void(std::string_view)>;

constexpr std::string_view style = R"(.words td { padding-bottom: .35rem } .words .note { font-size: 13px }
)";

void write_words(const sink& out, const std::vector<word_report::entry>& words) {
    out("<h2>The most frequent words and their neighbours</h2>\n<p class=\"note\">Without stop "
        "words.</p>\n<div class=\"scrolls\"><table class=\"words\">\n"
        "<tr><th>word</th><th>occurs</th><th>used alike</th></tr>\n");
    for (const auto& entry : words) {
        out(fmt::format("<tr><td><b>{}</b></td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                        escaped(entry.word), grouped(entry.frequency), scored_words(entry.neighbours)));
    }
    out("</table></div>\n");
}

}  // namespace

void write_word_report(const word_report& page, const sink& out) {
    out(page_head("Words used alike", std::string(plot_style).append(style)));
    out("<h1>Words used alike</h1>\n");
    write_summary(page.sizes, out);
    write_stages(page.stages, out);
    write_words(out, page.words);
    out("<h2>How it was made</h2>\n");
    write_summary(page.params, out);
    out("</body>\n</html>\n");
}

}  // namespace quern::report
