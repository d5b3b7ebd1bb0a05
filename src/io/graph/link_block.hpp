// SPDX-License-Identifier: Apache-2.0
// What one block of lines holds: the parsed links of a graph, or the entries of a matrix.
#pragma once

#include <cstdint>
#include <memory>

#include "io/graph/id_table.hpp"
#include "io/graph/text_blocks.hpp"
#include "io/messages.hpp"
#include "quern/base/link.hpp"

namespace quern::io {

/// How the ids of a block stand in its links: as they are (below 2^32), or as numbers of a table.
enum class id_kind : std::uint8_t { narrow, wide, word };

/// Arrays stay where they are for the next block.
struct link_block {
    text_block lines;

    std::unique_ptr<link[]> links;
    std::unique_ptr<double[]> weights;  ///< as links, where weights are wanted
    std::uint64_t size = 0;             ///< links
    std::uint64_t entries = 0;  ///< lines that hold a link or an entry; a symmetric one makes two links
    std::uint64_t line_count = 0;
    line_issue issue;  ///< what stands behind it has not been looked at

    id_kind ids = id_kind::narrow;
    std::uint32_t least = ~std::uint32_t{0}, largest = 0;  ///< of narrow ids
    integer_table* integers = nullptr;                     ///< of wide ids
    word_table* words = nullptr;                           ///< of ids that are names
    std::uint64_t named_links = 0;                         ///< links of which an end is no integer
    bool first_names_both = false;  ///< neither end of the block's first link is an integer
    std::uint64_t first_line = 0;   ///< of the first link, within the block; 0: there is none

    std::uint64_t position = 0;  ///< of its first link among all of the input

    /// Makes room for `most` links, and forgets those of the block before.
    void begin(std::uint64_t most, bool weighted) {
        if (capacity_ < most || (weighted && !weights)) {
            links = std::make_unique_for_overwrite<link[]>(most);
            if (weighted) weights = std::make_unique_for_overwrite<double[]>(most);
            capacity_ = most;
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
