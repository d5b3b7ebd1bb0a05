// SPDX-License-Identifier: Apache-2.0
// Sets of documents as bits: document d is bit d % 64 of word d / 64.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quern::search_detail {

inline constexpr std::uint64_t words_of_bits(std::uint64_t documents) {
    return (documents + 63) / 64;
}

/// Reads a set of documents; past the last word there are none.
class bit_reader {
  public:
    bit_reader() = default;
    explicit bit_reader(std::span<const std::uint64_t> bits) : bits_(bits) {}

    /// The document must be below 64 times the number of words.
    bool contains(std::uint32_t document) const { return (bits_[document / 64] >> document % 64 & 1) != 0; }
    /// The documents [first, first + 64), the first one as the lowest bit.
    std::uint64_t from(std::uint64_t first) const {
        const std::size_t at = first / 64;
        const auto shift = static_cast<unsigned>(first % 64);
        const std::uint64_t low = at < bits_.size() ? bits_[at] >> shift : 0;
        return shift == 0 || at + 1 >= bits_.size() ? low : low | bits_[at + 1] << (64 - shift);
    }
    /// The lowest document of the set at or after `first`; `none` if there is no such document.
    std::uint64_t next(std::uint64_t first, std::uint64_t none) const {
        for (std::uint64_t at = first; at < 64 * bits_.size(); at = (at / 64 + 1) * 64)
            if (const std::uint64_t rest = bits_[at / 64] >> at % 64; rest != 0)
                return at + static_cast<std::uint64_t>(std::countr_zero(rest));
        return none;
    }
    /// How many are in [begin, end).
    std::uint64_t count(std::uint64_t begin, std::uint64_t end) const {
        std::uint64_t found = 0;
        for (; begin < end; begin += 64)
            found += static_cast<std::uint64_t>(std::popcount(from(begin) & first_bits(end - begin)));
        return found;
    }
    /// Whether at most `max` are in [begin, end). Reads no more words than it needs.
    bool has_at_most(std::uint64_t max, std::uint64_t begin, std::uint64_t end) const {
        for (std::uint64_t found = 0; begin < end; begin += 64) {
            const std::uint64_t here = from(begin) & first_bits(end - begin);
            if (here == 0) continue;
            found += static_cast<std::uint64_t>(std::popcount(here));
            if (found > max) return false;
        }
        return true;
    }
    /// Those in [begin, end), ascending.
    template <typename Visit>
    void each(std::uint64_t begin, std::uint64_t end, Visit visit) const {
        for (; begin < end; begin += 64)
            for (std::uint64_t rest = from(begin) & first_bits(end - begin); rest != 0; rest &= rest - 1)
                visit(static_cast<std::uint32_t>(begin + static_cast<std::uint64_t>(std::countr_zero(rest))));
    }

  private:
    static std::uint64_t first_bits(std::uint64_t count) {
        return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    }

    std::span<const std::uint64_t> bits_;
};

/// The documents of a set, numbered from 0 in their order. The bits must outlive it.
class numbered_documents {
  public:
    explicit numbered_documents(std::span<const std::uint64_t> bits) : words_(bits), bits_(bits) {
        before_.reserve(bits.size() + 1);
        std::uint32_t found = 0;
        for (const std::uint64_t word : bits) {
            before_.push_back(found);
            found += static_cast<std::uint32_t>(std::popcount(word));
        }
        before_.push_back(found);
    }

    std::uint32_t size() const { return before_.back(); }
    std::uint64_t bytes() const { return before_.capacity() * sizeof before_[0]; }
    const bit_reader& bits() const { return bits_; }
    /// How many documents of the set are below this one.
    std::uint32_t number(std::uint32_t document) const {
        const std::uint64_t below = words_[document / 64] & ((std::uint64_t{1} << document % 64) - 1);
        return before_[document / 64] + static_cast<std::uint32_t>(std::popcount(below));
    }
    /// The inverse of number(). Cost: the logarithm of the words.
    std::uint32_t document(std::uint32_t number) const {
        const auto at =
            static_cast<std::size_t>(std::ranges::upper_bound(before_, number) - before_.begin()) - 1;
        std::uint64_t word = words_[at];
        for (std::uint32_t i = before_[at]; i < number; ++i) word &= word - 1;
        return static_cast<std::uint32_t>(64 * at) + static_cast<std::uint32_t>(std::countr_zero(word));
    }

  private:
    std::span<const std::uint64_t> words_;
    bit_reader bits_;
    std::vector<std::uint32_t> before_;  // each word: the documents of the set in those before it; then all
};

}  // namespace quern::search_detail
