// SPDX-License-Identifier: Apache-2.0
// The contents of one block of lines: the parsed links of a graph, or the entries of a matrix.
#pragma once

#include <cstdint>
#include <memory>

#include "io/lines/line_messages.hpp"
#include "io/lines/node_id_table.hpp"
#include "io/lines/text_blocks.hpp"
#include "quern/base/link.hpp"

namespace quern::io {

/// How a block's links store ids: directly (below 2^32), or as numbers of a table.
enum class id_kind : std::uint8_t { narrow, wide, word };

/// Arrays are kept for the next block.
struct link_block {
    text_block lines;

    std::unique_ptr<link[]> links;
    std::unique_ptr<double[]> weights;  ///< as many as links, if weights are requested
    std::uint64_t size = 0;             ///< links
    std::uint64_t entries = 0;          ///< lines with a link or an entry; a symmetric one makes two links
    std::uint64_t line_count = 0;
    line_issue issue;  ///< nothing after it has been checked

    id_kind ids = id_kind::narrow;
    std::uint32_t least = ~std::uint32_t{0}, largest = 0;  ///< of narrow ids
    integer_table* integers = nullptr;                     ///< of wide ids
    word_table* words = nullptr;                           ///< of ids that are names
    std::uint64_t named_links = 0;                         ///< links with an end that is not an integer
    bool first_names_both = false;  ///< neither end of the block's first link is an integer
    std::uint64_t first_line = 0;   ///< of the first link, within the block; 0: none

    std::uint64_t position = 0;  ///< of its first link within the whole input

    /// Reserves space for `max` links, and drops those of the previous block.
    void begin(std::uint64_t max, bool weighted) {
        if (capacity_ < max || (weighted && !weights)) {
            links = std::make_unique_for_overwrite<link[]>(max);
            if (weighted) weights = std::make_unique_for_overwrite<double[]>(max);
            capacity_ = max;
        }
        size = entries = line_count = named_links = first_line = 0;
        issue = {};
        least = ~std::uint32_t{0};
        largest = 0;
        first_names_both = false;
    }
    void refuse(std::string reason) { issue = {line_count, std::move(reason)}; }

  private:
    std::uint64_t capacity_ = 0;
};

}  // namespace quern::io
