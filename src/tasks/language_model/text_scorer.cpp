// SPDX-License-Identifier: Apache-2.0
#include "tasks/language_model/text_scorer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/canonical_math.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/sentence_words.hpp"
#include "tasks/language_model/model_weights.hpp"
#include "tasks/shared/remaining_memory.hpp"

namespace quern {

void text_score::add(const text_score& other) {
    sentences += other.sentences;
    words += other.words;
    unknown += other.unknown;
    scored += other.scored;
    logarithm += other.logarithm;
}

double text_score::perplexity() const {
    if (scored == 0) return std::numeric_limits<double>::quiet_NaN();
    return canonical_power_of_ten(-logarithm / static_cast<double>(scored));
}

double text_score::bits_per_byte(std::uint64_t bytes) const {
    constexpr double log2_of_10 = 0x1.a934f0979a371p+1;
    return -logarithm * log2_of_10 / static_cast<double>(bytes);
}

perplexity_row row_of(const text_score& of, std::uint64_t bytes) {
    return {.id = {},
            .number = 0,
            .words = of.words,
            .unknown = of.unknown,
            .logarithm = of.logarithm,
            .perplexity = of.perplexity(),
            .bits_per_byte = bytes == 0 ? std::numeric_limits<double>::quiet_NaN() : of.bits_per_byte(bytes)};
}

std::uint64_t model_mixture::memory_bytes() const {
    std::uint64_t bytes = 0;
    for (const word_model& m : models) bytes += m.memory_bytes();
    return bytes;
}

model_mixture read_mixture(const perplexity_options& options, const context& ctx) {
    model_mixture made;
    made.weights = mixture_weights(options.weights, 1 + options.interpolate.size());
    bool has_marks = true, ends_sentences = true;
    const auto add = [&](const std::filesystem::path& path) {
        const context left =
            with_remaining_memory(ctx, made.memory_bytes(), "the language models before " + path.string());
        const word_model& model = made.models.emplace_back(read_model(path, left));
        const bool has = model.begin != word_model::none && model.end != word_model::none;
        if (options.marks == sentence_marks::yes && !has)
            throw usage_error(path.string() + ": the model has no <s> and </s>; use --marks no");
        has_marks = has_marks && has;
        ends_sentences = ends_sentences && model.ends_sentences;
    };
    add(options.model);
    for (const std::filesystem::path& path : options.interpolate) add(path);
    made.marks = options.marks == sentence_marks::automatic ? has_marks && ends_sentences
                                                            : options.marks == sentence_marks::yes;
    return made;
}

void text_scorer::begin() {
    for (std::size_t m = 0; m < histories_.size(); ++m)
        histories_[m] = of_.marks ? of_.models[m].after(of_.models[m].begin) : back_off_model::history();
    score_ = {};
}

void text_scorer::add(std::string_view word) {
    ++score_.words;
    if (of_.models.size() != 1 || on_word) return add_to_mixture(word);
    const word_model& model = of_.models[0];
    std::uint32_t number = model.number_of(word);
    if (number == word_model::none || number == model.unknown) {
        ++score_.unknown;
        number = model.unknown;
    }
    if (number == word_model::none) {
        histories_[0] = {};
        return;
    }
    take(number);
}

text_score text_scorer::end() {
    if (!of_.marks) return score_;
    if (of_.models.size() != 1 || on_word)
        end_mixture();
    else
        take(of_.models[0].end);
    return score_;
}

void text_scorer::add_to_mixture(std::string_view word) {
    numbers_.clear();
    bool is_known = false;
    for (const word_model& model : of_.models) {
        const std::uint32_t number = model.number_of(word);
        numbers_.push_back(number == model.unknown ? word_model::none : number);
        is_known = is_known || numbers_.back() != word_model::none;
    }
    score_.unknown += is_known ? 0 : 1;
    probabilities_.assign(numbers_.size(), 0);
    bool is_scored = false;
    for (std::size_t m = 0; m < numbers_.size(); ++m) {
        const word_model& model = of_.models[m];
        const std::uint32_t number = numbers_[m] == word_model::none ? model.unknown : numbers_[m];
        if (number == word_model::none) {
            histories_[m] = {};
            continue;
        }
        const double logarithm = model.score(number, histories_[m]);
        if (is_known && numbers_[m] == word_model::none) continue;
        probabilities_[m] = canonical_power_of_ten(logarithm);
        is_scored = true;
    }
    if (is_scored) take_mixed(probabilities_);
}

void text_scorer::end_mixture() {
    probabilities_.clear();
    for (std::size_t m = 0; m < of_.models.size(); ++m)
        probabilities_.push_back(
            canonical_power_of_ten(of_.models[m].score(of_.models[m].end, histories_[m])));
    take_mixed(probabilities_);
}

void text_scorer::take_mixed(std::span<const double> probabilities) {
    constexpr double ln10 = 0x1.26bb1bbb55516p+1, least = -99;
    double sum = 0;
    for (std::size_t m = 0; m < probabilities.size(); ++m) sum += of_.weights[m] * probabilities[m];
    score_.logarithm += sum > 0 ? canonical_log(sum) / ln10 : least;
    ++score_.scored;
    if (on_word) on_word(probabilities);
}

std::vector<text_score> document_scorer::scores_of(
    const document& d, const std::function<void(std::span<const double>)>& on_word) {
    const bool split = models_.marks || sentences_;
    text_scorer scorer(models_);
    scorer.on_word = on_word;
    std::vector<text_score> all;
    const auto add = [&](std::string_view word) { scorer.add(word); };
    const auto end = [&] {
        if (!split) return;
        text_score of = scorer.end();
        of.sentences = 1;
        all.push_back(of);
        scorer.begin();
    };
    if (tokenized_ && !d.verbatim) {
        for_each_line_word(d.text, empty_lines::do_not_count, add, end);
    } else {
        const auto wanted = split ? text::boundaries::sentences_and_paragraphs : text::boundaries::none;
        for_each_sentence_word(words_.of(d, wanted), add, end);
    }
    if (!split) all.push_back(scorer.end());
    if (sentences_) return all;
    text_score sum;
    for (const text_score& of : all) sum.add(of);
    return {sum};
}

}  // namespace quern
