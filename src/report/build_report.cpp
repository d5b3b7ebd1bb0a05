// SPDX-License-Identifier: Apache-2.0
#include "report/build_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/html_page.hpp"

namespace quern::report {
namespace {

using sink = std::function<void(std::string_view)>;

constexpr std::string_view style =
    R"(th.n { text-align: right } .words .note { font-size: 13px }
)";

/// A document in a recognisable form: its title if it has one, and its id.
std::string shown_document(std::string_view id, std::string_view title) {
    if (title.empty() || title == id) return escaped(id);
    return escaped(title) + " <span class=\"note\">" + escaped(id) + "</span>";
}

void write_heading(const sink& out, std::string_view heading, std::string_view note = {}) {
    out(fmt::format("<h2>{}</h2>\n", heading));
    if (!note.empty()) out(fmt::format("<p class=\"note\">{}</p>\n", note));
}

/// A table that scrolls by itself in narrow windows; "#" marks the heading of a numeric column.
void begin_table(const sink& out, std::string_view columns) {
    out("<div class=\"scrolls\"><table>\n<tr>");
    for (std::size_t at = 0; at <= columns.size();) {
        const std::size_t end = std::min(columns.find('|', at), columns.size());
        const std::string_view column = columns.substr(at, end - at);
        out(column.starts_with('#') ? fmt::format("<th class=\"n\">{}</th>", column.substr(1))
                                    : fmt::format("<th>{}</th>", column));
        at = end + 1;
    }
    out("</tr>\n");
}

void end_table(const sink& out) {
    out("</table></div>\n");
}

void write_text_summary(const sink& out, const build_report::summary& rows) {
    out("<table>\n");
    for (const auto& [name, value] : rows)
        out("<tr><th>" + escaped(name) + "</th><td>" + escaped(value) + "</td></tr>\n");
    out("</table>\n");
}

void write_reading(const sink& out, const build_report& page) {
    if (page.reading.empty() && page.issues.empty()) return;
    write_heading(out, "Input problems");
    if (!page.reading.empty()) write_summary(page.reading, out);
    if (page.issues.empty()) return;
    out(fmt::format("<p class=\"note\">The first {} of {}:</p>\n", grouped(page.issues.size()),
                    grouped(page.issues_count)));
    begin_table(out, "where|document|why");
    for (const auto& issue : page.issues) {
        out(fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(issue.where),
                        escaped(issue.what), escaped(issue.reason)));
    }
    end_table(out);
}

void write_time(const sink& out, const build_report& page) {
    write_stages(page.stages, out);
    if (!page.steps.empty()) {
        std::vector<bar> bars;
        for (const shown_stage& s : page.steps)
            bars.push_back({s.name, s.seconds, fmt::format("{:.2f} s", s.seconds), {}});
        out("<p class=\"note\">Steps within a stage overlap; their seconds are summed over "
            "threads.</p>\n");
        out(bar_plot("Seconds of each step, summed over threads", bars));
    }
    if (!page.resources.empty()) write_summary(page.resources, out);
}

void write_groups(const sink& out, const build_report& page) {
    if (page.groups.empty()) return;
    write_heading(
        out, "Near-duplicates",
        fmt::format(
            "{} documents were left out as copies of {} that were kept. The {} with most "
            "copies; distances are bytes inserted, deleted or replaced. A build with --skip duplicates keeps "
            "them all.",
            grouped(page.duplicates_count), grouped(page.groups_count), grouped(page.groups.size())));
    begin_table(out, "kept|#copies|which, and how far");
    for (const auto& group : page.groups) {
        std::string list;
        for (const auto& copy : group.duplicates) {
            list += fmt::format("{}{} ({})", list.empty() ? "" : " · ", shown_document(copy.id, copy.title),
                                grouped(copy.distance));
        }
        if (group.duplicates.size() < group.duplicates_count) {
            list +=
                fmt::format(" · … and {} more", grouped(group.duplicates_count - group.duplicates.size()));
        }
        out(fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                        shown_document(group.id, group.title), grouped(group.duplicates_count), list));
    }
    end_table(out);
}

void write_words(const sink& out, const build_report& page) {
    if (page.words.empty()) return;
    write_heading(
        out, "Words that distinguish documents",
        std::string(
            "The first by how often they occur, times ln(all documents / documents that hold them); without "
            "stop words.") +
            (page.has_thesaurus ? " With the words that are used most like them, by the thesaurus." : ""));
    begin_table(out, page.has_thesaurus ? "word|#documents|#occurs|used alike" : "word|#documents|#occurs");
    for (const auto& entry : page.words) {
        out(fmt::format("<tr><td><b>{}</b></td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
                        escaped(entry.word), grouped(entry.documents), grouped(entry.occurrences)));
        if (page.has_thesaurus) out("<td class=\"words\">" + scored_words(entry.neighbours) + "</td>");
        out("</tr>\n");
    }
    end_table(out);
}

void write_pages(const sink& out, const build_report& page) {
    if (page.pages.empty()) return;
    write_heading(out, "Documents that links lead to",
                  "By PageRank over the links between the documents: the share of a random reader's time.");
    begin_table(out, "#|document|#rank|#links to it");
    std::size_t place = 0;
    for (const auto& entry : page.pages) {
        out(fmt::format(
            "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{:.6f}</td><td class=\"n\">{}</td></tr>\n",
            ++place, shown_document(entry.id, entry.title), entry.rank, grouped(entry.links)));
    }
    end_table(out);
}

void write_plots(const sink& out, const build_report& page) {
    if (!page.document_lengths.empty()) {
        write_heading(out, "Lengths of documents");
        out(column_plot("Documents by their number of words", page.document_lengths,
                        "words in the document, from this number up to the next"));
    }
    if (!page.word_frequencies.empty()) {
        write_heading(
            out, "Frequencies of words",
            "Words by falling frequency; where a text follows Zipf's law, the curve is nearly straight.");
        out(log_plot("Frequency of words by their rank", page.word_frequencies, "rank of the word",
                     "occurrences"));
    }
}

}  // namespace

void write_build_report(const build_report& page, const sink& out) {
    out(page_head(escaped(page.store) + " – a Quern store", std::string(plot_style).append(style)));
    out("<h1>" + escaped(page.store) + "</h1>\n");
    out("<div class=\"run\">\n");
    write_text_summary(out, page.run);
    out("</div>\n");
    write_summary(page.sizes, out);
    write_reading(out, page);
    write_time(out, page);
    if (!page.sections.empty()) {
        write_heading(out, "Sizes on disk");
        out(bar_plot("Bytes of each section", page.sections));
    }
    write_groups(out, page);
    write_words(out, page);
    write_pages(out, page);
    write_plots(out, page);
    write_heading(out, "How it was made");
    write_text_summary(out, page.params);
    out("</body>\n</html>\n");
}

}  // namespace quern::report
