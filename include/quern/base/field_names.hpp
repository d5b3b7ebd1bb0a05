// SPDX-License-Identifier: Apache-2.0
// The names of members and columns that are an id or a text where the caller names none: of files and of documents in
// memory.
#pragma once

#include <array>
#include <string_view>

namespace quern {

/// In order of preference: if a record has several, the first in the list counts. A passage of MS MARCO has a `pid`, and
/// the `docid` of the document that it is from.
inline constexpr std::array<std::string_view, 6> id_names = {"id", "_id", "pid", "docid", "doc_id", "docno"};
inline constexpr std::array<std::string_view, 9> text_names = {
    "text", "contents", "content", "body", "document", "passage", "segment", "abstract", "raw_content"};

}  // namespace quern
