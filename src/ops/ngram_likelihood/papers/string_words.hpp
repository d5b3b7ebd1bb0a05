// SPDX-License-Identifier: Apache-2.0
// Words of a text as strings, compared byte by byte. A plain header, which nvcc reads too.
#pragma once

#include <cstdint>

namespace quern::ngram_detail {

/// Word i is text[begins[i], ends[i]).
struct words_by_letters {
    const std::uint8_t* text;
    const std::uint32_t *begins, *ends;

    constexpr bool equal(std::uint64_t a, std::uint64_t b) const { return compare(a, b) == 0; }
    constexpr int compare(std::uint64_t a, std::uint64_t b) const {
        const std::uint32_t a_length = ends[a] - begins[a], b_length = ends[b] - begins[b],
                            both = a_length < b_length ? a_length : b_length;
        const std::uint8_t *const of_a = text + begins[a], *const of_b = text + begins[b];
        for (std::uint32_t i = 0; i < both; ++i)
            if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
        return a_length == b_length ? 0 : a_length < b_length ? -1 : 1;
    }
};

/// Whether the words at one position sort before those at another, up to the words left: an end is before every word.
struct words_before {
    words_by_letters words;
    const std::uint8_t* left;

    constexpr bool operator()(std::uint32_t a, std::uint32_t b) const {
        const unsigned a_left = left[a], b_left = left[b], both = a_left < b_left ? a_left : b_left;
        for (unsigned n = 0; n < both; ++n) {
            const int order = words.compare(std::uint64_t{a} + n, std::uint64_t{b} + n);
            if (order != 0) return order < 0;
        }
        return a_left < b_left;
    }
};

/// From starts and lengths to begins and ends.
struct narrow_words {
    const std::uint64_t* starts;
    const std::uint32_t* lengths;
    std::uint32_t *begins, *ends;
    constexpr void operator()(std::uint64_t i) const {
        begins[i] = static_cast<std::uint32_t>(starts[i]);
        ends[i] = begins[i] + lengths[i];
    }
};

}  // namespace quern::ngram_detail
