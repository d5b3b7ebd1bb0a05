// SPDX-License-Identifier: Apache-2.0
// Modified Kneser-Ney smoothing, interpolated (Chen and Goodman 1998; Heafield et al. 2013). The adjusted count a of an
// n-gram is its count, if it is as long as the order or begins with <s>, and else the number of different words before
// it. With n1 … n4 the numbers of n-grams of one length whose adjusted count is 1 … 4, and Y = n1 / (n1 + 2 n2),
//
//     D(a) = a - (a + 1) Y n(a + 1) / n(a)   for a = 1, 2; the same from 3 on, with a = 3 in the formula
//     p(w) = (a(h w) - D(a(h w))) / A + g p'(w)
//     g    = (the discounts D of the n-grams h w that are kept + the adjusted counts of those pruned) / A
//
// where A is the sum of the adjusted counts of all n-grams h w, and p' the probability after the history without its
// first word; below single words it is 1 / |V|, where V has the words kept, </s> and
// <unk>, but not <s>.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace quern::ngram_detail {

class kneser_ney_discounts {
  public:
    /// Used where the formula has no value: without n-grams of adjusted count 1, 2 or 3, or beyond 0 to a.
    static constexpr std::array<double, 4> fallback = {0, 0.5, 1, 1.5};

    kneser_ney_discounts() = default;
    /// `n[a]`: how many n-grams of one length have the adjusted count a, 1 to 4.
    explicit kneser_ney_discounts(const std::array<std::uint64_t, 5>& n) {
        std::array<double, 4> found{};
        is_fallback_ = n[1] == 0 || n[2] == 0 || n[3] == 0;
        for (std::size_t a = 1; a < 4 && !is_fallback_; ++a) {
            const double y =
                static_cast<double>(n[1]) / (static_cast<double>(n[1]) + 2 * static_cast<double>(n[2]));
            const auto count = static_cast<double>(a);
            found[a] = count - (count + 1) * y * static_cast<double>(n[a + 1]) / static_cast<double>(n[a]);
            is_fallback_ = found[a] < 0 || found[a] > count;
        }
        if (!is_fallback_) discounts_ = found;
    }

    double of(std::uint64_t adjusted) const { return discounts_[std::min<std::uint64_t>(adjusted, 3)]; }
    bool is_fallback() const { return is_fallback_; }

  private:
    std::array<double, 4> discounts_ = fallback;
    bool is_fallback_ = true;
};

/// The weights after one history, from the n-grams that begin with it.
class kneser_ney_history {
  public:
    void add(std::uint64_t adjusted, bool is_kept) {
        sum_ += adjusted;
        if (is_kept)
            ++kept_[std::min<std::uint64_t>(adjusted, 3)];
        else
            pruned_ += adjusted;
    }
    /// A
    double sum() const { return static_cast<double>(sum_); }
    /// g; 1 if nothing follows the history.
    double back_off(const kneser_ney_discounts& discounts) const {
        if (sum_ == 0) return 1;
        double rest = static_cast<double>(pruned_);
        for (std::size_t a = 1; a < 4; ++a) rest += discounts.of(a) * static_cast<double>(kept_[a]);
        return rest / sum();
    }

  private:
    std::uint64_t sum_ = 0, pruned_ = 0;
    std::array<std::uint64_t, 4> kept_{};
};

}  // namespace quern::ngram_detail
