// SPDX-License-Identifier: Apache-2.0
#include "quern/base/option.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

std::string joined(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

/// The shortest text that reads back to the same number; "2^64" for a power of two that is far from 1.
std::string number_text(double value) {
    int exponent = 0;
    if (std::frexp(value, &exponent) == 0.5 && std::abs(exponent - 1) >= 32)
        return "2^" + std::to_string(exponent - 1);
    char buffer[32];
    const auto [end, failure] = std::to_chars(std::begin(buffer), std::end(buffer), value);
    return {std::begin(buffer), end};
}

/// The largest values of the types of members: a range up to one of them has no maximum of its own.
bool is_limit_of_type(std::uint64_t max) {
    return max == no_limit || max == std::numeric_limits<std::uint32_t>::max();
}

bool has_range(const whole_range& range) {
    return range.min != 0 || !is_limit_of_type(range.max);
}

std::string words_of(const whole_range& range, bool to_limit_of_type) {
    const bool at_least =
        range.max == no_limit || (is_limit_of_type(range.max) && (range.all || !to_limit_of_type));
    return at_least ? "of at least " + std::to_string(range.min)
                    : "from " + std::to_string(range.min) + " to " + std::to_string(range.max);
}

std::string words_of(const number_range& range) {
    const bool has_min = !std::isnan(range.min), has_max = !std::isnan(range.max);
    const bool has_above = !std::isnan(range.above), has_below = !std::isnan(range.below);
    if (has_min && has_max) return "from " + number_text(range.min) + " to " + number_text(range.max);
    if (has_min && has_below)
        return "from " + number_text(range.min) + " to below " + number_text(range.below);
    std::string text;
    if (has_min) text = "of at least " + number_text(range.min);
    if (has_above) text = "above " + number_text(range.above);
    if (has_below) text += (text.empty() ? "below " : ", below ") + number_text(range.below);
    if (has_max) text += (text.empty() ? "of at most " : ", up to ") + number_text(range.max);
    return text;
}

bool contains(const whole_range& range, std::uint64_t value) {
    return value >= range.min && value <= range.max;
}

bool contains(const number_range& range, double value) {
    // A bound that does not exist is NaN, for which every comparison is false.
    return std::isfinite(value) && !(value < range.min) && !(value <= range.above) && !(value > range.max) &&
           !(value >= range.below);
}

bool is_allowed(const option_description& option, const option_value& value) {
    switch (option.kind) {
        case option_kind::choice:
            return std::get<std::uint64_t>(value) < option.names.size();
        case option_kind::name: {
            const std::string& name = std::get<std::string>(value);
            return name.empty() || std::ranges::find(option.names, name) != option.names.end();
        }
        case option_kind::whole:
            return contains(option.whole, std::get<std::uint64_t>(value)) ||
                   std::get<std::uint64_t>(value) == option.whole.all;
        case option_kind::number:
            return contains(option.number, std::get<double>(value));
        case option_kind::exact: {
            const decimal& exact = std::get<decimal>(value);
            return exact.denominator != 0 && contains(option.number, exact.value());
        }
        default:
            return true;
    }
}

/// The whole text as a value of its type.
template <class Value>
std::optional<Value> parsed(std::string_view text) {
    Value value{};
    const char* const last = text.data() + text.size();
    const auto [end, failure] = std::from_chars(text.data(), last, value);
    if (failure != std::errc() || end != last) return {};
    return value;
}

template <class Value>
option_value or_none(const std::optional<Value>& value) {
    return value ? option_value(*value) : option_value();
}

/// Nothing if the text is not of the option's kind.
option_value value_of(const option_description& option, std::string_view text) {
    switch (option.kind) {
        case option_kind::flag:
        case option_kind::choice:
        case option_kind::name: {
            const auto at = std::ranges::find(option.names, text);
            if (at == option.names.end()) return {};
            const auto position = static_cast<std::uint64_t>(at - option.names.begin());
            if (option.kind == option_kind::name) return std::string(text);
            return option.kind == option_kind::flag ? option_value(position == 1) : option_value(position);
        }
        case option_kind::whole: {
            if (option.whole.all && text == "all") return option.whole.all.value();
            const auto number = parsed<std::uint64_t>(text);
            // Only the word means all, not the number that stands for it.
            return number && contains(option.whole, *number) ? option_value(*number) : option_value();
        }
        case option_kind::integer:
            return or_none(parsed<std::int64_t>(text));
        case option_kind::number:
            return or_none(parsed<double>(text));
        case option_kind::exact:
            return parse_decimal(text);
        default:
            return std::string(text);
    }
}

std::string refusal(const option_description& option, std::string_view value) {
    return "invalid value '" + std::string(value) + "' (expected " + expected_value(option) + ")";
}

}  // namespace

std::string expected_value(const option_description& option) {
    const auto with = [](const std::string& kind, const std::string& range) {
        return range.empty() ? kind : kind + " " + range;
    };
    switch (option.kind) {
        case option_kind::flag:
        case option_kind::choice:
        case option_kind::name:
            return "one of " + joined(option.names);
        case option_kind::whole:
            return with(option.whole.all ? "all or a whole number" : "a whole number",
                        words_of(option.whole, true));
        case option_kind::integer:
            return "a whole number";
        case option_kind::number:
        case option_kind::exact:
            return with("a number", words_of(option.number));
        default:
            return "text";
    }
}

std::string range_text(const option_description& option) {
    std::string text;
    if (option.kind == option_kind::whole && has_range(option.whole)) text = words_of(option.whole, false);
    if (option.kind == option_kind::number || option.kind == option_kind::exact)
        text = words_of(option.number);
    return text.starts_with("of ") ? text.substr(3) : text;
}

std::string value_text(const option_description& option, const option_value& value) {
    if (const auto* yes = std::get_if<bool>(&value))
        return std::string(option.names.empty() ? (*yes ? "true" : "false") : option.names[*yes ? 1 : 0]);
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        if (option.kind == option_kind::choice && *number < option.names.size())
            return std::string(option.names[*number]);
        return option.kind == option_kind::whole && *number == option.whole.all ? "all"
                                                                                : std::to_string(*number);
    }
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
    if (const auto* exact = std::get_if<decimal>(&value))
        return exact->denominator == 0 ? std::to_string(exact->numerator) + "/0" : to_text(*exact);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return {};
}

option_value parse_value(const option_description& option, std::string_view text) {
    option_value value = value_of(option, text);
    if (std::holds_alternative<std::monostate>(value) || !is_allowed(option, value))
        throw usage_error(refusal(option, text));
    return value;
}

void check_value(const option_description& option, const option_value& value) {
    if (std::holds_alternative<std::monostate>(value) || is_allowed(option, value)) return;
    throw usage_error(std::string(option.name) + ": " + refusal(option, value_text(option, value)));
}

}  // namespace quern
