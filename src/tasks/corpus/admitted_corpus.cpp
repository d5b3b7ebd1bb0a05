// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/admitted_corpus.hpp"

#include "quern/base/error.hpp"

namespace quern {

admitted_corpus::admitted_corpus(const std::vector<std::filesystem::path>& inputs,
                                 std::string_view input_format, const error_limit& max_errors,
                                 const context& run)
    : inputs_(inputs),
      max_errors_(max_errors),
      run_(run),
      corpus_(io::open_corpus(inputs, corpus_options_for(input_format, run), run)) {}

bool admitted_corpus::cut(document_unit& unit) {
    run_.check_stop();
    unit.raw = corpus_->next();
    if (unit.raw) refuse_oversized(*unit.raw, run_);
    run_.report({"read", corpus_->consumed_bytes(), corpus_->total_bytes(), "bytes"});
    return unit.raw != nullptr;
}

void admitted_corpus::admit(document_unit& unit) {
    record_.take(unit.parsed);
    std::erase_if(unit.parsed.documents, [&](const document& d) {
        if (ids_.insert(d.id, 0)) return false;
        record_.reject_repeated(d);
        return true;
    });
    const std::uint64_t share = run_.memory_limit() / 4;
    if (ids_.memory_bytes() > share)
        throw out_of_memory("the table of document ids", 2 * ids_.memory_bytes(), share);
    for (const document& d : unit.parsed.documents) verbatim_ |= d.verbatim;
    record_.refuse_early(max_errors_, inputs_);
}

}  // namespace quern
