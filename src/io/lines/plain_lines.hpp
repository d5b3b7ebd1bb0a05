// SPDX-License-Identifier: Apache-2.0
// Lines of two integers with one separator, optionally followed by more: the usual contents of lists and matrices.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "io/lines/line_kernels.hpp"
#include "io/lines/numbers.hpp"

namespace quern::io {

/// Two runs of digits, each followed by at least one byte.
struct plain_line {
    const char* first;
    const char* first_end;
    const char* second;
    const char* second_end;
    const char* end;  ///< of the line, without its CR LF or LF; the second's end if nothing follows

    std::size_t first_digits() const { return static_cast<std::size_t>(first_end - first); }
    std::size_t second_digits() const { return static_cast<std::size_t>(second_end - second); }
};

/// The last `count` (1 to 8) characters before `end`, as convert_digits() takes them; the 8 bytes before must be
/// readable.
inline std::uint64_t characters_before(const char* end, std::size_t count) {
    return load_eight(end - 8) & ~std::uint64_t{0} << ((64 - 8 * count) & 63);
}

/// The number of 1 to 16 digits that ends at `end`; the 16 bytes before must be readable.
inline std::uint64_t number_before(const char* end, std::size_t digits) {
    if (digits <= 8) return digits_value(characters_before(end, digits), 8);
    return digits_value(characters_before(end - 8, digits - 8), 8) * 100'000'000 +
           digits_value(characters_before(end, 8), 8);
}

/// Iterates over the lines of one block, which text_block pads on both sides.
// Its marks are written before they are read.
class plain_lines {
  public:
    explicit plain_lines(const char* end) : end_(end) {}  // NOLINT(cppcoreguidelines-pro-type-member-init)

    /// Takes lines from `at` on that are two integers of up to eight digits, without leading zeros, separated by one
    /// byte for which is_separator() is true. Writes their characters to `characters`, two per line, for
    /// convert_digits(). Returns their number, at most `max`, and advances `at`.
    template <class IsSeparator>
    std::size_t take_short(const char*& at, const IsSeparator& is_separator, std::uint64_t* characters,
                           std::size_t max) {
        if (at == end_) return 0;
        seek(at);
        if (next_ + 2 > count_) look(at);
        const char* const base = base_;
        const std::uint16_t* mark = marks_.data() + next_;
        const std::uint16_t* const stop = mark + 2 * std::min(max, (count_ - next_) / 2);
        std::size_t first = static_cast<std::size_t>(at - base), lines = 0;
        for (; mark < stop; mark += 2, ++lines) {
            const std::size_t first_end = mark[0], second = first_end + 1, second_end = mark[1];
            const std::size_t first_digits = first_end - first, second_digits = second_end - second;
            const bool zeros =
                ((base[first] == '0') & (first_digits > 1)) | ((base[second] == '0') & (second_digits > 1));
            // Without digits the count minus one wraps beyond every number.
            if ((first_digits - 1 > 7) | (second_digits - 1 > 7) | zeros | (base[second_end] != '\n') |
                !is_separator(base[first_end])) {
                break;
            }
            characters[2 * lines] = characters_before(base + first_end, first_digits);
            characters[2 * lines + 1] = characters_before(base + second_end, second_digits);
            first = second_end + 1;
        }
        next_ += 2 * lines;
        at = base + first;
        return lines;
    }

    /// Calls take(line) for up to `max` lines from `at` on, while they are plain and `take` returns true. Returns the
    /// beginning of the first line not taken, or the end of the block. `is_separator` defines the bytes allowed between
    /// and after the integers.
    template <class IsSeparator, class Take>
    const char* take(const char* at, const IsSeparator& is_separator, std::size_t max,
                     const Take& take_line) {
        seek(at);
        while (at < end_ && max != 0) {
            plain_line line{at, at, at, at, at};
            const std::size_t last = next_ + 2 <= count_ ? find_end(line, is_separator) : 0;
            if (last == 0) {
                if (base_ == at) return at;  // the current window already begins here
                look(at);
                continue;
            }
            if (last == not_plain || !take_line(line)) return at;
            at = base_ + marks_[last] + 1;
            next_ = last + 1;
            --max;
        }
        return at;
    }

  private:
    static constexpr std::size_t not_plain = ~std::size_t{0};

    const char* mark(std::size_t i) const { return base_ + marks_[next_ + i]; }

    void seek(const char* at) {
        while (next_ < count_ && base_ + marks_[next_] < at) ++next_;
        if (next_ == count_) base_ = nullptr;
    }
    void look(const char* at) {
        base_ = at;
        next_ = 0;
        const auto left = static_cast<std::size_t>(end_ - at);
        count_ = mark_non_digits(at, std::min(left, marks_window), marks_.data());
    }

    /// The mark of the line feed; 0 if it is not among the marks.
    template <class IsSeparator>
    std::size_t find_end(plain_line& line, const IsSeparator& is_separator) const {
        line.first_end = mark(0);
        line.second = line.first_end + 1;
        line.second_end = mark(1);
        if (line.first_end == line.first || line.second_end == line.second || !is_separator(*line.first_end))
            return not_plain;
        line.end = line.second_end;
        std::size_t last = next_ + 1;
        if (*line.end == '\n') return last;
        if (*line.end != '\r' && !is_separator(*line.end)) return not_plain;
        do {
            if (++last == count_) return 0;
        } while (base_[marks_[last]] != '\n');
        line.end = base_ + marks_[last];
        if (line.end[-1] == '\r') --line.end;
        return last;
    }

    const char* end_;
    const char* base_ = nullptr;  ///< marks are relative to this
    std::size_t next_ = 0, count_ = 0;
    std::array<std::uint16_t, marks_capacity> marks_;
};

}  // namespace quern::io
