// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/document_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"

namespace quern {
namespace {

std::unique_ptr<io::corpus_reader> open(const corpus_request& request, const context& run) {
    io::corpus_options options = corpus_options_for(request.input_format, run);
    options.keep_records = request.keep_records;
    return io::open_corpus(request.inputs, options, run);
}

}  // namespace

document_reader::document_reader(const corpus_request& request, word_table* words, std::string stage,
                                 const context& run)
    : request_(request), words_(words), stage_(std::move(stage)), run_(run), corpus_(open(request, run)) {}

document_reader::document_reader(const corpus_request& request, std::unique_ptr<io::corpus_reader> corpus,
                                 std::string stage, const context& run)
    : request_(request), words_(nullptr), stage_(std::move(stage)), run_(run), corpus_(std::move(corpus)) {}

bool document_reader::read(std::uint64_t bytes, const admission& admit, const redirection& redirected) {
    std::uint64_t taken = 0;
    bool ended = false;
    pipeline<unit_in_work> line(units_at_once(run_));
    line.from([&](unit_in_work& unit) {
        run_.check_stop();
        if (taken >= bytes) return false;
        unit.raw = corpus_->next();
        run_.report({stage_, corpus_->consumed_bytes(), corpus_->total_bytes(), "bytes"});
        ended = unit.raw == nullptr;
        if (ended) return false;
        refuse_oversized(*unit.raw, run_);
        taken += unit.raw->raw_bytes();
        return true;
    });
    line.in_parallel([](unit_in_work& unit) {
        unit.parsed = unit.raw->parse();
        unit.raw.reset();
    });
    line.in_order([&](unit_in_work& unit) { admit_unit(unit, admit, redirected); });
    if (words_ != nullptr) {
        line.in_parallel([this](unit_in_work& unit) {
            for (const document& d : unit.parsed.documents) {
                run_.check_stop();
                words_->analyse(d.text, d.verbatim, unit.words);
            }
            release(unit.parsed.documents);
        });
        line.in_order([this](const unit_in_work& unit) { words_->append(unit.words); });
    }
    run_parallel(run_, [&] { line.run(); });
    if (ended) record_.refuse_too_many(request_.max_errors, request_.inputs);
    return !ended;
}

void document_reader::admit_unit(unit_in_work& unit, const admission& admit, const redirection& redirected) {
    record_.take(unit.parsed);
    std::erase_if(unit.parsed.documents, [&](document& d) {
        const verdict v = admit(d);
        if (v == verdict::repeated) record_.reject_repeated(d);
        return v != verdict::taken;
    });
    if (redirected) std::ranges::for_each(unit.parsed.redirects, redirected);
    record_.refuse_early(request_.max_errors, request_.inputs);
}

}  // namespace quern
