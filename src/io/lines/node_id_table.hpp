// SPDX-License-Identifier: Apache-2.0
// Node ids as read → small numbers, in the order in which one thread first saw them. These numbers depend on the
// threads; the node numbers that numbering.cpp derives from them do not.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.hpp"

namespace quern::io {

/// Names. Open addressing; a slot keeps 32 bits of the hash and the position of the name, so that a name is compared
/// only if it is probably equal, and is found with two memory reads. Look-ups are batched and prefetched.
class word_table {
  public:
    static constexpr std::size_t at_once = 64;

    /// Numbers from 0, in the order of first occurrence. At most at_once names; at most 2^32 - 2 in total.
    void numbers_of(std::span<const std::string_view> names, std::uint32_t* numbers) {
        if ((size() + names.size()) * 2 >= slots_.size()) rehash();
        std::uint64_t hashes[at_once] = {};
        prefetch(names, hashes);
        for (std::size_t i = 0; i < names.size(); ++i) numbers[i] = number_of(names[i], hashes[i]);
    }
    /// The number of a name; UINT32_MAX if there is none. Thread-safe while no name is added.
    std::uint32_t find(std::string_view name) const {
        return slots_.empty() ? UINT32_MAX : find(name, hash64(name));
    }
    /// The same for at most at_once names.
    void find(std::span<const std::string_view> names, std::uint32_t* numbers) const {
        if (slots_.empty()) return static_cast<void>(std::fill_n(numbers, names.size(), UINT32_MAX));
        std::uint64_t hashes[at_once] = {};
        prefetch(names, hashes);
        for (std::size_t i = 0; i < names.size(); ++i) numbers[i] = find(names[i], hashes[i]);
    }
    std::uint64_t size() const { return begins_.size(); }
    std::string_view at(std::uint64_t i) const { return name_at(begins_[i]); }
    std::uint64_t bytes_held() const {
        return slots_.capacity() * sizeof(slot) + begins_.capacity() * sizeof(std::uint64_t) +
               bytes_.capacity();
    }

  private:
    struct slot {
        std::uint32_t tag = 0, number = 0;  ///< number + 1; 0: free
        std::uint64_t begin = 0;
    };
    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

    /// Hashes the names, and prefetches their slots.
    void prefetch(std::span<const std::string_view> names, std::uint64_t* hashes) const {
        for (std::size_t i = 0; i < names.size(); ++i) {
            hashes[i] = hash64(names[i]);
            __builtin_prefetch(&slots_[hashes[i] & mask_]);
        }
        for (std::size_t i = 0; i < names.size(); ++i)
            __builtin_prefetch(bytes_.data() + slots_[hashes[i] & mask_].begin);
    }
    std::uint32_t find(std::string_view name, std::uint64_t hash) const {
        for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
            const slot here = slots_[at];
            if (here.number == 0) return UINT32_MAX;
            if (here.tag == tag_of(hash) && name_at(here.begin) == name) return here.number - 1;
        }
    }
    /// Its length, then its bytes.
    std::string_view name_at(std::uint64_t begin) const {
        std::uint32_t length;
        std::memcpy(&length, bytes_.data() + begin, sizeof length);
        return {bytes_.data() + begin + sizeof length, length};
    }
    std::uint32_t number_of(std::string_view name, std::uint64_t hash) {
        for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
            const slot here = slots_[at];
            if (here.number == 0) {
                slots_[at] = add(name, tag_of(hash));
                return slots_[at].number - 1;
            }
            if (here.tag == tag_of(hash) && name_at(here.begin) == name) return here.number - 1;
        }
    }
    slot add(std::string_view name, std::uint32_t tag) {
        const std::uint64_t begin = bytes_.size();
        const auto length = static_cast<std::uint32_t>(name.size());
        const auto* const bytes = reinterpret_cast<const char*>(&length);
        bytes_.insert(bytes_.end(), bytes, bytes + sizeof length);
        bytes_.insert(bytes_.end(), name.begin(), name.end());
        begins_.push_back(begin);
        return {tag, static_cast<std::uint32_t>(begins_.size()), begin};
    }
    void rehash() {
        std::vector<slot> larger(slots_.empty() ? 1024 : 2 * slots_.size());
        mask_ = larger.size() - 1;
        for (std::uint64_t i = 0; i < size(); ++i) {
            const std::uint64_t hash = hash64(at(i));
            std::uint64_t free = hash & mask_;
            while (larger[free].number != 0) free = (free + 1) & mask_;
            larger[free] = {tag_of(hash), static_cast<std::uint32_t>(i + 1), begins_[i]};
        }
        slots_ = std::move(larger);
    }

    std::vector<slot> slots_;
    std::uint64_t mask_ = 0;
    std::vector<char> bytes_;
    std::vector<std::uint64_t> begins_;
};

/// Integers of 64 bits.
class integer_table {
  public:
    std::uint32_t number_of(std::uint64_t value) {
        if (size() * 2 >= slots_.size()) rehash();
        for (std::uint64_t at = slot_of(value);; at = (at + 1) & mask_) {
            const std::uint32_t number = slots_[at];
            if (number == 0) {
                values_.push_back(value);
                return (slots_[at] = static_cast<std::uint32_t>(values_.size())) - 1;
            }
            if (values_[number - 1] == value) return number - 1;
        }
    }
    std::uint64_t size() const { return values_.size(); }
    std::uint64_t at(std::uint64_t i) const { return values_[i]; }
    std::uint64_t bytes_held() const {
        return slots_.capacity() * sizeof(std::uint32_t) + values_.capacity() * sizeof(std::uint64_t);
    }

  private:
    std::uint64_t slot_of(std::uint64_t value) const {
        return ((value ^ value >> 32) * 0x9e3779b97f4a7c15) >> shift_;
    }
    void rehash() {
        const std::uint64_t size = slots_.empty() ? 1024 : 2 * slots_.size();
        mask_ = size - 1;
        shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
        slots_.assign(size, 0);
        for (std::uint64_t i = 0; i < values_.size(); ++i) {
            std::uint64_t free = slot_of(values_[i]);
            while (slots_[free] != 0) free = (free + 1) & mask_;
            slots_[free] = static_cast<std::uint32_t>(i + 1);
        }
    }

    std::vector<std::uint32_t> slots_;
    std::uint64_t mask_ = 0;
    unsigned shift_ = 64;
    std::vector<std::uint64_t> values_;
};

}  // namespace quern::io
