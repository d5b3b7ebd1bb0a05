// SPDX-License-Identifier: Apache-2.0
// The second half of a bzip2 block. Inverting the transform follows one chain of 900,000 dependent reads through 3.6
// MB, each a cache miss: most of the time of other decoders. But the chain is a permutation, so it can be entered
// anywhere. Several walkers start at fixed positions and follow their parts of it concurrently, each until it reaches
// the start of another part; then the parts are joined in order. The misses overlap.
#include "io/compression/bzip2_block.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace quern::io::bzip2 {
namespace {

constexpr std::uint32_t start_mark = 1U << 31;
constexpr std::uint32_t stride_bits = 10;  ///< a part starts at every 1,024th position
constexpr std::uint32_t chunk_bytes = 1024;
constexpr std::size_t walkers = 8;
constexpr std::uint32_t max_parts = (largest_block >> stride_bits) + 2;
constexpr std::uint32_t max_chunks = max_parts + largest_block / chunk_bytes + walkers + 1;
constexpr std::uint32_t none = ~0U;

/// A part of the chain: its bytes are in a list of chunks.
struct part {
    std::uint32_t start;
    std::uint32_t first_chunk;
    std::uint32_t length;
    std::uint32_t next;  ///< the part that begins at the end of this one
};

/// links[i]: the first byte of sorted rotation i, and in bits 8 to 27 the rotation that begins one byte
/// later.
class chain_walker {
  public:
    chain_walker(std::uint32_t* links, std::uint32_t size, std::uint32_t origin, std::uint8_t* arena)
        : links_(links), size_(size), origin_(origin), arena_(arena) {}
    void walk();
    void join(std::uint8_t* out) const;

  private:
    std::uint32_t part_at(std::uint32_t position) const {
        return (position & ((1U << stride_bits) - 1)) == 0 ? position >> stride_bits : part_count_ - 1;
    }
    std::uint32_t new_chunk() {
        next_chunk_[chunk_count_] = none;
        return chunk_count_++;
    }
    void start_part(std::size_t walker);
    void settle(std::size_t walker, std::uint32_t entry);

