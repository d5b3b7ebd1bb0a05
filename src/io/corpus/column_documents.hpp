// SPDX-License-Identifier: Apache-2.0
// The documents of files whose values lie in columns: which columns are read, and what a row becomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "io/corpus/parquet_columns.hpp"
#include "io/corpus/parquet_entries.hpp"
#include "io/corpus/parquet_json.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/parquet/parquet_file.hpp"

namespace quern::io {

/// What all units of a file share: which columns are read, and what for.
class document_plan {
  public:
    document_plan(std::shared_ptr<const parquet_file> file, const corpus_options& options)
        : file_(std::move(file)),
          columns_(choose_columns(file_->metadata().columns, options.fields, file_->name())),
          names_(named_fields(options.fields).size()),
          kept_(columns_.columns, columns_.kept),
          record_(columns_.columns, options.keep_records
                                        ? std::span<const parquet_columns::member>(columns_.all)
                                        : std::span<const parquet_columns::member>()) {
        position_.path = file_->name();
        position_.name = options.name;
        position_.limit = limit_of(options, options.document_memory);
        position_.keep_records = options.keep_records;
        for (const std::size_t leaf : columns_.text) leaves_.push_back(leaf);
        const auto add = [this](std::size_t leaf, std::size_t& number) {
            if (leaf == parquet_columns::absent) return;
            number = leaves_.size();
            leaves_.push_back(leaf);
        };
        add(columns_.id, id_);
        add(columns_.title, title_);
        add(columns_.links, links_);
        first_kept_ = leaves_.size();
        leaves_.insert(leaves_.end(), kept_.leaves().begin(), kept_.leaves().end());
        first_of_record_ = leaves_.size();
        leaves_.insert(leaves_.end(), record_.leaves().begin(), record_.leaves().end());
    }

    const std::shared_ptr<const parquet_file>& file() const { return file_; }
    const parquet_columns& columns() const { return columns_; }
    std::size_t names() const { return names_; }  ///< of fields that the user named
    const std::vector<std::size_t>& leaves() const { return leaves_; }
    const unit_position& position() const { return position_; }
    std::uint64_t row_bytes() const { return 64 + kept_.name_bytes() + record_.name_bytes(); }

    /// Makes the document of a row, `line`, and adds it or the reason against it. `entries`: of leaves(), at the row;
    /// afterwards those of JSON have passed it, others not. Throws out_of_memory.
    void take_row(std::span<parquet_entries> entries, std::uint64_t line, const reading_budget& budget,
                  parsed_unit& out) const;

  private:
    bool has_budget(std::span<parquet_entries> entries, std::uint64_t line, const reading_budget& budget,
                    parsed_unit& out) const;
    std::string id_of(const parquet_entries& entry) const;
    std::vector<std::string> links_of(parquet_entries& entry, const reading_budget& budget) const;
    bool take_text(std::span<parquet_entries> entries, std::string& text) const;

    std::shared_ptr<const parquet_file> file_;
    parquet_columns columns_;
    std::size_t names_;
    parquet_json_writer kept_, record_;
    unit_position position_;
    std::vector<std::size_t> leaves_;
    // Numbers in leaves_; the texts come first.
    std::size_t id_ = parquet_columns::absent, title_ = id_, links_ = id_, first_kept_ = 0,
                first_of_record_ = 0;
};

}  // namespace quern::io
