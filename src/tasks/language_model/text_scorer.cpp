// SPDX-License-Identifier: Apache-2.0
#include "tasks/language_model/text_scorer.hpp"

#include <fmt/format.h>

#include <algorithm>
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
    model_mixture result;
    result.weights = mixture_weights(options.weights, 1 + options.interpolate.size());
    bool has_marks = true, ends_sentences = true;
    const auto add = [&](const std::filesystem::path& path) {
        const context left =
            with_remaining_memory(ctx, result.memory_bytes(), "the language models before " + path.string());
        const word_model& model = result.models.emplace_back(read_model(path, left));
        const bool has = model.begin != word_model::none && model.end != word_model::none;
        if (options.marks == sentence_marks::yes && !has)
            throw usage_error(path.string() + ": the model has no <s> and </s>; use --marks no");
        has_marks = has_marks && has;
        ends_sentences = ends_sentences && model.ends_sentences;
    };
    add(options.model);
    for (const std::filesystem::path& path : options.interpolate) add(path);
    constexpr std::uint64_t of_process = std::uint64_t{64} << 20;
    std::uint64_t mapped = 0;
    for (const word_model& model : result.models) mapped += model.file ? model.file->info.file_bytes : 0;
    result.saves_pages = mapped != 0 && mapped + result.memory_bytes() + of_process > ctx.memory_limit();
    result.marks = options.marks == sentence_marks::automatic ? has_marks && ends_sentences
                                                              : options.marks == sentence_marks::yes;
    return result;
}

part_scorer::part_scorer(const model_mixture& of, std::size_t index, device_scorer* device)
    : model_(of.models[index]),
      device_(device),
      index_(index),
      marks_(of.marks),
      scorer_(model_.file ? decltype(scorer_)(block_scorer(model_.file->ngrams, of.saves_pages))
                          : decltype(scorer_)(block_scorer(model_.ngrams))) {}

/// A GPU knows nothing of earlier calls: it gets the words before the next ones again, as far as they matter.
void part_scorer::forget_scored_words() {
    words_before_ = device_ == nullptr ? 0 : std::min<std::size_t>(numbers_.size(), model_.order() - 1);
    const auto scored = static_cast<std::ptrdiff_t>(numbers_.size() - words_before_);
    numbers_.erase(numbers_.begin(), numbers_.begin() + scored);
    begins_.erase(begins_.begin(), begins_.begin() + scored);
    part_of_.assign(words_before_, 0);
}

void part_scorer::score_words() {
    logarithms_.resize(numbers_.size());
    if (device_ != nullptr)
        device_->score(index_, numbers_, begins_, logarithms_);
    else
        std::visit([&](auto& scorer) { scorer.score(numbers_, begins_, logarithms_); }, scorer_);
    for (std::size_t i = words_before_; i < part_of_.size(); ++i)
        scores_[part_of_[i]].logarithm = logarithms_[i];
}

std::span<const part_scorer::score> part_scorer::scores_of(std::span<const scored_part> parts) {
    words_.clear();
    for (const scored_part& part : parts)
        if (part.kind == scored_part::kind::word) words_.push_back(part.letters);
    word_numbers_.resize(words_.size());
    model_.numbers_of(words_, word_numbers_.data());

    forget_scored_words();
    scores_.assign(parts.size(), {});
    std::size_t word = 0;
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
        std::uint32_t number = word_model::none;
        switch (parts[i].kind) {
            case scored_part::kind::begin:
                begins_next_ = true;
                if (marks_) number = model_.begin;
                break;
            case scored_part::kind::word:
                number = word_numbers_[word++];
                scores_[i].is_known = number != word_model::none && number != model_.unknown;
                if (!scores_[i].is_known) number = model_.unknown;
                if (number == word_model::none) begins_next_ = true;
                break;
            case scored_part::kind::end:
                if (marks_) number = model_.end;
                break;
        }
        if (number == word_model::none) continue;
        scores_[i].is_scored = parts[i].kind != scored_part::kind::begin;
        numbers_.push_back(number);
        part_of_.push_back(i);
        begins_.push_back(std::exchange(begins_next_, false) ? 1 : 0);
    }
    score_words();
    return scores_;
}

text_scorer::text_scorer(const model_mixture& of, device_scorer* device)
    : of_(of),
      parts_at_once_(device != nullptr ? parts_for_device
                     : of.saves_pages  ? many_parts
                                       : few_parts) {
    for (std::size_t i = 0; i < of.models.size(); ++i) scorers_.emplace_back(of, i, device);
}

