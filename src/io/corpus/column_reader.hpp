// SPDX-License-Identifier: Apache-2.0
// Shared by the readers of columnar files (Parquet, Arrow).
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "io/byte_source.hpp"
#include "io/corpus/column_documents.hpp"
#include "io/corpus/corpus.hpp"
#include "io/files/spooled_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// A unit of rows.
class column_unit : public corpus_unit {
  public:
    /// `notes`: what the reader found before these rows.
    column_unit(parsed_unit notes, const context& ctx);
    bool parse_within(const reading_budget& budget, parsed_unit& out) final;

  protected:
    virtual const column_documents& documents() const = 0;
    /// Adds the documents of the rows, or the reasons against them. Throws out_of_memory unless the budget is the last one.
    virtual void read_rows(const reading_budget& budget, const context& ctx, parsed_unit& out) = 0;
    /// Frees what only read_rows() needs.
    virtual void forget_rows() = 0;

  private:
    parsed_unit notes_;
    context ctx_;
};

class column_reader_base : public corpus_reader {
  protected:
    /// Notes the columns of `documents` that cannot be kept.
    column_reader_base(const column_documents& documents, const context& ctx);

    bool has_notes() const { return !notes_.issues.empty() || !notes_.counts.skipped.empty(); }
    parsed_unit take_notes();

    context ctx_;
    context of_units_;   ///< for units, which are parsed on other threads: the stop flag, but no listeners
    parsed_unit notes_;  ///< for the next unit
};

/// The file, of `opened` if there is one: a pipe, or a file that is compressed as a whole, which is copied to the scratch
/// folder.
template <class File>
std::shared_ptr<const File> open_columns(const std::filesystem::path& path,
                                         std::unique_ptr<byte_source> opened, const corpus_options& options,
                                         const context& ctx) {
    const std::uint64_t for_metadata = std::min(options.document_memory, ctx.memory_limit() / 4);
    return opened ? File::of(spooled(*opened, ctx), path.native(), for_metadata)
                  : File::open(path, for_metadata);
}

}  // namespace quern::io
