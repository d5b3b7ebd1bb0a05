// SPDX-License-Identifier: Apache-2.0
// N-gram options shared by several commands.
#pragma once

#include "command_line.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::cli {

void declare_order(command_line& line, ngram_options& ngrams);
void declare_min_count(command_line& line, ngram_options& ngrams);
/// --smoothing, --lambda, --mu, --delta.
void declare_smoothing(command_line& line, ngram_options& ngrams);
/// An option that takes a number; its default is the current value of `target`.
void declare_number(command_line& line, const char* name, const char* help, double& target);

}  // namespace quern::cli
