// SPDX-License-Identifier: Apache-2.0
// The value types of primitives: named once, so that every place is compiled for the same ones.
#pragma once

#include <concepts>
#include <cstdint>

namespace quern::primitives {

template <class T, class... Options>
concept one_of = (std::same_as<T, Options> || ...);

template <class T>
concept integer_value = one_of<T, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;

template <class T>
concept floating_value = one_of<T, float, double>;

/// The types of keys to sort and select by. Floats: −0 = +0, NaN is rejected.
template <class T>
concept sortable_key = integer_value<T> || floating_value<T>;

/// The types that can accompany a key: ids, positions, counts. Other records are moved as positions.
template <class T>
concept payload = one_of<T, std::uint32_t, std::uint64_t>;

/// Replaces a payload if keys are sorted alone.
struct no_value {};

enum class order { ascending, descending };

}  // namespace quern::primitives
