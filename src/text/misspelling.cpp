// SPDX-License-Identifier: Apache-2.0
// Optimal string alignment (Damerau 1964) with a cost for each kind of edit, after Kernighan, Church and Gale, "A
// Spelling Correction Program Based on a Noisy Channel Model", 1990, but without a table of letters, so that it works
// for every language. The costs were chosen on a list of common English misspellings (docs/search.md).
#include "text/misspelling.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/utf8.hpp"

namespace quern::text {
namespace {

constexpr std::uint32_t doubled = 2, exchanged = 3, replaced = 5, first_letter = 2;

std::vector<char32_t> characters(std::string_view word) {
    std::vector<char32_t> all;
    for (std::size_t at = 0; at < word.size();) all.push_back(next_utf8(word, at));
    return all;
}

/// The cost of one additional letter at `i` in a word.
std::uint32_t one_more(const std::vector<char32_t>& word, std::size_t i) {
    const bool next_to_its_like =
        (i > 0 && word[i - 1] == word[i]) || (i + 1 < word.size() && word[i + 1] == word[i]);
    if (next_to_its_like) return doubled;
    return plain_edit + (i == 0 ? first_letter : 0);
}

}  // namespace

std::uint32_t misspelling_cost(std::string_view typed, std::string_view meant) {
    const auto a = characters(typed), b = characters(meant);
    std::array<std::vector<std::uint32_t>, 3> rows;  // of i, i - 1, i - 2 letters typed
    for (auto& row : rows) row.resize(b.size() + 1);
    for (std::size_t i = 0; i <= a.size(); ++i) {
        auto& row = rows[i % 3];
        const auto& above = rows[(i + 2) % 3];
        const auto& second = rows[(i + 1) % 3];
        for (std::size_t j = 0; j <= b.size(); ++j) {
            std::uint32_t cost = i == 0 && j == 0 ? 0 : UINT32_MAX;
            if (i > 0) cost = std::min(cost, above[j] + one_more(a, i - 1));
            if (j > 0) cost = std::min(cost, row[j - 1] + one_more(b, j - 1));
            if (i > 0 && j > 0) {
                const bool same = a[i - 1] == b[j - 1];
                const std::uint32_t change = replaced + (i == 1 || j == 1 ? first_letter : 0);
                cost = std::min(cost, above[j - 1] + (same ? 0 : change));
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = std::min(cost, second[j - 2] + exchanged + (i == 2 || j == 2 ? first_letter : 0));
            row[j] = cost;
        }
    }
    return rows[a.size() % 3].back();
}

}  // namespace quern::text
