// SPDX-License-Identifier: Apache-2.0
// Texts of all documents in order, compressed in blocks of whole documents: three sections of a store, opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "io/store/section.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

/// Thread-safe. Every member throws damaged_store, naming the section, if bytes are damaged.
class text_blocks {
  public:
    text_blocks() = default;
    /// `ends`: u64, the bytes up to each document's end; `blocks`: store_layout::text_block; `frames`: zstd.
    text_blocks(io::section_view ends, io::section_view blocks, io::section_view frames,
                std::uint64_t documents)
        : ends_(std::move(ends)),
          blocks_(std::move(blocks)),
          frames_(std::move(frames)),
          documents_(documents) {}

    std::uint64_t size() const { return blocks_.size() / sizeof(store_layout::text_block); }
    /// A block: documents in [first, last), and its bytes of text.
    struct contents {
        std::uint32_t first = 0, last = 0;
        std::uint64_t bytes = 0;
    };
    contents contents_of(std::uint64_t block) const;
    std::uint64_t block_of(std::uint32_t document) const;
    /// The document's text. Cost: its block is decompressed.
    std::string text(std::uint32_t document) const;
    /// Its size without reading it.
    std::uint64_t text_bytes(std::uint32_t document) const {
        return begin_of(document + 1ULL) - begin_of(document);
    }
    void each_text(std::uint64_t block, const std::function<void(std::string_view)>& sink) const;
    /// Throws damaged_store for the section of the texts.
    [[noreturn]] void fail(std::string_view reason) const { frames_.fail(reason); }

  private:
    struct position {
        std::uint64_t frame_begin = 0, frame_end = 0, first = 0, last = 0;  ///< in the frames; documents
    };
    position position_of(std::uint64_t block) const;
    std::uint64_t begin_of(std::uint64_t document) const {
        return document == 0 ? 0 : ends_.value<std::uint64_t>((document - 1) * 8);
    }
    /// Valid until this thread decompresses another block.
    std::string_view decompressed(const position& of) const;
    std::string_view text_within(const position& of, std::string_view raw, std::uint64_t document) const;

    io::section_view ends_, blocks_, frames_;
    std::uint64_t documents_ = 0;
};

}  // namespace quern
