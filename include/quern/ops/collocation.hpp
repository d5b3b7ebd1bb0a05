// SPDX-License-Identifier: Apache-2.0
// Measures of association: how much more often do two words co-occur than by chance?
#pragma once

#include <cstdint>
#include <string_view>

namespace quern {

/// Co-occurrences of a word and another one, of each with any word, and all of them (of one relation).
struct cooccurrence_counts {
    std::uint64_t both = 0, of_word = 0, of_collocate = 0, all = 0;
};

enum class association_measure { frequency, mutual_information, log_likelihood, log_dice, t_score };
inline constexpr std::string_view association_measure_names[] = {"frequency", "mi", "log-likelihood",
                                                                 "log-dice", "t-score"};

/// With f = both, R = of_word, C = of_collocate, N = all, and E = R C / N the expected f:
struct association {
    double mutual_information = 0;  ///< log2(f / E) (Church and Hanks 1990)
    /// 2 Σ O ln(O / expected O) over the four cells f, R - f, C - f and N - R - C + f (Dunning 1993); negative if f < E.
    double log_likelihood = 0;
    double log_dice = 0;  ///< 14 + log2(2 f / (R + C)), at most 14 (Rychlý 2008)
    double t_score = 0;   ///< (f - E) / √f (Church et al. 1991)
};

/// Contract class: exact: IEEE double operations in one order, the same bits everywhere. Throws usage_error for counts that
/// no table has: both = 0, more than of_word or of_collocate, or all < of_word + of_collocate - both.
association association_of(const cooccurrence_counts& counts);

/// The measure's value; for frequency, both.
double value_of(association_measure measure, const cooccurrence_counts& counts, const association& of);

}  // namespace quern
