// SPDX-License-Identifier: Apache-2.0
// Scores of texts by models: the logarithm of the probability of their words, sentence by sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/language_model/block_scorer.hpp"
#include "quern/tasks/perplexity.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/language_model/arpa_file.hpp"
#include "tasks/language_model/device_scorer.hpp"

namespace quern {

/// Numbers of words, and their score.
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
    bool saves_pages =
        false;  ///< whether mapped models are large for the memory, so that many words are scored at once

    std::shared_ptr<device_scorer> device;  ///< of a GPU that scores by these models; null: the CPU does

    std::uint64_t memory_bytes() const;
    /// Whether the words of many texts are scored at once.
    bool scores_many_texts() const { return saves_pages || device != nullptr; }
};

/// Reads the models of the options. Throws as read_model does; usage_error for weights that do not fit, and for marks that a
/// model lacks.
model_mixture read_mixture(const perplexity_options& options, const context& ctx);

/// A part of a text. Each text, and with marks each sentence, has a begin, its words, and an end.
struct scored_part {
    enum class kind : std::uint8_t { begin, word, end } kind;
    std::string_view letters;  ///< of a word
};

/// The scores of the parts of texts by one model.
class part_scorer {
  public:
    /// By model number `index` of the mixture, which must outlive it; `device`: null, or one that holds its models.
    part_scorer(const model_mixture& of, std::size_t index, device_scorer* device);

    struct score {
        bool is_known = false;  ///< the model has the word, and it is not <unk>
        bool is_scored =
            false;  ///< has a probability: not a begin, nor a word unknown to a model without <unk>
        double logarithm = 0;  ///< base 10
    };
    /// Of the parts after those given before; valid until the next call.
    std::span<const score> scores_of(std::span<const scored_part> parts);

  private:
    void forget_scored_words();
    void score_words();

    const word_model& model_;
    device_scorer* const device_;
    const std::size_t index_;
    bool marks_;
    std::variant<block_scorer<back_off_model>, block_scorer<compact_model>> scorer_;
    bool begins_next_ = true;  ///< the next word has none before it
    std::vector<std::string_view> words_;
    std::vector<std::uint32_t> word_numbers_;
    std::size_t words_before_ = 0;  ///< with a GPU: words of earlier parts at the front of the next three
    std::vector<std::uint32_t> numbers_,
        part_of_;  ///< of the words and marks in the model's text: numbers, and their parts
    std::vector<std::uint8_t> begins_;
    std::vector<double> logarithms_;
    std::vector<score> scores_;
};

/// Scores texts, many words at a time. With several models, p(w) is the sum of weight · p(w) over those that have w; of a word
/// that none has, it is that of <unk>. So the probabilities of all words and <unk> still sum to 1.
class text_scorer {
  public:
    explicit text_scorer(const model_mixture& of) : text_scorer(of, of.device.get()) {}
    /// `device`: null, so that the CPU scores the words, or that of the mixture.
    text_scorer(const model_mixture& of, device_scorer* device);

    /// Begins a text, or with marks a sentence.
    void begin() { add({scored_part::kind::begin, {}}); }
    /// The word is read later, by finish() or keep_words() at the latest.
    void add(std::string_view word) { add({scored_part::kind::word, word}); }
    void end() { add({scored_part::kind::end, {}}); }
    /// Forgets the scores of what was added; its words are still before those that follow.
    void forget_scores();
    /// Adds to `to` each logarithm of the score that has begun, until it ends.
    void keep_logarithms(std::vector<double>& to) { kept_logarithms_ = &to; }
    /// Copies the words that are not read yet.
    void keep_words();
    /// The scores of all that has ended.
    std::vector<text_score> finish();
    /// After finish(): the score of what has begun and not ended.
    const text_score& unfinished() const { return score_; }

    /// Receives the probabilities by each model of every word and mark that has one.
    std::function<void(std::span<const double>)> on_word;

  private:
    static constexpr std::size_t few_parts = 1024, many_parts = 8192, parts_for_device = 65536;

    void add(scored_part part) {
        parts_.push_back(part);
        if (parts_.size() == parts_at_once_) score_parts();
    }
    void score_parts();
    void take(std::size_t part);
    void take_mixed();
    void add_logarithm(double logarithm);

    const model_mixture& of_;
    const std::size_t parts_at_once_;
    std::vector<part_scorer> scorers_;
    std::vector<scored_part> parts_;
    std::size_t parts_kept_ = 0;  ///< their words are in `letters_`
    std::deque<std::string> letters_;
    std::vector<std::span<const part_scorer::score>> scores_;  ///< by each model
    std::vector<double> probabilities_;
    text_score score_;
    std::vector<double>* kept_logarithms_ = nullptr;
    bool is_forgotten_ = false;  ///< what is being scored
    std::vector<text_score> ended_;
};

/// Scores texts. Thread-safe.
class document_scorer {
  public:
    document_scorer(const model_mixture& models, const text_options& text, bool tokenized, bool sentences)
        : models_(models), words_(text), rule_(text.tokens), tokenized_(tokenized), sentences_(sentences) {}

    /// The scores of the sentences, or of the whole.
    std::vector<text_score> scores_of(const document& d);

    /// The same of several documents, many words at once; one thread. `on_word`: see text_scorer.
    class series {
      public:
        explicit series(document_scorer& of, std::function<void(std::span<const double>)> on_word = {});
        /// The document is not read any more once it returns.
        void add(const document& d);
        /// Of each document.
        std::vector<std::vector<text_score>> finish();

      private:
        void take_scores();

        document_scorer& of_;
        text_scorer scorer_;
        std::vector<std::size_t> ends_;  ///< of each document whose scores are not taken: of how many texts
        std::vector<std::vector<text_score>> scores_;
    };

    /// A long document, on all threads (long_text.hpp).
    class long_text;

  private:
    bool splits() const { return models_.marks || sentences_; }  ///< into sentences

    const model_mixture& models_;
    document_words words_;
    token_rule rule_;
    bool tokenized_, sentences_;
};

}  // namespace quern
