// SPDX-License-Identifier: Apache-2.0
// Lines of two integers, one separator between, and perhaps something behind: what lists and matrices are made of.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "io/graph/line_kernels.hpp"
#include "io/numbers.hpp"

namespace quern::io {

/// Two runs of digits, each with one byte or more behind it.
struct plain_line {
    const char* first;
    const char* first_end;
    const char* second;
    const char* second_end;
    const char* end;  ///< of the line, without its CR LF or LF; the second's end where nothing follows

    std::size_t first_digits() const { return static_cast<std::size_t>(first_end - first); }
    std::size_t second_digits() const { return static_cast<std::size_t>(second_end - second); }
};

/// The last `count` (1 to 8) characters before `end`, as convert_digits() takes them; 8 bytes in front may be read.
inline std::uint64_t characters_before(const char* end, std::size_t count) {
    return load_eight(end - 8) & ~std::uint64_t{0} << ((64 - 8 * count) & 63);
}

/// The number of 1 to 16 digits that ends at `end`; 16 bytes in front may be read.
inline std::uint64_t number_before(const char* end, std::size_t digits) {
    if (digits <= 8) return digits_value(characters_before(end, digits), 8);
    return digits_value(characters_before(end - 8, digits - 8), 8) * 100'000'000 +
           digits_value(characters_before(end, 8), 8);
}

/// Goes over the lines of one block, which text_block pads at both sides.
// Its marks are written before they are read.
class plain_lines {
  public:
    explicit plain_lines(const char* end) : end_(end) {}  // NOLINT(cppcoreguidelines-pro-type-member-init)

    /// Lines from `at` on that are two integers of up to eight digits, without zeros in front, and one byte between of
    /// which is_separator() is true. Their characters, for convert_digits(), go to `characters`, of which there are two
    /// a line. Returns their number, at most `most`, and moves `at` behind them.
    template <class IsSeparator>
    std::size_t take_short(const char*& at, const IsSeparator& is_separator, std::uint64_t* characters,
                           std::size_t most) {
        if (at == end_) return 0;
        seek(at);
        if (next_ + 2 > count_) look(at);
        const char* const base = base_;
        const std::uint16_t* mark = marks_.data() + next_;
        const std::uint16_t* const stop = mark + 2 * std::min(most, (count_ - next_) / 2);
        std::size_t first = static_cast<std::size_t>(at - base), lines = 0;
        for (; mark < stop; mark += 2, ++lines) {
            const std::size_t first_end = mark[0], second = first_end + 1, second_end = mark[1];
            const std::size_t first_digits = first_end - first, second_digits = second_end - second;
            const bool zeros =
                ((base[first] == '0') & (first_digits > 1)) | ((base[second] == '0') & (second_digits > 1));
            // Of no digits the count less one is beyond every number.
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

    /// take(line) for up to `most` lines from `at` on, as long as they are plain and `take` returns true. Returns where
    /// the first begins that was not taken, or the end of the block. `is_separator` tells what may stand between the
    /// integers and behind them.
    template <class IsSeparator, class Take>
    const char* take(const char* at, const IsSeparator& is_separator, std::size_t most,
                     const Take& take_line) {
        seek(at);
        while (at < end_ && most != 0) {
            plain_line line{at, at, at, at, at};
            const std::size_t last = next_ + 2 <= count_ ? find_end(line, is_separator) : 0;
            if (last == 0) {
                if (base_ == at) return at;  // as much as is looked at in one go begins here already
                look(at);
                continue;
            }
            if (last == not_plain || !take_line(line)) return at;
            at = base_ + marks_[last] + 1;
            next_ = last + 1;
            --most;
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

    /// The mark of the line feed; 0 where it is not among the marks.
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
    const char* base_ = nullptr;  ///< the marks count from here
    std::size_t next_ = 0, count_ = 0;
    std::array<std::uint16_t, marks_room> marks_;
};

}  // namespace quern::io
