// SPDX-License-Identifier: Apache-2.0
// What models say of texts: the logarithm of the probability of their words, sentence by sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/tasks/perplexity.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/language_model/arpa_file.hpp"

namespace quern {

/// Words, and what the models say of them.
struct text_score {
    std::uint64_t sentences = 0, words = 0, unknown = 0;
    std::uint64_t scored = 0;  ///< words and marks with a probability
    double logarithm = 0;      ///< base 10

    void add(const text_score& other);
    double perplexity() const;  ///< not a number if nothing is scored
    double bits_per_byte(std::uint64_t bytes) const;
};

/// Of a text of so many bytes; 0: of a sentence.
perplexity_row row_of(const text_score& of, std::uint64_t bytes);

/// Models, and their weights.
struct model_mixture {
    std::vector<word_model> models;  ///< at least one
    std::vector<double> weights;     ///< their sum is 1
    bool marks = false;              ///< whether <s> and </s> stand around a sentence

    std::uint64_t memory_bytes() const;
};

/// Reads the models of the options. Throws as read_model does; usage_error for weights that do not fit, and for marks that a
/// model lacks.
model_mixture read_mixture(const perplexity_options& options, const context& ctx);

/// Scores one word after the other. With several models, p(w) is the sum of weight · p(w) over those that have w; of a word
/// that none has, it is that of <unk>. So the probabilities of all words and <unk> still sum to 1.
class text_scorer {
  public:
    explicit text_scorer(const model_mixture& of) : of_(of), histories_(of.models.size()) { begin(); }

    /// Begins a document, or with marks a sentence.
    void begin();
    void add(std::string_view word);
    /// The score since begin().
    text_score end();

    /// Receives the probabilities by each model of every word and mark that has one.
    std::function<void(std::span<const double>)> on_word;

  private:
    void add_to_mixture(std::string_view word);
    void end_mixture();
    void take(std::uint32_t number) {
        score_.logarithm += of_.models[0].score(number, histories_[0]);
        ++score_.scored;
    }
    void take_mixed(std::span<const double> probabilities);

    const model_mixture& of_;
    std::vector<back_off_model::history> histories_;
    std::vector<std::uint32_t> numbers_;
    std::vector<double> probabilities_;
    text_score score_;
};

/// Scores texts. Thread-safe.
class document_scorer {
  public:
    document_scorer(const model_mixture& models, const text_options& text, bool tokenized, bool sentences)
        : models_(models), words_(text), tokenized_(tokenized), sentences_(sentences) {}

    /// The scores of the sentences, or of the whole. `on_word`: see text_scorer.
    std::vector<text_score> scores_of(const document& d,
                                      const std::function<void(std::span<const double>)>& on_word = {});

  private:
    const model_mixture& models_;
    document_words words_;
    bool tokenized_, sentences_;
};

}  // namespace quern
