// SPDX-License-Identifier: Apache-2.0
// Detects a file's kind from its first decompressed bytes and, if they are not conclusive, from its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/corpus/corpus.hpp"
#include "io/corpus/documents/converter.hpp"

namespace quern::io {

/// The number of bytes that detection reads.
inline constexpr std::size_t detection_bytes = 64 << 10;

/// The extension without the dot, in lower case, after removing a compression's extension; empty if there is none
/// ("README").
std::string extension_of(std::string_view path);

/// The category under which a skipped file is counted (binary, or text of unknown kind): "file: .pdf". A long or
/// numeric extension is not used: it does not characterise other files, and there may be millions of them.
std::string skipped_kind(std::string_view path);

/// "report.txt" for "report.txt.gz".
std::string_view without_compression(std::string_view path);

/// Not text: a zero byte, or many control characters, in the first 8 KB (never after a byte-order mark of UTF-16 or
/// UTF-32).
bool is_binary(std::string_view head);

/// The corpus form whose first record begins `head`: a dump's <mediawiki>; wikiextractor's <doc id=…> on a separate
/// line; TREC's <DOC> with a DOCNO, <REUTERS> with a NEWID; lines that are JSON objects with a text. The first marks
/// alone do not suffice: any text may begin with "{" or "<doc>". `whole`: nothing follows `head`.
std::optional<corpus_form> marked_form(std::string_view head, bool whole, const document_fields& fields = {});

/// Whether markup begins as an HTML page does.
bool opens_as_html(std::string_view head);

/// The head as UTF-8, without a byte-order mark.
std::string utf8_head(std::string_view head);

/// What stands before the rows of a table.
struct table_start {
    std::string beginning;  ///< document::record_heading: a byte order mark, a line `sep=;`, the heading
    char separator;
};
/// Why a file of lines cannot be read, if its lines end with CR alone; else empty.
std::string other_line_ends(std::string_view head);
/// Of a file by its `head`: the whole file, or its first detection_bytes. Empty if there is no heading.
std::optional<table_start> start_of_table(std::string_view head, corpus_form form,
                                          const document_fields& fields);
/// Why the first record of a CSV file is not a heading of documents.
std::string missing_heading(std::string_view text, bool whole, char separator, const document_fields& fields);

/// Every line has a tab after at least one character. `whole`: the last line is complete even without an end.
bool looks_like_tsv(std::string_view head, bool whole);

/// The form of one input (not inside a folder), by its head; `folder` means a single document. Empty if none fits;
/// `why` then has details, if known ("a tar archive").
std::optional<corpus_form> detect(std::string_view head, bool whole, std::string_view path, std::string& why,
                                  const document_fields& fields = {});

/// For a file in a folder: the form of a file that holds a collection, empty for a document.
std::optional<corpus_form> detect_collection(std::string_view head, bool whole, std::string_view path,
                                             const document_fields& fields = {});

}  // namespace quern::io
