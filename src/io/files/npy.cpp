// SPDX-License-Identifier: Apache-2.0
#include "io/files/npy.hpp"

namespace quern::io {

std::string npy_header(std::string_view type, std::uint64_t rows, std::uint64_t columns) {
    std::string text = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
    constexpr std::size_t before = 10, unit = 64;  // magic, version and length come first
    text.append((unit - (before + text.size() + 1) % unit) % unit, ' ');
    text += '\n';
    std::string header = "\x93NUMPY";
    header += '\x01';
    header += '\x00';
    header += static_cast<char>(text.size() & 0xff);
    header += static_cast<char>(text.size() >> 8);
    return header + text;
}

}  // namespace quern::io
