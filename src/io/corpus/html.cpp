// SPDX-License-Identifier: Apache-2.0
// One pass reads the page as text and a flat list of elements (html_blocks), a second over the list chooses the main text
// (html_content), a third writes it.
#include "io/corpus/html.hpp"

#include <algorithm>
#include <utility>

#include "io/corpus/html_blocks.hpp"
#include "io/corpus/html_charset.hpp"
#include "io/corpus/html_content.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view separator_of(html_gap gap) {
    switch (gap) {
        case html_gap::space:
            return " ";
        case html_gap::tab:
            return "\t";
        case html_gap::line:
            return "\n";
        case html_gap::paragraph:
            return "\n\n";
        default:
            return "";
    }
}

/// The text of the runs for which `shows` is true, in order.
template <typename Shows>
void write_runs(const html_blocks& page, std::size_t begin, std::size_t end, Shows&& shows,
                std::string& out) {
    html_gap gap = html_gap::none;
    for (std::size_t i = begin; i < end; ++i) {
        gap = std::max(gap, page.runs[i].gap);
        if (!shows(page.runs[i])) continue;
        if (!out.empty()) out += separator_of(gap);
        out += page.text_of_run(i);
        gap = html_gap::none;
    }
}

/// Elements within `heading` shown, on one line.
std::string heading_text(const html_blocks& page, const html_element& heading) {
    std::string out;
    write_runs(
        page, heading.first_run, heading.end_run, [](const html_run&) { return true; }, out);
    return collapsed_html(out);
}

/// <title> without the site's name, if the first heading shows which part names the page.
std::string page_title(std::string title, const std::string& heading) {
    if (title.empty()) return heading;
    if (heading.empty() || !title.starts_with(heading) || title.size() == heading.size()) return title;
    const std::string_view rest = std::string_view(title).substr(heading.size());
    for (const auto separator :
         {" - "sv, " | "sv, " \u2014 "sv, " \u2013 "sv, " \u00B7 "sv, " :: "sv, " \u00AB "sv, " \u00BB "sv}) {
        if (rest.starts_with(separator)) return heading;
    }
    return title;
}

}  // namespace

html_page parse_html(std::string_view bytes, std::string_view path, const reading_budget& budget,
                     html_part part) {
    html_page page;
    const std::string html = decode_html(bytes, page.repaired);
    const bool xml = html.starts_with("<?xml") || path.ends_with(".xhtml");
    const std::uint64_t taken = bytes.size() + html.capacity();
    const html_blocks blocks = read_html_blocks(html, xml, taken, budget);
    require_budget(budget, taken + blocks.memory_bytes() + choice_memory(blocks),
                   "the choice of a page's main text");
    const std::vector<bool> kept =
        part == html_part::main ? choose_main_text(blocks) : choose_shown_text(blocks);

    const html_element* heading =
        blocks.first_heading == no_element ? nullptr : &blocks.elements[blocks.first_heading];
    page.title =
        page_title(blocks.title, heading == nullptr ? std::string() : heading_text(blocks, *heading));
    std::size_t bytes_kept = 0;
    for (std::size_t i = 0; i < blocks.runs.size(); ++i) {
        if (kept[blocks.runs[i].element]) bytes_kept += blocks.text_of_run(i).size() + 2;
    }
    require_budget(budget, taken + blocks.memory_bytes() + bytes_kept, "the main text of a page");
    page.text.reserve(bytes_kept);
    write_runs(
        blocks, 0, blocks.runs.size(), [&](const html_run& run) { return kept[run.element]; }, page.text);
    while (!page.text.empty() && " \n\t"sv.find(page.text.back()) != std::string_view::npos)
        page.text.pop_back();

    link_base base(path);
    if (blocks.base.data() != nullptr) base.rebase(decode_references(blocks.base));
    for (const html_link& link : blocks.links) {
        if (!kept[link.element]) continue;
        if (auto target = base.resolve(decode_references({link.href, link.bytes})))
            add_link(page.links, std::move(*target), budget);
    }
    if (blocks.cut_in_depth && page.repaired.empty())
        page.repaired = "nested more than " + std::to_string(max_html_depth) +
                        " deep: what is deeper is read as one element";
    return page;
}

}  // namespace quern::io
