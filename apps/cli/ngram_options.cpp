// SPDX-License-Identifier: Apache-2.0
#include "ngram_options.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "quern/base/rows.hpp"
#include "values.hpp"

namespace quern::cli {

void declare_order(command_line& line, ngram_options& ngrams) {
    line.option("--order", "N", "Maximum length of n-grams, 1 to 32; shorter ones are written too.",
                std::to_string(ngrams.order), [&](const std::string& text) {
                    ngrams.order = static_cast<unsigned>(parse_integer(text, 1, max_ngram_order));
                });
}

void declare_min_count(command_line& line, ngram_options& ngrams) {
    line.option("--min-count", "N", "Exclude n-grams with fewer occurrences in the collection.", "1",
                [&](const std::string& text) {
                    ngrams.min_count = parse_integer(text, 1, std::numeric_limits<std::int64_t>::max());
                });
}

void declare_smoothing(command_line& line, ngram_options& ngrams) {
    line.option("--smoothing", "RULE",
                "How to smooth a document by the collection and, in a model, a longer history by a shorter "
                "one: jm (Jelinek-Mercer), dirichlet or absolute (discounting).",
                "jm", [&](const std::string& text) {
                    ngrams.smoothing = parse_name<ngram_smoothing>(text, ngram_smoothing_names);
                });
    declare_number(line, "--lambda",
                   "jm: weight of the document, 1 - X of the collection; in a model, of the longer history "
                   "and of the shorter; 0 to 1.",
                   ngrams.lambda);
    declare_number(line, "--mu", "dirichlet: pseudo-count of collection words added to each document.",
                   ngrams.mu);
    declare_number(line, "--delta", "absolute: amount subtracted from each count, 0 to 1.", ngrams.delta);
}

void declare_number(command_line& line, const char* name, const char* help, double& target) {
    line.option(name, "X", help, shortest(target),
                [&target](const std::string& text) { target = parse_number(text); });
}

}  // namespace quern::cli
