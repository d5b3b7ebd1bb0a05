// SPDX-License-Identifier: Apache-2.0
// Pruning of a model with Kneser-Ney smoothing, after its discounts are computed from all n-grams.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "tasks/ngrams/ngram_corpus.hpp"

namespace quern {

struct model_pruning {
    /// N-grams of i + 1 words that occur thresholds[i] times or less; of the order's length. Not falling.
    std::vector<std::uint64_t> thresholds;
    std::vector<bool> excluded_words;  ///< by id: n-grams with one of these; empty: none
};

/// "0 0 1" for lengths 1, 2, and 3 or more; blanks or commas between. Throws usage_error.
std::vector<std::uint64_t> prune_thresholds(std::string_view text, unsigned order);

/// By id, whether a file of words separated by white space lacks the word. Throws usage_error (no such file), io_error.
std::vector<bool> words_outside(const std::filesystem::path& file, const ngram_corpus& corpus,
                                const context& ctx);

}  // namespace quern
