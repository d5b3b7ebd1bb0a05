// SPDX-License-Identifier: Apache-2.0
// The values of kept fields: what type a JSON value has, and which type holds all values of a field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/corpus/json_scan.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// Microseconds from 1970-01-01T00:00:00Z to a date of ISO 8601: "2024-05-01", then optionally T or a blank and a time
/// "12:30", "12:30:15" or "12:30:15.25", then optionally Z or an offset "+02:00", "+0200", "+02"; without one it is UTC.
/// Digits beyond microseconds are dropped. Years 0000 to 9999. Nothing for other text, and for days that do not exist.
std::optional<std::int64_t> microseconds_of_date(std::string_view text);

/// The time that a date names, in microseconds, both ends included: "2024" a year, "2024-05" a month, "2024-05-01" a day,
/// with a time of day its minute, its second, or the part of a second of that many digits. Nothing for other text.
struct date_range {
    std::int64_t first = 0, last = 0;
    friend bool operator==(const date_range&, const date_range&) = default;
};
std::optional<date_range> range_of_date(std::string_view text);
/// "2024-05-01" for midnight UTC, else "2024-05-01T12:30:00Z", with microseconds only if there are some.
std::string text_of_date(std::int64_t microseconds);

/// An integer of 64 bits; nothing for other values.
std::optional<std::int64_t> integer_of(const io::json_value& value);
/// A finite double, correctly rounded; nothing for other values.
std::optional<double> number_of(const io::json_value& value);

/// A string, or a number or boolean as it is written.
std::string text_of_scalar(const io::json_value& value);

/// The texts of a document's field, in order: a string, number or boolean, or those of an array. `fields`: as document::fields; `name` may lead into
/// objects by dots.
void each_text_of(std::string_view fields, std::string_view name,
                  const std::function<void(std::string_view text)>& visit);

/// The values of one field, counted by kind.
struct value_kinds {
    std::uint64_t documents = 0, values = 0;
    bool boolean = false, integer = false, number = false, date = false, text = false, list = false,
         other = false;
    bool words = false;  ///< a value is not a string that holds a number

    void add(const io::json_value& value);
    void add(const value_kinds& more);
    field_type type() const;
    /// Strings that all hold numbers.
    bool are_texts_of_numbers() const { return type() == field_type::text && documents != 0 && !words; }
};

/// The fields of documents, in the order in which they first occur.
class field_census {
  public:
    /// `fields`: as document::fields. Throws usage_error beyond max_kept_fields different names.
    void add(std::string_view fields);
    /// Those of the documents that follow.
    void add(const field_census& more);
    const std::vector<std::string>& names() const { return names_; }
    const value_kinds& kinds(std::size_t number) const { return kinds_[number]; }
    /// The fields of a store; those of `named`, if any, come first, in that order, whether they occur or not.
    std::vector<field_info> columns(const std::vector<std::string>& named) const;

  private:
    value_kinds& of(std::string_view name);

    std::vector<std::string> names_;
    std::vector<value_kinds> kinds_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace quern
