// SPDX-License-Identifier: Apache-2.0
// The values that primitives take: named once, so that every place is compiled for the same ones.
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

/// What can be sorted and selected by. Floats: −0 = +0, NaN is refused.
template <class T>
concept sortable_key = integer_value<T> || floating_value<T>;

/// What can travel with a key: ids, positions, counts. Other records travel as positions.
template <class T>
concept payload = one_of<T, std::uint32_t, std::uint64_t>;

/// In place of a payload where keys travel alone.
struct no_value {};

enum class order { ascending, descending };

}  // namespace quern::primitives
