// SPDX-License-Identifier: Apache-2.0
#include "report/duplicate_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "report/difference.hpp"
#include "report/html_page.hpp"
#include "report/utf8_output.hpp"

namespace quern::report {
namespace {

using sink = std::function<void(std::string_view)>;

constexpr std::size_t shown_bytes = 64 << 10;  // of a text
constexpr std::size_t shown_members = 50;      // of a group
constexpr std::size_t shown_id_bytes = 200;
constexpr std::size_t lines_around = 2;     // of a change
constexpr std::size_t shown_changes = 200;  // of a pair
constexpr std::size_t bins = 20;

constexpr std::string_view style =
    R"(details { border-top: 1px solid var(--line); padding: .5rem 0 } summary { cursor: pointer }
.ids { overflow-wrap: anywhere }
.diff { width: 100%; table-layout: fixed; border: 1px solid var(--line); margin: .5rem 0 }
.diff td, .diff th { width: 50%; padding: .1rem .5rem; border-left: 1px solid var(--line);
  white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace }
.diff td.skip { text-align: center; background: var(--soft); opacity: .7 }
del { background: var(--del) } ins { background: var(--ins) } del, ins { text-decoration: none }
)";

std::string percent(double share) {
    return fmt::format("{:.2f}%", 100 * share);
}

/// The last position between two characters that is not after `at`.
std::size_t between_characters(std::string_view text, std::size_t at) {
    const std::size_t least = at - std::min<std::size_t>(at, 3);
    while (at > least && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return at;
}

/// The beginning of a text, ending between two characters.
std::string_view beginning(std::string_view text, std::size_t max) {
    return text.size() <= max ? text : text.substr(0, between_characters(text, max));
}

std::string shown_id(std::string_view id) {
    return escaped(beginning(id, shown_id_bytes)) + (id.size() > shown_id_bytes ? "…" : "");
}

/// Where the shown part of two long texts begins: at the start, or shortly before the first difference if that is far
/// from the start.
std::size_t shown_from(std::string_view left, std::string_view right) {
    constexpr std::size_t before = 1 << 10;
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(left, right).in1 - left.begin());
    if (std::max(left.size(), right.size()) <= shown_bytes || same < shown_bytes / 2 || left == right)
        return 0;
    const std::size_t line = left.rfind('\n', same - 1);
    if (line != std::string_view::npos && same - line <= before) return line + 1;
    return between_characters(left, same - before);
}

/// One side of a change: marks what the other side lacks; shortens long runs that both have.
std::string marked_side(const pieces& words, const std::vector<change>& changes, bool left) {
    constexpr std::size_t uncut = 240, kept = 80;
    std::string out;
    const auto equal = [&](std::size_t begin, std::size_t end) {
        std::string text;
        for (std::size_t i = begin; i < end; ++i) text += words[i];
        if (text.size() <= uncut) return append_escaped(out, text);
        std::size_t from = kept, to = text.size() - kept;
        while (from > 0 && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) --from;
        while (to < text.size() && (static_cast<unsigned char>(text[to]) & 0xC0) == 0x80) ++to;
        append_escaped(out, std::string_view(text).substr(0, from));
        out += " <span class=\"note\">…</span> ";
        append_escaped(out, std::string_view(text).substr(to));
    };
    const char* const tag = left ? "del" : "ins";
    std::size_t at = 0;
    for (const change& c : changes) {
        const std::size_t begin = left ? c.a_begin : c.b_begin, end = left ? c.a_end : c.b_end;
        equal(at, begin);
        if (begin != end) {
            out += fmt::format("<{}>", tag);
            for (std::size_t i = begin; i < end; ++i) append_escaped(out, words[i]);
            out += fmt::format("</{}>", tag);
        }
        at = end;
    }
    equal(at, words.size());
    return out;
}

std::string joined(const pieces& list, std::size_t begin, std::size_t end) {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) text += list[i];
    return text;
}

