// SPDX-License-Identifier: Apache-2.0
// Selection the slow, obvious way: value by value into a list that grows.
#pragma once

#include <cstdint>
#include <vector>

namespace quern::reference {

template <class T>
std::vector<T> compact(const std::vector<T>& values, const std::vector<std::uint8_t>& flags) {
    std::vector<T> kept;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (flags[i] != 0) kept.push_back(values[i]);
    return kept;
}

template <class Position>
std::vector<Position> compact_positions(const std::vector<std::uint8_t>& flags) {
    std::vector<Position> kept;
    for (std::size_t i = 0; i < flags.size(); ++i)
        if (flags[i] != 0) kept.push_back(static_cast<Position>(i));
    return kept;
}

template <class T>
struct encoded_runs {
    std::vector<T> unique;
    std::vector<std::uint64_t> counts;
};

template <class T>
encoded_runs<T> run_length_encode(const std::vector<T>& values) {
    encoded_runs<T> runs;
    for (const T value : values) {
        if (runs.unique.empty() || runs.unique.back() != value) {
            runs.unique.push_back(value);
            runs.counts.push_back(0);
        }
        ++runs.counts.back();
    }
    return runs;
}

template <class T>
std::vector<T> decode_runs(const std::vector<T>& unique, const std::vector<std::uint64_t>& counts) {
    std::vector<T> values;
    for (std::size_t r = 0; r < unique.size(); ++r) values.insert(values.end(), counts[r], unique[r]);
    return values;
}

}  // namespace quern::reference
