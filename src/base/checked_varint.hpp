// SPDX-License-Identifier: Apache-2.0
// Variable-length integers (base/varint.hpp) among bytes that may end anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern {

/// Reads the one at `at` of `bytes` and moves `at` past it; false if it has no end there.
inline bool read_checked_varint(std::string_view bytes, std::size_t& at, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        value |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

}  // namespace quern
