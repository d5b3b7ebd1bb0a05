// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/document_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "tasks/dedup/dedup_checks.hpp"

namespace quern {
namespace {

std::unique_ptr<io::corpus_reader> open(const corpus_request& request, const context& ctx) {
    io::corpus_options options = corpus_options_for(request.input, ctx, corpus_content::any_bytes);
    options.keep_records = request.keep_records;
    options.start = request.start;
    return open_documents(request.input, options, ctx);
}

}  // namespace

work_on_document work_of(const dedup_options& options) {
    if (!compares_words(options.duplicates.method)) return {};
    return {.a_word = 12, .a_distinct_word = 60};
}

document_reader::document_reader(const corpus_request& request, word_table* words, std::string stage,
                                 const context& ctx)
    : request_(request),
      words_(words),
      stage_(std::move(stage)),
      ctx_(ctx),
      parser_(ctx, request.work, request.text),
      corpus_(open(request, ctx)),
      ids_(request.input.ids) {}

document_reader::document_reader(const corpus_request& request, std::unique_ptr<io::corpus_reader> corpus,
                                 std::string stage, const context& ctx)
    : request_(request),
      words_(nullptr),
      stage_(std::move(stage)),
      ctx_(ctx),
      parser_(ctx, request.work, request.text),
      corpus_(std::move(corpus)),
      ids_(request.input.ids) {}

document_reader::verdict document_reader::settle(document& d, const document_table& table) {
    const auto found = ids_.settle(d, table.size(), [&](std::string_view id) { return table.find(id); });
    return found == document_ids::outcome::fresh ? verdict::taken : verdict::repeated;
}

bool document_reader::read(std::uint64_t bytes, const admission& admit, const redirection& redirected,
                           const work_on_taken& work) {
    std::uint64_t taken = 0;
    bool ended = false;
    pipeline<unit_in_work> line(units_at_once(ctx_));
    const auto tell = [this] {
        ctx_.report({stage_, corpus_->consumed_bytes(), corpus_->total_bytes(), "bytes"});
    };
    line.from([&](unit_in_work& unit) {
        ctx_.check_stop();
        if (taken >= bytes && !keeps_files_whole_) return false;
        tell();  // before it waits
        unit.raw = waiting_ ? std::move(waiting_) : corpus_->next();
        tell();
        ended = unit.raw == nullptr;
        if (ended) return false;
        if (taken >= bytes) {
            if (const auto begun = corpus_->begun()) {
                place_ = *begun;
                waiting_ = std::move(unit.raw);
                return false;
            }
        }
        // Files of a folder are read only when they are parsed; their sizes count as consumed.
        const std::uint64_t consumed = corpus_->consumed_bytes();
        taken += std::max(unit.raw->raw_bytes(), consumed - consumed_before_);
        consumed_before_ = consumed;
        return true;
    });
    parser_.add_to(line);
    line.in_order([&](unit_in_work& unit) { admit_unit(unit, admit, redirected); });
    if (work) {
        line.in_parallel([&](unit_in_work& unit) {
            ctx_.check_stop();
            work({unit.first, unit.begin, unit.parsed.documents});
        });
    }
    if (words_ != nullptr) {
        line.in_parallel([this](unit_in_work& unit) {
            for (const document& d : unit.parsed.documents) {
                ctx_.check_stop();
                words_->analyse(d.text, d.verbatim, unit.words);
            }
            release(unit.parsed.documents);
        });
        line.in_order([this](const unit_in_work& unit) { words_->append(unit.words); });
    }
    run_parallel(with_threads_that_read(ctx_), [&] { line.run(); });
    if (ended) {
        record_.refuse_too_many(request_.input);
        ids_.tell(ctx_);
    }
    return !ended;
}

void document_reader::admit_unit(unit_in_work& unit, const admission& admit, const redirection& redirected) {
    record_.take(unit.parsed);
    std::erase_if(unit.parsed.documents, [&](document& d) {
        const verdict v = admit(d);
        if (v == verdict::repeated) record_.reject_repeated(d, ids_.reason());
        return v != verdict::taken;
    });
    unit.first = taken_;
    unit.begin = taken_bytes_;
    taken_ += unit.parsed.documents.size();
    for (const document& d : unit.parsed.documents) taken_bytes_ += d.text.size();
    if (redirected) std::ranges::for_each(unit.parsed.redirects, redirected);
    record_.refuse_early(request_.input);
}

}  // namespace quern
