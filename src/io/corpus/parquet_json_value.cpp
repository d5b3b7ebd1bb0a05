// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/parquet_json_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "io/corpus/kept_fields.hpp"

namespace quern::io {
namespace {

using parquet::leaf_column;
using parquet::meaning;
using parquet::physical_type;
using parquet::schema;
using parquet::schema_node;
using parquet::time_unit;

constexpr std::uint32_t max_decimal_bytes = 64;
constexpr std::int32_t max_decimal_scale = 200;

template <class Number>
Number number_of(std::string_view value) {
    Number result;
    std::memcpy(&result, value.data(), sizeof result);
    return result;
}

template <class Number>
void append_number(std::string& out, Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
        if (!std::isfinite(value)) {
            out += "null";
            return;
        }
    }
    std::array<char, 32> text{};
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

void append_padded(std::string& out, std::uint64_t value, std::size_t digits) {
    const std::string text = std::to_string(value);
    if (text.size() < digits) out.append(digits - text.size(), '0');
    out += text;
}

/// The day, counted from 1970-01-01, in the proleptic Gregorian calendar (Howard Hinnant, chrono-Compatible Low-Level Date
/// Algorithms): std::chrono ends with the year 32767.
void append_date(std::string& out, std::int64_t day) {
    constexpr std::int64_t days_of_era = 146097;
    day += 719468;
    const std::int64_t era = (day >= 0 ? day : day - days_of_era + 1) / days_of_era;
    const std::int64_t in_era = day - era * days_of_era;
    const std::int64_t year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    const std::int64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted = (5 * in_year + 2) / 153;
    const auto day_of_month = static_cast<std::uint64_t>(in_year - (153 * shifted + 2) / 5 + 1);
    const auto month = static_cast<std::uint64_t>(shifted < 10 ? shifted + 3 : shifted - 9);
    const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    if (year < 0 || year > 9999) out += year < 0 ? '-' : '+';
    append_padded(out, static_cast<std::uint64_t>(year < 0 ? -year : year), 4);
    out += '-';
    append_padded(out, month, 2);
    out += '-';
    append_padded(out, day_of_month, 2);
}

struct ticks {
    std::int64_t a_second;
    std::size_t digits;
};
ticks ticks_of(time_unit unit) {
    switch (unit) {
        case time_unit::milliseconds:
            return {1'000, 3};
        case time_unit::microseconds:
            return {1'000'000, 6};
        case time_unit::nanoseconds:
            break;
    }
    return {1'000'000'000, 9};
}

/// `time`: within a day.
void append_time(std::string& out, std::int64_t time, const ticks& unit) {
    const std::int64_t seconds = time / unit.a_second, rest = time % unit.a_second;
    const std::array<std::int64_t, 3> parts = {seconds / 3600, seconds / 60 % 60, seconds % 60};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i != 0) out += ':';
        append_padded(out, static_cast<std::uint64_t>(parts[i]), 2);
    }
    if (rest == 0) return;
    out += '.';
    append_padded(out, static_cast<std::uint64_t>(rest), unit.digits);
}

void append_timestamp(std::string& out, std::int64_t value, const ticks& unit, bool is_utc) {
    const std::int64_t a_day = unit.a_second * 86400;
    std::int64_t day = value / a_day, time = value % a_day;
    if (time < 0) {
        time += a_day;
        --day;
    }
    out += '"';
    append_date(out, day);
    out += 'T';
    append_time(out, time, unit);
    out += is_utc ? "Z\"" : "\"";
}

/// The outdated form: nanoseconds of the day, and its Julian number.
void append_int96(std::string& out, std::string_view value) {
    constexpr std::int64_t julian_of_1970 = 2440588, a_day = 86'400'000'000'000;
    const auto time = number_of<std::uint64_t>(value);
    const auto day = number_of<std::uint32_t>(value.substr(8));
    if (time >= static_cast<std::uint64_t>(a_day)) {
        out += "null";
        return;
    }
    out += '"';
    append_date(out, day - julian_of_1970);
    out += 'T';
    append_time(out, static_cast<std::int64_t>(time), ticks_of(time_unit::nanoseconds));
    out += '"';
}

/// The decimal digits of a two's complement number, the highest byte first; `negative` is set to its sign.
std::string digits_of(std::string_view bytes, bool& negative) {
    constexpr std::uint32_t base = 1'000'000'000;
    negative = !bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 128) != 0;
    // To base 10^9, the lowest first: digit by digit of base 256.
    std::vector<std::uint32_t> parts = {0};
    std::uint32_t carry_of_negation = 1;
    std::string magnitude(bytes);
    if (negative) {
        for (std::size_t i = magnitude.size(); i-- != 0;) {
            const std::uint32_t inverted =
                (~static_cast<std::uint32_t>(static_cast<unsigned char>(magnitude[i])) & 255) +
                carry_of_negation;
            magnitude[i] = static_cast<char>(inverted & 255);
            carry_of_negation = inverted >> 8;
        }
    }
    for (const char byte : magnitude) {
        std::uint64_t carry = static_cast<unsigned char>(byte);
        for (std::uint32_t& part : parts) {
            const std::uint64_t value = std::uint64_t{part} * 256 + carry;
            part = static_cast<std::uint32_t>(value % base);
            carry = value / base;
        }
        if (carry != 0) parts.push_back(static_cast<std::uint32_t>(carry));
    }
    std::string digits = std::to_string(parts.back());
    for (std::size_t i = parts.size() - 1; i-- != 0;) append_padded(digits, parts[i], 9);
    return digits;
}

void append_decimal(std::string& out, const schema_node& node, const leaf_column& leaf,
                    std::string_view value) {
    std::string bytes(value);
    const bool is_integer = leaf.type == physical_type::int32 || leaf.type == physical_type::int64;
    if (is_integer) std::ranges::reverse(bytes);
    if (bytes.size() > max_decimal_bytes) {
        out += "null";
        return;
    }
    bool negative = false;
    std::string digits = digits_of(bytes, negative);
    const auto scale = static_cast<std::size_t>(node.means.scale);
    if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
    if (scale != 0) digits.insert(digits.size() - scale, 1, '.');
    if (negative) out += '-';
    out += digits;
}

void append_uuid(std::string& out, std::string_view value) {
    constexpr std::string_view hex = "0123456789abcdef";
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
        const auto byte = static_cast<unsigned char>(value[i]);
        out += hex[byte >> 4];
        out += hex[byte & 15];
    }
}

