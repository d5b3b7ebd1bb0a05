// SPDX-License-Identifier: Apache-2.0
// One option, one declaration. A row of a table gives an option's name, its values and its help; the default is that of
// the member it stands for. The command line, the server's parameters and their description, docs/commands.md and the
// checks of the library all come from these rows.
//
//     template <>
//     inline constexpr auto options_of<ranking_options> = std::array{
//         option_for<&ranking_options::b>("b", "X", {.min = 0, .max = 1}, "bm25: document-length normalisation."), …};
//
//     check_ranges(ranking);   // "b: invalid value '2' (expected a number from 0 to 1)"
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "quern/base/decimal.hpp"

namespace quern {

enum class option_kind {
    flag,     ///< yes or no; with names, a choice of two on the command line
    choice,   ///< one of some names
    name,     ///< one of some names, kept as text; empty: none
    whole,    ///< a whole number of at least 0
    integer,  ///< a whole number
    number,   ///< a finite number
    exact,    ///< a decimal number, kept as typed
    text,
};

/// The values of a whole number.
struct whole_range {
    std::uint64_t min = 0, max = std::numeric_limits<std::uint64_t>::max();
    std::optional<std::uint64_t> all = {};  ///< the value that the word "all" stands for; allowed, too
};

/// The values of a number; a bound that is not given does not exist.
struct number_range {
    static constexpr double none = std::numeric_limits<double>::quiet_NaN();
    double min = none, above = none;  ///< at least, more than
    double max = none, below = none;  ///< at most, less than
};

/// A value of any option: by kind bool, the position of the name, std::uint64_t, std::int64_t, double, decimal,
/// std::string; nothing for an optional member without a value.
using option_value =
    std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, decimal, std::string>;

struct option_description {
    std::string_view name;   ///< as in the API: "title_weight"; on the command line --title-weight
    std::string_view value;  ///< stands for the value in the help: "N"; empty for a flag without names
    std::string_view help;   ///< sentences without the range and the default, which are added
    option_kind kind = option_kind::text;
    whole_range whole = {};    ///< for whole; max is at most that of the member's type
    number_range number = {};  ///< for number and exact
    std::span<const std::string_view> names =
        {};                      ///< for choice and name; for flag those of no and yes, or none
    char letter = 0;             ///< another name on the command line: -k; 0: none
    std::string_view note = {};  ///< on the default: "1 without a query"
};

/// An option of the struct `Options`.
template <class Options>
struct option : option_description {
    option_value (*get)(const Options&) = nullptr;
    void (*set)(Options&, const option_value&) = nullptr;  ///< the value must be of the option's kind

    constexpr option with_letter(char added) const {
        option copy = *this;
        copy.letter = added;
        return copy;
    }
    constexpr option with_help(std::string_view other) const {
        option copy = *this;
        copy.help = other;
        return copy;
    }
    constexpr option with_note(std::string_view added) const {
        option copy = *this;
        copy.note = added;
        return copy;
    }
};

/// "a number from 0 to 1", "one of bm25, ql": the allowed values, for messages.
std::string expected_value(const option_description& option);
/// "from 0 to 1": the range, for help; empty if there is none or it is that of the type.
std::string range_text(const option_description& option);
/// The value as a user types it; empty for none.
std::string value_text(const option_description& option, const option_value& value);
/// Throws a usage_error "invalid value '2' (expected a number from 0 to 1)".
option_value parse_value(const option_description& option, std::string_view text);
/// Throws a usage_error "b: invalid value '2' (expected a number from 0 to 1)" for a value that parse_value would
/// refuse.
void check_value(const option_description& option, const option_value& value);

/// The table of a struct of options: a std::array of option<Options>. A struct with a table specialises it; without the
/// header of its table nothing that reads it compiles.
template <class Options>
inline constexpr std::nullptr_t options_of = nullptr;

/// The option with this name, which must be in the table.
template <class Options>
consteval const option<Options>& option_of(std::string_view name) {
    for (const option<Options>& row : options_of<Options>) {
        if (row.name == name) return row;
    }
    throw "the table has no option of this name";
}

/// A parameter for the name of an option: a name that the table lacks does not compile.
template <class Options>
struct option_name {
    const option<Options>& row;
    consteval option_name(const char* name)
        : row(option_of<Options>(name)) {}  // as a parameter: takes a literal
};

/// Throws the usage_error of check_value for the first option whose value is out of range.
template <class Options>
void check_ranges(const Options& options) {
    for (const option<Options>& row : options_of<Options>) check_value(row, row.get(options));
}

namespace option_detail {

template <class Member>
struct member_traits;
template <class Owner, class Type>
struct member_traits<Type Owner::*> {
    using owner = Owner;
    using type = Type;
};

template <class Type>
struct without_optional {
    using type = Type;
};
template <class Type>
struct without_optional<std::optional<Type>> {
    using type = Type;
};

template <class Type>
constexpr option_kind kind_of() {
    if constexpr (std::same_as<Type, bool>) return option_kind::flag;
    if constexpr (std::is_enum_v<Type>) return option_kind::choice;
    if constexpr (std::unsigned_integral<Type> && !std::same_as<Type, bool>) return option_kind::whole;
    if constexpr (std::same_as<Type, std::int64_t>) return option_kind::integer;
    if constexpr (std::same_as<Type, double>) return option_kind::number;
    if constexpr (std::same_as<Type, decimal>) return option_kind::exact;
    if constexpr (std::same_as<Type, std::string> || std::same_as<Type, std::filesystem::path>)
        return option_kind::text;
}

template <class Type>
option_value to_value(const Type& member) {
    if constexpr (std::is_enum_v<Type>) {
        return static_cast<std::uint64_t>(member);
    } else if constexpr (std::unsigned_integral<Type> && !std::same_as<Type, bool>) {
        return std::uint64_t{member};
    } else if constexpr (std::same_as<Type, std::filesystem::path>) {
        return member.string();
    } else {
        return member;
    }
}
template <class Type>
option_value to_value(const std::optional<Type>& member) {
    return member ? to_value(*member) : option_value();
}

template <class Type>
Type from_value(const option_value& value) {
    if constexpr (std::is_enum_v<Type> || (std::unsigned_integral<Type> && !std::same_as<Type, bool>)) {
        return static_cast<Type>(std::get<std::uint64_t>(value));
    } else if constexpr (std::same_as<Type, std::filesystem::path>) {
        return std::get<std::string>(value);
    } else {
        return std::get<Type>(value);
    }
}

/// The option of a member, or of a member of that member.
template <auto First, auto... Rest>
struct path {
    using options = typename member_traits<decltype(First)>::owner;
    static constexpr auto& in(options& object) { return ((object.*First).*....*Rest); }
    static constexpr const auto& in(const options& object) { return ((object.*First).*....*Rest); }
    using member = std::remove_cvref_t<decltype(in(std::declval<const options&>()))>;
    using type = typename without_optional<member>::type;

