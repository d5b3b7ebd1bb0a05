// SPDX-License-Identifier: Apache-2.0
// Shared by the functions on n-grams.
#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <span>

#include "documents.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/ngrams_option_table.hpp"
#include "table.hpp"

namespace quern::python {

struct ngrams_call : corpus_call {
    ngrams_options options;
    text_options text;
    std::filesystem::path output;
    bool rows = true, overwrite = false;
};

/// Adds dictionary, titles and the text options.
void add_ngram_words(parameters<ngrams_call>& to);

/// Sets the text options, and `text` to those in force: the given ones, over those of the dictionary. Throws
/// usage_error, damaged_store.
void choose_ngram_text(ngrams_call& call, const nanobind::kwargs& given);

/// Throws usage_error for a given option of smoothing or BM25 without effect.
void refuse_idle_ngram_options(const nanobind::kwargs& given, const ngram_options& options, bool has_model);

/// n, occurrences, with_unknown, distinct, rows.
table ngram_totals_table(std::span<const ngram_totals> totals);

/// Counts of what was read, issues and statistics.
nanobind::dict ngrams_result_dict(const ngrams_result& made);

}  // namespace quern::python
