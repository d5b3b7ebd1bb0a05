// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/admitted_corpus.hpp"

#include "device/paced_checks.hpp"
#include "quern/base/error.hpp"

namespace quern {

admitted_corpus::admitted_corpus(const std::vector<std::filesystem::path>& inputs,
                                 std::string_view input_format, bool follow_links,
                                 const error_limit& max_errors, id_rule ids, const work_on_document& work,
                                 const text_options& text, const context& ctx)
    : inputs_(inputs),
      max_errors_(max_errors),
      ctx_(ctx),
      parser_(ctx, work, text),
      corpus_(io::open_corpus(inputs, corpus_options_for(input_format, follow_links, ctx), ctx)),
      ids_(ids),
      taken_(ctx, ctx.memory_limit() / 8) {}

bool admitted_corpus::cut(document_unit& unit) {
    ctx_.check_stop();
    const auto tell = [this] {
        ctx_.report({"read", corpus_->consumed_bytes(), corpus_->total_bytes(), "bytes"});
    };
    tell();  // before it waits
    unit.raw = corpus_->next();
    tell();
    return unit.raw != nullptr;
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
    if (lines > share) throw out_of_memory("the lines of the documents of a file", 2 * lines, share);
    for (const document& d : unit.parsed.documents) verbatim_ |= d.verbatim;
    record_.refuse_early(max_errors_, inputs_);
}

}  // namespace quern
