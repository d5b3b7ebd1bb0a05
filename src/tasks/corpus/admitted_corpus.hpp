// SPDX-License-Identifier: Apache-2.0
// How a task that reads a corpus once begins: units are cut in order, parsed by all threads, and their documents admitted in
// order. What follows is the task's own, in the same pipeline:
//
//     pipeline<my_unit> line(units_at_once(run));      // struct my_unit : document_unit { … }
//     corpus.begin(line);
//     line.in_parallel(…);
//     corpus.run(line);
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "tasks/corpus/id_table.hpp"
#include "tasks/corpus/reading_rules.hpp"

namespace quern {

/// What a unit of work begins with.
struct document_unit {
    std::unique_ptr<io::corpus_unit> raw;
    io::parsed_unit parsed;  ///< from the admission on, `documents` are those admitted
};

class admitted_corpus {
  public:
    /// `inputs` and `run` must outlive it. Throws as io::open_corpus and corpus_options_for do.
    admitted_corpus(const std::vector<std::filesystem::path>& inputs, std::string_view input_format,
                    const error_limit& max_errors, const context& run);

    /// Adds the first three steps. A document whose id was there before is refused, told and counted.
    template <std::derived_from<document_unit> Unit>
    void begin(pipeline<Unit>& line) {
        line.from([this](Unit& unit) { return cut(unit); });
        line.in_parallel([](Unit& unit) {
            unit.parsed = unit.raw->parse();
            unit.raw.reset();
        });
        line.in_order([this](Unit& unit) { admit(unit); });
    }
    /// Runs a pipeline that begins so. Throws, beside what its steps throw, invalid_input where more was rejected than is
    /// allowed (as soon as it is clear), out_of_memory where a document or the table of ids is too large for the budget.
    template <std::derived_from<document_unit> Unit>
    void run(pipeline<Unit>& line) {
        run_parallel(run_, [&] { line.run(); });
        record_.refuse_too_many(max_errors_, inputs_);
    }

    reading_record& record() { return record_; }
    bool verbatim() const { return verbatim_; }  ///< whether a document is word lines
    std::uint64_t consumed_bytes() const { return corpus_->consumed_bytes(); }

  private:
    bool cut(document_unit& unit);
    void admit(document_unit& unit);

    const std::vector<std::filesystem::path>& inputs_;
    const error_limit max_errors_;
    const context& run_;
    std::unique_ptr<io::corpus_reader> corpus_;
    id_table ids_;
    reading_record record_;
    bool verbatim_ = false;
};

}  // namespace quern
