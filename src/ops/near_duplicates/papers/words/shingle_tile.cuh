// SPDX-License-Identifier: Apache-2.0
// Sets of shingles on a GPU: tiles of documents whose sets are in device memory at once, made from the words whenever they
// are needed, as on the CPU.
//
// A shingle's key is its count (8 bits) before the first 56 bits of its hash, so that the order of keys is the order of
// prefixes, rare ones first. Different shingles with one key stay different elements of a set: words decide.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "ops/near_duplicates/papers/words/shingle.hpp"
#include "ops/near_duplicates/papers/words/shingle_bound.hpp"
#include "ops/near_duplicates/papers/words/shingle_set.hpp"

namespace quern::near_duplicates_detail {

/// As shingle_counts, with the same numbers for as much memory: bytes, four in an element.
class device_shingle_counts {
  public:
    device_shingle_counts(cuda_place& place, cpu_place& host, const word_list& documents,
                          const shingle_rule& rule);

    const std::uint32_t* data() const { return counts_.data(); }
    unsigned shift() const { return shift_; }

  private:
    unsigned shift_ = 0;
    cuda_array<std::uint32_t> counts_;
};

/// The words of some documents (records of a tile), for kernels.
struct tile_words {
    const std::uint32_t* words;
    const std::uint64_t* offsets;  ///< one more than records
    std::uint64_t size;            ///< of words
};

/// The sets of a tile, for kernels. Keys ascend within a set; those that occur once in the collection are only counted.
struct tile_sets {
    tile_words text;
    const std::uint64_t* offsets;  ///< one more than records
    const std::uint64_t* keys;
    const std::uint32_t* at;  ///< of each key: a position in text.words where the shingle begins
    const std::uint32_t* once;
    unsigned width;  ///< of shingles
};

struct shingle_tile {
    std::uint32_t first = 0, records = 0;  ///< the number of the first record; how many
    cuda_array<std::uint32_t> words;
    cuda_array<std::uint64_t> word_offsets;
    cuda_array<std::uint64_t> set_offsets, keys;
    cuda_array<std::uint32_t> at, once;
    cuda_array<std::uint64_t> hash_sums;  ///< by record: the sum of the mixed keys
    unsigned width = 0;

    tile_words text() const { return {words.data(), word_offsets.data(), words.size()}; }
    tile_sets sets() const {
        return {text(), set_offsets.data(), keys.data(), at.data(), once.data(), width};
    }
};

/// Makes the sets of documents[which[i]]. Device memory while it runs: 34 bytes a word and 50 a record; the result
/// has 4 bytes a word, 12 a shingle that others may share and 28 a record. Host memory: at most 64 MiB. Synchronises.
shingle_tile make_tile(cuda_place& place, cpu_place& host, const device_shingle_counts& counts,
                       const word_list& documents, std::span<const std::uint32_t> which,
                       const shingle_rule& rule);

/// The size and hash of each document's set. Memory as make_tile, in parts; 16 bytes a document of the host's.
set_measures measure_sets(cuda_place& place, cpu_place& host, const device_shingle_counts& counts_of,
                          const word_list& documents, const shingle_rule& rule);

/// Device memory for a tile's words and records until its prefixes are sorted, at most.
inline constexpr std::uint64_t tile_bytes_per_word = 56, tile_bytes_per_record = 120;

/// The end of the tile that begins at which[begin]: as many documents as `bytes` hold, at least one.
std::size_t end_of_tile(const word_list& documents, std::span<const std::uint32_t> which, std::size_t begin,
                        std::uint64_t bytes);

/// Whether the shingles that begin at two positions of two records are the same words.
__device__ inline bool same_shingle(const tile_words& x, std::uint32_t x_record, std::uint64_t i,
                                    const tile_words& y, std::uint32_t y_record, std::uint64_t j,
                                    unsigned width) {
    const std::uint64_t x_length = x.offsets[x_record + 1] - x.offsets[x_record],
                        y_length = y.offsets[y_record + 1] - y.offsets[y_record];
    const auto length = static_cast<unsigned>(min(x_length, static_cast<std::uint64_t>(width)));
    if (length != static_cast<unsigned>(min(y_length, static_cast<std::uint64_t>(width)))) return false;
    for (unsigned k = 0; k < length; ++k)
        if (x.words[i + k] != y.words[j + k]) return false;
    return true;
}

/// The first of [begin, end) that is not below `value`.
template <class T>
__device__ std::uint64_t first_not_below(const T* values, std::uint64_t begin, std::uint64_t end, T value) {
    while (begin < end) {
        const std::uint64_t middle = begin + (end - begin) / 2;
        if (values[middle] < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

}  // namespace quern::near_duplicates_detail
