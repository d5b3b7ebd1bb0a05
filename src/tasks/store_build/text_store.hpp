// SPDX-License-Identifier: Apache-2.0
// The texts of a store while it is written: collected into blocks in order, compressed by any thread, written in order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/store/section.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

struct raw_text_block {
    std::uint64_t first_document;
    std::string text;
};

/// Documents in a block of fields, at most: many have none.
inline constexpr std::uint64_t max_documents_of_field_block = 4096;

/// Groups consecutive texts. The text that fills a block closes it, so that blocks depend only on the collection.
class text_gatherer {
  public:
    /// A block is closed when it has this many bytes or documents.
    explicit text_gatherer(std::uint64_t block_bytes = store_layout::text_block_bytes,
                           std::uint64_t block_documents = UINT64_MAX)
        : block_bytes_(block_bytes), block_documents_(block_documents) {}
    /// Adds the next document's text; a finished block goes to `finished`.
    void add(std::string_view text, std::vector<raw_text_block>& finished);
    void finish(std::vector<raw_text_block>& finished);

  private:
    std::uint64_t block_bytes_, block_documents_;
    std::string open_;
    std::uint64_t first_document_ = 0;
    std::uint64_t documents_ = 0;
};

struct compressed_text_block {
    std::uint64_t first_document;
    std::string frame;
};

/// One zstd frame with its checksum. Thread-safe.
compressed_text_block compress(const raw_text_block& block);

/// Writes blocks to two sections: `texts` and `text_blocks`, or others.
class text_block_writer {
  public:
    explicit text_block_writer(const std::filesystem::path& store,
                               std::string_view texts = store_layout::texts,
                               std::string_view blocks = store_layout::text_blocks);
    void append(const compressed_text_block& block);
    std::vector<store_section> finish();

  private:
    std::string texts_name_, blocks_name_;
    io::section_writer texts_, blocks_;
};

}  // namespace quern
