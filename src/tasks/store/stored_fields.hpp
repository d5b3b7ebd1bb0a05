// SPDX-License-Identifier: Apache-2.0
// The kept fields of a store's documents: each document's JSON, and a typed column for each field.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/store/section.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/text_blocks.hpp"

namespace quern {

/// A field of all documents, for filters, sorting and counts. Thread-safe; throws damaged_store. Each value is read in
/// place; those of a type are valid for columns of that type only, and for documents that have the field.
class field_column {
  public:
    field_column(const std::filesystem::path& store, const std::vector<store_section>& sections,
                 std::size_t number, field_info info, std::uint64_t documents);

    const field_info& info() const { return info_; }
    bool has(std::uint32_t document) const {
        if (!present_) return true;
        return (present_->value<std::uint8_t>(document / 8) >> (document % 8) & 1) != 0;
    }
    std::int64_t integer(std::uint32_t document) const { return value<std::int64_t>(document); }
    double number(std::uint32_t document) const { return value<double>(document); }
    bool boolean(std::uint32_t document) const { return value<std::uint8_t>(document) != 0; }
    /// The values of all documents, 0 for those without the field: of integers and dates, of numbers, of booleans.
    std::span<const std::int64_t> integers() const { return values_.values<std::int64_t>(0, documents_); }
    std::span<const double> numbers() const { return values_.values<double>(0, documents_); }
    std::span<const std::uint8_t> booleans() const { return values_.values<std::uint8_t>(0, documents_); }
    /// A bit for each document that has the field, the first one as the lowest bit; nothing if all have it.
    std::optional<std::string_view> present() const {
        if (!present_) return {};
        return present_->bytes(0, (documents_ + 7) / 8);
    }
    /// Microseconds since 1970-01-01T00:00:00Z.
    std::int64_t date(std::uint32_t document) const { return value<std::int64_t>(document); }
    /// Of text: the string. Of json: the value as it is written, without white space.
    std::string_view text(std::uint32_t document) const {
        return io::column_string(values_, document, documents_);
    }
    /// Of a list: its strings are those with the numbers [first, second).
    std::pair<std::uint64_t, std::uint64_t> list(std::uint32_t document) const;
    std::string_view list_item(std::uint64_t number) const {
        return io::column_string(values_, number, info_.values);
    }
    /// That sizes and ends fit.
    void check() const;
    [[noreturn]] void fail(std::string_view reason) const { values_.fail(reason); }

  private:
    template <class Value>
    Value value(std::uint32_t document) const {
        return values_.value<Value>(std::uint64_t{document} * sizeof(Value));
    }

    field_info info_;
    std::uint64_t documents_;
    io::section_view values_;
    std::optional<io::section_view> present_, ends_;
};

class stored_fields {
  public:
    stored_fields(const std::filesystem::path& store, const std::vector<store_section>& sections,
                  std::uint64_t documents, const std::vector<field_info>& fields);

    /// The document's fields as a JSON object, values as they were written; empty if it has none. Cost: a block of
    /// 16 KiB, or of the document.
    std::string json(std::uint32_t document) const;
    const std::vector<field_column>& columns() const { return columns_; }
    const field_column* find(std::string_view name) const;
    const text_blocks& blocks() const { return blocks_; }
    /// Throws damaged_store unless every column has the values of the documents' JSON.
    void check(const context& ctx) const;

  private:
    text_blocks blocks_;
    std::vector<field_column> columns_;
};

}  // namespace quern
