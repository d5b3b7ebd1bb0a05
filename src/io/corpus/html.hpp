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

enum class html_part {
    main,  ///< the main text: without navigation, advertisements and the like (docs/corpora.md, "Web pages")
    shown  ///< all that a reader would see: for documents that only have the form of a page (books, mail, converted files)
};

/// `path` is the page's path relative to the folder's root, against which links are resolved. Any bytes are a page; time
/// is linear in them, and memory 3 times the bytes for most pages, 60 times for one of nothing but tags and letters.
/// Elements nested more than 512 deep are read as one, and `repaired` says so. Throws out_of_memory before the text, its elements or its
/// links need more than `budget`.
html_page parse_html(std::string_view bytes, std::string_view path, const reading_budget& budget = {},
                     html_part part = html_part::main);

}  // namespace quern::io
