// SPDX-License-Identifier: Apache-2.0
// Extracts from a web page what search needs: title, main text, links to other local pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/corpus.hpp"

namespace quern::io {

struct html_page {
    std::string title;  ///< of <title>, else of the first <h1>; white space collapsed
    std::string text;   ///< paragraphs end with an empty line, table rows with a line, cells with a tab
    std::vector<std::string> links;  ///< of the kept text, as paths from the folder's root
    std::string repaired;            ///< the repair; empty for most pages
};

/// `path` is the page's path relative to the folder's root, against which links are resolved. Time is linear in the
/// bytes for any input: if a page is nested or tangled so that its tree would cost more, or take more than 512 MiB, it
/// is read as a sequence of tags instead, and `repaired` says so. Throws out_of_memory if tree or links would need more
/// than `budget`, before they do.
html_page parse_html(std::string_view bytes, std::string_view path, const reading_budget& budget = {});

}  // namespace quern::io
