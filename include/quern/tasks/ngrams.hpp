// SPDX-License-Identifier: Apache-2.0
// The n-grams of each document of a corpus, with counts and likelihoods or BM25 weights, from files to rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/rows.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/ngram_likelihood.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// Replaces words that are not in the dictionary. It sorts after every word.
inline constexpr std::string_view unknown_ngram_word = "<unk>";

struct ngrams_options : corpus_input {
    /// Not used for word lines. Empty: those of the dictionary, or the defaults; must equal those of the
    /// dictionary, unless it was made from word lines.
    std::optional<text_options> text;
    /// Count the words of a document's title and then those of its text, as in a store.
    bool titles = false;
    /// Texts are words separated by white space already, a sentence on each line.
    bool tokenized = false;
    /// Put <s> before and </s> after the words of each sentence (of word lines: each document) in the counts and the
    /// model of the collection, which end there. Words <s>, </s> and <unk> of the texts are excluded. There are no rows.
    bool sentences = false;
    /// Written by make_dictionary; empty: every word of the corpus is known.
    std::filesystem::path dictionary;
    ngram_options ngrams;

    /// File for the counts of the collection: the words of each n-gram, a tab, its count; by n, then by words.
    /// Empty: none.
    std::filesystem::path totals;
    /// File for a back-off model of the collection in the ARPA format, for every n up to the order
    /// (docs/ngrams.md). Empty: none.
    std::filesystem::path arpa;
    /// Of a model with Kneser-Ney smoothing, after its discounts are made from all n-grams: exclude those that occur N
    /// times or less, N by length: "0 0 1" for 1, 2, and 3 words or more. Not falling; 0 for single words. Empty: none.
    std::string prune;
    /// Also exclude n-grams with words that this file, of words separated by white space, lacks. Empty: none.
    std::filesystem::path limit_vocabulary;
    bool replace = false;  ///< replace existing files, atomically
    /// The folder of a job whose tasks have counted the n-grams (quern/tasks/ngrams_tasks.hpp): their counts are merged. No rows.
    std::filesystem::path counts_of_job;
    /// Receive the text of these files instead of the files.
    std::function<void(std::string_view)> take_totals, take_arpa;
};

/// An n-gram of a document. The views are valid until the next row.
struct ngram_row {
    std::string_view document;  ///< its id
    unsigned n = 0;
    std::string_view words;  ///< separated by spaces
    std::uint32_t in_document = 0;
    std::uint64_t in_collection = 0;
    double weight = 0;                      ///< the likelihood, or the BM25 weight
    std::uint32_t history_in_document = 0;  ///< if requested, like the next
    std::uint64_t history_in_collection = 0;
};

/// The column names of the rows: doc, n, words, f(d), f(C), then P (for BM25: weight), then h(d) and h(C) if
/// history counts are requested.
std::vector<std::string> ngram_columns(const ngram_options& options);

struct ngrams_result {
    reading_counts counts;
    std::vector<input_issue> issues;   ///< the first 100
    std::vector<ngram_totals> totals;  ///< n ascending
    std::uint64_t documents = 0, words = 0, distinct = 0;
    std::uint64_t unknown = 0;           ///< occurrences of words that are not in the dictionary
    std::uint64_t distinct_unknown = 0;  ///< of the distinct words
    std::uint64_t model_ngrams = 0;      ///< in the ARPA file
    /// Distinct words that the ARPA format cannot represent, with a warning.
    std::uint64_t excluded_words = 0;
    std::uint64_t sentences = 0;  ///< if requested
    run_statistics statistics;
};

/// Calls `sink` with every row, by document, n, words (word by word, by bytes), one at a time. The same rows
/// for any number of threads, memory budget and method. If `sink` is empty, makes only the files. Files appear
/// complete or not at all.
/// Throws usage_error (missing inputs, options out of range, a dictionary with other text options, existing
/// files), invalid_input, damaged_store, io_error, out_of_memory, interrupted, and what `sink` throws.
/// Cost: one pass over the input; beyond the memory, words, sorted n-grams and rows go to `ctx.scratch`.
ngrams_result ngrams(const ngrams_options& options, const context& ctx,
                     const std::function<void(const ngram_row&)>& sink);

/// The same rows as text, as written by row_writer in TSV or JSON lines; made by all threads and passed to
/// `write` in order, in chunks.
ngrams_result ngrams_as_text(const ngrams_options& options, row_format format, const context& ctx,
                             const std::function<void(std::string_view)>& sink);

}  // namespace quern
