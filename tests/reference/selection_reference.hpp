// SPDX-License-Identifier: Apache-2.0
// The k best the slow, obvious way: everything is sorted by key, then id. Nothing here is shared with
// src/primitives/top_k.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "primitives/top_k/top_k.hpp"

namespace quern::reference {

template <class Key>
struct ranked {
    std::vector<Key> keys;
    std::vector<std::uint32_t> ids;
};

template <class Key>
ranked<Key> top_k(std::span<const Key> keys, std::span<const std::uint32_t> ids, std::size_t k,
                  primitives::best which) {
    std::vector<std::size_t> positions(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) positions[i] = i;
    std::sort(positions.begin(), positions.end(), [&](std::size_t a, std::size_t b) {
        if (keys[a] < keys[b]) return which == primitives::best::least;
        if (keys[b] < keys[a]) return which == primitives::best::greatest;
        return ids[a] < ids[b];
    });
    ranked<Key> found;
    for (std::size_t j = 0; j < k; ++j) {
        found.keys.push_back(keys[positions[j]]);
        found.ids.push_back(ids[positions[j]]);
    }
    return found;
}

}  // namespace quern::reference
