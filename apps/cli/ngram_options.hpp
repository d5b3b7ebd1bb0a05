// SPDX-License-Identifier: Apache-2.0
// Options of n-grams that several commands offer.
#pragma once

#include "command_line.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::cli {

void declare_order(command_line& line, ngram_options& ngrams);
void declare_min_count(command_line& line, ngram_options& ngrams);
/// --smoothing, --lambda, --mu, --delta.
void declare_smoothing(command_line& line, ngram_options& ngrams);
/// An option that takes a number and falls back to the one that stands there.
void declare_number(command_line& line, const char* name, const char* help, double& target);

}  // namespace quern::cli
