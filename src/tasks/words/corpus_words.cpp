// SPDX-License-Identifier: Apache-2.0
// A pipeline over units of the corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → analyse and number within the unit (parallel)
//       → number globally (in order; distinct words only) → renumber (parallel) → append (in order).
// A unit repeats its words about twenty times, so that the global table of all words is used rarely, and each unit's
// local table stays in the cache. For a store the first three steps decompress its texts. A long document is read in pieces by
// the same steps, within that which numbers globally.
#include "tasks/words/corpus_words.hpp"

#include <algorithm>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/words/long_document.hpp"

namespace quern {
namespace {

struct unit_in_work : document_unit {
    word_count_table distinct;
    std::vector<std::uint32_t> numbers, number_of_distinct, document_lengths;
    std::uint64_t occurrences = 0;
    std::uint64_t first_block = 0, last_block = 0;  ///< of a store
    bool is_long = false;                           ///< a document is read by all threads, in order
};

/// From documents to words: the steps that all sources share. Only one in-order step uses each member.
class word_reader {
  public:
    word_reader(const space_params& params, const text_options& text, bool keep_lengths, corpus_words& into,
                const context& ctx)
        : params_(params),
          keep_lengths_(keep_lengths),
          into_(into),
          ctx_(ctx),
          words_(text),
          long_documents_(params, text.tokens, words_, into.distinct, ctx) {}

    /// Added after the steps that give a unit its documents.
    void add_steps(pipeline<unit_in_work>& line) {
        line.in_parallel([this](unit_in_work& unit) {
            unit.is_long = std::ranges::any_of(unit.parsed.documents, long_document_words::is_long);
            if (!unit.is_long) analyse(unit);
        });
        line.in_order([this](unit_in_work& unit) { unit.is_long ? read_long(unit) : number(unit); });
        line.in_parallel([](unit_in_work& unit) {
            if (!unit.is_long) renumber(unit.numbers, unit.number_of_distinct);
        });
        line.in_order([this](unit_in_work& unit) { append(unit); });
    }

  private:
    bool keeps_gaps() const { return params_.gaps == gap_policy::keep; }

    void analyse(unit_in_work& unit) {
        const auto dropped = keeps_gaps() ? text::dropped_words::keep_place : text::dropped_words::excluded;
        for (const document& d : unit.parsed.documents) {
            ctx_.check_stop();
            const text::token_list& words = words_.of(d, boundaries_of(d, params_.window_end), dropped);
            const std::size_t before = unit.numbers.size();
            add_document(words, unit);
            if (keep_lengths_) {
                unit.document_lengths.push_back(static_cast<std::uint32_t>(unit.numbers.size() - before));
            }
        }
        release(unit.parsed.documents);
    }

    void add_document(const text::token_list& words, unit_in_work& unit) const {
        std::uint32_t at = 0;
        const auto add_until = [&](std::uint32_t end) {
            for (; at < end; ++at) {
                const std::string_view word = words.word(words.tokens[at]);
                unit.occurrences += word.empty() ? 0 : 1;
                unit.numbers.push_back(word.empty() ? unknown_word : unit.distinct.add(word));
            }
            unit.numbers.push_back(passage_end);
        };
        for (const std::uint32_t end : ends_of(words, params_.window_end)) add_until(end);
        if (at < words.tokens.size()) add_until(static_cast<std::uint32_t>(words.tokens.size()));
    }

    /// Leaves the words of the unit with their final numbers.
    void read_long(unit_in_work& unit) {
        for (const document& d : unit.parsed.documents) {
            const std::size_t before = unit.numbers.size();
            unit.occurrences += long_documents_.add(d, unit.numbers);
            if (keep_lengths_)
                unit.document_lengths.push_back(static_cast<std::uint32_t>(unit.numbers.size() - before));
        }
        release(unit.parsed.documents);
    }

    void number(unit_in_work& unit) { into_.distinct.add(unit.distinct, unit.number_of_distinct); }

    void append(unit_in_work& unit) {
        into_.occurrences += unit.occurrences;
        into_.document_lengths.insert(into_.document_lengths.end(), unit.document_lengths.begin(),
                                      unit.document_lengths.end());
        into_.numbers.append(std::move(unit.numbers));
    }

    const space_params& params_;
    const bool keep_lengths_;
    corpus_words& into_;
    const context& ctx_;
    document_words words_;
    long_document_words long_documents_;
};

}  // namespace

void read_words(const words_options& options, const text_options& text, bool keep_lengths, corpus_words& into,
                const context& ctx) {
    word_reader words(options.params, text, keep_lengths, into, ctx);
    // Sentences are found in whole texts, so that all words of one text are in memory.
    admitted_corpus corpus(options, {.a_byte = 4, .a_word = 48, .a_distinct_word = 100}, text, ctx);
    pipeline<unit_in_work> line(units_at_once(ctx));
    corpus.begin(line);
    words.add_steps(line);
    corpus.run(line);
    into.input_bytes = corpus.consumed_bytes();
    into.verbatim = corpus.verbatim();
    into.record = std::move(corpus.record());
}

void read_words(const opened_store& store, const space_params& params, const text_options& text,
                bool keep_lengths, corpus_words& into, const context& ctx) {
    constexpr std::uint64_t blocks_at_once = 16;  // about 1 MiB, or a document
    word_reader words(params, text, keep_lengths, into, ctx);
    into.verbatim = store.info().verbatim;
    std::uint64_t next = 0;
    pipeline<unit_in_work> line(ctx.thread_count() + std::size_t{2});
    line.from([&](unit_in_work& unit) {
        ctx.check_stop();
        ctx.report({"read texts", next, store.text_blocks(), "blocks"});
        unit.first_block = next;
        next = std::min(next + blocks_at_once, store.text_blocks());
        unit.last_block = next;
        return unit.first_block != unit.last_block;
    });
    line.in_parallel([&](unit_in_work& unit) {
        for (std::uint64_t block = unit.first_block; block < unit.last_block; ++block) {
            store.each_text(block, [&](std::string_view of_one) {
                document d;
                d.text = of_one;
                d.verbatim = into.verbatim;
                unit.parsed.documents.push_back(std::move(d));
            });
        }
    });
    line.in_order([&](const unit_in_work& unit) {
        into.record.counts.documents += unit.parsed.documents.size();
        for (const document& d : unit.parsed.documents) into.input_bytes += d.text.size();
    });
    words.add_steps(line);
    run_parallel(ctx, [&] { line.run(); });
}

}  // namespace quern
