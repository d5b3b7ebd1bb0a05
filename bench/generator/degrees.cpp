// SPDX-License-Identifier: Apache-2.0
#include "generator/degrees.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "generator/permutation.hpp"
#include "generator/portable_math.hpp"

namespace quern::generator {
namespace {

/// The point between low and high at which the increasing f reaches `wanted`.
template <class Function>
double solve(double low, double high, double wanted, const Function& f) {
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (f(middle) < wanted ? low : high) = middle;
    }
    return (low + high) / 2;
}

struct moments {
    double mean = 0, variance = 0;
};

/// Probabilities of the lengths least … most.
class bell_law {
  public:
    bell_law(const length_statistics& wanted, double mean, double variance)
        : size_(wanted.max - wanted.least + 1.0) {
        const double shifted = mean - wanted.least, steepest = 4 * size_ * size_;
        const auto of_curve = [&](double curve) {
            curve_ = curve;
            slope_ = solve(-steepest, steepest, shifted, [&](double slope) {
                slope_ = slope;
                return measured().mean;
            });
            return measured().variance;
        };
        of_curve(solve(-size_ * size_, size_ * size_, variance, of_curve));
    }
    /// Probability of least + k; not yet scaled to sum 1. exp(slope·z + curve·z²) over z = k / size, less its maximum.
    double weight(double k) const { return exponential(std::max(-690.0, height(k / size_) - highest())); }

  private:
    double height(double z) const { return (slope_ + curve_ * z) * z; }
    double highest() const {
        const double last = (size_ - 1) / size_, top = curve_ < 0 ? -slope_ / (2 * curve_) : 0;
        return std::max({0.0, height(last), top > 0 && top < last ? height(top) : 0.0});
    }
    moments measured() const {
        double sum = 0, first = 0, second = 0;
        for (double k = 0; k < size_; ++k) {
            const double w = weight(k);
            sum += w;
            first += w * k;
            second += w * k * k;
        }
        return {first / sum, second / sum - (first / sum) * (first / sum)};
    }
    double size_, slope_ = 0, curve_ = 0;
};

class tail_law {
  public:
    tail_law(const length_statistics& wanted, double mean, double variance, double items)
        : least_(wanted.least), max_(wanted.max) {
        for (double k = least_; k <= max_; k = std::max(k + 1, std::floor(k * 1.01))) grid_.push_back(k);
        grid_.push_back(max_ + 1);
        const auto of_exponent = [&](double exponent) {
            exponent_ = exponent;
            shift_of(mean);
            return -measured().variance;
        };
        if (variance > 0) {
            of_exponent(solve(0.05, 12, -variance, of_exponent));
        } else {
            shift_ = shift_from(solve(-30, 30, mean, [&](double s) {
                shift_ = shift_from(s);
                exponent_ = anchored(items);
                return measured().mean;
            }));
            exponent_ = anchored(items);
        }
    }
    /// The probability of at least k.
    double at_least(double k) const {
        if (k <= least_) return 1;
        if (k > max_) return 0;
        const double end = raw(max_ + 1);
        return (raw(k) - end) / (1 - end);
    }

