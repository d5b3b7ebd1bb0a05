// SPDX-License-Identifier: Apache-2.0
// Rows of Parquet columns as JSON: lists as arrays, groups and maps with names as objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/corpus/column_entries.hpp"
#include "io/corpus/parquet_columns.hpp"
#include "io/parquet/metadata.hpp"

namespace quern::io {

/// Puts the columns of an object together, row by row, from the entries of their leaves.
class parquet_json_writer {
  public:
    /// `members`: each has a form in JSON. None is within a list.
    parquet_json_writer(const parquet::schema& columns, std::span<const parquet_columns::member> members);

    /// The leaves that it reads, in the order in which write() expects their entries; one may occur twice.
    const std::vector<std::size_t>& leaves() const { return leaves_; }
    /// The bytes of the names in a row.
    std::uint64_t name_bytes() const { return name_bytes_; }

    /// Appends the object of a row. `entries`: of each leaf, at the row's first entry; afterwards at the next row's, or at
    /// the end. Throws out_of_memory if `out` becomes longer than `max_bytes`, invalid_input with the name `file` if the
    /// levels of the leaves do not agree; the entries are then somewhere in the row.
    void write(std::string& out, std::span<column_entries> entries, std::uint64_t max_bytes,
               const std::string& file) const;

  private:
    /// `around`: an element of a list that is a group of one column, which is meant.
    enum class form : std::uint8_t { value, object, around, list, map };
    struct column {
        std::string name;  ///< as JSON, with a colon
        form content = form::object;
        bool is_repeated = false;
        std::uint32_t node = 0;
        std::uint16_t definition = 0, repetition = 0;
        std::size_t first_leaf = 0, leaf_count = 0;  ///< in leaves_
        std::vector<column> parts;                   ///< of a list or map: what is repeated
    };
    struct row;

    column make(std::uint32_t node, std::string_view name);
    bool is_list_around(std::uint32_t list) const;
    void write_column(row& to, const column& of) const;
    void write_content(row& to, const column& of) const;
    void write_object(row& to, const column& of) const;
    void write_elements(row& to, const column& of) const;
    void write_map(row& to, const column& of) const;
    bool has_text_keys(const column& of) const;

    const parquet::schema& columns_;
    std::vector<std::size_t> leaves_;
    std::vector<column> members_;
    std::uint64_t name_bytes_ = 0;
};

}  // namespace quern::io