float from_float16(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 31) return fraction == 0 ? sign * HUGE_VALF : NAN;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

void append_integer(std::string& out, const schema_node& node, const leaf_column& leaf,
                    std::string_view value) {
    const bool is_signed = node.means.what != meaning::integer || node.means.is_signed;
    if (leaf.type == physical_type::int32) {
        if (is_signed) return append_number(out, number_of<std::int32_t>(value));
        return append_number(out, number_of<std::uint32_t>(value));
    }
    if (is_signed) return append_number(out, number_of<std::int64_t>(value));
    append_number(out, number_of<std::uint64_t>(value));
}

bool leaf_has_json_form(const schema_node& node, const leaf_column& leaf) {
    const bool is_integer = leaf.type == physical_type::int32 || leaf.type == physical_type::int64;
    switch (node.means.what) {
        case meaning::nothing:
            return true;
        case meaning::text:
        case meaning::json:
            return leaf.type == physical_type::byte_array;
        case meaning::decimal:
            return (is_integer || leaf.type == physical_type::byte_array ||
                    (leaf.type == physical_type::fixed_bytes && leaf.width <= max_decimal_bytes)) &&
                   node.means.scale >= 0 && node.means.scale <= max_decimal_scale;
        case meaning::date:
            return leaf.type == physical_type::int32;
        case meaning::time:
        case meaning::timestamp:
        case meaning::integer:
            return is_integer;
        case meaning::uuid:
            return leaf.type == physical_type::fixed_bytes && leaf.width == 16;
        case meaning::float16:
            return leaf.type == physical_type::fixed_bytes && leaf.width == 2;
        case meaning::none:
            return leaf.type != physical_type::byte_array && leaf.type != physical_type::fixed_bytes;
        case meaning::list:
        case meaning::map:
        case meaning::other:
            break;
    }
    return false;
}

std::int64_t signed_of(const leaf_column& leaf, std::string_view value) {
    return leaf.type == physical_type::int32 ? number_of<std::int32_t>(value)
                                             : number_of<std::int64_t>(value);
}

void append_unannotated(std::string& out, const schema_node& node, const leaf_column& leaf,
                        std::string_view value) {
    switch (leaf.type) {
        case physical_type::boolean:
            out += value.front() != 0 ? "true" : "false";
            return;
        case physical_type::int32:
        case physical_type::int64:
            return append_integer(out, node, leaf, value);
        case physical_type::int96:
            return append_int96(out, value);
        case physical_type::float32:
            return append_number(out, number_of<float>(value));
        case physical_type::float64:
            return append_number(out, number_of<double>(value));
        case physical_type::byte_array:
        case physical_type::fixed_bytes:
            break;
    }
    out += "null";
}

}  // namespace

bool has_json_form(const schema& columns, std::uint32_t node) {
    const schema_node& its = columns.nodes[node];
    if (its.leaf != schema_node::no_leaf) return leaf_has_json_form(its, columns.leaves[its.leaf]);
    return std::ranges::any_of(its.children,
                               [&](std::uint32_t part) { return has_json_form(columns, part); });
}

void append_json_value(std::string& out, const schema_node& node, const leaf_column& leaf,
                       std::string_view value) {
    switch (node.means.what) {
        case meaning::text:
        case meaning::json:
            return append_json_text(out, value);
        case meaning::decimal:
            return append_decimal(out, node, leaf, value);
        case meaning::integer:
            return append_integer(out, node, leaf, value);
        case meaning::date:
            out += '"';
            append_date(out, number_of<std::int32_t>(value));
            out += '"';
            return;
        case meaning::time: {
            const ticks unit = ticks_of(node.means.unit);
            const std::int64_t time = signed_of(leaf, value);
            if (time < 0 || time >= unit.a_second * 86400) break;
            out += '"';
            append_time(out, time, unit);
            out += '"';
            return;
        }
        case meaning::timestamp:
            return append_timestamp(out, signed_of(leaf, value), ticks_of(node.means.unit),
                                    node.means.is_utc);
        case meaning::uuid:
            out += '"';
            append_uuid(out, value);
            out += '"';
            return;
        case meaning::float16:
            return append_number(out, from_float16(number_of<std::uint16_t>(value)));
        case meaning::none:
            return append_unannotated(out, node, leaf, value);
        case meaning::nothing:
        case meaning::list:
        case meaning::map:
        case meaning::other:
            break;
    }
    out += "null";
}

}  // namespace quern::io
