// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <fmt/format.h>

#include <iterator>

namespace quern::cli {

std::string file_name(const std::string& text) {
    if (text.empty()) throw usage_error("the name is empty (expected the name of a file or folder)");
    return text;
}

std::string output_name(const std::string& text) {
    const bool is_standard = text == "/dev/stdout" || text == "/dev/fd/1" || text == "/proc/self/fd/1";
    return is_standard ? "-" : file_name(text);
}

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
    return text;
}

std::string counted(std::uint64_t number, std::string_view noun) {
    return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string in_bytes(double bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
    return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

}  // namespace quern::cli
