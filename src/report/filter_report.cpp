// SPDX-License-Identifier: Apache-2.0
#include "report/filter_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/html_page.hpp"

namespace quern::report {
namespace {

using sink = std::function<void(std::string_view)>;

constexpr std::string_view style =
    R"(details { border-top: 1px solid var(--line); padding: .5rem 0 } summary { cursor: pointer }
.text { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace;
  border: 1px solid var(--line); padding: .3rem .5rem; margin: .3rem 0 }
)";

void write_rules(const filter_report& page, const sink& out) {
    std::uint64_t most = 1;
    for (const auto& rule : page.rules) most = std::max(most, rule.removed);
    out("<h2>Rules</h2>\n<p class=\"note\">A document counts for the first rule that it does not pass.</p>\n"
        "<div "
        "class=\"scrolls\"><table>\n<tr><th>rule</th><th>measure</th><th>limit</th><th>removed</"
        "th><th>share</th>"
        "<th></th></tr>\n");
    for (const auto& rule : page.rules) {
        const double share = page.documents == 0 ? 0
                                                 : 100 * static_cast<double>(rule.removed) /
                                                       static_cast<double>(page.documents);
        const double width = 100 * static_cast<double>(rule.removed) / static_cast<double>(most);
        out(fmt::format(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.2f}%</td>"
            "<td class=\"bar\">{}</td></tr>\n",
            escaped(rule.name), escaped(rule.measure), escaped(rule.limit), grouped(rule.removed), share,
            rule.removed == 0 ? std::string() : fmt::format("<div style=\"width:{:.1f}%\"></div>", width)));
    }
    out("</table></div>\n");
}

void write_examples(const filter_report::rule& rule, const sink& out) {
    out(fmt::format(
        "<h2>{}</h2>\n<p class=\"note\">{} removed; {} shown: the first ones, and some by a hash of their "
        "ids.</p>\n",
        escaped(rule.name), grouped(rule.removed), grouped(rule.examples.size())));
    for (const auto& e : rule.examples) {
        const std::string cut =
            e.bytes == e.text.size()
                ? ""
                : fmt::format("<span class=\"note\"> … {} bytes in all</span>", grouped(e.bytes));
        out(fmt::format(
            "<details>\n<summary><b>{}</b>: {}</summary>\n<div class=\"text\">{}{}</div>\n</details>\n",
            escaped(e.id), escaped(e.value), escaped(e.text), cut));
    }
}

}  // namespace

void write_filter_report(const filter_report& page, const sink& out) {
    out(page_head("Filter", style));
    out("<h1>Filter</h1>\n");
    write_summary(page.summary, out);
    write_rules(page, out);
    for (const auto& rule : page.rules)
        if (!rule.examples.empty()) write_examples(rule, out);
    out("</body>\n</html>\n");
}

}  // namespace quern::report
