// SPDX-License-Identifier: Apache-2.0
// Posting lists: documents with term frequencies, in blocks of 128, bit-packed. docs/search_ranking.md has the
// format.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "ops/search/bit_packing.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// Encodes lists one after another into one string. Documents arrive in strictly ascending order, frequencies are at least
/// 1. Equal postings give equal bytes. Besides `out` it holds the packed open list.
class postings_writer {
  public:
    /// Frequencies that are weights, larger than counts: a block whose largest exceeds 65,534 has it in place of its
    /// shortest document.
    enum class values { counts, weights };

    /// With the words in each document, every block also records its shortest document, which lets `search` skip blocks
    /// that cannot reach the best k. Without them (an empty span) results are the same, but slower. The span must outlive
    /// the writer.
    explicit postings_writer(std::string& out, std::span<const std::uint32_t> document_lengths = {},
                             values of = values::counts)
        : out_(out), lengths_(document_lengths), values_(of) {}
    /// Throws std::logic_error if documents do not ascend or the frequency is 0.
    void add(std::uint32_t document, std::uint32_t frequency);
    /// Ends the list; the next `add` begins another. The list's bytes are those appended to `out` since the previous end.
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
    values values_;
    std::string headers_, payload_;                   // of the open list's full blocks
    std::array<std::uint32_t, block_size> gaps_{};    // of the open block: document - previous document - 1
    std::array<std::uint32_t, block_size> extras_{};  // frequency - 1
    std::uint32_t filled_ = 0;
    std::uint32_t shortest_ = ~std::uint32_t{0};
    std::uint64_t next_ = 0;  // the lowest valid next document
    std::uint32_t documents_ = 0;
    std::uint64_t occurrences_ = 0;
};

/// Reads a list block by block; a block has at most 128 postings. Input bytes are not trusted: for any bytes, documents
/// arrive in strictly ascending order below the number of documents, frequencies are at least 1, and nothing outside the
/// span is read. Throws damaged_store otherwise. The list and the lengths must outlive it.
class postings_cursor {
  public:
    /// Starts at the first block, not yet decoded.
    postings_cursor(const posting_list& list, std::span<const std::uint32_t> document_lengths);

    /// The arrays may be read this far past their size.
    static constexpr std::size_t padding = 16;

    bool done() const { return done_; }
    bool decoded() const { return decoded_; }
    /// No document of this block or a later one is lower.
    std::uint64_t lowest() const { return lowest_; }
    /// The last document of the block, its largest frequency and its shortest document, or upper and lower bounds of these:
    /// known without decoding.
    std::uint32_t last() const { return last_; }
    std::uint32_t max_frequency() const { return max_frequency_; }
    std::uint32_t min_length() const { return min_length_; }

    /// Bounds over all postings from this block on whose document is below `end`.
    struct bounds {
        std::uint32_t max_frequency = 0, min_length = ~std::uint32_t{0};
    };
    /// Calls `visit(bounds)` for this block and each further one that may have documents below `end`.
    template <typename Visit>
    void visit_bounds(std::uint64_t end, Visit visit) const {
        if (done_ || lowest_ >= end) return;
        visit(bounds{max_frequency_, min_length_});
        std::uint32_t last = last_;
        for (std::uint32_t block = block_ + 1; last + std::uint64_t{1} < end && has_block(block); ++block)
            visit(bounds_of(block, last));
    }

    void next_block();
    /// Moves to the first block that ends at or after `document`; never backwards.
    void seek_block(std::uint32_t document);

    /// Decodes the block, once.
    void decode() {
        if (!decoded_) decode_block();
    }
    std::span<const std::uint32_t> documents() const { return {documents_.data(), size_}; }
    std::span<const std::uint32_t> frequencies() const { return {frequencies_.data(), size_}; }
    /// A block's numbers as in the list: gaps, then frequencies less 1. Not for the postings after the last full block,
    /// which are decoded when they are reached.
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

/// Reads the whole list and also checks what a search trusts: that frequencies add up to the collection frequency, that the
/// bounds in the block headers hold, and that no bytes are left over. Throws damaged_store.
/// Of weights, frequencies need not add up.
void check_postings(const posting_list& list, std::span<const std::uint32_t> document_lengths,
                    postings_writer::values of = postings_writer::values::counts);

}  // namespace quern::search_detail
