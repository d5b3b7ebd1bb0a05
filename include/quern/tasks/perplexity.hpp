// SPDX-License-Identifier: Apache-2.0
// How well a language model predicts texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// Whether <s> and </s> stand around each sentence.
enum class sentence_marks {
    automatic,  ///< if the model gives </s> a probability above 10^-90
    yes,
    no,
};
inline constexpr std::string_view sentence_mark_names[] = {"auto", "yes", "no"};

struct perplexity_options : corpus_input {
    std::filesystem::path model;  ///< in the ARPA format, plain or compressed
    /// More models: p(w) is the sum of weight · p(w) over the models that have w; of a word that none has, it is that of
    /// <unk>. A list of weights has one for each model, `model` first: "0.7 0.3"; only their ratio counts. Empty: equal ones.
    std::vector<std::filesystem::path> interpolate;
    std::string weights;
    bool tune = false;  ///< no rows: find the weights that maximise the probability of the corpus
    text_options text;  ///< how texts become words; must be those with which the model was made
    /// The texts are words separated by blanks already, a sentence on each line, as KenLM takes them.
    bool tokenized = false;
    bool sentences = false;  ///< a row for each sentence instead of each document
    sentence_marks marks = sentence_marks::automatic;
};

/// A document, or a sentence.
struct perplexity_row {
    std::string_view id;       ///< of the document
    std::uint64_t number = 0;  ///< of the sentence in its document, from 1; 0: a document
    std::uint64_t words = 0;
    std::uint64_t unknown = 0;  ///< of these, how many the model lacks
    /// The logarithm, base 10, of the probability of its words, and of </s> after each sentence if there are marks.
    double logarithm = 0;
    /// 10^(-logarithm / N), where N counts those words and marks. Not a number if there are none.
    double perplexity = 0;
    /// -logarithm · log2(10) / the bytes of the text, of a document; not a number for a sentence or an empty text.
    double bits_per_byte = 0;
};

struct perplexity_result {
    reading_counts counts;
    std::vector<input_issue> issues;  ///< the first 100
    std::uint64_t documents = 0, sentences = 0, words = 0, unknown = 0;
    std::uint64_t text_bytes = 0;  ///< UTF-8
    bool has_marks = false;        ///< <s> and </s> were used; else `sentences` is 0 unless asked for
    double logarithm = 0;          ///< the sum of all rows, in order
    double perplexity = 0;         ///< of all texts together
    double bits_per_byte = 0;      ///< -logarithm · log2(10) / text_bytes
    std::vector<double> weights;   ///< of the models; their sum is 1
    run_statistics statistics;
};

/// Scores every document with a back-off model (Katz 1987): the logarithm of p(word | the words before it), summed in
/// the order of the words, in float64; the n-grams' own logarithms are float32, as in the file. A sentence begins after
/// <s>, or, without marks, with nothing known before a document's first word. A word that the model lacks has the
/// probability of <unk>; if there is no <unk>, it is left out, and nothing is known before the next word.
///
/// With `tune`, the weights are found by expectation maximisation (Jelinek and Mercer 1980), from equal ones; the result's
/// totals are then those of the weights found. Beyond a quarter of the memory, probabilities go to the scratch folder.
///
/// Calls `sink` for every row, documents in input order, one at a time; the same rows for any number of threads.
/// On the CPU, or on a GPU (`automatic`: if it saves time). Throws usage_error, invalid_input (the model or the corpus, with file and
/// line), out_of_memory if the model exceeds half of the budget or a requested GPU's, device_error, io_error, interrupted. Cost: one
/// pass; about 0.2 to 1 microseconds a word, and 12 to 16 bytes of memory for each n-gram (twice that while the model is read).
perplexity_result perplexity(const perplexity_options& options, const context& ctx,
                             const std::function<void(const perplexity_row&)>& sink);

}  // namespace quern
