// SPDX-License-Identifier: Apache-2.0
// Posting lists: documents with term frequencies, in blocks of 128, bit-packed. docs/search.md has the
// format.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "ops/search/bit_packing.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// Encodes one list after the other into one string. Documents come in strictly rising order, frequencies
/// are at least 1. Equal postings give equal bytes. Beside `out` it holds the packed open list.
class postings_writer {
  public:
    /// With the words in each document every block also tells its shortest document, which lets `search` skip
    /// blocks that cannot reach the best k. Without them (an empty span) results are the same, but slower.
    /// The span must outlive the writer.
    explicit postings_writer(std::string& out, std::span<const std::uint32_t> document_lengths = {})
        : out_(out), lengths_(document_lengths) {}
    /// Throws std::logic_error where documents do not rise or the frequency is 0.
    void add(std::uint32_t document, std::uint32_t frequency);
    /// Ends the list; the next `add` begins another. The bytes of the list are those appended to `out` since.
    struct totals {
        std::uint32_t document_frequency;
        std::uint64_t collection_frequency;
    };
    totals finish_list();

  private:
    void write_block();
    void write_tail();

    std::string& out_;
    std::span<const std::uint32_t> lengths_;
    std::string headers_, payload_;                   // of the open list's full blocks
    std::array<std::uint32_t, block_size> gaps_{};    // of the open block: document - previous document - 1
    std::array<std::uint32_t, block_size> extras_{};  // frequency - 1
    std::uint32_t filled_ = 0;
    std::uint32_t shortest_ = ~std::uint32_t{0};
    std::uint64_t next_ = 0;  // the lowest document that may come
    std::uint32_t documents_ = 0;
    std::uint64_t occurrences_ = 0;
};

/// Reads a list block by block; a block is at most 128 postings. Bytes are not trusted: whatever they are,
/// documents come in strictly rising order below the number of documents, frequencies are at least 1, and
/// nothing outside the span is read. Throws damaged_store otherwise. The list and the lengths must outlive
/// it.
class postings_cursor {
  public:
    /// Stands at the first block, not yet decoded.
    postings_cursor(const posting_list& list, std::span<const std::uint32_t> document_lengths);

    /// The arrays may be read up to here beyond their size.
    static constexpr std::size_t padding = 16;

    bool done() const { return done_; }
    bool decoded() const { return decoded_; }
    /// No document of this block or a later one lies below.
    std::uint64_t lowest() const { return lowest_; }
    /// The last document of the block, the largest frequency and the shortest document in it or bounds of
    /// them from above and from below: known without decoding.
    std::uint32_t last() const { return last_; }
    std::uint32_t max_frequency() const { return max_frequency_; }
    std::uint32_t min_length() const { return min_length_; }

    /// Bounds over all postings from this block on that lie below `end`.
    struct bounds {
        std::uint32_t max_frequency = 0, min_length = ~std::uint32_t{0};
    };
    /// Calls `visit(bounds)` for this block and each further one that may hold documents below `end`.
    template <typename Visit>
    void visit_bounds(std::uint64_t end, Visit visit) const {
        if (done_ || lowest_ >= end) return;
        visit(bounds{max_frequency_, min_length_});
        std::uint32_t last = last_;
        for (std::uint32_t block = block_ + 1; last + std::uint64_t{1} < end && has_block(block); ++block)
            visit(bounds_of(block, last));
    }

    void next_block();
    /// To the first block that ends at or after `document`; never backwards.
    void seek_block(std::uint32_t document);

    /// Decodes the block, once.
    void decode() {
        if (!decoded_) decode_block();
    }
    std::span<const std::uint32_t> documents() const { return {documents_.data(), size_}; }
    std::span<const std::uint32_t> frequencies() const { return {frequencies_.data(), size_}; }
    /// A block's numbers as they lie in the list: gaps, then frequencies less 1. Not of the postings behind the last full
    /// block, which are decoded when they are reached.
    struct packed_numbers {
        std::span<const char> bytes;
        unsigned gap_width, frequency_width;
    };
    packed_numbers packed() const {
        return {bytes_.subspan(payload_, packed_bytes(gap_width_) + packed_bytes(frequency_width_)),
                gap_width_, frequency_width_};
    }
    /// Bytes of the list up to the end of this block.
    std::size_t bytes_used() const { return end_; }

  private:
    bool has_block(std::uint32_t block) const {
        return block < full_blocks_ || (block == full_blocks_ && tail_size_ != 0);
    }
    bounds bounds_of(std::uint32_t block, std::uint32_t& last) const;
    std::size_t tail_begin() const;
    void enter_block(std::uint32_t block);
    void decode_block();
    void decode_tail();

    std::span<const char> bytes_;
    std::span<const std::uint32_t> lengths_;
    std::uint32_t full_blocks_ = 0, tail_size_ = 0;
    std::uint32_t block_ = 0, size_ = 0;
    std::uint32_t last_ = 0, max_frequency_ = 0, min_length_ = 0;
    std::uint64_t lowest_ = 0;
    std::size_t payload_ = 0, end_ = 0;  // the block's packed numbers
    unsigned gap_width_ = 0, frequency_width_ = 0;
    bool decoded_ = false, done_ = false;
    alignas(64) std::array<std::uint32_t, block_size + padding> documents_{};
    alignas(64) std::array<std::uint32_t, block_size + padding> frequencies_{};
};

/// Reads the whole list and also checks what a search takes on trust: that frequencies add up to the
/// collection frequency, that the bounds in the block headers hold, and that no bytes are left over. Throws
/// damaged_store.
void check_postings(const posting_list& list, std::span<const std::uint32_t> document_lengths);

}  // namespace quern::search_detail
