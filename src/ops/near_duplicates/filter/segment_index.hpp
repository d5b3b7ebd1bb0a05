// SPDX-License-Identifier: Apache-2.0
// An index of the segments of texts of one length (segments.hpp), and the texts that share one with another text. Kept for
// one length at a time: it is small, and its parts stay in the cache.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bits.hpp"
#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"
#include "ops/near_duplicates/filter/unit_parities.hpp"

namespace quern::near_duplicates_detail {

/// Texts by ascending length, numbered in this order.
struct texts_by_length {
    std::span<const std::uint32_t> texts, lengths;
    std::span<const std::uint64_t> parities;  ///< of their counts (unit_parities.hpp)
};

/// Hashes of all parts of a text: each in constant time, after one pass.
template <class Unit>
class part_hashes {
  public:
    void set(std::span<const Unit> text) {
        while (powers_.size() <= text.size()) powers_.push_back(powers_.back() * base);
        sums_.resize(text.size() + 1);
        for (std::size_t i = 0; i < text.size(); ++i) sums_[i + 1] = sums_[i] * base + text[i] + 1;
    }
    /// Of the units first, …, last - 1, as segment `segment`.
    std::uint64_t of(std::uint32_t segment, std::uint32_t first, std::uint32_t last) const {
        std::uint64_t hash = sums_[last] - sums_[first] * powers_[last - first];
        hash = (hash ^ (segment + std::uint64_t{1}) * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
        hash = (hash ^ hash >> 32) * 0xc4ceb9fe1a85ec53;
        return hash ^ hash >> 29;
    }

  private:
    static constexpr std::uint64_t base = 0x9ddfea08eb382d69;
    std::vector<std::uint64_t> powers_{1}, sums_{0};
};

/// The index of the texts `range`, all of the length of the last cut.
class segment_index {
  public:
    /// Bytes of memory for each text, and for all together, at most.
    static constexpr std::uint64_t bytes_of_a_text(std::size_t segments) { return 40 * segments; }
    static constexpr std::uint64_t more_bytes = 4096;
    static constexpr std::uint64_t max_segments = 0xffffffff;  ///< of all texts together
    static constexpr std::uint32_t long_list =
        64;  ///< of texts, so that it is worth knowing that all are connected

    template <class Unit>
    segment_index(cpu_place& place, const unit_texts<Unit>& texts, const texts_by_length& list,
                  class_range range, std::span<const std::uint32_t> cuts, bool links)
        : segments_(cuts.size() - 1) {
        const std::size_t n = (range.last - range.first) * segments_;
        bits_ = std::max(binary_digits(n), 4u);
        keys_ = cpu_array<std::uint64_t>(place, n, what_for);
        const std::size_t pieces = pieces_for(place, range.last - range.first, 256);
        for_each_piece(place, pieces, [&](std::size_t p) {
            place.ctx().check_stop();
            const item_range mine = piece_of(range.last - range.first, pieces, p);
            part_hashes<Unit> hashes;
            std::vector<Unit> scratch;
            for (std::size_t i = mine.begin; i < mine.end; ++i) {
                hashes.set(texts.read(list.texts[range.first + i], scratch));
                for (std::uint32_t s = 0; s < segments_; ++s)
                    keys_.data()[i * segments_ + s] = hashes.of(s, cuts[s], cuts[s + 1]);
            }
        });
        fill(place, list, range.first, links);
    }

    /// A list of texts, some of which may have the segment: entries begin, …, end - 1.
    struct list {
        std::uint32_t begin, end, bucket;
    };
    void prefetch(std::uint64_t key) const { __builtin_prefetch(bits_of_buckets_.data() + bucket_of(key)); }
    /// False for most keys that no text has. 2 bytes for each bucket, which stay cached where the lists do not.
    bool may_have(std::uint64_t key) const {
        const std::size_t bucket = bucket_of(key);
        if ((bits_of_buckets_.data()[bucket] >> bit_of(key) & 1u) == 0) return false;
        __builtin_prefetch(begins_.data() + bucket);
        return true;
    }
    list find(std::uint64_t key) const {
        const std::size_t bucket = bucket_of(key);
        const list found{begins_.data()[bucket], begins_.data()[bucket + 1],
                         static_cast<std::uint32_t>(bucket)};
        if (found.begin != found.end) __builtin_prefetch(entries_.data() + found.begin);
        return found;
    }
    bool has_key(std::uint32_t entry, std::uint64_t key) const {
        return entries_.data()[entry].check == static_cast<std::uint32_t>(key);
    }
    std::uint32_t number(std::uint32_t entry) const { return entries_.data()[entry].number; }
    /// Of the texts of all entries.
    const std::uint64_t* parities() const { return parities_.data(); }

    /// Whether all texts of a list are known to be connected. Only with links; any thread.
    bool is_connected(const list& some) const { return mark_of(some).load(std::memory_order_relaxed) != 0; }
    void mark_connected(const list& some) { mark_of(some).store(1, std::memory_order_relaxed); }

  private:
    static constexpr const char* what_for = "an index of segments";
    struct entry {
        std::uint32_t check, number;
    };
    std::size_t bucket_of(std::uint64_t key) const { return key >> (64 - bits_); }
    unsigned bit_of(std::uint64_t key) const { return key >> (60 - bits_) & 15; }
    std::atomic_ref<std::uint8_t> mark_of(const list& some) const {
        return std::atomic_ref<std::uint8_t>(marks_.data()[some.bucket]);
    }
    void fill(cpu_place& place, const texts_by_length& list, std::uint32_t first, bool links);

    std::size_t segments_;
    unsigned bits_ = 0;
    cpu_array<std::uint64_t> keys_, parities_;
    cpu_array<std::uint32_t> begins_;  ///< of the entries of each bucket, and the end
    cpu_array<std::uint16_t> bits_of_buckets_;
    cpu_array<entry> entries_;
    cpu_array<std::uint8_t> marks_;
};

}  // namespace quern::near_duplicates_detail
