// SPDX-License-Identifier: Apache-2.0
// An uncompressed record batch is read in place, in units of some of its rows. A compressed one is a unit as a
// whole, unless it is large, or has dictionaries or views: then it is decompressed when it is cut, and its units share what was
// decompressed.
#include "io/corpus/arrow_corpus.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/arrow/record_batch.hpp"
#include "io/corpus/arrow_entries.hpp"
#include "io/corpus/column_documents.hpp"
#include "io/corpus/column_entries.hpp"
#include "io/corpus/column_reader.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

using arrow::fault;
using arrow::ipc_file;
using arrays = std::shared_ptr<const std::vector<arrow::array>>;

/// State shared by all units of a file.
struct document_plan {
    std::shared_ptr<const ipc_file> file;
    column_documents documents;
    std::vector<std::uint32_t> fields;  ///< that are loaded

    document_plan(std::shared_ptr<const ipc_file> from, const corpus_options& options)
        : file(std::move(from)),
          documents(file->schema().columns, file->name(), options),
          fields(arrow::fields_of(file->schema(), documents.leaves())) {}

    arrays load(const arrow::message& from, const arrow::dictionaries& known, std::uint64_t max_bytes) const {
        return std::make_shared<const std::vector<arrow::array>>(
            arrow::load(file->schema(), fields, from, known, max_bytes));
    }
};

/// Consecutive rows of a record batch.
struct batch_rows {
    arrow::message batch;
    arrow::dictionaries known;
    arrays loaded;  ///< null: to be loaded when the rows are read
    std::uint64_t first = 0, count = 0;
    std::uint64_t line = 1;  ///< of the first row
    std::uint64_t bytes = 0;
};

/// The rows of a unit, from all columns that are read.
class row_reader {
  public:
    row_reader(const document_plan& plan, const batch_rows& rows, const arrays& loaded,
               const reading_budget& budget)
        : plan_(plan), rows_(rows), budget_(budget) {
        for (const std::size_t leaf : plan.documents.leaves()) {
            auto source = std::make_unique<arrow_entries>(plan.file->schema(), loaded, leaf, rows.first,
                                                          rows.count, budget.bytes / 4);
            sources_.push_back(source.get());
            entries_.emplace_back(std::move(source));
        }
    }

    void parse(const context& ctx, parsed_unit& out) {
        for (std::uint64_t row = 0; row < rows_.count; ++row) {
            ctx.check_stop();
            try {
                for (column_entries& each : entries_) each.has_entry();
                for (arrow_entries* const each : sources_) each->require_whole(rows_.first + row);
                plan_.documents.take_row(entries_, rows_.line + row, budget_, out);
            } catch (const out_of_memory& why) {
                if (!budget_.is_last) throw;
                reject(out, plan_.file->name(), rows_.line + row, why.what());
            }
            for (column_entries& each : entries_) each.finish_row(row + 1);
        }
    }

  private:
    const document_plan& plan_;
    const batch_rows& rows_;
    reading_budget budget_;
    std::vector<arrow_entries*> sources_;
    std::vector<column_entries> entries_;  ///< of the sources
};

class arrow_unit final : public column_unit {
  public:
    arrow_unit(std::shared_ptr<const document_plan> plan, batch_rows rows, parsed_unit notes,
               const context& ctx)
        : column_unit(std::move(notes), ctx), plan_(std::move(plan)), rows_(std::move(rows)) {}
    std::uint64_t raw_bytes() const override { return rows_.bytes; }

  private:
    const column_documents& documents() const override { return plan_->documents; }
    void read_rows(const reading_budget& budget, const context& ctx, parsed_unit& out) override {
        if (rows_.count == 0) return;
        if (const arrays loaded = load(budget, out))
            row_reader(*plan_, rows_, loaded, budget).parse(ctx, out);
    }
    void forget_rows() override { rows_.loaded.reset(); }

    /// Null if they cannot be loaded, which is noted.
    arrays load(const reading_budget& budget, parsed_unit& out) const {
        if (rows_.loaded) return rows_.loaded;
        try {
            return plan_->load(rows_.batch, rows_.known, budget.bytes / 4 * 3);
        } catch (const fault& why) {
            plan_->documents.note_lost(rows_.line, rows_.count, why.what(), out);
        } catch (const out_of_memory& why) {
            if (!budget.is_last) throw;
            plan_->documents.note_lost(rows_.line, rows_.count, why.what(), out);
        }
        return nullptr;
    }

    std::shared_ptr<const document_plan> plan_;
    batch_rows rows_;
};

class arrow_reader final : public column_reader_base {
  public:
    arrow_reader(const std::shared_ptr<const ipc_file>& file, const corpus_options& options,
                 const context& ctx)
        : arrow_reader(std::make_shared<const document_plan>(file, options), options, ctx) {}
    arrow_reader(const std::shared_ptr<const document_plan>& plan, const corpus_options& options,
                 const context& ctx)
        : column_reader_base(plan->documents, ctx),
          plan_(plan),
          messages_(plan->file),
          unit_bytes_(std::max<std::uint64_t>(1, options.unit_bytes)),
          memory_(options.document_memory / 4) {
        for (const std::uint32_t field : plan->fields)
            if (plan->file->schema().fields[field].encoded) encoded_.push_back(field);
        may_grow_ = std::ranges::any_of(plan->fields, [&](std::uint32_t field) {
            const arrow::field& its = plan->file->schema().fields[field];
            return its.encoded || its.how == arrow::layout::views;
        });
    }

