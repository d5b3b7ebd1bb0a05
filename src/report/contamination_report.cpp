// SPDX-License-Identifier: Apache-2.0
#include "report/contamination_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/difference.hpp"
#include "report/html_page.hpp"

namespace quern::report {
namespace {

using sink = std::function<void(std::string_view)>;

constexpr std::string_view style =
    R"(details { border-top: 1px solid var(--line); padding: .5rem 0 } summary { cursor: pointer }
.sides { width: 100%; table-layout: fixed; border: 1px solid var(--line); margin: .5rem 0 }
.sides td, .sides th { width: 50%; padding: .1rem .5rem; border-left: 1px solid var(--line);
  white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace }
del { background: var(--del) } ins { background: var(--ins) } del, ins { text-decoration: none }
)";

std::string share_of(std::uint64_t part, std::uint64_t all) {
    if (all == 0) return "";
    return fmt::format("{:.2f}%", 100 * static_cast<double>(part) / static_cast<double>(all));
}

std::string shown_id(std::string_view id) {
    constexpr std::size_t max = 200;
    if (id.size() <= max) return escaped(id);
    std::size_t end = max;
    while (end > 0 && (static_cast<unsigned char>(id[end]) & 0xC0) == 0x80) --end;
    return escaped(id.substr(0, end)) + "…";
}

/// One side of a difference, with what the other lacks marked.
std::string marked_side(const pieces& words, const std::vector<change>& changes, bool is_left) {
    std::string out;
    const auto plain = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) append_escaped(out, words[i]);
    };
    const std::string_view tag = is_left ? "del" : "ins";
    std::size_t at = 0;
    for (const change& c : changes) {
        const std::size_t begin = is_left ? c.a_begin : c.b_begin, end = is_left ? c.a_end : c.b_end;
        plain(at, begin);
        if (begin != end) {
            out += fmt::format("<{}>", tag);
            plain(begin, end);
            out += fmt::format("</{}>", tag);
        }
        at = end;
    }
    plain(at, words.size());
    return out;
}

void write_sets(const contamination_report& page, const sink& out) {
    out("<h2>Evaluation sets</h2>\n<div "
        "class=\"scrolls\"><table>\n<tr><th>set</th><th>items</th><th>found</th><th>share</th>"
        "<th>matches</th><th>shorter than an n-gram</th><th>without words</th></tr>\n");
    for (const auto& set : page.sets) {
        out(
            fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
                        "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                        escaped(set.name), grouped(set.items), grouped(set.found_items),
                        share_of(set.found_items, set.items), grouped(set.matches), grouped(set.short_items),
                        grouped(set.empty_items)));
    }
    out("</table></div>\n");
}

void write_shares(const contamination_report& page, const sink& out) {
    const std::size_t bins = page.shares.size();
    const std::uint64_t most = std::max<std::uint64_t>(1, *std::ranges::max_element(page.shares));
    const double from = page.overlap.value(), step = (1 - from) / static_cast<double>(bins - 1);
    out("<h2>Shares</h2>\n<p class=\"note\">Items found, by the largest share of their n-grams in one "
        "document.</p>\n<table>\n<tr><th>share</th><th>items</th><th></th></tr>\n");
    for (std::size_t bin = 0; bin < bins; ++bin) {
        if (bin + 1 < bins && step == 0) continue;
        const std::string name =
            bin + 1 == bins ? "1 (all n-grams)"
                            : fmt::format("from {:.4g} to {:.4g}", from + step * static_cast<double>(bin),
                                          from + step * static_cast<double>(bin + 1));
        const double width = 100.0 * static_cast<double>(page.shares[bin]) / static_cast<double>(most);
        out(fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"bar\">{}</td></tr>\n", name,
                        grouped(page.shares[bin]),
                        page.shares[bin] == 0 ? std::string()
                                              : fmt::format("<div style=\"width:{:.1f}%\"></div>", width)));
    }
    out("</table>\n");
}

void write_example(const contamination_report::example& e, bool is_open, const sink& out) {
    const pieces item = words_of(e.item), leaked = words_of(e.leaked);
    const auto changes = differences(item, leaked);
    const auto note = [](std::string_view text) {
        return fmt::format("<span class=\"note\">{}</span>", escaped(text));
    };
    out(fmt::format(
        "<details{}>\n<summary><b>{}</b> of {}, in <b>{}</b>: {} of {} n-grams, bytes {} to {}</summary>\n",
        is_open ? " open" : "", shown_id(e.item_id), escaped(e.set), shown_id(e.document_id),
        grouped(e.leak.found), grouped(e.leak.of), grouped(e.leak.begin), grouped(e.leak.end)));
    out("<table class=\"sides\">\n<tr><th>item</th><th>document</th></tr>\n<tr><td>" +
        marked_side(item, changes, true) + (e.item_is_cut ? note(" …") : "") + "</td><td>" + note(e.before) +
        marked_side(leaked, changes, false) +
        (e.cut == 0 ? "" : note(fmt::format(" … {} bytes … ", grouped(e.cut)))) + note(e.after) +
        "</td></tr>\n</table>\n</details>\n");
}

}  // namespace

std::size_t bin_of_share(const contamination& leak, const decimal& overlap, std::size_t bins) {
    if (leak.found == leak.of) return bins - 1;
    // (found / of - overlap) / (1 - overlap) · (bins - 1), rounded down.
    using wide = unsigned __int128;
    const wide above = wide{leak.found} * overlap.denominator - wide{leak.of} * overlap.numerator,
               range = wide{leak.of} * (overlap.denominator - overlap.numerator);
    return static_cast<std::size_t>(above * (bins - 1) / range);
}

void write_contamination_report(const contamination_report& page, const sink& out) {
    constexpr std::size_t open = 3;
    out(page_head("Contamination", style));
    out("<h1>Contamination</h1>\n");
    write_summary(page.summary, out);
    write_sets(page, out);
    write_shares(page, out);
    if (!page.examples.empty()) {
        out(fmt::format(
            "<h2>The largest leaks</h2>\n<p class=\"note\">{} items with the most n-grams found, each with "
            "the document that contains most of it. Marked words are only on their side.</p>\n",
            grouped(page.examples.size())));
    }
    for (std::size_t i = 0; i < page.examples.size(); ++i) write_example(page.examples[i], i < open, out);
    out("</body>\n</html>\n");
}

}  // namespace quern::report
