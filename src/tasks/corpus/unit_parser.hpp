// SPDX-License-Identifier: Apache-2.0
// Units of a corpus to documents, within the memory budget. The share of an ordinary unit is small enough for all units
// in progress; a larger unit gets most of the budget, one at a time. A document that needs more is rejected, and named,
// before memory is allocated for it.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "device/cpu/pipeline.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// The memory of a task for a document in progress, in bytes, in addition to that for ordinary units.
struct work_on_document {
    std::uint64_t a_byte = 2;  ///< of the text
    std::uint64_t a_word = 0;  ///< per occurrence
    std::uint64_t a_distinct_word = 0;
    /// Instead of the words, for a document that `a_byte` finds too large: the bytes that its text needs, never too few. Cost: a
    /// pass or two.
    std::function<std::uint64_t(std::string_view)> of_text = {};
};

class unit_parser {
  public:
    /// Throws out_of_memory if the budget is too small to read any corpus. `text`: the word rules, for work that
    /// depends on them.
    unit_parser(const context& ctx, const work_on_document& work, const text_options& text = {});

    /// Adds the step to a pipeline over units with members `raw` and `parsed`, after the step that fills `raw`.
    /// Afterwards `raw` is empty.
    template <class Unit>
    void add_to(pipeline<Unit>& line) {
        line.alone_when([this](const Unit& unit) { return is_large(*unit.raw); });
        line.in_parallel_or_alone(
            [this](Unit& unit, bool alone) { return parse(unit.raw, unit.parsed, alone); });
    }

    bool is_large(const io::corpus_unit& unit) const { return unit.raw_bytes() > ordinary_bytes_; }
    /// False if a document must be parsed alone: call again then.
    bool parse(std::unique_ptr<io::corpus_unit>& raw, io::parsed_unit& parsed, bool alone);

  private:
    void reject_what_is_too_much(io::parsed_unit& parsed);
    /// Bytes to process the document, never too few; UINT64_MAX if `max` is not enough to count them.
    std::uint64_t work_on(const document& d, std::uint64_t max);

    const context& ctx_;
    work_on_document work_;
    std::uint64_t ordinary_bytes_;
    io::reading_budget ordinary_, all_;
    tbb::enumerable_thread_specific<text::analyzer> analyzers_;
};

}  // namespace quern
