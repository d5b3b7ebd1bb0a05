// SPDX-License-Identifier: Apache-2.0
// Distinct texts in blocks sorted by length, as results of a task; and the pairs found in them.
//
//   texts      for each document of the corpus its length in units and the position of the first document with an equal text
//   block-NNNN the distinct texts of a block: their number, positions, lengths in units, ends in bytes, and their bytes
//   pairs      of a task that compares two blocks
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/text_sketches.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {

/// "block-0007"
std::string name_of_block(std::uint64_t number);

/// Writes `texts` and the blocks, of equal numbers of texts. Throws as sketch_texts() does.
void write_text_blocks(const text_list& texts, edit_unit unit, std::uint64_t blocks, task_results& results,
                       const context& ctx);

class text_block {
  public:
    /// Throws io_error, damaged_store.
    explicit text_block(const std::filesystem::path& file);

    std::size_t size() const { return positions_.size(); }
    std::span<const std::uint32_t> positions() const { return positions_; }
    std::uint32_t shortest() const { return lengths_.front(); }  ///< in units; of a block with texts
    std::uint32_t longest() const { return lengths_.back(); }
    /// Bytes of a text end at these, from the begin of the texts.
    std::span<const std::uint64_t> ends() const { return ends_; }
    std::string_view bytes() const { return bytes_; }

  private:
    io::mapped_file file_;
    std::vector<std::uint32_t> positions_, lengths_;
    std::vector<std::uint64_t> ends_;
    std::string_view bytes_;
};

/// All pairs of a text of one block and one of the other, or of two texts of one: by positions, the smaller first.
std::vector<duplicate_pair> compare_blocks(const std::filesystem::path& first,
                                           const std::filesystem::path& second,
                                           const duplicate_options& options, const context& ctx);

/// The results of a job's tasks for the documents of a corpus.
struct compared_texts {
    std::vector<text_sketch> sketches;  ///< length and first_equal only
    std::vector<duplicate_pair> pairs;  ///< of texts that are the first of their equals, ascending
};
/// Throws io_error, damaged_store.
compared_texts read_compared(const std::filesystem::path& job);

}  // namespace quern
