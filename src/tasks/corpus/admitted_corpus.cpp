// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/admitted_corpus.hpp"

#include <algorithm>
#include <utility>

#include "device/paced_checks.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

std::unique_ptr<io::corpus_reader> open(const corpus_input& input, const admitted_corpus::reading& how,
                                        const context& ctx) {
    io::corpus_options options = corpus_options_for(input, ctx, how.content);
    options.keep_records = how.keep_records;
    options.start = how.start;
    return open_documents(input, options, ctx);
}

}  // namespace

admitted_corpus::admitted_corpus(const corpus_input& input, const work_on_document& work,
                                 const text_options& text, const context& ctx, const reading& how)
    : input_(input),
      ctx_(ctx),
      stage_(how.stage),
      parser_(ctx, work, text),
      corpus_(open(input, how, ctx)),
      ids_(input.ids),
      taken_(ctx, ctx.memory_limit() / 8) {}

bool admitted_corpus::cut(document_unit& unit) {
    ctx_.check_stop();
    const auto tell = [this] {
        ctx_.report({stage_, corpus_->consumed_bytes(), corpus_->total_bytes(), "bytes"});
    };
    tell();  // before it waits
    const bool is_first = waiting_ != nullptr;
    unit.raw = is_first ? std::move(waiting_) : corpus_->next();
    tell();
    if (is_first || !unit.raw) next_.reset();
    if (!unit.raw || !part_bytes_) return unit.raw != nullptr;
    if (const auto begun = corpus_->begun(); begun && !is_first && taken_bytes_ >= *part_bytes_) {
        next_ = *begun;
        waiting_ = std::move(unit.raw);
        return false;
    }
    // Files of a folder are read only when they are parsed; their sizes count as consumed.
    const std::uint64_t consumed = corpus_->consumed_bytes();
    taken_bytes_ += std::max(unit.raw->raw_bytes(), consumed - consumed_before_);
    consumed_before_ = consumed;
    return true;
}

void admitted_corpus::admit(document_unit& unit) {
    record_.take(unit.parsed);
    paced_checks checks(ctx_, scattered_values);
    std::erase_if(unit.parsed.documents, [&](document& d) {
        checks.after(1);
        const auto next = static_cast<std::uint32_t>(taken_.size());
        const auto found =
            ids_.settle(d, next, [this](std::string_view id) { return taken_.find(hash128(id)); });
        if (found == document_ids::outcome::fresh) return !taken_.insert(d.id, next);
        record_.reject_repeated(d, ids_.reason());
        return true;
    });
    const std::uint64_t share = ctx_.memory_limit() / 8, lines = ids_.memory_bytes();
    if (lines > share)
        throw out_of_memory("a list of the lines at which the documents of a file begin", 2 * lines, share);
    for (const document& d : unit.parsed.documents) verbatim_ |= d.verbatim;
    record_.refuse_early(input_);
}

}  // namespace quern
