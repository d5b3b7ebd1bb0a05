// SPDX-License-Identifier: Apache-2.0
// Wikitext to prose: what a reader of the page reads as running text, and the articles it links to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/wiki_site.hpp"

namespace quern::io {

/// Paragraphs, headings and list items. Paragraphs and headings are followed by an empty line (the last one
/// is not), list items and lines of one paragraph by a line end. No markup, no trailing spaces, no control
/// characters.
struct clean_text {
    std::string text;
    std::vector<std::string> links;  ///< ids of the articles linked to from kept text, in order, repeats kept
};

/// Replaces `out`. Any bytes are accepted; ill-formed UTF-8 stays as it is. Linear time and memory.
///
/// Out: templates, parser functions and parameters, tables, files with captions, categories, language links,
/// <ref>, <math>, <gallery> and other extensions without prose, comments, switches (__NOTOC__).
/// Kept: link labels, bare URLs, <nowiki> and <pre> as they are, other HTML tags' content.
/// Unbalanced: "{{", "[[" and unknown tags are text; a table without an end reaches to the next heading; a
/// file without an end, to the end of its line; <ref>, <math>, … and comments without an end, to the
/// paragraph's end.
///
/// Over many texts, reuse `out` and `scratch`: they keep their memory.
void clean_wikitext(std::string_view wikitext, const wiki_site& site, clean_text& out, std::string& scratch);

inline void clean_wikitext(std::string_view wikitext, const wiki_site& site, clean_text& out) {
    std::string scratch;
    clean_wikitext(wikitext, site, out, scratch);
}

}  // namespace quern::io
