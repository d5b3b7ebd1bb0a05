// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/arrow_entries.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "quern/base/error.hpp"

namespace quern::io {
namespace {

using arrow::array;
using arrow::conversion;
using arrow::field;
using arrow::layout;

/// Of two levels and a value, while a row is collected.
constexpr std::uint64_t bytes_an_entry = 2 * (2 * sizeof(std::uint16_t) + sizeof(std::string_view));

template <class Number>
Number number_of(const char* bytes) {
    Number result;
    std::memcpy(&result, bytes, sizeof result);
    return result;
}

template <class Number>
void append_number(std::vector<char>& out, Number value) {
    const auto* const bytes = reinterpret_cast<const char*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
}

std::int64_t signed_of(const char* bytes, std::uint32_t width) {
    switch (width) {
        case 1:
            return number_of<std::int8_t>(bytes);
        case 2:
            return number_of<std::int16_t>(bytes);
        case 4:
            return number_of<std::int32_t>(bytes);
        default:
            return number_of<std::int64_t>(bytes);
    }
}

/// Rounded down.
std::int32_t days_of(std::int64_t milliseconds) {
    constexpr std::int64_t a_day = 86'400'000;
    const std::int64_t days = milliseconds / a_day - (milliseconds % a_day < 0 ? 1 : 0);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(days, INT32_MIN, INT32_MAX));
}

std::int64_t to_milliseconds(std::int64_t seconds) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1000;
    return 1000 * std::clamp(seconds, -most, most);
}

/// A value of fixed width as Parquet has it.
void append_fixed(std::vector<char>& out, const field& its, const char* value) {
    switch (its.converts) {
        case conversion::none:
            out.insert(out.end(), value, value + its.width);
            return;
        case conversion::to_int32:
            return append_number(out, static_cast<std::int32_t>(signed_of(value, its.width)));
        case conversion::to_uint32:
            return append_number(out, its.width == 1 ? std::uint32_t{number_of<std::uint8_t>(value)}
                                                     : std::uint32_t{number_of<std::uint16_t>(value)});
        case conversion::days:
            return append_number(out, days_of(number_of<std::int64_t>(value)));
        case conversion::seconds:
            if (its.width == 8) return append_number(out, to_milliseconds(number_of<std::int64_t>(value)));
            return append_number(out,
                                 static_cast<std::int32_t>(std::clamp<std::int64_t>(
                                     to_milliseconds(number_of<std::int32_t>(value)), INT32_MIN, INT32_MAX)));
        case conversion::from_little_endian:
            for (std::uint32_t i = its.width; i-- != 0;) out.push_back(value[i]);
            return;
    }
}

}  // namespace

arrow_entries::arrow_entries(const arrow::arrow_schema& schema,
                             std::shared_ptr<const std::vector<array>> arrays, std::size_t leaf,
                             std::uint64_t first, std::uint64_t count, std::uint64_t max_bytes)
    : schema_(schema),
      arrays_(std::move(arrays)),
      leaf_(schema.columns.leaves[leaf]),
      path_(schema.paths[leaf]),
      next_(first),
      end_(first + count),
      max_bytes_(max_bytes) {}

std::size_t arrow_entries::read(parquet::column_batch& out, std::size_t max) {
    out.entries = 0;
    out.repetition.clear();
    out.definition.clear();
    out.texts.clear();
    out.fixed.clear();
    for (; next_ != end_ && out.entries < max; ++next_) {
        const std::size_t texts = out.texts.size(), fixed = out.fixed.size();
        row_begin_ = out.entries;
        if (add(out, 0, next_, 0, 0, 0)) continue;
        out.entries = row_begin_;
        out.repetition.resize(row_begin_);
        out.definition.resize(row_begin_);
        out.texts.resize(texts);
        out.fixed.resize(fixed);
        add_missing(out, 0, 0);
        too_large_rows_.push_back(next_);
    }
    return out.entries;
}

void arrow_entries::require_whole(std::uint64_t row) {
    while (!too_large_rows_.empty() && too_large_rows_.front() < row) too_large_rows_.pop_front();
    if (!too_large_rows_.empty() && too_large_rows_.front() == row)
        throw out_of_memory("the lists of a row", max_bytes_ + bytes_an_entry, max_bytes_);
}