void write_row(const sink& out, std::string_view left, std::string_view right) {
    out(fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", left, right));
}

void write_equal_lines(const sink& out, const pieces& lines, std::size_t begin, std::size_t end, bool first,
                       bool last) {
    const std::size_t head_lines = first ? 0 : lines_around, tail_lines = last ? 0 : lines_around;
    const auto show = [&](std::size_t from, std::size_t to) {
        if (from == to) return;
        const std::string text = escaped(joined(lines, from, to));
        write_row(out, text, text);
    };
    if (end - begin <= head_lines + tail_lines + 1) return show(begin, end);
    show(begin, begin + head_lines);
    const std::size_t skipped = end - begin - head_lines - tail_lines;
    out(fmt::format("<tr><td class=\"skip\" colspan=\"2\">… {} equal lines …</td></tr>\n", grouped(skipped)));
    show(end - tail_lines, end);
}

void write_difference(const sink& out, std::string_view left_id, std::string_view left,
                      std::string_view right_id, std::string_view right) {
    const auto is_text = [](std::string_view bytes) {
        return beginning(bytes, shown_bytes).find('\0') == std::string_view::npos;
    };
    if (!is_text(left) || !is_text(right)) {
        out(fmt::format("<p class=\"note\">{} ({} bytes) and {} ({} bytes): no text to compare.</p>\n",
                        shown_id(left_id), grouped(left.size()), shown_id(right_id), grouped(right.size())));
        return;
    }
    const std::size_t from = shown_from(left, right);
    const pieces a = lines_of(beginning(left.substr(from), shown_bytes)),
                 b = lines_of(beginning(right.substr(from), shown_bytes));
    const auto changes = differences(a, b);
    out(fmt::format("<table class=\"diff\">\n<tr><th>{}</th><th>{}</th></tr>\n", shown_id(left_id),
                    shown_id(right_id)));
    std::size_t at = 0;
    for (std::size_t i = 0; i < changes.size() && i < shown_changes; ++i) {
        const change& c = changes[i];
        write_equal_lines(out, a, at, c.a_begin, i == 0, false);
        const std::string removed = joined(a, c.a_begin, c.a_end), added = joined(b, c.b_begin, c.b_end);
        const pieces words = words_of(removed), other = words_of(added);
        const auto inner = differences(words, other);
        write_row(out, marked_side(words, inner, true), marked_side(other, inner, false));
        at = c.a_end;
    }
    if (changes.size() <= shown_changes) {
        write_equal_lines(out, a, at, a.size(), changes.empty(), true);
    } else {
        out(fmt::format("<tr><td class=\"skip\" colspan=\"2\">… {} more changes …</td></tr>\n",
                        grouped(changes.size() - shown_changes)));
    }
    out("</table>\n");
    if (left.size() > shown_bytes || right.size() > shown_bytes) {
        out(fmt::format(
            "<p class=\"note\">Up to {} KiB of each are shown, {}.</p>\n", shown_bytes >> 10,
            from == 0 ? "from the beginning on"
                      : fmt::format("from byte {} on, shortly before the first difference", grouped(from))));
    }
}

void write_counts(const sink& out, const duplicate_report& page) {
    const duplicate_summary& summary = page.summary;
    out("<h1>Near-duplicates</h1>\n<table>\n");
    const auto row = [&](std::string_view name, std::string_view value) {
        out(fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, escaped(value)));
    };
    row("asked for", summary.params);
    row("method", summary.method + ", on " + summary.device);
    row("documents", grouped(summary.documents));
    if (summary.earlier != 0) row("compared with earlier", grouped(summary.earlier));
    row("pairs", grouped(page.pairs.size()));
    row("groups", grouped(page.groups.size()));
    const double share = summary.documents == 0
                             ? 0
                             : static_cast<double>(summary.dropped) / static_cast<double>(summary.documents);
    row("documents not kept", fmt::format("{} ({})", grouped(summary.dropped), percent(share)));
    row("rule", summary.rule);
    row("preferred", summary.keep);
    for (const auto& [name, value] : summary.origin) row(name, value);
    out("</table>\n");
}

void write_bars(const sink& out, std::string_view unit,
                const std::vector<std::pair<std::string, std::uint64_t>>& bars) {
    std::uint64_t max = 1;
    for (const auto& [name, count] : bars) max = std::max(max, count);
    out(fmt::format("<table>\n<tr><th>{}</th><th>pairs</th><th></th></tr>\n", unit));
    for (const auto& [name, count] : bars) {
        const double width = 100.0 * static_cast<double>(count) / static_cast<double>(max);
        out(fmt::format(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"bar\">{}</td></tr>\n", name, grouped(count),
            count == 0 ? std::string() : fmt::format("<div style=\"width:{:.1f}%\"></div>", width)));
    }
    out("</table>\n");
}

void write_rates(const sink& out, const duplicate_report& page) {
    std::vector<std::uint64_t> counts(bins);
    std::uint64_t equal = 0;
    const double largest = page.summary.largest_rate;
    const auto begin_of = [largest](std::size_t bin) { return largest * static_cast<double>(bin) / bins; };
    // Compares with the bounds as displayed: a division could put a rate that equals one on either side of it.
    const auto bin_of = [&](double rate) {
        std::size_t bin = 0;
        while (bin + 1 < bins && rate >= begin_of(bin + 1)) ++bin;
        return bin;
    };
    for (const duplicate_pair& p : page.pairs) {
        if (p.distance == 0) {
            ++equal;
        } else {
            ++counts[bin_of(p.rate())];
        }
    }
    std::vector<std::pair<std::string, std::uint64_t>> bars = {{"0 (equal)", equal}};
    for (std::size_t i = 0; i < bins && largest > 0; ++i) {
        const double from = begin_of(i), to = begin_of(i + 1);
        bars.emplace_back(fmt::format("{} {:.4g} to {:.4g}", i == 0 ? "above" : "from", from, to), counts[i]);
    }
    out("<h2>Rates</h2>\n");
    write_bars(out, "rate", bars);
}

