// SPDX-License-Identifier: Apache-2.0
// Numbers with digit grouping.
#pragma once

#include <cstdint>
#include <string>

namespace quern {

/// 12,345
inline std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
    return text;
}

}  // namespace quern
