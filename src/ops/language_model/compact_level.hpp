// SPDX-License-Identifier: Apache-2.0
// The n-grams of one length of a compact model, as pointers to its parts (compact_layout.hpp), and where a node's children
// begin: for code on the CPU and in kernels.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bits.hpp"
#include "ops/language_model/compact_layout.hpp"

namespace quern::compact_layout {

/// Values as codes of so many bits.
struct value_codes {
    unsigned bits = 0;
    const float* table = nullptr;
    std::uint64_t values =
        0;  ///< of the table; 0: the codes are the values' bits, the sign dropped if there are 31

    constexpr float value(std::uint64_t code) const {
        if (values != 0) return code < values ? table[code] : 0;
        return std::bit_cast<float>(
            static_cast<std::uint32_t>(code | (bits == 31 ? std::uint64_t{1} << 31 : 0)));
    }
};

struct node_range {
    std::uint64_t begin, end;
};

struct level {
    std::uint64_t size = 0;
    unsigned word_bits = 0, record_bits = 0;
    value_codes probabilities, back_offs;
    const std::uint64_t* records = nullptr;
    const std::uint32_t* first_children = nullptr;  ///< of the first level; none for the last
    const std::uint64_t* child_bits = nullptr;      ///< of the levels between, as the next
    const std::uint64_t* child_samples = nullptr;
    const std::uint64_t* far_children = nullptr;
    std::uint64_t samples = 0, far = 0;

    /// Not for the last level.
    constexpr node_range children(std::uint32_t node) const {
        if (first_children != nullptr) return {first_children[node], first_children[node + 1]};
        const std::uint64_t sample = child_samples[node / sample_nodes];
        if ((sample & is_far) != 0) {
            const std::uint64_t* const begins = far_children + (sample ^ is_far) + node % sample_nodes;
            return {begins[0], begins[1]};
        }
        // The first bit of the node: after as many ones as there are nodes before it in the sample.
        std::uint64_t at = sample, word = child_bits[at / 64] >> (at % 64) << (at % 64);
        std::uint64_t before = node % sample_nodes, next = at / 64;
        for (std::uint64_t ones = count_of_ones(word); before != 0 && ones < before;
             ones = count_of_ones(word)) {
            before -= ones;
            word = child_bits[++next];
        }
        if (before != 0) {
            for (; before > 1; --before) word &= word - 1;
            at = next * 64 + trailing_zeros(word) + 1;
            word &= word - 1;
        }
        while (word == 0) word = child_bits[++next];
        const std::uint64_t end = next * 64 + trailing_zeros(word);
        return {at - node, end - node};
    }
};

}  // namespace quern::compact_layout
