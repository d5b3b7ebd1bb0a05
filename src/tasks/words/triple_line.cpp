// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/triple_line.hpp"

#include <charconv>
#include <optional>

#include "io/corpus/encoding.hpp"

namespace quern {

triple_line parse_triple(std::string_view line) {
    triple_line out;
    const auto fault = [&](const char* why) {
        out.fault = why;
        return out;
    };
    if (!io::is_utf8(line)) return fault("is not UTF-8");
    const auto field = [&line]() -> std::optional<std::string_view> {
        if (line.data() == nullptr) return std::nullopt;
        const std::size_t tab = line.find('\t');
        const std::string_view one = line.substr(0, tab);
        line = tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1);
        return one;
    };
    const auto word = field(), relation = field(), other = field(), count = field();
    if (!other) return fault("has fewer than three fields (expected word, relation, other word)");
    if (line.data() != nullptr)
        return fault("has more than four fields (expected word, relation, other word, count)");
    out.word = *word;
    out.relation = *relation;
    out.other = *other;
    if (out.word.empty() || out.relation.empty() || out.other.empty()) return fault("has an empty field");
    if (!count) return out;
    const char* const last = count->data() + count->size();
    const auto [end, failure] = std::from_chars(count->data(), last, out.count);
    // Keeps sums of counts far below the maximum integer.
    constexpr std::uint64_t max = std::uint64_t{1} << 53;
    if (failure != std::errc{} || end != last || out.count == 0 || out.count > max) {
        return fault("has an invalid count (expected an integer from 1 to 2^53)");
    }
    return out;
}

}  // namespace quern
