// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "quern/base/terminal_text.hpp"
#include "quern/tasks/search.hpp"

namespace quern {
namespace {

bool continues_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::size_t characters_in(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char byte) { return !continues_character(byte); }));
}

/// `byte` moved back by that many bytes, then to the beginning of its character: at most three more, as in UTF-8.
std::size_t moved_back(std::string_view text, std::size_t byte, std::size_t bytes) {
    byte -= std::min(byte, bytes);
    for (int step = 0; step < 3 && byte > 0 && continues_character(text[byte]); ++step) --byte;
    return byte;
}

}  // namespace

query_error::query_error(std::string_view query, std::size_t byte, std::string_view reason,
                         std::string_view what)
    : usage_error(fmt::format("the {} is not understood at character {}: {}", what,
                              characters_in(query.substr(0, byte)) + 1, reason)),
      position_(characters_in(query.substr(0, byte))) {
    constexpr std::size_t before = 48, shown = 96;  // bytes
    const std::size_t begin = moved_back(query, byte, before);
    const std::size_t end =
        query.size() - begin <= shown ? query.size() : moved_back(query, begin + shown, 0);
    const std::string_view dots = begin == 0 ? "" : "... ";
    excerpt_ = fmt::format("{}{}{}", dots, for_terminal(query.substr(begin, end - begin)),
                           end == query.size() ? "" : " ...");
    caret_ =
        std::string(dots.size() + characters_in(for_terminal(query.substr(begin, byte - begin))), ' ') + '^';
}

}  // namespace quern
