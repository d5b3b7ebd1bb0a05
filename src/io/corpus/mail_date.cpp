// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/mail_date.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "base/ascii.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

/// Without comments, which may contain others.
std::string without_comments(std::string_view value) {
    std::string out;
    std::size_t depth = 0;
    for (const char c : value) {
        if (c == '(') {
            ++depth;
        } else if (c == ')' && depth != 0) {
            --depth;
            out += ' ';
        } else if (depth == 0) {
            out += c;
        }
    }
    return out;
}

/// A number of digits alone.
std::optional<int> digits(std::string_view text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (text.empty() || text.size() > 4 || !std::ranges::all_of(text, is_digit)) return std::nullopt;
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// From 1, by a name or at least its first three letters, in lower case; else 0.
int number_of_month(std::string_view word) {
    constexpr std::array months = {"january"sv,   "february"sv, "march"sv,    "april"sv,
                                   "may"sv,       "june"sv,     "july"sv,     "august"sv,
                                   "september"sv, "october"sv,  "november"sv, "december"sv};
    if (word.size() < 3) return 0;
    const auto at = std::ranges::find_if(months, [&](auto name) { return name.starts_with(word); });
    return at == months.end() ? 0 : static_cast<int>(at - months.begin()) + 1;
}

class mail_date {
  public:
    /// False if the word, in lower case, cannot be the next one.
    bool take(std::string_view word) {
        if (const auto colon = word.find(':'); colon != std::string_view::npos) return take_time(word);
        if (const auto number = digits(word)) return take_number(*number, word.size());
        if (word.front() == '+' || word.front() == '-') return take_offset(word);
        if (month_ != 0) return take_zone(word);
        month_ = number_of_month(word);
        return month_ != 0 || (day_ == 0 && !std::exchange(has_weekday_, true));
    }

    std::string text() const {
        using namespace std::chrono;
        const year_month_day date{year(year_), month(static_cast<unsigned>(month_)),
                                  day(static_cast<unsigned>(day_))};
        if (year_ == 0 || hour_ < 0 || !date.ok()) return {};
        std::string out =
            fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", year_, month_, day_, hour_, minute_, second_);
        if (zone_ == 0) return out + 'Z';
        const int minutes = zone_ < 0 ? -zone_ : zone_;
        return out + fmt::format("{}{:02}:{:02}", zone_ < 0 ? '-' : '+', minutes / 60, minutes % 60);
    }

  private:
    /// The day comes before the year; a year has at least two digits.
    bool take_number(int number, std::size_t size) {
        if (day_ == 0 && size <= 2) {
            day_ = number;
            return number != 0;
        }
        if (year_ != 0 || size < 2) return false;
        year_ = size == 4 ? number : number + (size == 2 && number < 50 ? 2000 : 1900);
        return year_ != 0;
    }

    bool take_time(std::string_view word) {
        const std::size_t first = word.find(':'), second = word.find(':', first + 1);
        const auto hour = digits(word.substr(0, first));
        const auto minute = digits(word.substr(first + 1, std::min(second, word.size()) - first - 1));
        const auto seconds =
            second == std::string_view::npos ? std::optional(0) : digits(word.substr(second + 1));
        if (hour_ >= 0 || !hour || !minute || !seconds || *hour > 23 || *minute > 59 || *seconds > 60)
            return false;
        hour_ = *hour;
        minute_ = *minute;
        second_ = std::min(*seconds, 59);  // a leap second
        return true;
    }

    bool take_offset(std::string_view word) {
        const auto number = digits(word.substr(1));
        if (hour_ < 0 || has_zone_ || word.size() != 5 || !number || *number / 100 > 23 || *number % 100 > 59)
            return false;
        has_zone_ = true;
        zone_ = (*number / 100 * 60 + *number % 100) * (word.front() == '-' ? -1 : 1);
        return true;
    }

    bool take_zone(std::string_view word) {
        constexpr std::array american = {"edt"sv, "est"sv, "cdt"sv, "cst"sv,
                                         "mdt"sv, "mst"sv, "pdt"sv, "pst"sv};
        if (hour_ < 0) return false;
        if (word == "am" || word == "pm") return take_half(word == "pm");
        if (has_zone_) return true;  // the name of the offset before it
        if (word.size() == 8 && (word.starts_with("gmt") || word.starts_with("utc")))
            return take_offset(word.substr(3));
        const auto at = std::ranges::find(american, word) - american.begin();
        // Eastern daylight time is UTC - 4 hours, its standard time - 5, and so on.
        zone_ = at == std::ssize(american) ? 0 : -60 * static_cast<int>(4 + at / 2 + at % 2);
        has_zone_ = true;
        return true;
    }

    /// Hours are those of a clock of twelve.
    bool take_half(bool afternoon) {
        if (hour_ == 0 || hour_ > 12) return false;
        hour_ = hour_ % 12 + (afternoon ? 12 : 0);
        return true;
    }

    int year_ = 0, month_ = 0, day_ = 0, hour_ = -1, minute_ = 0, second_ = 0,
        zone_ = 0;  // of the zone minutes
    bool has_zone_ = false, has_weekday_ = false;
};

}  // namespace

std::string iso_date_of_mail(std::string_view value) {
    const std::string words = lower(without_comments(value));
    constexpr auto between = " \t\r\n,"sv;
    mail_date date;
    for (std::size_t at = words.find_first_not_of(between); at != std::string::npos;) {
        const std::size_t end = std::min(words.find_first_of(between, at), words.size());
        if (!date.take(std::string_view(words).substr(at, end - at))) return {};
        at = words.find_first_not_of(between, end);
    }
    return date.text();
}

}  // namespace quern::io
