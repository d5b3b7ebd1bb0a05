// SPDX-License-Identifier: Apache-2.0
#include "quern/ops/collocation.hpp"

#include <cmath>

#include "base/canonical_math.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr double log2_of_e = 0x1.71547652b82fep+0;

/// One cell's addend: O ln(O N / (R C)); 0 for an empty one.
double cell_of(double observed, double row, double column, double all) {
    return observed == 0 ? 0 : observed * canonical_log(observed * all / (row * column));
}

}  // namespace

association association_of(const cooccurrence_counts& counts) {
    if (counts.both == 0 || counts.both > counts.of_word || counts.both > counts.of_collocate ||
        counts.of_word - counts.both > counts.all - counts.of_collocate || counts.of_collocate > counts.all)
        throw usage_error("the counts of a co-occurrence exceed those of its words");
    const auto both = static_cast<double>(counts.both), row = static_cast<double>(counts.of_word),
               column = static_cast<double>(counts.of_collocate), all = static_cast<double>(counts.all);
    const double other_row = all - row, other_column = all - column;
    const double expected = row * column / all;
    association result;
    result.mutual_information = canonical_log(both * all / (row * column)) * log2_of_e;
    const double sum = cell_of(both, row, column, all) + cell_of(row - both, row, other_column, all) +
                       cell_of(column - both, other_row, column, all) +
                       cell_of(other_row - (column - both), other_row, other_column, all);
    // Never below 0 in real numbers; its sign says on which side of chance the count is.
    const double size = sum > 0 ? 2 * sum : 0;
    result.log_likelihood = both < expected ? 0 - size : size;
    result.log_dice = 14 + canonical_log(2 * both / (row + column)) * log2_of_e;
    result.t_score = (both - expected) / std::sqrt(both);
    return result;
}

double value_of(association_measure measure, const cooccurrence_counts& counts, const association& of) {
    switch (measure) {
        case association_measure::frequency:
            return static_cast<double>(counts.both);
        case association_measure::mutual_information:
            return of.mutual_information;
        case association_measure::log_likelihood:
            return of.log_likelihood;
        case association_measure::log_dice:
            return of.log_dice;
        case association_measure::t_score:
            return of.t_score;
    }
    throw usage_error("unknown measure of association");
}

}  // namespace quern
