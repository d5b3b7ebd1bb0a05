// SPDX-License-Identifier: Apache-2.0
// A record of a corpus with another text.
//
// A record that is all text (of the forms text-lines and text-paragraphs) counts as one of a table with an empty heading.
// A record of text-paragraphs ends with an empty line, one of text-lines does not.
#pragma once

#include <string>
#include <string_view>

#include "quern/base/document.hpp"
#include "quern/base/document_fields.hpp"

namespace quern::io {

/// Replaces the text of a record (document::record) from which a document was read; all other bytes stay as they are.
/// `heading`: document::record_heading of a table; else empty. `text` is UTF-8, for a line of TSV without line ends, as the
/// original text is. In plain text, line ends become spaces where a document is a line, and empty lines are left out
/// where a document ends at one. `fields`: those that the document was read with; usage_error if they name several texts.
std::string with_text(std::string_view record, document::record_form form, std::string_view heading,
                      std::string_view text, const document_fields& fields = {});

/// Of a document whose record is all text: sets record_kind and record_heading.
void mark_as_text(document& made);
/// Whether the last line of `record` is empty.
bool ends_with_empty_line(std::string_view record);

}  // namespace quern::io
