// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/perplexity.hpp"

#include <limits>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "base/canonical_math.hpp"
#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/base/resident_memory.hpp"
#include "quern/tasks/perplexity_option_table.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/language_model/arpa_file.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

/// Words, and what the model says of them.
struct text_score {
    std::uint64_t sentences = 0, words = 0, unknown = 0;
    std::uint64_t scored = 0;  ///< words and marks with a probability
    double logarithm = 0;

    void add(const text_score& other) {
        sentences += other.sentences;
        words += other.words;
        unknown += other.unknown;
        scored += other.scored;
        logarithm += other.logarithm;
    }
    double perplexity() const {
        if (scored == 0) return std::numeric_limits<double>::quiet_NaN();
        return canonical_power_of_ten(-logarithm / static_cast<double>(scored));
    }
};

class text_scorer {
  public:
    text_scorer(const word_model& model, bool marks) : model_(model), marks_(marks) { begin(); }

    /// Begins a document, or with marks a sentence.
    void begin() {
        history_ = marks_ ? model_.ngrams.after(model_.begin) : back_off_model::history();
        score_ = {};
    }
    void add(std::string_view word) {
        ++score_.words;
        std::uint32_t number = model_.number_of(word);
        if (number == word_model::none || number == model_.unknown) {
            ++score_.unknown;
            number = model_.unknown;
        }
        if (number == word_model::none) {
            history_ = {};
            return;
        }
        take(number);
    }
    /// The score since begin().
    text_score end() {
        if (marks_) take(model_.end);
        return score_;
    }

  private:
    void take(std::uint32_t number) {
        score_.logarithm += model_.ngrams.score(number, history_);
        ++score_.scored;
    }

    const word_model& model_;
    bool marks_;
    back_off_model::history history_;
    text_score score_;
};

class perplexity_run {
  public:
    perplexity_run(const perplexity_options& options, const context& ctx,
                   const std::function<void(const perplexity_row&)>& sink)
        : options_(options),
          ctx_(ctx),
          sink_(sink),
          model_(read_arpa(options.model, ctx)),
          marks_(marks()),
          reading_(with_remaining_memory(ctx, model_.ngrams.memory_bytes() + model_.words.bytes_held(),
                                         "the language model")),
          words_(options.text) {
        clock_.end_stage("model", 0);
    }

    perplexity_result run() {
        struct unit_in_work : document_unit {
            std::vector<std::vector<text_score>> scores;  ///< of each document: its sentences, or the whole
            std::uint64_t bytes = 0;
        };
        admitted_corpus corpus(options_, {.a_byte = 4, .a_word = 48}, options_.text, reading_);
        pipeline<unit_in_work> line(units_at_once(reading_));
        corpus.begin(line);
        line.in_parallel([&](unit_in_work& unit) {
            for (document& d : unit.parsed.documents) {
                reading_.check_stop();
                unit.bytes += d.text.size();
                unit.scores.push_back(scores_of(d));
                release(d.text);
            }
        });
        line.in_order([&](unit_in_work& unit) {
            result_.text_bytes += unit.bytes;
            for (std::size_t i = 0; i < unit.scores.size(); ++i)
                write(unit.parsed.documents[i].id, unit.scores[i]);
        });
        corpus.run(line);
        return finished(corpus);
    }

  private:
    bool marks() const {
        const bool has = model_.begin != word_model::none && model_.end != word_model::none;
        if (options_.marks == sentence_marks::yes && !has)
            throw usage_error(options_.model.string() + ": the model has no <s> and </s>; use --marks no");
        return options_.marks == sentence_marks::automatic ? has && model_.ends_sentences
                                                           : options_.marks == sentence_marks::yes;
    }

    std::vector<text_score> scores_of(const document& d) {
        const bool split = marks_ || options_.sentences;
        text_scorer scorer(model_, marks_);
        std::vector<text_score> all;
        const auto end_sentence = [&] {
            text_score of = scorer.end();
            of.sentences = 1;
            all.push_back(of);
            scorer.begin();
        };
        if (options_.tokenized) {
            add_lines(d.text, scorer, split, end_sentence);
        } else {
            add_words(d, scorer, split, end_sentence);
        }
        if (!split) all.push_back(scorer.end());
        if (options_.sentences) return all;
        text_score sum;
        for (const text_score& of : all) sum.add(of);
        return {sum};
    }

