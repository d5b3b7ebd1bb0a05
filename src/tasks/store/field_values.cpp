// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/field_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "quern/base/document_fields.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

/// Takes fixed numbers of digits and given characters off the front of a text.
class date_scanner {
  public:
    explicit date_scanner(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    /// False if there are fewer digits.
    bool take_digits(std::size_t count, int& value) {
        value = 0;
        if (rest_.size() < count) return false;
        for (std::size_t i = 0; i < count; ++i) {
            if (!is_digit(rest_[i])) return false;
            value = value * 10 + (rest_[i] - '0');
        }
        rest_.remove_prefix(count);
        return true;
    }
    /// Digits after a decimal point, in millionths; false if there are none.
    bool take_fraction(int& millionths) {
        millionths = 0;
        std::size_t digits = 0;
        for (; !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1), ++digits) {
            if (digits < 6) millionths = millionths * 10 + (rest_.front() - '0');
        }
        for (std::size_t i = digits; i < 6; ++i) millionths *= 10;
        return digits != 0;
    }

  private:
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    std::string_view rest_;
};

/// The offset from UTC in minutes; false if it is malformed.
bool take_zone(date_scanner& scan, int& minutes) {
    minutes = 0;
    if (scan.at_end() || scan.take('Z') || scan.take('z')) return true;
    const bool east = scan.take('+');
    if (!east && !scan.take('-')) return false;
    int hours = 0, rest = 0;
    if (!scan.take_digits(2, hours)) return false;
    const bool colon = scan.take(':');
    if ((colon || !scan.at_end()) && !scan.take_digits(2, rest)) return false;
    if (hours > 23 || rest > 59) return false;
    minutes = (east ? 1 : -1) * (hours * 60 + rest);
    return true;
}

}  // namespace

std::optional<std::int64_t> microseconds_of_date(std::string_view text) {
    using namespace std::chrono;
    date_scanner scan(text);
    int year = 0, month = 0, day = 0;
    if (!scan.take_digits(4, year) || !scan.take('-') || !scan.take_digits(2, month) || !scan.take('-') ||
        !scan.take_digits(2, day))
        return std::nullopt;
    const year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                              std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return std::nullopt;
    std::int64_t seconds = std::int64_t{sys_days(date).time_since_epoch().count()} * 86'400;
    int millionths = 0;
    if (!scan.at_end()) {
        int hour = 0, minute = 0, second = 0, zone = 0;
        if (!scan.take('T') && !scan.take('t') && !scan.take(' ')) return std::nullopt;
        if (!scan.take_digits(2, hour) || !scan.take(':') || !scan.take_digits(2, minute))
            return std::nullopt;
        if (scan.take(':')) {
            if (!scan.take_digits(2, second)) return std::nullopt;
            if (scan.take('.') && !scan.take_fraction(millionths)) return std::nullopt;
        }
        if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
        if (!take_zone(scan, zone) || !scan.at_end()) return std::nullopt;
        seconds += std::int64_t{hour} * 3600 + (minute - zone) * 60 + second;
    }
    return seconds * 1'000'000 + millionths;
}

