// SPDX-License-Identifier: Apache-2.0
// Posting lists: documents with term frequencies, in blocks of 128, bit-packed.
#pragma once

#include <cstdint>
#include <string>

#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// Encodes one list after the other into one string. Documents come in strictly rising order, frequencies
/// are at least 1.
class postings_writer {
  public:
    explicit postings_writer(std::string& out) : out_(out) {}
    void add(std::uint32_t document, std::uint32_t frequency);
    /// Ends the list; the next `add` begins another. The bytes of the list are those appended to `out` since.
    struct totals {
        std::uint32_t document_frequency;
        std::uint64_t collection_frequency;
    };
    totals finish_list();

  private:
    std::string& out_;
    // state of the open block
};

}  // namespace quern::search_detail