bool arrow_entries::add_missing(parquet::column_batch& out, std::uint16_t repetition,
                                std::uint16_t definition) {
    if (leaf_.max_repetition != 0) {
        if ((out.entries - row_begin_) * bytes_an_entry > max_bytes_) return false;
        out.repetition.push_back(repetition);
    }
    out.definition.push_back(definition);
    ++out.entries;
    return true;
}

/// False if the row has too many entries. `definition`: of what is around it; `lists`: how many lists that is.
bool arrow_entries::add(parquet::column_batch& out, std::size_t step, std::uint64_t at,
                        std::uint16_t repetition, std::uint16_t definition, std::uint16_t lists) {
    const field& its = schema_.fields[path_[step]];
    const array& values = (*arrays_)[path_[step]];
    if (its.how == layout::nothing || !values.is_valid(at)) return add_missing(out, repetition, definition);
    if (its.encoded || step + 1 == path_.size())
        return add_leaf(out, its, values, at, repetition, definition);
    ++definition;
    if (its.how == layout::group) return add(out, step + 1, at, repetition, definition, lists);
    const auto [begin, end] = values.range(its, at);
    if (begin == end) return add_missing(out, repetition, definition);
    ++lists;
    ++definition;
    for (std::uint64_t i = begin; i < end; ++i)
        if (!add(out, step + 1, i, i == begin ? repetition : lists, definition, lists)) return false;
    return true;
}

bool arrow_entries::add_leaf(parquet::column_batch& out, const field& its, const array& values,
                             std::uint64_t at, std::uint16_t repetition, std::uint16_t definition) {
    const array* from = &values;
    if (its.encoded) {
        std::tie(from, at) = values.entries->at(values.key(its, at));
        if (!from->is_valid(at)) return add_missing(out, repetition, definition);
    }
    if (!add_missing(out, repetition, leaf_.max_definition)) return false;
    add_value(out, its, *from, at);
    return true;
}

void arrow_entries::add_value(parquet::column_batch& out, const field& its, const array& values,
                              std::uint64_t at) const {
    if (leaf_.width == 0) {
        out.texts.push_back(values.text(its, at));
    } else if (its.how == layout::bits) {
        out.fixed.push_back(
            static_cast<char>(static_cast<unsigned char>(values.values[at >> 3]) >> (at & 7) & 1));
    } else {
        append_fixed(out.fixed, its, values.values.data() + at * its.width);
    }
}

arrow_weights::arrow_weights(const arrow::arrow_schema& schema,
                             std::shared_ptr<const std::vector<array>> arrays,
                             const std::vector<std::size_t>& leaves, std::uint64_t rows,
                             std::uint64_t row_bytes)
    : schema_(schema), arrays_(std::move(arrays)), same_(row_bytes) {
    for (const std::size_t leaf : leaves) {
        const std::uint32_t number = schema.paths[leaf].back();
        const field& its = schema.fields[number];
        const array& values = (*arrays_)[number];
        if (schema.paths[leaf].size() == 1 && schema.columns.leaves[leaf].width == 0) {
            texts_.push_back(number);
            continue;
        }
        constexpr std::uint64_t bytes_a_value = 32;
        std::uint64_t bytes = bytes_a_value + its.width;
        if (its.encoded && values.entries) bytes += values.entries->mean_bytes();
        std::uint64_t total = values.values.size() + values.offsets.size();
        for (const std::string_view each : values.view_bytes) total += each.size();
        if (values.length > rows) bytes = bytes * (values.length / std::max<std::uint64_t>(1, rows) + 1);
        same_ += bytes + total / std::max<std::uint64_t>(1, rows);
    }
}

std::uint64_t arrow_weights::text_bytes(std::uint32_t number, std::uint64_t row) const {
    const field& its = schema_.fields[number];
    const array* values = &(*arrays_)[number];
    if (!values->is_valid(row)) return 0;
    if (its.encoded) {
        std::tie(values, row) = values->entries->at(values->key(its, row));
        if (!values->is_valid(row)) return 0;
    }
    return values->text(its, row).size();
}

}  // namespace quern::io
