// SPDX-License-Identifier: Apache-2.0
// A key and its id as one number, so that "better" is one comparison, no two are equal, and the k best are a unique set for
// any search order. For every place.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "primitives/top_k/top_k.hpp"
#include "primitives/types.hpp"

namespace quern::primitives::top_k_detail {

__extension__ using uint128 = unsigned __int128;

/// The order of one selection. A key *turned* is smaller if it is better: itself for `least`, for `greatest` its negative
/// (floats) or its complement (integers), which one exclusive-or computes in both cases.
///
/// A composite holds the turned key, as an unsigned number in the same order, above 32 bits of id; the smallest is the
/// best. The two zeros are equal keys with neighbouring numbers, so a zero is the number of the first plus twice its id
/// plus its sign: ordered by id, and both the id and the sign can be recovered.
template <sortable_key Key>
class ranking {
  public:
    using word = std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>;
    using composite = std::conditional_t<sizeof(Key) == 4, std::uint64_t, uint128>;

    static constexpr bool floating = floating_value<Key>;
    static constexpr word top_bit = word{1} << (8 * sizeof(word) - 1);
    /// Worse than or equal to any possible composite.
    static constexpr composite worst = composite{static_cast<word>(~word{0})} << 32 | 0xffffffffu;

    constexpr explicit ranking(best which)
        : flip_(which == best::least ? word{0}
                : floating           ? top_bit
                                     : static_cast<word>(~word{0})) {}

    constexpr word flip() const { return flip_; }
    constexpr Key turned(Key key) const {
        return std::bit_cast<Key>(static_cast<word>(std::bit_cast<word>(key) ^ flip_));
    }

    /// A turned key, not a NaN, and its id.
    static constexpr composite pack(Key turned, std::uint32_t id) {
        const word bits = std::bit_cast<word>(turned);
        if constexpr (floating) {
            const word sign = bits >> (8 * sizeof(word) - 1);
            if (static_cast<word>(bits << 1) == 0)
                return (composite{first_zero} << 32) + (std::uint64_t{id} << 1 | sign);
            const word rising = sign != 0 ? static_cast<word>(~bits) : static_cast<word>(bits | top_bit);
            return composite{rising} << 32 | id;
        } else {
            const word rising = std::signed_integral<Key> ? static_cast<word>(bits ^ top_bit) : bits;
            return composite{rising} << 32 | id;
        }
    }

    static constexpr Key turned_of(composite packed) {
        const word rising = static_cast<word>(packed >> 32);
        if constexpr (floating) {
            if (is_zero(rising))
                return std::bit_cast<Key>(static_cast<word>((packed & 1) != 0 ? top_bit : 0));
            return std::bit_cast<Key>(
                static_cast<word>((rising & top_bit) != 0 ? rising ^ top_bit : ~rising));
        } else {
            return std::bit_cast<Key>(std::signed_integral<Key> ? static_cast<word>(rising ^ top_bit)
                                                                : rising);
        }
    }
    constexpr Key key_of(composite packed) const { return turned(turned_of(packed)); }

    static constexpr std::uint32_t id_of(composite packed) {
        if constexpr (floating) {
            if (is_zero(static_cast<word>(packed >> 32)))
                return static_cast<std::uint32_t>((packed - (composite{first_zero} << 32)) >> 1);
        }
        return static_cast<std::uint32_t>(packed);
    }

  private:
    static constexpr word first_zero = top_bit - 1;  // the number of −0; that of +0 follows
    static constexpr bool is_zero(word rising) { return rising == first_zero || rising == top_bit; }

    word flip_;
};

/// A threshold by sample: the rank in a sorted sample of `sample` out of n such that at least k of all n are as good,
/// except for one sample in a million (how many of the k best a sample contains is about Poisson-distributed).
std::uint64_t sample_rank(std::uint64_t n, std::uint64_t k, std::uint64_t sample);

/// The same if `threads` threads sample `rounds` keys each and only the best of every threads / groups threads is kept: the
/// `least`-th best of these `groups` (counted from 1) is the threshold, and almost surely at most `max` of all n are as
/// good. `least` 0: no threshold is useful.
struct sampling {
    unsigned rounds, least;
    std::uint64_t max;
};
sampling sampling_for(std::uint64_t n, std::uint64_t k, unsigned threads, unsigned groups,
                      unsigned max_rounds);

}  // namespace quern::primitives::top_k_detail
