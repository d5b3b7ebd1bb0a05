// SPDX-License-Identifier: Apache-2.0
// A web page to what a search engine wants of it: title, main text, links to other local pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::io {

struct html_page {
    std::string title;  ///< of <title>, else of the first <h1>; white space collapsed
    std::string text;   ///< paragraphs end with an empty line, table rows with a line, cells with a tab
    std::vector<std::string> links;  ///< of the kept text, as paths from the folder's root
    std::string mended;              ///< what had to be mended; empty for most pages
};

/// `path` is the page's own, relative to the folder's root: links are resolved against it. Never throws on any
/// bytes. Time is linear in the bytes whatever they are: a page nested or tangled so that a tree of it would
/// cost more is read as a sequence of tags instead, and `mended` says so.
html_page parse_html(std::string_view bytes, std::string_view path);

}  // namespace quern::io
