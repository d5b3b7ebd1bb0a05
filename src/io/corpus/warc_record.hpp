// SPDX-License-Identifier: Apache-2.0
// One record of a WARC file: its kind by its headers, and its document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/corpus/corpus.hpp"
#include "io/corpus/header_fields.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {

/// The header of a record, read.
struct warc_header {
    std::string type;          ///< "response" …, in lower case
    std::string uri;           ///< WARC-Target-URI, without <>
    std::string content_type;  ///< of the block
    std::string date, record_id, language, truncated;
    std::uint64_t length = 0;  ///< of the block

    /// Nothing if Content-Length is missing or no number.
    static std::optional<warc_header> of(const header_fields& fields);
};

/// The reason, for reading_counts::skipped, against a record that holds no document by a rule; empty for one that may.
/// `head`: the first bytes of its block (all, or at least http_head_bytes).
std::string skipped_record(const warc_header& header, std::string_view head);

/// The maximum length of the head of a server's response: a longer one is no response.
inline constexpr std::size_t http_head_bytes = 64 << 10;

/// A record that may be a document, in a unit.
struct warc_item {
    warc_header header;
    std::string id;
    std::uint64_t number = 0;         ///< in the file, from 1
    std::size_t begin = 0, size = 0;  ///< of the block, in the unit
};

/// The contents of a unit of read_warc before it is parsed: to compare with other readers of WARC.
class warc_blocks {
  public:
    virtual ~warc_blocks() = default;
    virtual void each_block(
        const std::function<void(const warc_item&, std::string_view block)>& take) const = 0;
};

/// Adds the document of the record to `out`, or the reason against it. Throws out_of_memory if it needs more than
/// position.budget and that is not the last.
void parse_warc_item(const warc_item& item, std::string_view block, const unit_position& position,
                     const document_fields& fields, parsed_unit& out);

}  // namespace quern::io
