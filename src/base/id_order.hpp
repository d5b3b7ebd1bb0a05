// SPDX-License-Identifier: Apache-2.0
// The order of document and object ids, which breaks ties.
#pragma once

#include <algorithm>
#include <string_view>

namespace quern {

/// Whether an id compares as a number: decimal digits without leading zeros.
inline bool is_number(std::string_view id) {
    return !id.empty() && std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; }) &&
           (id.size() == 1 || id[0] != '0');
}
/// By number if all ids are numbers (`numeric`), else by bytes.
inline bool id_precedes(std::string_view a, std::string_view b, bool numeric) {
    return numeric && a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace quern