    std::uint32_t* links_;
    std::uint32_t size_;
    std::uint32_t origin_;
    std::uint8_t* arena_;
    std::array<part, max_parts> parts_{};
    std::array<std::uint32_t, max_chunks> next_chunk_{};
    std::uint32_t part_count_ = 0;
    std::uint32_t chunk_count_ = 0;
    std::uint32_t started_ = 0;
    std::size_t active_ = 0;
    // Walkers share one step counter: walker w writes to arena_[base_[w] + step]; the steps at which its chunk began or
    // is full are its own.
    std::uint64_t step_ = 0;
    std::array<std::uint32_t, walkers> position_{};
    std::array<std::uint64_t, walkers> base_{};
    std::array<std::uint64_t, walkers> full_at_{};
    std::array<std::uint32_t, walkers> part_of_{};
    std::array<std::uint32_t, walkers> chunk_of_{};
};

/// Assigns the next part to a walker, or the endless loop at links_[size_] if none is left.
void chain_walker::start_part(std::size_t walker) {
    if (started_ == part_count_) {
        part_of_[walker] = none;
        position_[walker] = size_;
        base_[walker] = 0 - step_;  // chunk 0 is for idle walkers to overwrite
        full_at_[walker] = step_ + chunk_bytes;
        return;
    }
    part& begun = parts_[started_];
    part_of_[walker] = started_++;
    chunk_of_[walker] = begun.first_chunk = new_chunk();
    const std::uint64_t where = std::uint64_t{begun.first_chunk} * chunk_bytes;
    const std::uint32_t entry = links_[begun.start];  // takes the first step here, past the part's own mark
    arena_[where] = static_cast<std::uint8_t>(entry);
    position_[walker] = (entry & ~start_mark) >> 8;
    begun.length = 1;
    base_[walker] = where + 1 - step_;
    full_at_[walker] = step_ + chunk_bytes - 1;
    ++active_;
}

/// After a stop: a walker with a full chunk gets another chunk, one that has reached a start gets another part.
void chain_walker::settle(std::size_t walker, std::uint32_t entry) {
    const std::uint32_t number = part_of_[walker];
    const bool met_start = (entry & start_mark) != 0;
    if (!met_start && step_ != full_at_[walker]) return;
    if (number == none) {
        base_[walker] = 0 - step_;
        full_at_[walker] = step_ + chunk_bytes;
        return;
    }
    const bool first = chunk_of_[walker] == parts_[number].first_chunk;
    const std::uint64_t in_chunk = chunk_bytes - (full_at_[walker] - step_);
    parts_[number].length = static_cast<std::uint32_t>(first ? in_chunk : parts_[number].length + in_chunk);
    if (met_start) {
        parts_[number].next = part_at(position_[walker]);
        --active_;
        start_part(walker);
    } else {
        const std::uint32_t fresh = new_chunk();
        next_chunk_[chunk_of_[walker]] = fresh;
        chunk_of_[walker] = fresh;
        base_[walker] = std::uint64_t{fresh} * chunk_bytes - step_;
        full_at_[walker] = step_ + chunk_bytes;
    }
}

void chain_walker::walk() {
    for (std::uint32_t position = 0; position < size_; position += 1U << stride_bits)
        parts_[part_count_++].start = position;
    parts_[part_count_++].start = origin_;
    if (part_at(origin_) != part_count_ - 1) --part_count_;
    for (std::uint32_t i = 0; i < part_count_; ++i) links_[parts_[i].start] |= start_mark;
    links_[size_] = size_ << 8;
    chunk_count_ = 1;
    for (std::size_t w = 0; w < walkers; ++w) start_part(w);
    while (active_ != 0) {
        const std::uint64_t stop = *std::ranges::min_element(full_at_);
        std::array<std::uint32_t, walkers> entry{};
        std::array<std::uint32_t, walkers> position = position_;
        const std::array<std::uint64_t, walkers> base = base_;
        const std::uint32_t* const links = links_;
        std::uint8_t* const arena = arena_;
        std::uint64_t step = step_;
        for (; step < stop; ++step) {
            std::uint32_t any = 0;
#pragma GCC unroll 16
            for (std::size_t w = 0; w < walkers; ++w) {
                entry[w] = links[position[w]];
                any |= entry[w];
                arena[base[w] + step] = static_cast<std::uint8_t>(entry[w]);
            }
            if ((any & start_mark) != 0) break;
#pragma GCC unroll 16
            for (std::size_t w = 0; w < walkers; ++w) position[w] = entry[w] >> 8;
        }
        // At a full chunk the last entries have been used; only a break leaves unused marks.
        if (step == stop) entry.fill(0);
        step_ = step;
        position_ = position;
        for (std::size_t w = 0; w < walkers; ++w) settle(w, entry[w]);
    }
}

/// A periodic block is a chain that closes early: its parts are then written repeatedly.
void chain_walker::join(std::uint8_t* out) const {
    std::uint32_t left = size_;
    for (std::uint32_t number = part_at(origin_); left != 0; number = parts_[number].next) {
        std::uint32_t length = std::min(left, parts_[number].length);
        left -= length;
        for (std::uint32_t chunk = parts_[number].first_chunk; length != 0; chunk = next_chunk_[chunk]) {
            const std::uint32_t piece = std::min(length, chunk_bytes);
            std::memcpy(out, arena_ + std::size_t{chunk} * chunk_bytes, piece);
            out += piece;
            length -= piece;
        }
    }
}

void link_rotations(const std::uint8_t* column, std::uint32_t size, const std::uint32_t* counts,
                    std::uint32_t* links) {
    std::array<std::uint32_t*, 256> next{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        next[byte] = links;
        links += counts[byte];
    }
    for (std::uint32_t i = 0; i < size; ++i) *next[column[i]]++ = i << 8 | column[i];
}

std::uint32_t checksum_of(std::span<const std::uint8_t> bytes) {
    std::array<char, std::size_t{1} << 14> piece{};
    run_expander expander(bytes);
    std::uint32_t checksum = ~0U;
    while (const std::size_t count = expander.expand(piece)) {
        checksum = update_checksum(checksum, {piece.data(), count});
    }
    return ~checksum;
}

}  // namespace

void block_decoder::free_pages::operator()(std::uint32_t* pages) const noexcept {
    ::munmap(pages, bytes);
}

block_decoder::block_decoder() : links_(nullptr, {0}), column_(largest_block), arena_() {
    constexpr std::size_t bytes = std::size_t{4} << 20;
    static_assert(bytes >= (largest_block + 1) * sizeof(std::uint32_t));
    void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    links_ = {static_cast<std::uint32_t*>(pages), {bytes}};
    ::madvise(pages, bytes, MADV_HUGEPAGE);  // random reads: fewer address translations
    arena_.resize(std::size_t{max_chunks} * chunk_bytes);
}

void block_decoder::decode(std::span<const std::uint8_t> packed, std::uint64_t start_bit, block& result) {
    packed = packed.first(packed.size() - padding);
    std::array<std::uint32_t, 256> counts{};
    const column_result column = decode_column(packed, start_bit, column_.data(), counts.data());
    result.end_bit = column.end_bit;
    result.checksum = column.checksum;
    result.problem = column.problem;
    if (column.problem != nullptr) {
        result.state = column.problem == bits_ended ? block_state::cut_off : block_state::damaged;
        return;
    }
    if (column.randomised) return decode_randomised(packed, start_bit, result);
    link_rotations(column_.data(), column.size, counts.data(), links_.get());
    chain_walker walker(links_.get(), column.size, column.origin, arena_.data());
    walker.walk();
    result.bytes.resize(column.size);
    walker.join(result.bytes.data());
    const bool right = checksum_of(result.bytes) == column.checksum;
    result.state = right ? block_state::whole : block_state::damaged;
    if (!right) result.problem = "checksum mismatch";
}

}  // namespace quern::io::bzip2