void write_sizes(const sink& out, const duplicate_report& page) {
    constexpr std::array<std::pair<std::string_view, std::size_t>, 7> classes = {
        {{"2", 2},
         {"3", 3},
         {"4", 4},
         {"5 to 9", 9},
         {"10 to 99", 99},
         {"100 to 999", 999},
         {"1,000 and more", ~std::size_t{0}}}};
    std::array<std::uint64_t, classes.size()> groups{}, documents{};
    for (const duplicate_group& g : page.groups) {
        const auto at = static_cast<std::size_t>(
            std::ranges::find_if(classes, [&](const auto& c) { return g.members.size() <= c.second; }) -
            classes.begin());
        ++groups[at];
        documents[at] += g.members.size();
    }
    out("<h2>Sizes of groups</h2>\n<table>\n<tr><th>documents</th><th>groups</th><th>in all</th></tr>\n");
    for (std::size_t i = 0; i < classes.size(); ++i) {
        if (groups[i] == 0) continue;
        out(fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                        classes[i].first, grouped(groups[i]), grouped(documents[i])));
    }
    out("</table>\n");
}

/// The pair that removes a document by rule near-kept, if any does.
const removed_duplicate* removal_of(const duplicate_report& page, std::uint32_t document) {
    const auto at = std::ranges::lower_bound(page.removed, document, {}, &removed_duplicate::document);
    return at != page.removed.end() && at->document == document ? &*at : nullptr;
}

/// The member to compare with the kept one: the farthest of those paired with it, else any.
std::uint32_t member_to_compare(const duplicate_report& page, const duplicate_group& group) {
    std::uint32_t chosen = group.members[0] == group.kept ? group.members[1] : group.members[0];
    double farthest = -1;
    const auto consider = [&](std::uint32_t other, double rate) {
        if (rate > farthest) {
            farthest = rate;
            chosen = other;
        }
    };
    for (const std::uint32_t member : group.members) {
        if (const removed_duplicate* const removal = removal_of(page, member)) {
            consider(member, removal->rate());
            continue;
        }
        const std::uint32_t a = std::min(member, group.kept), b = std::max(member, group.kept);
        const auto at = std::ranges::lower_bound(page.pairs, std::pair(a, b), {},
                                                 [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
        if (a != b && at != page.pairs.end() && at->a == a && at->b == b) consider(member, at->rate());
    }
    return chosen;
}

void write_group(const sink& out, const duplicate_report& page, std::size_t number, bool open) {
    const duplicate_group& group = page.groups[number];
    std::string ids;
    for (std::size_t i = 0; i < group.members.size() && i < shown_members; ++i) {
        const std::string id = shown_id(page.id(group.members[i]));
        ids += (i == 0 ? "" : " · ") + (group.members[i] == group.kept ? "<b>" + id + "</b>" : id);
        if (const removed_duplicate* const removal = removal_of(page, group.members[i]))
            ids += fmt::format(" ({}, {:.4f})", removal->distance, removal->rate());
    }
    if (group.members.size() > shown_members) {
        ids += fmt::format(" · … and {} more", grouped(group.members.size() - shown_members));
    }
    out(fmt::format(
        "<details{}>\n<summary>Group {}: {} documents, kept <b>{}</b></summary>\n<p class=\"ids\">{}</p>\n",
        open ? " open" : "", number, grouped(group.members.size()), shown_id(page.id(group.kept)), ids));
    const std::uint32_t other = member_to_compare(page, group);
    write_difference(out, page.id(group.kept), page.text(group.kept), page.id(other), page.text(other));
    out("</details>\n");
}

}  // namespace

void write_duplicate_report(const duplicate_report& page, const sink& out) {
    out(page_head("Near-duplicates", style));
    write_counts(out, page);
    write_rates(out, page);
    write_sizes(out, page);

    std::vector<std::size_t> order(page.groups.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t shown = std::min(page.groups_shown, order.size());
    std::ranges::partial_sort(
        order, order.begin() + static_cast<std::ptrdiff_t>(shown), [&](std::size_t a, std::size_t b) {
            const std::size_t left = page.groups[a].members.size(), right = page.groups[b].members.size();
            return left != right ? left > right : a < b;
        });
    if (shown != 0) {
        out(fmt::format(
            "<h2>The largest groups</h2>\n<p class=\"note\">{} of {}, numbered as in --groups; each with its "
            "kept document on the left and the member that differs most from it on the right.{}</p>\n",
            grouped(shown), grouped(page.groups.size()),
            page.removed.empty() ? ""
                                 : " After each removed document: its distance from the kept one, and the "
                                   "rate."));
    }
    for (std::size_t i = 0; i < shown; ++i) write_group(out, page, order[i], i < 3);
    out("</body>\n</html>\n");
}

}  // namespace quern::report