  private:
    /// From the least up; 1 - least < s < ∞.
    double shift_from(double logarithm) const { return exponential(logarithm) - least_; }
    double raw(double k) const { return power((k + shift_) / (least_ + shift_), -exponent_); }
    double anchored(double items) const {
        return canonical_log(items) / canonical_log((max_ + shift_) / (least_ + shift_));
    }
    void shift_of(double mean) {
        shift_ = shift_from(solve(-30, 30, mean, [&](double s) {
            shift_ = shift_from(s);
            return measured().mean;
        }));
    }
    /// Over the grid: lengths between two of its points count as their midpoint.
    moments measured() const {
        double first = 0, second = 0, before = 1;
        for (std::size_t i = 0; i + 1 < grid_.size(); ++i) {
            const double after = at_least(grid_[i + 1]), middle = (grid_[i] + grid_[i + 1] - 1) / 2;
            first += (before - after) * middle;
            second += (before - after) * middle * middle;
            before = after;
        }
        return {first, second - first * first};
    }
    double least_, max_, shift_ = 0, exponent_ = 1;
    std::vector<double> grid_;
};

/// The number of items of length least + k.
using histogram = std::vector<std::uint64_t>;

/// Counts from cumulative probabilities of least + k, rounded so that they add up.
template <class Function>
histogram counted(std::uint64_t items, std::size_t lengths, const Function& at_most) {
    histogram counts(lengths);
    std::uint64_t before = 0;
    for (std::size_t k = 0; k < lengths; ++k) {
        const auto until = k + 1 == lengths
                               ? items
                               : static_cast<std::uint64_t>(static_cast<double>(items) * at_most(k) + 0.5);
        counts[k] = std::max(until, before) - before;
        before = std::max(until, before);
    }
    return counts;
}

histogram bell_counts(const length_statistics& wanted, std::uint64_t items, double mean, double variance) {
    const bell_law law(wanted, mean, variance);
    std::vector<double> until(wanted.max - wanted.least + 1);
    double sum = 0;
    for (std::size_t k = 0; k < until.size(); ++k) until[k] = sum += law.weight(static_cast<double>(k));
    return counted(items, until.size(), [&](std::size_t k) { return until[k] / sum; });
}

histogram tail_counts(const length_statistics& wanted, std::uint64_t items, double mean, double variance) {
    const tail_law law(wanted, mean, variance, static_cast<double>(items));
    return counted(items, wanted.max - wanted.least + 1, [&](std::size_t k) {
        return 1 - law.at_least(wanted.least + static_cast<double>(k) + 1);
    });
}

/// Moves an item from the most frequent length to length k, if that has none.
void occupy(histogram& counts, std::size_t k) {
    if (counts[k] > 0) return;
    --*std::ranges::max_element(counts);
    ++counts[k];
}

/// Moves items to the next length, or back, until the sum of the lengths is right; the minimum and the maximum keep one.
void correct_sum(histogram& counts, std::uint32_t least, std::uint64_t sum) {
    const auto step = [&](std::size_t from, std::size_t to, std::uint64_t wanted) {
        const std::uint64_t kept = from == 0 || from + 1 == counts.size() ? 1 : 0;
        const std::uint64_t free = counts[from] - std::min(counts[from], kept);
        const std::uint64_t moved = std::min(wanted, (free + 7) / 8);
        counts[from] -= moved;
        counts[to] += moved;
        return moved;
    };
    std::uint64_t now = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) now += counts[k] * (least + k);
    for (std::uint64_t before = now + 1; now != before;) {
        before = now;
        for (std::size_t k = 0; k + 1 < counts.size() && now != sum; ++k) {
            if (now < sum) {
                now += step(k, k + 1, sum - now);
            } else {
                now -= step(k + 1, k, now - sum);
            }
        }
    }
    if (now != sum) throw std::invalid_argument("no lengths have this sum");
}

}  // namespace

std::vector<std::uint32_t> make_lengths(const length_statistics& wanted, std::uint64_t seed) {
    const auto none = static_cast<std::uint64_t>(wanted.empty * static_cast<double>(wanted.items));
    const std::uint64_t items = wanted.items - none;
    if (items < 3 || wanted.max <= wanted.least || wanted.sum <= items * wanted.least + wanted.max ||
        wanted.sum >= items * wanted.max)
        throw std::invalid_argument("no lengths have these statistics");
    const double mean = static_cast<double>(wanted.sum) / static_cast<double>(items);
    const double all_mean = static_cast<double>(wanted.sum) / static_cast<double>(wanted.items);
    const double square =
        (wanted.variance + all_mean * all_mean) * mean / all_mean;  // of those that are not empty
    const double variance = wanted.variance > 0 ? square - mean * mean : 0;
    histogram counts = wanted.law == length_law::bell ? bell_counts(wanted, items, mean, variance)
                                                      : tail_counts(wanted, items, mean, variance);
    occupy(counts, 0);
    occupy(counts, counts.size() - 1);
    correct_sum(counts, wanted.least, wanted.sum);

    std::vector<std::uint64_t> ends;
    std::uint64_t end = none;
    for (const std::uint64_t count : counts) ends.push_back(end += count);
    std::vector<std::uint32_t> lengths(wanted.items);
    const permutation shuffle(wanted.items, seed);
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, wanted.items), [&](const auto& range) {
        for (std::uint64_t i = range.begin(); i < range.end(); ++i) {
            const std::uint64_t position = shuffle(i);
            if (position < none) continue;
            const auto found = std::ranges::upper_bound(ends, position) - ends.begin();
            lengths[i] = wanted.least + static_cast<std::uint32_t>(found);
        }
    });
    return lengths;
}

}  // namespace quern::generator
