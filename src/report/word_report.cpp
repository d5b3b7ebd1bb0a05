// SPDX-License-Identifier: Apache-2.0
#include "report/word_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.hpp"

namespace quern::report {
namespace {

using sink = std::function<void(std::string_view)>;
using facts = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view style = R"(.words td { padding-bottom: .35rem } .words .note { font-size: 13px }
)";

void write_facts(const sink& out, const facts& rows) {
    out("<table>\n");
    for (const auto& [name, value] : rows) {
        out(fmt::format("<tr><th>{}</th><td class=\"n\">{}</td></tr>\n", escaped(name), escaped(value)));
    }
    out("</table>\n");
}

void write_stages(const sink& out, const std::vector<word_report::stage>& stages) {
    double most = 0, all = 0;
    for (const auto& s : stages) {
        most = std::max(most, s.seconds);
        all += s.seconds;
    }
    out("<h2>Time</h2>\n<table>\n<tr><th>stage</th><th>seconds</th><th>MB</th><th></th></tr>\n");
    for (const auto& s : stages) {
        const double width = most > 0 ? 100 * s.seconds / most : 0;
        const std::string megabytes =
            s.bytes == 0 ? std::string() : fmt::format("{:.1f}", static_cast<double>(s.bytes) / 1e6);
        out(fmt::format(
            "<tr><td>{}</td><td class=\"n\">{:.2f}</td><td class=\"n\">{}</td><td class=\"bar\"><div "
            "style=\"width:{:.1f}%\"></div></td></tr>\n",
            escaped(s.name), s.seconds, megabytes, width));
    }
    out(fmt::format("<tr><th>in all</th><td class=\"n\">{:.2f}</td></tr>\n</table>\n", all));
}

void write_words(const sink& out, const std::vector<word_report::entry>& words) {
    out("<h2>The most frequent words and their neighbours</h2>\n<table class=\"words\">\n"
        "<tr><th>word</th><th>occurs</th><th>used alike</th></tr>\n");
    for (const auto& entry : words) {
        std::string list;
        for (const auto& [word, score] : entry.neighbours) {
            list += fmt::format("{}{} <span class=\"note\">{:.3f}</span>", list.empty() ? "" : " · ",
                                escaped(word), score);
        }
        out(fmt::format("<tr><td><b>{}</b></td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                        escaped(entry.word), grouped(entry.frequency), list));
    }
    out("</table>\n");
}

}  // namespace

void write_word_report(const word_report& page, const sink& out) {
    out(page_head("Words used alike", style));
    out("<h1>Words used alike</h1>\n");
    write_facts(out, page.sizes);
    write_stages(out, page.stages);
    write_words(out, page.words);
    out("<h2>How it was made</h2>\n");
    write_facts(out, page.question);
    out("</body>\n</html>\n");
}

}  // namespace quern::report
