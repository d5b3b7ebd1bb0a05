// SPDX-License-Identifier: Apache-2.0
// The common first steps of tasks that read a corpus once: units are cut in order, parsed by all threads, and their
// documents admitted in order. The task adds its own steps to the same pipeline:
//
//     pipeline<my_unit> line(units_at_once(run));      // struct my_unit : document_unit { … }
//     corpus.begin(line);
//     line.in_parallel(…);
//     corpus.run(line);
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device/cpu/pipeline.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/corpus/document_ids.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/corpus/unit_parser.hpp"

namespace quern {

/// The base of a unit of work.
struct document_unit {
    std::unique_ptr<io::corpus_unit> raw;
    io::parsed_unit parsed;  ///< after admission, `documents` are those admitted
};

class admitted_corpus {
  public:
    struct reading {
        std::string stage = "read";  ///< of the progress
        bool keep_records = false;   ///< fill document::record
        corpus_content content = corpus_content::texts;
        io::corpus_place start = {};  ///< where to begin
    };
    /// `input` and `ctx` must outlive it. Throws as open_documents and unit_parser do.
    admitted_corpus(const corpus_input& input, const work_on_document& work, const text_options& text,
                    const context& ctx, const reading& how);
    admitted_corpus(const corpus_input& input, const work_on_document& work, const text_options& text,
                    const context& ctx)
        : admitted_corpus(input, work, text, ctx, reading()) {}

    /// Adds the first three steps. Assigns ids; a document that repeats one of its file is refused, reported and
    /// counted.
    template <std::derived_from<document_unit> Unit>
    void begin(pipeline<Unit>& line) {
        line.from([this](Unit& unit) { return cut(unit); });
        parser_.add_to(line);
        line.in_order([this](Unit& unit) { admit(unit); });
    }
    /// Runs a pipeline that begins with these steps. Throws, in addition to errors of its steps, invalid_input if more
    /// was rejected than allowed (as soon as that is certain), out_of_memory if one file has more documents than
    /// the budget has room for (4 bytes each).
    template <std::derived_from<document_unit> Unit>
    void run(pipeline<Unit>& line) {
        taken_bytes_ = 0;
        run_parallel(with_threads_that_read(ctx_), [&] { line.run(); });
        if (next_) return;
        record_.refuse_too_many(input_);
        ids_.tell(ctx_);
    }

    // For work in parts, each of whole files, of about `bytes` of input: a pipeline ends where a part does, and another one
    // goes on from there.
    void in_parts_of(std::uint64_t bytes) { part_bytes_ = bytes; }
    /// After run(): where the next part begins; nothing at the end of the corpus.
    const std::optional<io::corpus_place>& next_part() const { return next_; }
    /// A document of an earlier run, whose counts record() must have.
    void know(std::string_view id) { taken_.insert(id, static_cast<std::uint32_t>(taken_.size())); }

    reading_record& record() { return record_; }
    bool verbatim() const { return verbatim_; }  ///< whether documents are word lines
    std::uint64_t consumed_bytes() const { return corpus_->consumed_bytes(); }

  private:
    bool cut(document_unit& unit);
    void admit(document_unit& unit);

    const corpus_input& input_;
    const context& ctx_;
    std::string stage_;
    unit_parser parser_;
    std::unique_ptr<io::corpus_reader> corpus_;
    document_ids ids_;
    id_table taken_;
    reading_record record_;
    bool verbatim_ = false;
    std::optional<std::uint64_t> part_bytes_;
    std::uint64_t taken_bytes_ = 0, consumed_before_ = 0;
    std::unique_ptr<io::corpus_unit> waiting_;  ///< cut already: the first of the next part
    std::optional<io::corpus_place> next_;
};

}  // namespace quern
