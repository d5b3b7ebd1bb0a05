// SPDX-License-Identifier: Apache-2.0
// A pipeline over units of the corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → analyse and number within the unit (parallel)
//       → number all over (in order; distinct words only) → renumber (parallel) → append (in order).
// A unit repeats its words some twenty times, so that the one table of all words is asked rarely, and each unit's own
// table stays in the cache.
#include "tasks/words/corpus_words.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <memory>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/id_table.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

struct unit_in_work {
    std::unique_ptr<io::corpus_unit> raw;
    io::parsed_unit parsed;
    word_tally distinct;
    std::vector<std::uint32_t> numbers, number_of_distinct, document_lengths;
    std::uint64_t occurrences = 0;
};

/// The ends of the passages that no window crosses.
const std::vector<std::uint32_t>& ends_of(const text::token_list& words, window_limit limit) {
    return limit == window_limit::sentence ? words.sentence_ends : words.paragraph_ends;
}

text::boundaries boundaries_of(const document& d, window_limit limit) {
    if (limit == window_limit::sentence) return text::boundaries::sentences_and_paragraphs;
    return d.line_paragraphs ? text::boundaries::line_paragraphs : text::boundaries::paragraphs;
}

/// The steps' state; each member is touched by one in-order step only.
class word_reader {
  public:
    word_reader(const words_options& options, const text_options& text, bool keep_lengths, corpus_words& into,
                const context& run)
        : options_(options),
          keep_lengths_(keep_lengths),
          into_(into),
          run_(run),
          corpus_(io::open_corpus(options.inputs, corpus_options_for(options.input_format, run), run)),
          analyzers_([text] { return text::analyzer(text); }) {
        analyzers_.local();  // options that are refused are so before the work
    }

    void read() {
        pipeline<unit_in_work> line(units_at_once(run_));
        line.from([this](unit_in_work& unit) { return cut(unit); });
        line.in_parallel([](unit_in_work& unit) {
            unit.parsed = unit.raw->parse();
            unit.raw.reset();
        });
        line.in_order([this](unit_in_work& unit) { admit(unit); });
        line.in_parallel([this](unit_in_work& unit) { analyse(unit); });
        line.in_order([this](unit_in_work& unit) { number(unit); });
        line.in_parallel([](unit_in_work& unit) {
            for (std::uint32_t& n : unit.numbers) {
                if (n < passage_end) n = unit.number_of_distinct[n];
            }
        });
        line.in_order([this](unit_in_work& unit) { append(unit); });
        run_parallel(run_, [&] { line.run(); });
        into_.input_bytes = corpus_->consumed_bytes();
        into_.record.refuse_too_many(options_.max_errors, options_.inputs);
    }

  private:
    bool cut(unit_in_work& unit) {
        run_.check_stop();
        unit.raw = corpus_->next();
        if (unit.raw) refuse_oversized(*unit.raw, run_);
        run_.report({"read", corpus_->consumed_bytes(), corpus_->total_bytes(), "bytes"});
        return unit.raw != nullptr;
    }

    void admit(unit_in_work& unit) {
        into_.record.take(unit.parsed);
        std::erase_if(unit.parsed.documents, [&](const document& d) {
            if (ids_.insert(d.id, 0)) return false;
            into_.record.reject_repeated(d);
            return true;
        });
        if (ids_.memory_bytes() > run_.memory_limit() / 4) {
            throw out_of_memory("the table of document ids", 2 * ids_.memory_bytes(),
                                run_.memory_limit() / 4);
        }
        for (const document& d : unit.parsed.documents) into_.verbatim |= d.verbatim;
        if (!options_.max_errors.is_share) {
            into_.record.refuse_too_many(options_.max_errors, options_.inputs);
        }
    }

    void analyse(unit_in_work& unit) {
        text::analyzer& analyzer = analyzers_.local();
        text::token_list& words = tokens_.local();
        const auto dropped = options_.question.gaps == gap_policy::keep ? text::dropped_words::keep_place
                                                                        : text::dropped_words::left_out;
        for (const document& d : unit.parsed.documents) {
            run_.check_stop();
            if (d.verbatim) {
                text::analyzer::take_lines(d.text, words);
            } else {
                analyzer.analyze(d.text, words, boundaries_of(d, options_.question.window_end), dropped);
            }
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
        for (const std::uint32_t end : ends_of(words, options_.question.window_end)) add_until(end);
        if (at < words.tokens.size()) add_until(static_cast<std::uint32_t>(words.tokens.size()));
    }

    void number(unit_in_work& unit) {
        into_.distinct.add(unit.distinct, unit.number_of_distinct);
        if (into_.distinct.memory_bytes() > run_.memory_limit() / 4) {
            throw out_of_memory("the distinct words", 2 * into_.distinct.memory_bytes(),
                                run_.memory_limit() / 4);
        }
    }

    void append(unit_in_work& unit) {
        into_.occurrences += unit.occurrences;
        into_.document_lengths.insert(into_.document_lengths.end(), unit.document_lengths.begin(),
                                      unit.document_lengths.end());
        into_.numbers.append(std::move(unit.numbers));
    }

    const words_options& options_;
    const bool keep_lengths_;
    corpus_words& into_;
    const context& run_;
    std::unique_ptr<io::corpus_reader> corpus_;
    tbb::enumerable_thread_specific<text::analyzer> analyzers_;
    tbb::enumerable_thread_specific<text::token_list> tokens_;
    id_table ids_;
};

}  // namespace

void read_words(const words_options& options, const text_options& text, bool keep_lengths, corpus_words& into,
                const context& run) {
    word_reader(options, text, keep_lengths, into, run).read();
}

}  // namespace quern
