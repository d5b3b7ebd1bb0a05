// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the measures without bounds, once for every place: integers, and IEEE operations in one order.
//
// `unit` of a row is the factor or divisor of its weights, value_of(weight, unit) the contribution of an entry, term(a,
// b) the addend of two of them in a shared context, `sum` the type of their sum, score(sum, sum of row a, sum of row b)
// the final step, where the sums of rows are those of fixed_rows.hpp. Every sum is of exact integers, so that the order
// of words, threads and atomic additions changes no bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/canonical_math.hpp"
#include "device/cpu/cpu_place.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

/// Weights in fixed point.
struct fixed_addends {
    using value = std::uint64_t;

    /// 2^bits for every row.
    static std::vector<double> units(cpu_place& place, const fixed_rows& rows);
    static constexpr value value_of(float weight, double unit) {
        return nearest_integer(static_cast<double>(weight) * unit);
    }
};

/// Σ min / Σ max = Σ min / (the sums of both rows - Σ min).
struct jaccard_addends : fixed_addends {
    using sum = std::uint64_t;

    static constexpr sum term(value a, value b) { return std::min(a, b); }
    static constexpr double score(sum shared, std::uint64_t sum_a, std::uint64_t sum_b) {
        return static_cast<double>(shared) / static_cast<double>(sum_a + sum_b - shared);
    }
};

/// The shared contexts' weight in either row.
struct weeds_addends : fixed_addends {
    struct sum {
        std::uint64_t of_first = 0, of_second = 0;
        constexpr sum& operator+=(const sum& more) {
            of_first += more.of_first;
            of_second += more.of_second;
            return *this;
        }
        bool operator==(const sum&) const = default;
    };

    static constexpr sum term(value a, value b) { return {a, b}; }
    static constexpr double score(const sum& shared, std::uint64_t sum_a, std::uint64_t sum_b) {
        const double precision = static_cast<double>(shared.of_first) / static_cast<double>(sum_a);
        const double recall = static_cast<double>(shared.of_second) / static_cast<double>(sum_b);
        return 2 * (precision * recall) / (precision + recall);
    }
};

/// Rows divided by their sums. Addends are parts of 1, in units of 2^-60.
struct distribution_addends {
    struct value {
        double p = 0;      ///< the weight / the sum of its row
        double p_log = 0;  ///< p ln p
        bool operator==(const value&) const = default;
    };
    using sum = std::uint64_t;

    /// The sum of each row, in double, added in the order of its columns.
    static std::vector<double> units(cpu_place& place, const fixed_rows& rows);
    static constexpr value value_of(float weight, double unit) {
        const double p = static_cast<double>(weight) / unit;
        return {p, p * canonical_log_normal(p)};
    }
    static constexpr double score(sum shared, std::uint64_t /*sum_a*/, std::uint64_t /*sum_b*/) {
        return std::min(1.0, static_cast<double>(shared) * 0x1p-60);
    }

  protected:
    static constexpr sum in_units(double part) { return nearest_integer(part * 0x1p60); }
};

/// 1 - ½ Σ p log2(2 p / (p + q)) - ½ Σ q log2(2 q / (p + q)): contexts that are not shared add nothing. Those that are
/// add ½ (p log2((p + q) / p) + q log2((p + q) / q)).
struct jensen_shannon_addends : distribution_addends {
    static constexpr sum term(const value& a, const value& b) {
        constexpr double half_log2_of_e = 0x1.71547652b82fep-1;
        const double both = a.p + b.p;
        return in_units((both * canonical_log_normal(both) - (a.p_log + b.p_log)) * half_log2_of_e);
    }
};

/// 1 - Σ q ln(q / (α p + (1 - α) q)) / L with L = ln(1 / (1 - α)): again only shared contexts add, each
/// q ln(1 + α p / ((1 - α) q)) / L.
struct skew_addends : distribution_addends {
    static constexpr sum term(const value& a, const value& b) {
        constexpr double odds = 99;                            // α / (1 - α)
        constexpr double inverse_of_l = 0x1.bcb7b1526e50ep-3;  // 1 / ln 100
        return in_units(b.p * canonical_log_normal(1 + odds * (a.p / b.p)) * inverse_of_l);
    }
};

/// work(addends), with those of a further measure.
template <class Work>
auto with_addends(similarity_measure measure, const Work& work) {
    switch (measure) {
        case similarity_measure::jaccard:
            return work(jaccard_addends{});
        case similarity_measure::weeds:
            return work(weeds_addends{});
        case similarity_measure::jensen_shannon:
            return work(jensen_shannon_addends{});
        default:
            return work(skew_addends{});
    }
}

}  // namespace quern::word_similarity_detail
