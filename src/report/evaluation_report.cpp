// SPDX-License-Identifier: Apache-2.0
#include "report/evaluation_report.hpp"

#include <fmt/format.h>

#include <utility>

#include "report/html_page.hpp"
#include "report/plots.hpp"

namespace quern::report {
namespace {

void write_means(const evaluation_page& page, const std::function<void(std::string_view)>& out) {
    out("<h2>Runs</h2>\n<p class=\"note\">" + escaped(page.note) +
        "</p>\n<div class=\"scrolls\"><table>\n<tr><th>run</th>");
    for (const evaluated_measure& m : page.measures) out("<th>" + escaped(m.name) + "</th>");
    out("</tr>\n");
    for (std::size_t r = 0; r < page.runs.size(); ++r) {
        out("<tr><td>" + escaped(page.runs[r]) + "</td>");
        for (const evaluated_measure& m : page.measures)
            out("<td class=\"n\">" + escaped(m.cells[r]) + "</td>");
        out("</tr>\n");
    }
    out("</table></div>\n");
}

}  // namespace

void write_evaluation_report(const evaluation_page& page, const std::function<void(std::string_view)>& out) {
    out(page_head("Effectiveness", plot_style));
    out("<h1>Effectiveness</h1>\n");
    write_summary(page.summary, out);
    write_means(page, out);
    for (const evaluated_measure& m : page.measures) {
        out("<h2>" + escaped(m.name) + "</h2>\n");
        for (const auto& plot : m.plots) {
            std::vector<bar> bars;
            bars.reserve(plot.topics.size());
            for (const evaluated_topic& topic : plot.topics)
                bars.push_back({topic.name, topic.value, "", topic.hint});
            out("<h3>" + escaped(plot.title) + "</h3>\n" + signed_plot(plot.title, bars));
        }
    }
    out("</body>\n</html>\n");
}

}  // namespace quern::report