    static constexpr option<options> made(std::string_view name, std::string_view value,
                                          std::string_view help) {
        option<options> row;
        row.name = name;
        row.value = value;
        row.help = help;
        row.kind = kind_of<type>();
        row.get = [](const options& from) { return to_value(in(from)); };
        row.set = [](options& into, const option_value& given) { in(into) = from_value<type>(given); };
        return row;
    }
};

template <option_kind Kind, auto... Members>
concept is = kind_of<typename path<Members...>::type>() == Kind;

}  // namespace option_detail

/// A flag: an option without a value.
template <auto... Members>
    requires(option_detail::is<option_kind::flag, Members...>)
constexpr auto option_for(std::string_view name, std::string_view help) {
    return option_detail::path<Members...>::made(name, {}, help);
}

/// Text, or any whole number.
template <auto... Members>
    requires(option_detail::is<option_kind::text, Members...> ||
             option_detail::is<option_kind::integer, Members...>)
constexpr auto option_for(std::string_view name, std::string_view value, std::string_view help) {
    return option_detail::path<Members...>::made(name, value, help);
}

/// A choice: of enumerators, of texts, or (for a bool) of the names of no and yes.
template <auto... Members>
    requires(option_detail::is<option_kind::choice, Members...> ||
             option_detail::is<option_kind::flag, Members...> ||
             option_detail::is<option_kind::text, Members...>)
constexpr auto option_for(std::string_view name, std::string_view value,
                          std::span<const std::string_view> names, std::string_view help) {
    auto row = option_detail::path<Members...>::made(name, value, help);
    if (row.kind == option_kind::text) row.kind = option_kind::name;
    row.names = names;
    return row;
}

/// A whole number.
template <auto... Members>
    requires(option_detail::is<option_kind::whole, Members...>)
constexpr auto option_for(std::string_view name, std::string_view value, whole_range range,
                          std::string_view help) {
    using type = typename option_detail::path<Members...>::type;
    auto row = option_detail::path<Members...>::made(name, value, help);
    row.whole = range;
    row.whole.max = std::min<std::uint64_t>(range.max, std::numeric_limits<type>::max());
    return row;
}

/// A number.
template <auto... Members>
    requires(option_detail::is<option_kind::number, Members...> ||
             option_detail::is<option_kind::exact, Members...>)
constexpr auto option_for(std::string_view name, std::string_view value, number_range range,
                          std::string_view help) {
    auto row = option_detail::path<Members...>::made(name, value, help);
    row.number = range;
    return row;
}

/// The option of another table, for a member of the same kind: its values and help stand there.
template <auto... Members>
constexpr auto same_option(const option_description& original) {
    auto row = option_detail::path<Members...>::made(original.name, original.value, original.help);
    if (row.kind != original.kind) throw "the members are of different kinds";
    static_cast<option_description&>(row) = original;
    return row;
}

}  // namespace quern
