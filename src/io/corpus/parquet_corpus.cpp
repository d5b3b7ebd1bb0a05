// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/parquet_corpus.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/corpus/column_documents.hpp"
#include "io/corpus/column_entries.hpp"
#include "io/corpus/column_reader.hpp"
#include "io/corpus/parquet_rows.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

using parquet::parquet_file;

std::uint64_t pages_share(std::uint64_t bytes) {
    return bytes / 4 * 3;
}

/// State shared by all units of a file.
struct document_plan {
    std::shared_ptr<const parquet_file> file;
    column_documents documents;

    document_plan(std::shared_ptr<const parquet_file> from, const corpus_options& options)
        : file(std::move(from)), documents(file->metadata().columns, file->name(), options) {}

    /// Of a row of a group, counted in the file from 1.
    std::uint64_t line_of(const parquet_rows& rows, std::uint64_t row) const {
        return file->metadata().groups[rows.group].first_row + row + 1;
    }
    void note_lost(const parquet_rows& rows, std::uint64_t row, std::uint64_t count, const std::string& why,
                   parsed_unit& out) const {
        documents.note_lost(line_of(rows, row), count, why, out);
    }
};

class parquet_source final : public entry_source {
  public:
    explicit parquet_source(const parquet::column_reader& from) : reader(from) {}
    const parquet::leaf_column& leaf() const override { return reader.leaf(); }
    std::size_t read(parquet::column_batch& out, std::size_t max) override { return reader.read(out, max); }

    parquet::column_reader reader;
};

/// The rows of a unit, from all columns that are read.
class row_reader {
  public:
    row_reader(const document_plan& plan, const parquet_rows& rows, const reading_budget& budget)
        : plan_(plan), rows_(rows), budget_(budget), lost_(rows.columns.size()) {
        for (const auto& column : rows.columns) {
            auto source = std::make_unique<parquet_source>(column);
            sources_.push_back(source.get());
            entries_.emplace_back(std::move(source));
        }
    }

    void parse(const context& ctx, parsed_unit& out) {
        for (std::uint64_t row = 0; row < rows_.count; ++row) {
            ctx.check_stop();
            try {
                if (find(row, out)) take(row, out);
                finish(row);
            } catch (const invalid_input& why) {  // a column whose next rows cannot be found
                return plan_.note_lost(rows_, rows_.first + row, rows_.count - row, why.reason(), out);
            }
        }
    }

  private:
    /// Brings every column to the row. False if one has lost it: then it was reported with the first row of its page.
    bool find(std::uint64_t row, parsed_unit& out) {
        bool found = true;
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            if (entries_[i].reads_next() && lost_[i] <= row) limit_memory(i);
            if (lost_[i] <= row) find_entry(i, out);
            found &= lost_[i] <= row;
        }
        return found;
    }
    void find_entry(std::size_t column, parsed_unit& out) {
        column_entries& its = entries_[column];
        parquet::column_reader& reader = sources_[column]->reader;
        const auto lose = [&](const std::string& why) {
            if (its.leaf().max_repetition != 0) throw invalid_input("", 0, why);
            const parquet::page* const page = reader.current_page();
            const std::uint64_t begin = reader.page_begin(), count = page->header().values;
            if (begin >= rows_.first) plan_.note_lost(rows_, begin, count, why, out);
            lost_[column] = begin + count - rows_.first;
            reader.skip_page();
            its.lose_rows(lost_[column]);
        };
        try {
            if (!its.has_entry()) throw invalid_input("", 0, "a column has fewer rows than its row group");
        } catch (const invalid_input& why) {
            lose(why.reason());
        } catch (const out_of_memory& why) {
            if (!budget_.is_last) throw;
            lose(why.what());
        }
    }

    /// Three quarters of the budget are for pages, all together; the rest is for the document.
    void limit_memory(std::size_t column) {
        std::uint64_t others = 0;
        for (std::size_t i = 0; i < sources_.size(); ++i)
            if (i != column) others += sources_[i]->reader.memory_bytes();
        const std::uint64_t room = pages_share(budget_.bytes);
        sources_[column]->reader.limit_memory(room - std::min(room, others));
    }

    void take(std::uint64_t row, parsed_unit& out) {
        const std::uint64_t line = plan_.line_of(rows_, rows_.first + row);
        try {
            plan_.documents.take_row(entries_, line, budget_, out);
        } catch (const out_of_memory& why) {
            if (!budget_.is_last) throw;
            reject(out, plan_.file->name(), line, why.what());
        }
    }
    void finish(std::uint64_t row) {
        for (std::size_t i = 0; i < entries_.size(); ++i)
            if (lost_[i] <= row) entries_[i].finish_row(row + 1);
    }

    const document_plan& plan_;
    const parquet_rows& rows_;
    reading_budget budget_;
    std::vector<parquet_source*> sources_;
    std::vector<column_entries> entries_;  ///< of the sources
    std::vector<std::uint64_t>
        lost_;  ///< of each column: the rows before this one, counted from the first, are lost
};

