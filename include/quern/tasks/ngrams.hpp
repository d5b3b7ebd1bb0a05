// SPDX-License-Identifier: Apache-2.0
// The n-grams of every document of a corpus with their counts and likelihoods, or BM25 weights, from files to rows.
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
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// What stands for a word that the dictionary does not hold. It sorts behind every word.
inline constexpr std::string_view unknown_ngram_word = "<unk>";

struct ngrams_options {
    std::vector<std::filesystem::path> inputs;  ///< "-" is standard input
    std::string input_format;                   ///< empty: told from the content; else a corpus form's name
    /// Not used for word lines. Empty: the dictionary's, or the usual ones; must be the dictionary's, unless that is of word lines.
    std::optional<text_options> text;
    bool titles =
        false;  ///< a document's words are those of its title, then those of its text, as in a store
    error_limit max_errors;
    std::filesystem::path
        dictionary;  ///< what make_dictionary wrote; empty: every word of the corpus is known
    ngram_options ngrams;

    /// Counts of the collection: the words of each n-gram, a tab, how often it occurs; by n, then by words. Empty: none.
    std::filesystem::path totals;
    /// A back-off model of the collection in the ARPA format, for every n up to the order (docs/ngrams.md). Empty: none.
    std::filesystem::path arpa;
    bool replace = false;  ///< existing files, atomically
    /// Take the text of these files in their place.
    std::function<void(std::string_view)> take_totals, take_arpa;
};

/// An n-gram of a document. What is pointed to lasts until the next row.
struct ngram_row {
    std::string_view document;  ///< its id
    unsigned n = 0;
    std::string_view words;  ///< with spaces between
    std::uint32_t in_document = 0;
    std::uint64_t in_collection = 0;
    double weight = 0;                      ///< the likelihood, or BM25's weight
    std::uint32_t history_in_document = 0;  ///< where asked for, as the next
    std::uint64_t history_in_collection = 0;
};

/// The names of a row's columns as written: doc, n, words, f(d), f(C), then P (of BM25: weight), then h(d) and h(C) where
/// history counts are asked for.
std::vector<std::string> ngram_columns(const ngram_options& options);

struct ngrams_result {
    reading_counts counts;
    std::vector<input_issue> issues;   ///< the first 100
    std::vector<ngram_totals> totals;  ///< n rising
    std::uint64_t documents = 0, words = 0, distinct = 0;
    std::uint64_t unknown = 0;           ///< of the words, occurrences that the dictionary does not hold
    std::uint64_t distinct_unknown = 0;  ///< of the distinct words
    std::uint64_t model_ngrams = 0;      ///< in the ARPA file
    run_statistics statistics;
};

/// Calls `take` with every row, by document, n, words (word by word, by bytes), one at a time. The same rows for any threads,
/// memory and method. `take` may be empty: then no rows are made for it, only the files.
/// Files appear whole or not at all.
/// Throws usage_error (missing inputs, options out of range, a dictionary of other text options, files that exist),
/// invalid_input, damaged_store, io_error, out_of_memory, interrupted, and what `take` throws.
/// Cost: one pass over the input; beyond the memory, words, sorted n-grams and rows go to `run.scratch`.
ngrams_result ngrams(const ngrams_options& options, const context& run,
                     const std::function<void(const ngram_row&)>& take);

/// The same rows as text, as row_writer writes TSV or JSON lines, made by all threads and given out in order in stretches.
ngrams_result ngrams_as_text(const ngrams_options& options, row_format format, const context& run,
                             const std::function<void(std::string_view)>& write);

}  // namespace quern
