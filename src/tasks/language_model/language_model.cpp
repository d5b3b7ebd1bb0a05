// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/language_model.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "base/ascii.hpp"
#include "base/canonical_math.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/language_model_option_table.hpp"
#include "quern/tasks/perplexity_option_table.hpp"
#include "tasks/corpus/sentence_words.hpp"
#include "tasks/language_model/text_scorer.hpp"

namespace quern {

struct language_model::state {
    state(model_mixture of, const perplexity_options& options)
        : models(std::move(of)),
          documents(models, options.text, options.tokenized, false),
          sentences(models, options.text, options.tokenized, true) {}

    model_mixture models;
    document_scorer documents, sentences;
};

namespace {

/// Samples words.
class text_generator {
  public:
    text_generator(const word_model& model, bool marks, const generate_options& options, const context& ctx)
        : model_(model), marks_(marks), options_(options), ctx_(ctx), place_(ctx) {
        for_each_line_word(
            options.begin, empty_lines::do_not_count,
            [&](std::string_view word) {
                const std::uint32_t number = model.number_of(word);
                if (number == word_model::none)
                    throw usage_error("begin: the model has no word '" + std::string(word) + "'");
                begin_.push_back(number);
            },
            [] {});
    }

    std::string text(std::uint64_t number) {
        std::seed_seq seeds{static_cast<std::uint32_t>(options_.seed),
                            static_cast<std::uint32_t>(options_.seed >> 32),
                            static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
        std::mt19937_64 random(seeds);
        back_off_model::history history = marks_ ? model_.after(model_.begin) : back_off_model::history();
        std::string result;
        const auto add = [&](std::uint32_t word) {
            model_.score(word, history);
            result.append(result.empty() ? "" : " ").append(model_.word(word));
        };
        for (const std::uint32_t word : begin_) add(word);
        for (std::uint64_t words = begin_.size(); words < options_.max_words; ++words) {
            ctx_.check_stop();
            const std::uint32_t next = draw(history, static_cast<double>(random() >> 11) * 0x1p-53);
            if (next == word_model::none || next == model_.end) break;
            add(next);
        }
        return result;
    }

  private:
    bool is_candidate(std::uint32_t word) const {
        return word != model_.begin && word != model_.unknown && (marks_ || word != model_.end);
    }

    /// The word at the share `at` of the sum of all probabilities, in the order of the words' numbers.
    std::uint32_t draw(const back_off_model::history& history, double at) {
        const auto words = static_cast<std::uint32_t>(model_.size(1));
        constexpr std::uint32_t in_block = 1024;  // fixed, so that the sums are the same for any threads
        const std::size_t blocks = (std::size_t{words} + in_block - 1) / in_block;
        probabilities_.resize(words);
        sums_.assign(blocks, 0);
        for_each_piece(place_, blocks, [&](std::size_t b) {
            const auto first = static_cast<std::uint32_t>(b * in_block);
            for (std::uint32_t w = first; w < std::min(words - first, in_block) + first; ++w) {
                back_off_model::history before = history;
                probabilities_[w] = is_candidate(w) ? canonical_power_of_ten(model_.score(w, before)) : 0;
                sums_[b] += probabilities_[w];
            }
        });
        double all = 0;
        for (const double sum : sums_) all += sum;
        double left = at * all;
        std::uint32_t last = word_model::none;  // with a probability, should rounding leave none
        for (std::size_t b = 0; b < blocks; ++b) {
            if (left >= sums_[b] && b + 1 < blocks) {
                left -= sums_[b];
                continue;
            }
            const auto first = static_cast<std::uint32_t>(b * in_block);
            for (std::uint32_t w = first; w < std::min(words - first, in_block) + first; ++w) {
                if (probabilities_[w] == 0) continue;
                last = w;
                if (left < probabilities_[w]) return w;
                left -= probabilities_[w];
            }
        }
        return last;
    }

    const word_model& model_;
    bool marks_;
    const generate_options& options_;
    const context& ctx_;
    cpu_place place_;
    std::vector<std::uint32_t> begin_;
    std::vector<double> probabilities_, sums_;
};

}  // namespace

language_model::language_model(std::unique_ptr<state> made) : state_(std::move(made)) {}
language_model::language_model(language_model&&) noexcept = default;
language_model& language_model::operator=(language_model&&) noexcept = default;
language_model::~language_model() = default;

language_model language_model::open(const perplexity_options& options, const context& ctx) {
    if (options.model.empty()) throw usage_error("no language model given");
    check_ranges(options);
    return language_model(std::make_unique<state>(read_mixture(options, ctx), options));
}

unsigned language_model::order() const {
    return state_->models.models[0].order();
}
std::uint64_t language_model::ngrams(unsigned n) const {
    return n >= 1 && n <= order() ? state_->models.models[0].size(n) : 0;
}
std::uint64_t language_model::memory_bytes() const {
    return state_->models.memory_bytes();
}
bool language_model::has_marks() const {
    return state_->models.marks;
}
std::span<const double> language_model::weights() const {
    return state_->models.weights;
}

std::vector<perplexity_row> language_model::score(std::string_view text, bool sentences) const {
    document d;
    d.text = text;
    std::vector<perplexity_row> rows;
    for (const text_score& of : (sentences ? state_->sentences : state_->documents).scores_of(d)) {
        perplexity_row& row = rows.emplace_back(row_of(of, sentences ? 0 : text.size()));
        row.number = sentences ? rows.size() : 0;
    }
    return rows;
}

std::vector<perplexity_row> language_model::score(std::span<const std::string_view> texts,
                                                  const context& ctx) const {
    std::vector<perplexity_row> rows(texts.size());
    cpu_place place(ctx);
    for_each_piece(place, texts.size(), [&](std::size_t i) {
        ctx.check_stop();
        rows[i] = score(texts[i]).front();
    });
    return rows;
}

std::vector<std::string> language_model::generate(const generate_options& options, const context& ctx) const {
    check_ranges(options);
    if (state_->models.models.size() != 1)
        throw usage_error("texts are generated by one model, not by several");
    text_generator generator(state_->models.models[0], state_->models.marks, options, ctx);
    std::vector<std::string> result;
    for (std::uint64_t i = 0; i < options.count; ++i) result.push_back(generator.text(i));
    return result;
}

}  // namespace quern