class parquet_unit final : public column_unit {
  public:
    parquet_unit(std::shared_ptr<const document_plan> plan, parquet_rows rows, parsed_unit notes,
                 const context& ctx)
        : column_unit(std::move(notes), ctx), plan_(std::move(plan)), rows_(std::move(rows)) {}
    std::uint64_t raw_bytes() const override { return rows_.bytes; }

  private:
    const column_documents& documents() const override { return plan_->documents; }
    void read_rows(const reading_budget& budget, const context& ctx, parsed_unit& out) override {
        row_reader(*plan_, rows_, budget).parse(ctx, out);
        if (rows_.damage) plan_->note_lost(rows_, rows_.first + rows_.count, rows_.lost, *rows_.damage, out);
    }
    void forget_rows() override { rows_.columns.clear(); }

    std::shared_ptr<const document_plan> plan_;
    parquet_rows rows_;
};

class parquet_reader final : public column_reader_base {
  public:
    parquet_reader(const std::shared_ptr<const parquet_file>& file, const corpus_options& options,
                   const context& ctx)
        : parquet_reader(std::make_shared<const document_plan>(file, options), options, ctx) {}
    parquet_reader(const std::shared_ptr<const document_plan>& plan, const corpus_options& options,
                   const context& ctx)
        : column_reader_base(plan->documents, ctx),
          plan_(plan),
          cutter_(plan->file, plan_->documents.leaves(),
                  {std::max<std::uint64_t>(1, options.unit_bytes), plan_->documents.row_bytes(),
                   options.document_memory / 2}) {
        if (!plan->file->metadata().groups.empty())  // refuses what no row group can have
            for (const std::size_t leaf : plan->documents.leaves())
                parquet::column_reader(plan->file, 0, leaf);
    }

    std::unique_ptr<corpus_unit> next() override {
        ctx_.check_stop();
        auto rows = cutter_.next(ctx_);
        if (!rows && !has_notes()) return nullptr;
        return std::make_unique<parquet_unit>(plan_, rows ? std::move(*rows) : parquet_rows(), take_notes(),
                                              of_units_);
    }
    std::uint64_t consumed_bytes() const override {
        const std::uint64_t rows = plan_->file->metadata().rows, bytes = total_bytes();
        if (rows == 0) return bytes;
        return static_cast<std::uint64_t>(static_cast<double>(bytes) / static_cast<double>(rows) *
                                          static_cast<double>(cutter_.rows_done()));
    }
    std::uint64_t total_bytes() const override { return plan_->file->bytes().size(); }

  private:
    std::shared_ptr<const document_plan> plan_;
    parquet_cutter cutter_;
};

}  // namespace

std::unique_ptr<corpus_reader> read_parquet(const std::shared_ptr<const parquet_file>& file,
                                            const corpus_options& options, const context& ctx) {
    return std::make_unique<parquet_reader>(file, options, ctx);
}

std::unique_ptr<corpus_reader> read_parquet(const std::filesystem::path& path,
                                            std::unique_ptr<byte_source> opened,
                                            const corpus_options& options, const context& ctx) {
    return read_parquet(open_columns<parquet_file>(path, std::move(opened), options, ctx), options, ctx);
}

}  // namespace quern::io
