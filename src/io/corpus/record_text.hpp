// SPDX-License-Identifier: Apache-2.0
// A record of a corpus with another text.
#pragma once

#include <string>
#include <string_view>

#include "quern/base/document.hpp"
#include "quern/base/document_fields.hpp"

namespace quern::io {

/// Replaces the text of a record (document::record) from which a document was read; all other bytes stay as they are.
/// `heading`: document::record_heading of a table; else empty. `text` is UTF-8, for a line of TSV without line ends, as the
/// original text is. `fields`: those that the document was read with; usage_error if they name several texts.
std::string with_text(std::string_view record, document::record_form form, std::string_view heading,
                      std::string_view text, const document_fields& fields = {});

}  // namespace quern::io