void text_scorer::keep_words() {
    std::size_t bytes = 0;
    for (std::size_t i = parts_kept_; i < parts_.size(); ++i) bytes += parts_[i].letters.size();
    std::string& kept = letters_.emplace_back();
    kept.reserve(bytes);
    for (; parts_kept_ < parts_.size(); ++parts_kept_) {
        std::string_view& letters = parts_[parts_kept_].letters;
        const std::size_t begin = kept.size();
        kept += letters;
        letters = std::string_view(kept).substr(begin);
    }
}

std::vector<text_score> text_scorer::finish() {
    score_parts();
    return std::exchange(ended_, {});
}

void text_scorer::forget_scores() {
    is_forgotten_ = true;
    score_parts();
    is_forgotten_ = false;
    score_ = {};
    ended_.clear();
}

void text_scorer::score_parts() {
    scores_.clear();
    for (part_scorer& scorer : scorers_) scores_.push_back(scorer.scores_of(parts_));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i].kind == scored_part::kind::begin) {
            score_ = {};
            continue;
        }
        if (!is_forgotten_) take(i);
        if (parts_[i].kind != scored_part::kind::end) continue;
        ended_.push_back(std::exchange(score_, {}));
        kept_logarithms_ = nullptr;
    }
    parts_.clear();
    parts_kept_ = 0;
    letters_.clear();
}

void text_scorer::take(std::size_t part) {
    const bool is_word = parts_[part].kind == scored_part::kind::word;
    const bool is_known =
        std::ranges::any_of(scores_, [&](const auto& by_model) { return by_model[part].is_known; });
    if (is_word) {
        ++score_.words;
        score_.unknown += is_known ? 0 : 1;
    }
    if (scores_.size() == 1 && !on_word) {
        const part_scorer::score& of = scores_[0][part];
        if (!of.is_scored) return;
        add_logarithm(of.logarithm);
        return;
    }
    probabilities_.assign(scores_.size(), 0);
    bool is_scored = false;
    for (std::size_t m = 0; m < scores_.size(); ++m) {
        const part_scorer::score& of = scores_[m][part];
        if (!of.is_scored || of.is_known != is_known) continue;
        probabilities_[m] = canonical_power_of_ten(of.logarithm);
        is_scored = true;
    }
    if (is_scored) take_mixed();
}

void text_scorer::take_mixed() {
    constexpr double ln10 = 0x1.26bb1bbb55516p+1, least = -99;
    double sum = 0;
    for (std::size_t m = 0; m < probabilities_.size(); ++m) sum += of_.weights[m] * probabilities_[m];
    add_logarithm(sum > 0 ? canonical_log(sum) / ln10 : least);
    if (on_word) on_word(probabilities_);
}

void text_scorer::add_logarithm(double logarithm) {
    score_.logarithm += logarithm;
    ++score_.scored;
    if (kept_logarithms_ != nullptr) kept_logarithms_->push_back(logarithm);
}

document_scorer::series::series(document_scorer& of, std::function<void(std::span<const double>)> on_word)
    : of_(of), scorer_(of.models_) {
    scorer_.on_word = std::move(on_word);
}

void document_scorer::series::add(const document& d) {
    const bool split = of_.splits();
    std::size_t ends = split ? 0 : 1;
    const auto add_word = [&](std::string_view word) { scorer_.add(word); };
    const auto end = [&] {
        if (!split) return;
        ++ends;
        scorer_.end();
        scorer_.begin();
    };
    scorer_.begin();
    if (of_.tokenized_ && !d.verbatim) {
        for_each_line_word(d.text, empty_lines::do_not_count, add_word, end);
    } else {
        const auto wanted = split ? text::boundaries::sentences_and_paragraphs : text::boundaries::none;
        for_each_sentence_word(of_.words_.of(d, wanted), add_word, end);
    }
    if (!split) scorer_.end();
    ends_.push_back(ends);
    if (of_.models_.scores_many_texts())
        scorer_.keep_words();
    else
        take_scores();
}

std::vector<std::vector<text_score>> document_scorer::series::finish() {
    take_scores();
    return std::exchange(scores_, {});
}

void document_scorer::series::take_scores() {
    const std::vector<text_score> ended = scorer_.finish();
    auto first = ended.begin();
    for (const std::size_t ends : std::exchange(ends_, {})) {
        std::vector<text_score> own(first, first + static_cast<std::ptrdiff_t>(ends));
        first += static_cast<std::ptrdiff_t>(ends);
        if (of_.splits())
            for (text_score& of : own) of.sentences = 1;
        if (!of_.sentences_) {
            text_score sum;
            for (const text_score& of : own) sum.add(of);
            own = {sum};
        }
        scores_.push_back(std::move(own));
    }
}

std::vector<text_score> document_scorer::scores_of(const document& d) {
    series one(*this);
    one.add(d);
    return std::move(one.finish().front());
}

}  // namespace quern