    /// A sentence without words is none.
    template <class EndSentence>
    static void add_lines(std::string_view text, text_scorer& scorer, bool split, const EndSentence& end) {
        bool has_words = false;
        for (std::size_t at = 0; at < text.size();) {
            if (text[at] == '\n' && split && std::exchange(has_words, false)) end();
            if (is_space(text[at])) {
                ++at;
                continue;
            }
            const std::size_t begin = at;
            while (at < text.size() && !is_space(text[at])) ++at;
            scorer.add(text.substr(begin, at - begin));
            has_words = true;
        }
        if (split && has_words) end();
    }

    template <class EndSentence>
    void add_words(const document& d, text_scorer& scorer, bool split, const EndSentence& end) {
        const text::token_list& words =
            words_.of(d, split ? text::boundaries::sentences_and_paragraphs : text::boundaries::none,
                      text::dropped_words::excluded);
        std::uint32_t at = 0;
        const auto add_until = [&](std::uint32_t last) {
            const bool has_words = at < last;
            for (; at < last; ++at) scorer.add(words.word(words.tokens[at]));
            if (split && has_words) end();
        };
        for (const std::uint32_t last : words.sentence_ends) add_until(last);
        add_until(static_cast<std::uint32_t>(words.tokens.size()));
    }

    void write(std::string_view id, const std::vector<text_score>& scores) {
        ++result_.documents;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            const text_score& of = scores[i];
            all_.add(of);
            sink_({.id = id,
                   .number = options_.sentences ? i + 1 : 0,
                   .words = of.words,
                   .unknown = of.unknown,
                   .logarithm = of.logarithm,
                   .perplexity = of.perplexity()});
        }
    }

    perplexity_result finished(admitted_corpus& corpus) {
        reading_record& record = corpus.record();
        result_.counts = std::move(record.counts);
        result_.issues = std::move(record.issues);
        result_.sentences = all_.sentences;
        result_.words = all_.words;
        result_.unknown = all_.unknown;
        result_.has_marks = marks_;
        result_.logarithm = all_.logarithm;
        result_.perplexity = all_.perplexity();
        constexpr double log2_of_10 = 0x1.a934f0979a371p+1;
        result_.bits_per_byte = -all_.logarithm * log2_of_10 / static_cast<double>(result_.text_bytes);
        clock_.end_stage("score", corpus.consumed_bytes());
        run_statistics& statistics = result_.statistics;
        statistics.threads = ctx_.thread_count();
        statistics.peak_memory_bytes = peak_memory_bytes();
        statistics.counts = {{"documents", result_.documents},   {"rejected", result_.counts.rejected},
                             {"sentences", result_.sentences},   {"words", result_.words},
                             {"unknown", result_.unknown},       {"scored", all_.scored},
                             {"text_bytes", result_.text_bytes}, {"model_order", model_.ngrams.order()}};
        for (unsigned n = 1; n <= model_.ngrams.order(); ++n)
            statistics.counts["model_ngrams_" + std::to_string(n)] = model_.ngrams.size(n);
        statistics.measures = {{"log10", result_.logarithm},
                               {"perplexity", result_.perplexity},
                               {"bits_per_byte", result_.bits_per_byte}};
        return std::move(result_);
    }

    const perplexity_options& options_;
    const context& ctx_;
    const std::function<void(const perplexity_row&)>& sink_;
    perplexity_result result_;
    stage_clock clock_{result_.statistics};
    word_model model_;
    bool marks_;
    context reading_;
    document_words words_;
    text_score all_;
};

}  // namespace

perplexity_result perplexity(const perplexity_options& options, const context& ctx,
                             const std::function<void(const perplexity_row&)>& sink) {
    require_documents(options);
    if (options.model.empty()) throw usage_error("no language model given");
    for (const auto& input : options.inputs) refuse_own_output(input);
    require_cpu(ctx, "perplexity");
    check_ranges(options);
    return perplexity_run(options, ctx, sink).run();
}

}  // namespace quern
