// SPDX-License-Identifier: Apache-2.0
// Fuzzy-hash signatures and their candidates by definition: the thesis's pseudocode with ssdeep's rolling hash and FNV-1a,
// one block size after another; then every pair by the whole table of the edit distance.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/ops/near_duplicates.hpp"

namespace quern::reference {

class rolling_hash {
  public:
    std::uint32_t update(std::uint8_t byte) {
        h2_ -= h1_;
        h2_ += 7u * byte;
        h1_ += byte;
        h1_ -= window_[n_ % 7];
        window_[n_ % 7] = byte;
        ++n_;
        h3_ <<= 5;
        h3_ ^= byte;
        return h1_ + h2_ + h3_;
    }

  private:
    std::uint32_t h1_ = 0, h2_ = 0, h3_ = 0, n_ = 0;
    std::array<std::uint8_t, 7> window_{};
};

inline std::string letters_at(std::string_view text, std::uint64_t block_size) {
    const std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    rolling_hash rolling;
    std::uint64_t hash = 0xcbf29ce484222325;
    std::string letters;
    for (const char c : text) {
        const auto byte = static_cast<std::uint8_t>(c);
        hash = (hash ^ byte) * 0x100000001b3;
        if (rolling.update(byte) % block_size == block_size - 1) {
            letters += alphabet[(hash ^ (hash >> 32)) & 63];
            hash = 0xcbf29ce484222325;
        }
    }
    return letters;
}

inline fuzzy_signature signature_of(std::string_view text, unsigned length) {
    std::uint64_t block_size = 1;
    while (letters_at(text, block_size).size() > length) block_size *= 2;
    return {block_size, letters_at(text, block_size), letters_at(text, 2 * block_size)};
}

inline std::uint64_t table_distance(std::string_view a, std::string_view b) {
    const std::size_t width = b.size() + 1;
    std::vector<std::uint32_t> table((a.size() + 1) * width);
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            std::uint32_t* const cell = &table[i * width + j];
            if (i == 0 || j == 0)
                *cell = static_cast<std::uint32_t>(i + j);
            else
                *cell = std::min({*(cell - width) + 1, *(cell - 1) + 1,
                                  *(cell - width - 1) + (a[i - 1] == b[j - 1] ? 0 : 1)});
        }
    return table.back();
}

/// distance / total < slack · threshold, or both strings empty and the product above 0. Small decimals only.
inline bool allows(const duplicate_options& options, std::uint64_t distance, std::uint64_t total) {
    const std::uint64_t above = options.slack.numerator * options.threshold.numerator;
    const std::uint64_t below = options.slack.denominator * options.threshold.denominator;
    return total == 0 ? above > 0 : distance * below < above * total;
}

inline bool are_candidates(const duplicate_options& options, std::string_view a, std::string_view b) {
    const std::size_t least = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
    if (!allows(options, least, a.size() + b.size())) return false;
    return allows(options, table_distance(a, b), a.size() + b.size());
}

inline bool in_scope(const duplicate_scope& scope, std::size_t a, std::size_t b) {
    return a < b && b >= scope.first_new && (scope.within_new || a < scope.first_new);
}

inline bool are_candidates(const duplicate_options& options, const fuzzy_signature& a,
                           const fuzzy_signature& b) {
    if (are_candidates(options, a.letters, b.letters)) return true;
    if (options.method != duplicate_method::signature) return false;
    if (a.block_size == 2 * b.block_size) return are_candidates(options, a.letters, b.letters_at_double);
    if (b.block_size == 2 * a.block_size) return are_candidates(options, b.letters, a.letters_at_double);
    return a.block_size == b.block_size && are_candidates(options, a.letters_at_double, b.letters_at_double);
}

inline std::vector<std::pair<std::uint32_t, std::uint32_t>> signature_candidates(
    const std::vector<fuzzy_signature>& signatures, const duplicate_options& options,
    const duplicate_scope& scope) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (std::uint32_t a = 0; a < signatures.size(); ++a)
        for (std::uint32_t b = a + 1; b < signatures.size(); ++b)
            if (in_scope(scope, a, b) && are_candidates(options, signatures[a], signatures[b]))
                found.emplace_back(a, b);
    return found;
}

}  // namespace quern::reference
