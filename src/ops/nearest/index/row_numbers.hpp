// SPDX-License-Identifier: Apache-2.0
// Row numbers in a place's memory: made there, looked up there. None synchronises.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"

namespace quern::nearest_detail {

/// ids[q · n + i] = rows[i], or i if no rows are given; n = ids.size() / copies.
void number_rows(cpu_place& place, std::span<const std::uint32_t> rows, std::uint64_t copies,
                 std::span<std::uint32_t> ids);
void number_rows(cuda_place& place, device_span<const std::uint32_t> rows, std::uint64_t copies,
                 device_span<std::uint32_t> ids);

/// Every id becomes rows[id].
void look_up_rows(cpu_place& place, std::span<const std::uint32_t> rows, std::span<std::uint32_t> ids);
void look_up_rows(cuda_place& place, device_span<const std::uint32_t> rows, device_span<std::uint32_t> ids);

/// flags[i] = keys[i] ≤ limit.
template <class Key>
void flag_within(cpu_place& place, std::span<const Key> keys, Key limit, std::span<std::uint8_t> flags);
template <class Key>
void flag_within(cuda_place& place, device_span<const Key> keys, Key limit, device_span<std::uint8_t> flags);

/// The first k of every row of a matrix of `columns` columns: out[r · k + j] = values[r · columns + j].
template <class T>
void first_columns(cpu_place& place, std::span<const T> values, std::uint64_t columns, std::uint64_t k,
                   std::span<T> out);
template <class T>
void first_columns(cuda_place& place, device_span<const T> values, std::uint64_t columns, std::uint64_t k,
                   device_span<T> out);

}  // namespace quern::nearest_detail
