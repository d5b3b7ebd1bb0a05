// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/json_repairs.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace quern::io {

bool mend_surrogates(std::string& line) {
    const auto unit_at = [&line](std::size_t at) -> unsigned {
        if (at + 6 > line.size() || line[at] != '\\' || line[at + 1] != 'u') return 0;
        unsigned value = 0;
        for (std::size_t i = at + 2; i < at + 6; ++i) {
            const char c = line[i];
            const bool digit = c >= '0' && c <= '9';
            const bool letter = (c | 32) >= 'a' && (c | 32) <= 'f';
            if (!digit && !letter) return 0;
            value = value * 16 + static_cast<unsigned>(digit ? c - '0' : (c | 32) - 'a' + 10);
        }
        return value;
    };
    bool found = false;
    for (std::size_t at = line.find('\\'); at != std::string::npos; at = line.find('\\', at)) {
        const unsigned unit = unit_at(at);
        if (unit < 0xD800 || unit >= 0xE000) {
            at += 2;
            continue;
        }
        const unsigned next = unit_at(at + 6);
        if (unit < 0xDC00 && next >= 0xDC00 && next < 0xE000) {
            at += 12;
            continue;
        }
        line.replace(at, 6, "\\ufffd");
        found = true;
        at += 6;
    }
    return found;
}

void tame_numbers(std::string& line) {
    constexpr std::size_t max_digits = 200, max_of_exponent = 2;
    std::size_t at = 0;
    const auto is_digit = [&] { return at < line.size() && line[at] >= '0' && line[at] <= '9'; };
    const auto take_digits = [&] {
        const std::size_t from = at;
        while (is_digit()) ++at;
        return at - from;
    };
    while (at < line.size()) {
        if (line[at] == '"') {
            for (++at; at < line.size() && line[at] != '"'; ++at) {
                if (line[at] == '\\') ++at;
            }
        }
        if (!is_digit()) {
            ++at;
            continue;
        }
        const std::size_t begin = at, whole = take_digits();
        bool valid = whole == 1 || line[begin] != '0';
        if (at < line.size() && line[at] == '.') {
            ++at;
            valid = take_digits() != 0 && valid;
        }
        std::size_t exponent = 0;
        if (at < line.size() && (line[at] | 32) == 'e') {
            ++at;
            if (at < line.size() && (line[at] == '+' || line[at] == '-')) ++at;
            exponent = take_digits();
            valid = exponent != 0 && valid;
        }
        valid = valid &&
                (at == line.size() || std::string_view(",]} \t\r").find(line[at]) != std::string_view::npos);
        if (!valid || (whole <= max_digits && exponent <= max_of_exponent)) continue;
        line.replace(begin, at - begin, "0.0");
        at = begin + 3;
    }
}

bool has_nul(std::string_view text) {
    return text.find('\0') != std::string_view::npos;
}

bool is_json(std::string_view text) {
    if (has_nul(text)) return false;
    if (nlohmann::json::accept(text)) return true;
    std::string tamed(text);
    tame_numbers(tamed);
    return tamed != text && nlohmann::json::accept(tamed);
}

}  // namespace quern::io
