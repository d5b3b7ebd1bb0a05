// SPDX-License-Identifier: Apache-2.0
// What kernels share that read lists: values and bounds by the scoring rule, and which lists an object was seen in.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "device/cuda/check.cuh"
#include "ops/top_k/device_lists.hpp"

namespace quern::top_k_detail {

inline constexpr unsigned block_threads = 256;

/// Lists with a rule.
template <class Score>
struct ranked_table {
    const list_there<Score>* lists;
    unsigned size;
    aggregate rule;
    double constant, weights;

    __device__ double value(unsigned list, Score score, std::uint64_t rank) const {
        return value_of(rule, lists[list].weight, constant, static_cast<double>(score), rank);
    }
    __device__ double floor_value(unsigned list) const {
        return value_of_floor(rule, lists[list].weight, lists[list].floor);
    }
    /// What an object counts at most that is not among the first `depth` entries.
    __device__ double bound(unsigned list, std::uint64_t depth) const {
        const list_there<Score>& of = lists[list];
        if (depth >= of.size) return floor_value(list);
        const std::uint64_t at = depth == 0 ? 0 : depth - 1;
        return value(list, of.scores[at], at + 1);
    }
};

template <class Score>
ranked_table<Score> table_of(const device_lists<Score>& lists, const scoring& rule) {
    return {lists.table(), static_cast<unsigned>(lists.size()), rule.rule(), rule.constant(), rule.weights()};
}

/// The best objects while they are on the device, in one piece with what else goes to the host: each transfer waits.
class best_there {
  public:
    best_there(cuda_place& place, std::size_t size, std::size_t bytes_beside)
        : size_(size),
          beside_(bytes_beside),
          memory_(place, beside_ + size * (sizeof(double) + sizeof(std::uint32_t)), "the best objects") {}
    std::size_t size() const { return size_; }
    device_span<double> scores() const {
        return {reinterpret_cast<double*>(memory_.data() + beside_), size_};
    }
    device_span<std::uint32_t> ids() const {
        return {reinterpret_cast<std::uint32_t*>(memory_.data() + beside_ + size_ * sizeof(double)), size_};
    }
    std::byte* beside() const { return memory_.data(); }
    /// `beside`: null, or where what stands beside goes.
    void to_host(cuda_place& place, device_answer& answer, void* beside = nullptr) const {
        const std::vector<std::byte> all = quern::to_host(place, memory_.span());
        answer.scores.resize(size_);
        answer.ids.resize(size_);
        if (beside != nullptr) std::memcpy(beside, all.data(), beside_);
        if (size_ == 0) return;
        std::memcpy(answer.scores.data(), all.data() + beside_, size_ * sizeof(double));
        std::memcpy(answer.ids.data(), all.data() + beside_ + size_ * sizeof(double),
                    size_ * sizeof(std::uint32_t));
    }

  private:
    std::size_t size_, beside_;  ///< bytes, a multiple of 8
    cuda_array<std::byte> memory_;
};

/// A value that was not seen: no value is it. What memory holds that is filled with the byte 0xff.
__device__ inline bool is_missing(double value) {
    return value != value;
}

/// For each object the set of lists it was seen in, of a power of two bits, so that an object's bits share a word.
/// Word: uint32 for up to 32 lists, else uint64 (of one object).
template <class Word>
struct seen_lists {
    Word* words;
    unsigned bits;     ///< of an object: lists, rounded up to a power of two
    unsigned packing;  ///< log2 of the objects in a word
    Word all;          ///< a bit for each list

    __device__ Word of_word(Word word, unsigned place) const {
        return static_cast<Word>(word >> (place * bits)) & all;
    }
    __device__ unsigned place(std::uint32_t id) const { return id & ((1u << packing) - 1); }
    __device__ Word of(std::uint32_t id) const { return of_word(words[id >> packing], place(id)); }
    __device__ Word bit(std::uint32_t id, unsigned list) const {
        return static_cast<Word>(Word{1} << (place(id) * bits + list));
    }
    /// What the object was seen in before.
    __device__ Word mark(std::uint32_t id, unsigned list) const {
        return of_word(exchange_or(words + (id >> packing), bit(id, list)), place(id));
    }
    /// How many lists it lacks of those that have not ended.
    __device__ unsigned lacking(Word seen, Word ended) const {
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
/// Words for so many objects.
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

}  // namespace quern::top_k_detail
