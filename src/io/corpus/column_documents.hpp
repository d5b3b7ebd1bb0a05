// SPDX-License-Identifier: Apache-2.0
// The documents of columnar files: which columns are read, and the document of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/corpus/column_entries.hpp"
#include "io/corpus/corpus.hpp"
#include "io/corpus/parquet_columns.hpp"
#include "io/corpus/parquet_json.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/parquet/metadata.hpp"

namespace quern::io {

/// Shared by all units of a file: which columns are read, and their use. Immutable; any threads.
class column_documents {
  public:
    /// Of the file `name` with these columns. Throws invalid_input as choose_columns() does.
    column_documents(parquet::schema columns, const std::string& name, const corpus_options& options);
    column_documents(const column_documents&) = delete;  // its writers refer to its columns
    column_documents& operator=(const column_documents&) = delete;

    const parquet_columns& columns() const { return columns_; }
    std::size_t names() const { return names_; }  ///< of fields that the user named
    const std::vector<std::size_t>& leaves() const { return leaves_; }
    const unit_position& position() const { return position_; }
    const std::shared_ptr<buffer_pool>& lists() const { return lists_; }  ///< for the documents of units
    std::uint64_t row_bytes() const { return 64 + kept_.name_bytes() + record_.name_bytes(); }

    /// Makes the document of a row, `line`, and adds it or the reason against it. `entries`: of leaves(), at the row;
    /// afterwards those of JSON have passed it, others not. Throws out_of_memory.
    void take_row(std::span<column_entries> entries, std::uint64_t line, const reading_budget& budget,
                  parsed_unit& out) const;
    /// Notes that `count` rows, 1 at least, from `line` on cannot be read.
    void note_lost(std::uint64_t line, std::uint64_t count, const std::string& why, parsed_unit& out) const;
    /// After the last row of a unit: names, counts.
    void finish(parsed_unit& out) const;

  private:
    bool has_budget(std::span<column_entries> entries, std::uint64_t line, const reading_budget& budget,
                    parsed_unit& out) const;
    std::string id_of(const column_entries& entry) const;
    std::vector<std::string> links_of(column_entries& entry, const reading_budget& budget) const;
    bool take_text(std::span<column_entries> entries, std::string& text) const;

    parquet_columns columns_;
    std::size_t names_;
    parquet_json_writer kept_, record_;
    unit_position position_;
    std::shared_ptr<buffer_pool> lists_;
    std::vector<std::size_t> leaves_;
    // Numbers in leaves_; the texts come first.
    std::size_t id_ = parquet_columns::absent, title_ = id_, links_ = id_, first_kept_ = 0,
                first_of_record_ = 0;
};

}  // namespace quern::io
