// SPDX-License-Identifier: Apache-2.0
#include "nearest_name.hpp"

#include <algorithm>

namespace quern::cli {
namespace {

/// Edits and swaps of adjacent characters between two words (optimal string alignment); keeps three rows of the
/// table.
std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = a[i - 1] == b[j - 1];
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(now);
    }
    return last[b.size()];
}

std::string_view without_dashes(std::string_view name) {
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

}  // namespace

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
    constexpr std::size_t longest =
        64;  // our names are shorter, and edits() costs the product of the lengths
    const std::string_view word = without_dashes(typed);
    if (word.size() > longest) return {};
    std::string best;
    std::size_t best_distance = word.size() < 5 ? 2 : 3;  // anything farther is not a typing error
    for (const std::string& name : names) {
        const std::size_t distance = edits(word, without_dashes(name));
        if (distance < best_distance) {
            best_distance = distance;
            best = name;
        }
    }
    if (!best.empty() || word.size() < 3) return best;
    for (const std::string& name : names) {
        if (!without_dashes(name).starts_with(word)) continue;
        if (!best.empty()) return {};
        best = name;
    }
    return best;
}

}  // namespace quern::cli
