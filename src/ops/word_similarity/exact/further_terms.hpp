// SPDX-License-Identifier: Apache-2.0
// The addends of the measures that the CPU alone has (terms.hpp has those of lin and cosine). Each score is made of exact
// integer sums over the shared contexts, so that the order of words and threads changes no bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/canonical_math.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/spilled_array.hpp"
#include "device/paced_checks.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "ops/word_similarity/exact/terms.hpp"

namespace quern::word_similarity_detail {

/// Σ min / Σ max = Σ min / (the sums of both rows - Σ min).
class jaccard_terms : public lin_terms {
  public:
    jaccard_terms(cpu_place& place, const fixed_rows& rows) : lin_terms(place, rows), sums_(rows.sums) {}

    static std::uint64_t term(value a, value b) { return std::min(a, b); }
    double score(std::uint64_t shared, std::size_t a, std::size_t b) const {
        return static_cast<double>(shared) / static_cast<double>(sums_[a] + sums_[b] - shared);
    }

  private:
    std::span<const std::uint64_t> sums_;
};

/// The shared contexts' weight in either row.
class weeds_terms : public lin_terms {
  public:
    struct sum {
        std::uint64_t of_first = 0, of_second = 0;
        sum& operator+=(const sum& more) {
            of_first += more.of_first;
            of_second += more.of_second;
            return *this;
        }
        bool operator==(const sum&) const = default;
    };

    weeds_terms(cpu_place& place, const fixed_rows& rows) : lin_terms(place, rows), sums_(rows.sums) {}

    static sum term(value a, value b) { return {a, b}; }
    double score(const sum& shared, std::size_t a, std::size_t b) const {
        const double precision = static_cast<double>(shared.of_first) / static_cast<double>(sums_[a]);
        const double recall = static_cast<double>(shared.of_second) / static_cast<double>(sums_[b]);
        return 2 * (precision * recall) / (precision + recall);
    }

  private:
    std::span<const std::uint64_t> sums_;
};

/// Rows divided by their sums. Addends are parts of 1, in units of 2^-60.
class distribution_terms {
  public:
    struct value {
        double p = 0;      ///< the weight / the sum of its row, both in double, summed in order
        double p_log = 0;  ///< p ln p
        bool operator==(const value&) const = default;
    };
    using sum = std::uint64_t;

    distribution_terms(cpu_place& place, const fixed_rows& rows)
        : values_(place, rows.weights.size(), "weights as distributions", place.memory().limit() / 4) {
        const std::size_t pieces = pieces_for(place, rows.words, 64);
        for_each_piece(place, pieces, [&](std::size_t piece) {
            const item_range part = piece_of(rows.words, pieces, piece);
            paced_checks checks(place.ctx(), neighbouring_values);
            for (std::size_t w = part.begin; w < part.end; ++w) {
                const std::uint64_t begin = rows.offsets[w], end = rows.offsets[w + 1];
                checks.after(end - begin);
                double total = 0;
                for (std::uint64_t i = begin; i < end; ++i) total += static_cast<double>(rows.weights[i]);
                for (std::uint64_t i = begin; i < end; ++i) {
                    const double p = static_cast<double>(rows.weights[i]) / total;
                    values_.data()[i] = {p, p * canonical_log_normal(p)};
                }
            }
        });
    }

    std::span<const value> values() const { return values_.span(); }
    static double score(sum shared, std::size_t /*a*/, std::size_t /*b*/) {
        return std::min(1.0, static_cast<double>(shared) * 0x1p-60);
    }

  protected:
    static sum in_units(double part) { return fixed_scale(60)(part); }

  private:
    spilled_array<value> values_;
};

/// 1 - ½ Σ p log2(2 p / (p + q)) - ½ Σ q log2(2 q / (p + q)): contexts that are not shared add nothing. Those that are
/// add ½ (p log2((p + q) / p) + q log2((p + q) / q)).
class jensen_shannon_terms : public distribution_terms {
  public:
    using distribution_terms::distribution_terms;
    static sum term(const value& a, const value& b) {
        constexpr double half_log2_of_e = 0x1.71547652b82fep-1;
        const double both = a.p + b.p;
        return in_units((both * canonical_log_normal(both) - (a.p_log + b.p_log)) * half_log2_of_e);
    }
};

/// 1 - Σ q ln(q / (α p + (1 - α) q)) / L with L = ln(1 / (1 - α)): again only shared contexts add, each
/// q ln(1 + α p / ((1 - α) q)) / L.
class skew_terms : public distribution_terms {
  public:
    using distribution_terms::distribution_terms;
    static sum term(const value& a, const value& b) {
        constexpr double odds = 99;                            // α / (1 - α)
        constexpr double inverse_of_l = 0x1.bcb7b1526e50ep-3;  // 1 / ln 100
        return in_units(b.p * canonical_log_normal(1 + odds * (a.p / b.p)) * inverse_of_l);
    }
};

/// work(terms), with those of the measure.
template <class Work>
auto with_all_terms(cpu_place& place, const fixed_rows& rows, similarity_measure measure, const Work& work) {
    switch (measure) {
        case similarity_measure::jaccard:
            return work(jaccard_terms(place, rows));
        case similarity_measure::weeds:
            return work(weeds_terms(place, rows));
        case similarity_measure::jensen_shannon:
            return work(jensen_shannon_terms(place, rows));
        case similarity_measure::skew:
            return work(skew_terms(place, rows));
        default:
            return with_terms(place, rows, measure, work);
    }
}

}  // namespace quern::word_similarity_detail
