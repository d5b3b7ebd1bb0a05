// SPDX-License-Identifier: Apache-2.0
// Which words occur together more often than by chance? The collocates of each word of a corpus, with the usual measures.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/collocation.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/tasks/words.hpp"

namespace quern {

inline constexpr std::uint32_t all_collocates = 0xffffffff;

/// `inputs` may be a single store: its texts, with the text options given here.
struct collocations_options : corpus_input {
    text_options text;  ///< not used for word lines
    /// Of these: how co-occurrences are counted (window of 5 by default, relation, gaps, their limit), and the vocabulary.
    space_params params = [] {
        space_params p;
        p.counting.window = 5;
        return p;
    }();
    association_measure by = association_measure::log_dice;  ///< the order of a word's collocates
    std::uint32_t top = 20;                                  ///< rows for each word; all_collocates: all
    std::uint64_t min_both = 3;                              ///< only pairs that co-occur so often
    std::vector<std::string> words;  ///< only the collocates of these; empty: of all words
};

struct collocation_row {
    std::string_view word, collocate;
    /// Of the collocate: -2 is two words before the word; 0: positions are one relation.
    int position = 0;
    cooccurrence_counts counts;
    association measures;
};

struct collocations_result {
    reading_counts counts;
    std::vector<input_issue> issues;  ///< the first 100
    std::uint64_t occurrences = 0;    ///< of words, including those outside the vocabulary
    std::uint64_t distinct = 0;       ///< distinct words
    std::uint32_t vocabulary = 0;     ///< of these, words that are counted
    std::uint64_t cooccurrences = 0, pairs = 0, rows = 0;
    std::vector<std::string> unknown;  ///< of the given words, those outside the vocabulary
    run_statistics statistics;
};

/// Counts co-occurrences as words() does, and calls `sink` for each row: words by falling frequency, then by bytes; a
/// word's collocates by falling value of `by`, equal ones by position, then by falling frequency. Positions are separate
/// tables with relations by position: all counts are of that position.
///
/// Contract class: exact. The same rows for any number of threads and memory. CPU only. Throws usage_error (options out of
/// range, an unknown language, a given word that the text options do not leave as one word), invalid_input (errors beyond
/// the limit, fewer than two words in the vocabulary), io_error, out_of_memory, interrupted. Cost: one pass over the
/// input; counting as in words(); four logarithms for each pair that co-occurs often enough.
collocations_result collocations(const collocations_options& options, const context& ctx,
                                 const std::function<void(const collocation_row&)>& sink);

}  // namespace quern
