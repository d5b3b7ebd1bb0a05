// SPDX-License-Identifier: Apache-2.0
// The edit distance the slow, obvious way: the whole table, row by row (Wagner and Fischer 1974).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quern::reference {

template <class Unit>
std::uint32_t edit_distance(const std::vector<Unit>& a, const std::vector<Unit>& b) {
    std::vector<std::uint32_t> above(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<std::uint32_t>(j);
    for (std::size_t i = 0; i < a.size(); ++i) {
        row[0] = static_cast<std::uint32_t>(i + 1);
        for (std::size_t j = 0; j < b.size(); ++j)
            row[j + 1] = std::min({above[j + 1] + 1, row[j] + 1, above[j] + (a[i] == b[j] ? 0 : 1)});
        std::swap(above, row);
    }
    return above[b.size()];
}

}  // namespace quern::reference
