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

std::vector<std::string> parse_list(std::string_view text) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        std::string_view name = text.substr(begin, end - begin);
        name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
        name.remove_suffix(name.size() - (name.find_last_not_of(' ') + 1));
        names.emplace_back(name);
        begin = end + 1;
    }
    return names;
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