std::optional<date_range> range_of_date(std::string_view text) {
    using namespace std::chrono;
    constexpr std::int64_t second = 1'000'000, minute = 60 * second;
    const auto day_of = [](year_month_day date) {
        return std::int64_t{sys_days(date).time_since_epoch().count()} * 86'400 * second;
    };
    date_scanner scan(text);
    int year = 0, month = 0;
    if (!scan.take_digits(4, year)) return std::nullopt;
    const std::chrono::year named(year);
    if (scan.at_end())
        return date_range{day_of(named / January / 1), day_of((named + years(1)) / January / 1) - 1};
    if (!scan.take('-') || !scan.take_digits(2, month) || month < 1 || month > 12) return std::nullopt;
    const year_month first = named / std::chrono::month(static_cast<unsigned>(month));
    if (scan.at_end()) return date_range{day_of(first / 1), day_of((first + months(1)) / 1) - 1};
    const auto begin = microseconds_of_date(text);
    if (!begin) return std::nullopt;
    constexpr std::size_t of_date = 10, of_minute = 16, of_second = 19;  // characters
    std::int64_t length = 1440 * minute;
    if (text.size() > of_date) {
        const bool has_seconds = text.size() > of_minute && text[of_minute] == ':';
        length = has_seconds ? second : minute;
        if (has_seconds && text.size() > of_second && text[of_second] == '.') {
            for (std::size_t at = of_second + 1; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
                length = std::max<std::int64_t>(1, length / 10);
        }
    }
    return date_range{*begin, *begin + length - 1};
}

std::string text_of_date(std::int64_t microseconds) {
    using namespace std::chrono;
    constexpr std::int64_t second = 1'000'000;
    const sys_days day =
        floor<days>(sys_time<std::chrono::microseconds>(std::chrono::microseconds(microseconds)));
    const year_month_day date(day);
    std::string text = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                   static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    const std::int64_t rest = microseconds - std::int64_t{day.time_since_epoch().count()} * 86'400 * second;
    if (rest == 0) return text;
    const std::int64_t seconds = rest / second;
    text += fmt::format("T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if (rest % second != 0) text += fmt::format(".{:06}", rest % second);
    return text + "Z";
}

std::optional<std::int64_t> integer_of(const io::json_value& value) {
    if (!value.is_integer()) return std::nullopt;
    const std::string_view digits = value.bytes();
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

std::optional<double> number_of(const io::json_value& value) {
    if (!value.is_number()) return std::nullopt;
    const std::string_view digits = value.bytes();
    double number = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (end != digits.data() + digits.size()) return std::nullopt;
    if (failure == std::errc::result_out_of_range) {
        // Too small for a double is zero; too large is no number.
        number = std::strtod(std::string(digits).c_str(), nullptr);
    }
    if (!std::isfinite(number)) return std::nullopt;
    return number + 0.0;  // one zero
}

std::string text_of_scalar(const io::json_value& value) {
    return value.is_string() ? value.text() : std::string(value.bytes());
}

namespace {

/// 10, -1.5, 2e6; not 007, +1 or inf.
bool is_text_of_number(std::string_view text) {
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    const auto is_digit = [&](std::size_t at) {
        return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (!is_digit(first) || (text[first] == '0' && is_digit(first + 1))) return false;
    double number = 0;
    return std::from_chars(text.data(), text.data() + text.size(), number).ptr == text.data() + text.size();
}

}  // namespace

void value_kinds::add(const io::json_value& value) {
    if (value.is_null()) return;
    ++documents;
    ++values;
    words = words || !value.is_string();
    if (value.is_boolean()) {
        boolean = true;
    } else if (value.is_number()) {
        if (integer_of(value)) {
            integer = true;
        } else {
            (number_of(value) ? number : other) = true;
        }
    } else if (value.is_string()) {
        const std::string string = value.text();
        const bool is_date = microseconds_of_date(string).has_value();
        (is_date ? date : text) = true;
        words = words || is_date || !is_text_of_number(string);
    } else if (value.is_array()) {
        --values;
        bool strings = true;
        for (io::json_parts parts(value); parts.next(); ++values)
            strings = strings && parts.value().is_string();
        (strings ? list : other) = true;
    } else {
        other = true;
    }
}

void value_kinds::add(const value_kinds& more) {
    documents += more.documents;
    values += more.values;
    boolean |= more.boolean;
    integer |= more.integer;
    number |= more.number;
    date |= more.date;
    text |= more.text;
    words |= more.words;
    list |= more.list;
    other |= more.other;
}

field_type value_kinds::type() const {
    const bool any_number = integer || number, any_string = date || text;
    const int kinds = (boolean ? 1 : 0) + (any_number ? 1 : 0) + (any_string ? 1 : 0);
    if (other || (list && (boolean || any_number))) return field_type::json;
    if (!list && kinds > 1) return field_type::text;
    if (boolean) return field_type::boolean;
    if (number) return field_type::number;
    if (integer) return field_type::integer;
    if (list) return field_type::list;
    return date && !text ? field_type::date : field_type::text;
}

void each_text_of(std::string_view fields, std::string_view name,
                  const std::function<void(std::string_view text)>& visit) {
    if (fields.empty()) return;
    const auto value = io::value_at(io::json_value(fields), name);
    if (!value) return;
    const auto visit_one = [&](const io::json_value& one) {
        if (one.is_string() || one.is_number() || one.is_boolean()) visit(text_of_scalar(one));
    };
    visit_one(*value);
    if (!value->is_array()) return;
    for (io::json_parts items{*value}; items.next();) visit_one(items.value());
}

value_kinds& field_census::of(std::string_view name) {
    const auto [at, is_new] = numbers_.emplace(name, names_.size());
    if (is_new) {
        if (names_.size() == max_kept_fields) {
            throw usage_error("the records have more than " + std::to_string(max_kept_fields) +
                              " different fields; name those to keep (--keep-fields NAME,...)");
        }
        names_.push_back(at->first);
        kinds_.emplace_back();
    }
    return kinds_[at->second];
}

void field_census::add(std::string_view fields) {
    if (fields.empty()) return;
    for (io::json_parts parts{io::json_value(fields)}; parts.next();) of(parts.name()).add(parts.value());
}

void field_census::add(const field_census& more) {
    for (std::size_t i = 0; i < more.names_.size(); ++i) of(more.names_[i]).add(more.kinds_[i]);
}

std::vector<field_info> field_census::columns(const std::vector<std::string>& named) const {
    std::vector<field_info> all;
    const auto add = [&](const std::string& name, const value_kinds& kinds) {
        const field_type type = kinds.type();
        all.push_back(
            {name, type, kinds.documents, type == field_type::list ? kinds.values : kinds.documents});
    };
    const bool some = !named.empty() && named.front() != "*";
    if (!some) {
        for (std::size_t i = 0; i < names_.size(); ++i) add(names_[i], kinds_[i]);
        return all;
    }
    for (const std::string& name : named) {
        const auto at = numbers_.find(name);
        add(name, at == numbers_.end() ? value_kinds{} : kinds_[at->second]);
    }
    return all;
}

}  // namespace quern
