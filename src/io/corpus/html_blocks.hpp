// SPDX-License-Identifier: Apache-2.0
// A page as its text and a flat list of the elements that hold it: all that is needed to choose and write the main
// text, in one pass over the tags. No tree is built: an element is listed only if it holds text or links,
// and only if it begins a block or says what it is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "io/corpus/html_names.hpp"

namespace quern::io {

/// The separation between two texts; the strongest request counts.
enum class html_gap : std::uint8_t { none, space, tab, line, paragraph };

inline constexpr std::uint32_t no_element = UINT32_MAX;

/// Elements are in document order: those within element i are i + 1 to `end` - 1.
struct html_element {
    std::uint32_t parent = no_element;  ///< no_element for the first, which is the whole page
    std::uint32_t end = 0;
    std::uint32_t first_run = 0;  ///< its runs and those within it: first_run to end_run - 1
    std::uint32_t end_run = 0;
    std::uint32_t text_bytes = 0;  ///< of its own text, not of elements within; white space collapsed
    std::uint32_t link_bytes = 0;  ///< those of them within links
    std::uint32_t marks = 0;       ///< what its tag says of it: html_mark
    html_name name = html_name::other;
};

/// A piece of text in one element.
struct html_run {
    std::uint32_t begin;  ///< in html_blocks::text; it ends where the next begins
    std::uint32_t element;
    html_gap gap;  ///< from the text before it
};

/// A link, in the order of the page.
struct html_link {
    std::uint32_t element;
    std::uint32_t bytes;
    const char* href;  ///< raw
};

struct html_blocks {
    std::string text;  ///< of all runs: references decoded, white space collapsed except in <pre>
    std::vector<html_run> runs;
    std::vector<html_element> elements;
    std::vector<html_link> links;
    std::string title;                         ///< of <title>, collapsed
    std::string_view base;                     ///< of <base href>, raw; null if there is none
    std::uint32_t first_heading = no_element;  ///< the first <h1>
    bool cut_in_depth = false;  ///< elements nested deeper than max_html_depth are not told apart

    /// The memory of the text and the lists.
    std::uint64_t memory_bytes() const {
        return text.capacity() + runs.capacity() * sizeof(html_run) +
               elements.capacity() * sizeof(html_element) + links.capacity() * sizeof(html_link);
    }
    std::string_view text_of_run(std::size_t run) const {
        const std::size_t end = run + 1 < runs.size() ? runs[run + 1].begin : text.size();
        return std::string_view(text).substr(runs[run].begin, end - runs[run].begin);
    }
};

inline constexpr std::size_t max_html_depth = 512;

/// `html` is UTF-8 and must outlive the result; at most 2 GiB, else out_of_memory. With `xml`, raw elements may be
/// closed in their start tag. Throws out_of_memory before the result and `taken` bytes exceed the budget.
html_blocks read_html_blocks(std::string_view html, bool xml, std::uint64_t taken,
                             const reading_budget& budget);

/// White space collapsed, none at the ends; references decoded.
std::string collapsed_html(std::string_view raw);

}  // namespace quern::io