    std::unique_ptr<corpus_unit> next() override {
        ctx_.check_stop();
        batch_rows made;
        if (left_ != 0 || begin_batch()) made = cut();
        if (made.count == 0 && !has_notes()) return nullptr;
        return std::make_unique<arrow_unit>(plan_, std::move(made), take_notes(), of_units_);
    }
    std::uint64_t consumed_bytes() const override {
        return is_at_end_ ? total_bytes() : std::min<std::uint64_t>(total_bytes(), batch_.batch.end);
    }
    std::uint64_t total_bytes() const override { return plan_->file->bytes().size(); }

  private:
    /// Goes on to the next record batch with rows that can be read. False at the end.
    bool begin_batch() {
        while (!is_at_end_) {
            ctx_.check_stop();
            try {
                const auto next = messages_.next();
                if (!next) {
                    is_at_end_ = true;
                } else if (next->is_dictionary) {
                    take_dictionary(*next);
                } else if (next->batch.rows != 0) {
                    if (begin_rows(*next)) return true;
                    if (!notes_.issues.empty()) return false;
                }
            } catch (const fault& why) {
                end_early(why.what());
            } catch (const out_of_memory& why) {
                end_early(why.what());
            }
        }
        return false;
    }

    /// Of the rest of the file the number of rows is not known.
    void end_early(const std::string& why) {
        is_at_end_ = true;
        note(notes_,
             {plan_->file->name(), line_, why + "; the rows from here on are lost", false, true, true});
    }

    /// The entries of a dictionary that is needed; for each field that has it, as they may have different types.
    void take_dictionary(const arrow::message& from) {
        for (const std::uint32_t number : encoded_) {
            const arrow::field& its = plan_->file->schema().fields[number];
            if (its.encoded->dictionary != from.dictionary) continue;
            auto& known = known_[number];
            if (!from.is_delta) known.reset();
            std::uint64_t used = 0;
            for (const auto& [field, each] : known_) used += each ? each->memory_bytes() : 0;
            auto part = arrow::load_entries(its, from, memory_ - std::min(memory_, used));
            known = std::make_shared<const arrow::dictionary>(known.get(), std::move(part));
        }
    }

    /// False if its rows are lost, which is noted.
    bool begin_rows(const arrow::message& from) {
        batch_ = {.batch = from, .known = known_, .loaded = nullptr, .first = 0, .count = 0, .line = line_};
        const std::uint64_t rows = from.batch.rows;
        line_ += rows;
        weights_.reset();
        try {
            batch_.bytes = arrow::unpacked_bytes(plan_->file->schema(), plan_->fields, from);
            const bool is_large = batch_.bytes > 2 * unit_bytes_ && batch_.bytes <= memory_;
            if (batch_.bytes == 0 || is_large || may_grow_) {
                batch_.loaded = plan_->load(from, known_, may_grow_ ? 2 * memory_ : memory_);
                weights_.emplace(plan_->file->schema(), batch_.loaded, plan_->documents.leaves(), rows,
                                 plan_->documents.row_bytes());
            }
        } catch (const fault& why) {
            plan_->documents.note_lost(batch_.line, rows, why.what(), notes_);
            return false;
        } catch (const out_of_memory& why) {
            plan_->documents.note_lost(batch_.line, rows, why.what(), notes_);
            return false;
        }
        left_ = rows;
        return true;
    }

    batch_rows cut() {
        constexpr std::uint64_t max_rows = 65536;
        batch_rows result = batch_;
        if (!weights_) {
            result.count = std::exchange(left_, 0);
            return result;
        }
        result.bytes = 0;
        while (result.count < std::min(left_, max_rows) && (result.count == 0 || result.bytes < unit_bytes_))
            result.bytes += weights_->of(result.first + result.count++);
        left_ -= result.count;
        batch_.first += result.count;
        batch_.line += result.count;
        if (left_ == 0) batch_.loaded.reset();
        if (left_ == 0) weights_.reset();
        return result;
    }

    std::shared_ptr<const document_plan> plan_;
    arrow::message_reader messages_;
    std::uint64_t unit_bytes_, memory_;
    std::vector<std::uint32_t> encoded_;  ///< fields whose dictionaries are needed
    arrow::dictionaries known_;
    bool may_grow_ = false;  ///< a few bytes may name long texts: rows are weighed before they make a unit
    batch_rows batch_;       ///< those that are still to come
    std::optional<arrow_weights> weights_;  ///< none: the batch is one unit
    std::uint64_t left_ = 0, line_ = 1;     ///< rows of the batch; of the next batch
    bool is_at_end_ = false;
};

}  // namespace

std::unique_ptr<corpus_reader> read_arrow(const std::shared_ptr<const ipc_file>& file,
                                          const corpus_options& options, const context& ctx) {
    return std::make_unique<arrow_reader>(file, options, ctx);
}

std::unique_ptr<corpus_reader> read_arrow(const std::filesystem::path& path,
                                          std::unique_ptr<byte_source> opened, const corpus_options& options,
                                          const context& ctx) {
    return read_arrow(open_columns<ipc_file>(path, std::move(opened), options, ctx), options, ctx);
}

}  // namespace quern::io
