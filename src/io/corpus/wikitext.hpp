// SPDX-License-Identifier: Apache-2.0
// Wikitext to prose: the running text as shown on the page, and the articles it links to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/wiki_site.hpp"

namespace quern::io {

/// Paragraphs, headings and list items. Paragraphs and headings are followed by an empty line (except the last one),
/// list items and lines of one paragraph by a line end. No markup, no trailing spaces, no control characters.
struct clean_text {
    std::string text;
    std::vector<std::string> links;  ///< ids of the articles linked to from kept text, in order, with repeats
};

/// Replaces `out`. Accepts any bytes; ill-formed UTF-8 stays unchanged. Linear time and memory.
///
/// Removed: templates, parser functions and parameters, tables, files with captions, categories, language links, <ref>,
/// <math>, <gallery> and other extensions without prose, comments, switches (__NOTOC__). Kept: link labels, bare URLs,
/// <nowiki> and <pre> verbatim, other HTML tags' content.
///
/// Unbalanced markup: "{{", "[[" and unknown tags are text. A table without an end extends to the next heading; a file
/// without an end, to the end of its line; <ref>, <math>, … and comments without an end, to the paragraph's end.
///
/// For many texts, reuse `out` and `scratch`: they keep their memory.
void clean_wikitext(std::string_view wikitext, const wiki_site& site, clean_text& out, std::string& scratch);

inline void clean_wikitext(std::string_view wikitext, const wiki_site& site, clean_text& out) {
    std::string scratch;
    clean_wikitext(wikitext, site, out, scratch);
}

}  // namespace quern::io
