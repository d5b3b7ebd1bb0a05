// SPDX-License-Identifier: Apache-2.0
// Shared by kernels that read lists: values and bounds by the scoring rule, and the lists each object was seen in.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "device/cuda/check.cuh"
#include "ops/rank_aggregation/device_lists.hpp"

namespace quern::rank_aggregation_detail {

inline constexpr unsigned block_threads = 256;

/// Lists with a rule.
template <class Score>
struct ranked_table {
    const device_list<Score>* lists;
    unsigned size;
    aggregate rule;
    double constant, weights;

    __device__ double value(unsigned list, Score score, std::uint64_t rank) const {
        return value_of(rule, lists[list].weight, constant, static_cast<double>(score), rank);
    }
    __device__ double floor_value(unsigned list) const {
        return value_of_floor(rule, lists[list].weight, lists[list].floor);
    }
    /// The maximum that an object counts if it is not among the first `depth` entries.
    __device__ double bound(unsigned list, std::uint64_t depth) const {
        const device_list<Score>& of = lists[list];
        if (depth >= of.size) return floor_value(list);
        const std::uint64_t at = depth == 0 ? 0 : depth - 1;
        return value(list, of.scores[at], at + 1);
    }
};

template <class Score>
ranked_table<Score> table_of(const device_lists<Score>& lists, const scoring& rule) {
    return {lists.table(), static_cast<unsigned>(lists.size()), rule.rule(), rule.constant(), rule.weights()};
}

/// The best objects while they are on the device, contiguous with other data for the host: each transfer waits.
class device_best {
  public:
    device_best(cuda_place& place, std::size_t size, std::size_t extra_bytes)
        : size_(size),
          extra_bytes_(extra_bytes),
          memory_(place, extra_bytes_ + size * (sizeof(double) + sizeof(std::uint32_t)), "the best objects") {
    }
    std::size_t size() const { return size_; }
    device_span<double> scores() const {
        return {reinterpret_cast<double*>(memory_.data() + extra_bytes_), size_};
    }
    device_span<std::uint32_t> ids() const {
        return {reinterpret_cast<std::uint32_t*>(memory_.data() + extra_bytes_ + size_ * sizeof(double)),
                size_};
    }
    std::byte* extra() const { return memory_.data(); }
    /// `extra`: null, or the destination of the other data.
    void to_host(cuda_place& place, device_result& raw_result, void* extra = nullptr) const {
        const std::vector<std::byte> all = quern::to_host(place, memory_.span());
        raw_result.scores.resize(size_);
        raw_result.ids.resize(size_);
        if (extra != nullptr) std::memcpy(extra, all.data(), extra_bytes_);
        if (size_ == 0) return;
        std::memcpy(raw_result.scores.data(), all.data() + extra_bytes_, size_ * sizeof(double));
        std::memcpy(raw_result.ids.data(), all.data() + extra_bytes_ + size_ * sizeof(double),
                    size_ * sizeof(std::uint32_t));
    }

  private:
    std::size_t size_, extra_bytes_;  ///< bytes, a multiple of 8
    cuda_array<std::byte> memory_;
};

/// A value that was not seen: equal to no value. Memory filled with the byte 0xff.
__device__ inline bool is_missing(double value) {
    return value != value;
}

/// For each object the set of lists it was seen in, of a power of two bits, so that an object's bits are in one word. Word:
/// uint32 for up to 32 lists, otherwise uint64 (of one object).
template <class Word>
struct seen_lists {
    Word* words;
    unsigned bits;     ///< per object: lists, rounded up to a power of two
    unsigned packing;  ///< log2 of the objects in a word
    Word all;          ///< one bit per list

    __device__ Word of_word(Word word, unsigned place) const {
        return static_cast<Word>(word >> (place * bits)) & all;
    }
    __device__ unsigned place(std::uint32_t id) const { return id & ((1u << packing) - 1); }
    __device__ Word of(std::uint32_t id) const { return of_word(words[id >> packing], place(id)); }
    __device__ Word bit(std::uint32_t id, unsigned list) const {
        return static_cast<Word>(Word{1} << (place(id) * bits + list));
    }
    /// Returns the lists in which the object was seen before.
    __device__ Word set_bit(std::uint32_t id, unsigned list) const {
        return of_word(exchange_or(words + (id >> packing), bit(id, list)), place(id));
    }
    /// The number of missing lists among those that have not ended.
    __device__ unsigned missing_lists(Word seen, Word ended) const {
        if constexpr (sizeof(Word) == 4)
            return __popc(all & ~(seen | ended));
        else
            return __popcll(all & ~(seen | ended));
    }

  private:
    __device__ static Word exchange_or(Word* word, Word bits) {
        if constexpr (sizeof(Word) == 4)
            return atomicOr(word, bits);
        else
            return atomicOr(reinterpret_cast<unsigned long long*>(word),
                            static_cast<unsigned long long>(bits));
    }
};

template <class Word>
constexpr unsigned bits_of_object(std::size_t lists) {
    return static_cast<unsigned>(std::bit_ceil(lists));
}
/// Words for that many objects.
template <class Word>
constexpr std::size_t words_of_objects(std::size_t lists, std::uint32_t objects) {
    const std::size_t in_word = 8 * sizeof(Word) / bits_of_object<Word>(lists);
    return (objects + in_word - 1) / in_word;
}
template <class Word>
seen_lists<Word> seen_in(Word* words, std::size_t lists) {
    const unsigned bits = bits_of_object<Word>(lists);
    const unsigned in_word = 8 * sizeof(Word) / bits;
    return {words, bits, static_cast<unsigned>(std::countr_zero(in_word)),
            static_cast<Word>(lists == 8 * sizeof(Word) ? ~Word{0} : (Word{1} << lists) - 1)};
}

// Lists as columns: a cell for each object and list; all bits are set if the object is not in the list.

/// The objects [first, first + size).
struct object_range {
    std::uint32_t first, size;
};

/// The extra memory of fill_columns per object.
template <class Cell>
inline constexpr std::uint64_t extra_bytes = 2 * sizeof(Cell) < 8 ? 8 : 2 * sizeof(Cell);

/// Writes the columns of these objects: list i's at cells + i · stride. Cell: Score for scores; uint32 for ranks.
template <class Score, class Cell>
void fill_columns(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride);

}  // namespace quern::rank_aggregation_detail
