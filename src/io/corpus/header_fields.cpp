// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/header_fields.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace quern::io {

std::size_t header_block_end(std::string_view bytes) {
    if (bytes.starts_with('\n')) return 1;
    if (bytes.starts_with("\r\n")) return 2;
    for (std::size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
        const std::string_view rest = bytes.substr(at + 1);
        if (rest.starts_with('\n')) return at + 2;
        if (rest.starts_with("\r\n")) return at + 3;
    }
    return 0;
}

header_fields::header_fields(std::string_view block) {
    while (!block.empty()) {
        std::size_t end = 0;
        do {  // with its continuations
            end = std::min(block.find('\n', end), block.size() - 1) + 1;
        } while (end < block.size() && (block[end] == ' ' || block[end] == '\t'));
        const std::string_view line = block.substr(0, end);
        block.remove_prefix(end);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0) continue;
        const std::string_view name = trimmed(line.substr(0, colon));
        if (!name.empty()) fields_.push_back({name, trimmed(line.substr(colon + 1))});
    }
}

std::string header_fields::value(std::string_view name) const {
    for (const field& each : fields_) {
        if (equals_lower(each.name, name)) return unfolded(each.value);
    }
    return {};
}

std::string header_fields::unfolded(std::string_view value) {
    std::string out;
    out.reserve(value.size());
    while (!value.empty()) {
        const std::size_t end = std::min(value.find('\n'), value.size());
        const std::string_view line = trimmed(value.substr(0, end));
        if (!out.empty() && !line.empty()) out += ' ';
        out += line;
        value.remove_prefix(std::min(end + 1, value.size()));
    }
    return out;
}

media_type::media_type(std::string_view value) {
    const std::size_t end = std::min(value.find_first_of(";,"), value.size());
    name = lower(trimmed(value.substr(0, end)));
    if (end < value.size() && value[end] == ';') parameters = value.substr(end + 1);
}

std::string media_type::parameter(std::string_view wanted) const {
    std::string_view rest = parameters;
    while (!rest.empty()) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n;"), rest.size()));
        const std::size_t stop = std::min(rest.find_first_of("=;"), rest.size());
        std::string key = lower(trimmed(rest.substr(0, stop)));
        rest.remove_prefix(stop);
        std::string value;
        if (rest.starts_with('=')) {
            rest.remove_prefix(1);
            rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
            if (rest.starts_with('"')) {
                std::size_t at = 1;
                for (; at < rest.size() && rest[at] != '"'; ++at) {
                    if (rest[at] == '\\' && at + 1 < rest.size()) ++at;
                    value += rest[at];
                }
                rest.remove_prefix(std::min(at + 1, rest.size()));
            } else {
                const std::size_t end = std::min(rest.find(';'), rest.size());
                value = trimmed(rest.substr(0, end));
                if (value.starts_with('\'') && value.ends_with('\'') && value.size() > 1)
                    value = value.substr(1, value.size() - 2);
                rest.remove_prefix(end);
            }
        }
        key = key.substr(0, key.find('*'));
        if (key == wanted && !value.empty()) return value;
    }
    return {};
}

bool equals_lower(std::string_view text, std::string_view small) {
    return std::ranges::equal(text, small, [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
    });
}

}  // namespace quern::io
