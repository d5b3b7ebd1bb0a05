// SPDX-License-Identifier: Apache-2.0
// The weights of interpolated models: as given, or those that predict a text best.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tasks/words/number_stream.hpp"

namespace quern {

/// "0.7 0.3", with blanks or commas, divided by their sum; empty: equal ones. Throws usage_error.
std::vector<double> mixture_weights(std::string_view text, std::size_t models);

/// The weights that maximise the probability of a text, by expectation maximisation (Jelinek and Mercer 1980): a weight
/// becomes the mean share of its model in the probabilities of the words, until no weight changes by 10^-6, or 1,000 times.
/// `probabilities`: for each word, that of each model. Sums are in this order, so the same bits always.
std::vector<double> tuned_weights(number_stream<double>& probabilities, std::size_t models,
                                  const context& ctx);

}  // namespace quern
