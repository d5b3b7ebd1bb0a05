// SPDX-License-Identifier: Apache-2.0
// Lines and paragraphs of a text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"
#include "ops/repeated_text/compared_parts.hpp"

namespace quern::repeated_text_detail {

/// Bytes [begin, end) of a text, without line ends.
struct part_range {
    std::uint64_t begin = 0, end = 0;
};

/// The next line of `text` from `at` on, which is below its size: `end` excludes the line end. Advances `at` past it.
inline part_range next_line(std::string_view text, std::uint64_t& at) {
    const std::uint64_t begin = at, found = text.find('\n', at);
    if (found == std::string_view::npos) {
        at = text.size();
        return {begin, at};
    }
    at = found + 1;
    return {begin, found > begin && text[found - 1] == '\r' ? found - 1 : found};
}

/// Calls found(part_range) for every line, blank and empty ones too, or for every paragraph.
template <class Found>
void for_each_part(std::string_view text, text_part part, const Found& found) {
    part_range open;
    bool is_open = false;
    for (std::uint64_t at = 0; at < text.size();) {
        const part_range line = next_line(text, at);
        if (part == text_part::line) {
            found(line);
            continue;
        }
        const bool blank = trimmed(text.substr(line.begin, line.end - line.begin)).empty();
        if (blank && is_open) found(open);
        if (!blank) open = {is_open ? open.begin : line.begin, line.end};
        is_open = !blank;
    }
    if (is_open) found(open);
}

/// Lines or paragraphs of at least min_length code points, named by their first byte that is not white space.
class text_parts final : public compared_parts {
  public:
    text_parts(cpu_place& place, const text_list& texts, const repeated_text_options& options,
               const tuning& tuned, repeated_text_counts& counts)
        : place_(place), texts_(texts), options_(options), tuned_(tuned), counts_(counts) {}

    void scan(const take_hashes& take) override;
    void compare(std::span<const std::uint64_t> positions, std::span<const std::uint64_t> firsts,
                 std::span<std::uint8_t> is_repeated) override;
    std::string_view part_at(std::uint64_t position) const override;
    std::uint64_t hash_at(std::uint64_t position) const override;

    /// Appends the spans of one text. `repeated`: all its repeated parts, by position.
    void append_spans(std::uint32_t text, std::span<const occurrence> repeated,
                      std::vector<repeated_span>& spans) const;

  private:
    struct piece;
    void scan_texts(std::uint32_t begin, std::uint32_t end, piece& out) const;

    cpu_place& place_;
    const text_list& texts_;
    repeated_text_options options_;
    tuning tuned_;
    repeated_text_counts& counts_;
};

}  // namespace quern::repeated_text_detail
