// SPDX-License-Identifier: Apache-2.0
// The weights of a back-off model. Let f be the count of an n-gram in the collection, h the number of occurrences of a
// history that are followed by a word, and p' the probability after the history without its first word. A word w that is
// seen after a history has
//
//     jm          p(w) = lambda f / h + g p'(w)
//     dirichlet   p(w) = f / (h + mu) + g p'(w)
//     absolute    p(w) = max(f - delta, 0) / h + g p'(w)
//
// and an unseen one has g p'(w). The back-off weight g is 1 minus the first terms of all words seen. So the
// probabilities after every history sum to 1, even if rare n-grams are excluded.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// The weights after one history.
struct history_weights {
    double h;
    double rest;  ///< the back-off weight g
};

struct back_off_rule {
    ngram_smoothing smoothing = ngram_smoothing::jelinek_mercer;
    double lambda = 0, mu = 0, delta = 0;

    /// The first term of p(w).
    double own(double f, double h) const {
        switch (smoothing) {
            case ngram_smoothing::dirichlet:
                return f / (h + mu);
            case ngram_smoothing::absolute:
                return std::max(f - delta, 0.0) / h;
            default:
                return lambda * f / h;
        }
    }
    /// `all`: h; `seen`: the sum of the counts of the `followers` words that the model has after the history.
    history_weights after(std::uint64_t all, std::uint64_t seen, std::uint64_t followers) const {
        const double h = static_cast<double>(all), f = static_cast<double>(seen);
        // Their common part: the sum of their counts is exact, the sum of their shares would not be.
        const double together = smoothing == ngram_smoothing::absolute
                                    ? (f - delta * static_cast<double>(followers)) / h
                                    : own(f, h);
        return {h, all == 0 ? 1 : std::max(0.0, 1 - together)};
    }
};

}  // namespace quern::ngram_detail
