// SPDX-License-Identifier: Apache-2.0
// What a file is, told from its first decompressed bytes and, where they leave it open, from its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/corpus/corpus.hpp"

namespace quern::io {

/// As much of a file as detection looks at.
inline constexpr std::size_t detection_bytes = 64 << 10;

/// What a file's name says of one that is a document by itself.
enum class file_kind { unknown, text, markdown, html, source };

/// By extension, upper or lower case, a compression's extension taken off first. No extension: text.
file_kind kind_of(std::string_view path);

/// Of the name without a compression's extension: without the dot, in lower case; empty where there is none ("README").
std::string extension_of(std::string_view path);

/// "report.txt" for "report.txt.gz".
std::string_view without_compression(std::string_view path);

/// Not text: a zero byte, or many control characters, in the first 8 KB (after a byte-order mark of UTF-16 or
/// UTF-32: never).
bool is_binary(std::string_view head);

/// The corpus form whose first record opens `head`: a dump's <mediawiki>; wikiextractor's <doc id=…> on a line of its
/// own; TREC's <DOC> with a DOCNO, <REUTERS> with a NEWID; lines that are JSON objects with a text. Marks alone do not
/// do: any text may begin with "{" or "<doc>". `whole`: nothing follows `head`.
std::optional<corpus_form> marked_form(std::string_view head, bool whole);

/// Markup that opens as an HTML page does.
bool opens_as_html(std::string_view head);

/// Every line has a tab, and something before it. `whole`: the last line is complete without an end.
bool looks_like_tsv(std::string_view head, bool whole);

/// For the head of one input (not inside a folder): its form, `folder` standing for a single document.
/// Empty where none fits; `why` then says more, where more can be said ("a tar archive").
std::optional<corpus_form> detect(std::string_view head, bool whole, std::string_view path, std::string& why);

/// For a file in a folder: the form of a file that holds a collection, empty for a document.
std::optional<corpus_form> detect_collection(std::string_view head, bool whole, std::string_view path);

}  // namespace quern::io
