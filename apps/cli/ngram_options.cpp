// SPDX-License-Identifier: Apache-2.0
#include "ngram_options.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "quern/base/rows.hpp"
#include "values.hpp"

namespace quern::cli {

void declare_order(command_line& line, ngram_options& ngrams) {
    line.option("--order", "N", "The longest n-grams, 1 to 32; shorter ones are written as well.",
                std::to_string(ngrams.order), [&](const std::string& text) {
                    ngrams.order = static_cast<unsigned>(parse_integer(text, 1, most_ngram_order));
                });
}

void declare_min_count(command_line& line, ngram_options& ngrams) {
    line.option("--min-count", "N", "Leave out n-grams that occur less often in the collection.", "1",
                [&](const std::string& text) {
                    ngrams.min_count = parse_integer(text, 1, std::numeric_limits<std::int64_t>::max());
                });
}

void declare_smoothing(command_line& line, ngram_options& ngrams) {
    line.option("--smoothing", "RULE",
                "How the collection smooths a document, and in a model a shorter history a longer one: jm "
                "(Jelinek-Mercer), dirichlet or absolute (discounting).",
                "jm", [&](const std::string& text) {
                    ngrams.smoothing = parse_name<ngram_smoothing>(text, ngram_smoothing_names);
                });
    declare_number(
        line, "--lambda",
        "jm: weight of the document against the collection, of the longer history against the shorter; 0 to "
        "1.",
        ngrams.lambda);
    declare_number(line, "--mu", "dirichlet: words of the collection mixed into each document.", ngrams.mu);
    declare_number(line, "--delta", "absolute: what is taken off each count, 0 to 1.", ngrams.delta);
}

void declare_number(command_line& line, const char* name, const char* help, double& target) {
    line.option(name, "X", help, shortest(target),
                [&target](const std::string& text) { target = parse_number(text); });
}

}  // namespace quern::cli
