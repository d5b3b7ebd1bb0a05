// SPDX-License-Identifier: Apache-2.0
#include "tasks/decontaminate/evaluation_set.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/dedup/preference.hpp"

namespace quern {

struct evaluation_set::unit_in_work : document_unit {
    word_numbers distinct;
    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> ends;  ///< of each item in `words`
};

evaluation_set::evaluation_set(const decontaminate_options& options, scratch_folder& scratch,
                               const context& ctx) {
    if (options.keep_examples) texts_.emplace(scratch.file("items"));
    admitted_corpus corpus(options.against, {.a_word = 12, .a_distinct_word = 60}, options.text, ctx,
                           {.stage = "against"});
    document_words words(options.text);
    source_ranks sets(options.against.inputs);
    pipeline<unit_in_work> line(units_at_once(ctx));
    corpus.begin(line);
    line.in_order([&](const unit_in_work& unit) {
        for (const document& d : unit.parsed.documents) {
            ids_ += d.id;
            id_ends_.push_back(ids_.size());
            sets_.push_back(options.against.source == nullptr ? sets.rank_of(d) : 0);
            if (texts_) texts_->append(d.text);
            text_ends_.push_back(text_ends_.back() + d.text.size());
        }
    });
    line.in_parallel([&](unit_in_work& unit) {
        for (const document& d : unit.parsed.documents) {
            ctx.check_stop();
            words.for_each_piece(d, [&](const text::token_list& piece) {
                for (const text::token& t : piece.tokens)
                    unit.words.push_back(unit.distinct.number_of(piece.word(t)));
            });
            unit.ends.push_back(unit.words.size());
        }
        release(unit.parsed.documents);
    });
    line.in_order([&](const unit_in_work& unit) {
        append(unit);
        refuse_too_much(memory_bytes(), ctx);
    });
    corpus.run(line);
    input_bytes_ = corpus.consumed_bytes();
    record_ = std::move(corpus.record());
    if (items() == 0) record_.refuse_empty(options.against);
    if (texts_) texts_->flush();
    for (std::uint32_t word = 0; word < vocabulary_.size(); ++word)
        hashes_.push_back(hash64(vocabulary_.word(word)));
    const auto index = contamination_detail::item_index::memory_needed(this->words(), options.contamination);
    refuse_too_much(memory_bytes() + index, ctx);
}

void evaluation_set::append(const unit_in_work& unit) {
    number_of_distinct_.clear();
    for (std::uint32_t i = 0; i < unit.distinct.size(); ++i)
        number_of_distinct_.push_back(vocabulary_.number_of(unit.distinct.word(i)));
    for (const std::uint32_t word : unit.words) words_.push_back(number_of_distinct_[word]);
    const std::uint64_t before = offsets_.back();
    for (const std::uint64_t end : unit.ends) offsets_.push_back(before + end);
}

/// The rest of the budget is for reading.
void evaluation_set::refuse_too_much(std::uint64_t needed, const context& ctx) const {
    const std::uint64_t share = ctx.memory_limit() / 2;
    if (needed > share)
        throw out_of_memory("the evaluation data, which may take half of the budget,", needed, share);
}

evaluation_item evaluation_set::item(std::uint32_t item) const {
    const std::uint64_t begin = item == 0 ? 0 : id_ends_[item - std::size_t{1}];
    return {std::string_view(ids_).substr(begin, id_ends_[item] - begin), sets_[item],
            offsets_[item + std::size_t{1}] - offsets_[item]};
}

std::string evaluation_set::text(std::uint32_t item, std::size_t max_bytes) const {
    std::string text(std::min<std::uint64_t>(max_bytes, text_bytes(item)), '\0');
    texts_->read_at(text_ends_[item], text);
    return text;
}

std::uint64_t evaluation_set::memory_bytes() const {
    return vocabulary_.memory_bytes() + ids_.capacity() +
           sizeof(std::uint32_t) * (words_.capacity() + sets_.capacity()) +
           sizeof(std::uint64_t) *
               (hashes_.capacity() + offsets_.capacity() + id_ends_.capacity() + text_ends_.capacity());
}

}  // namespace quern
