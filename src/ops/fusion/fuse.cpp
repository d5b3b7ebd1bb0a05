// SPDX-License-Identifier: Apache-2.0
// Reads every list completely: fused scores need not fall with any single list's score (mnz, anz, median, normalised scores
// of several runs), and runs have a thousand entries, not a million.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "quern/base/error.hpp"
#include "quern/ops/fusion_option_table.hpp"

namespace quern {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check(const fusion_options& options, std::size_t runs) {
    check_ranges(options);
    if (!options.weights.empty() && options.weights.size() != runs) {
        throw usage_error("fusion of " + std::to_string(runs) + " runs with " +
                          std::to_string(options.weights.size()) + " weights");
    }
    for (const double weight : options.weights)
        if (!std::isfinite(weight)) throw usage_error("invalid fusion weight (expected a finite number)");
}

/// Normalises the scores of a list, so that they compare with those of other lists.
class normalised_scores {
  public:
    normalised_scores(const run_list_view& list, score_normalisation how) : how_(how), scores_(list.scores) {
        if (scores_.empty() || how == score_normalisation::none) return;
        count_ = static_cast<double>(scores_.size());
        unit_ = unit_of(std::max(std::fabs(scores_.front()), std::fabs(scores_.back())));
        least_ = scaled(scores_.size() - 1);
        range_ = scaled(0) - least_;
        if (how == score_normalisation::sum) {
            for (std::size_t i = 0; i < scores_.size(); ++i) total_ += scaled(i) - least_;
        } else if (how == score_normalisation::zscore) {
            for (std::size_t i = 0; i < scores_.size(); ++i) mean_ += scaled(i);
            mean_ /= count_;
            double squares = 0;
            for (std::size_t i = 0; i < scores_.size(); ++i)
                squares += (scaled(i) - mean_) * (scaled(i) - mean_);
            deviation_ = std::sqrt(squares / count_);
        }
    }

    double operator[](std::size_t at) const {
        switch (how_) {
            case score_normalisation::minmax:
                return range_ == 0 ? 1 : (scaled(at) - least_) / range_;
            case score_normalisation::zscore:
                return range_ == 0 || deviation_ == 0 ? 0 : (scaled(at) - mean_) / deviation_;
            case score_normalisation::sum:
                return range_ == 0 ? 1 / count_ : (scaled(at) - least_) / total_;
            case score_normalisation::rank:
                return 1 - static_cast<double>(at) / count_;
            default:
                return scores_[at];
        }
    }

  private:
    /// A power of two: it changes no bit of the result and keeps squares and differences within the range of double.
    static double unit_of(double greatest) {
        constexpr int far = 400, max = 1000;
        const int exponent = greatest > 0 ? std::ilogb(greatest) : 0;
        return std::abs(exponent) < far ? 1 : std::ldexp(1, -std::clamp(exponent, -max, max));
    }
    double scaled(std::size_t at) const { return scores_[at] * unit_; }

    score_normalisation how_;
    std::span<const double> scores_;
    double unit_ = 1;
    double count_ = 0, least_ = 0, range_ = 0, total_ = 0, mean_ = 0, deviation_ = 0;
};

/// The fused scores of a topic's documents.
class fused_scores {
  public:
    fused_scores(std::span<const run_list_view> lists, std::uint32_t documents, const fusion_options& options)
        : lists_(lists), options_(options), score_(documents), count_(documents) {
        check_lists();
        switch (options.rule) {
            case fusion_rule::median:
                take_medians();
                break;
            case fusion_rule::min:
                take_extremes(infinity, [](double a, double b) { return std::min(a, b); });
                break;
            case fusion_rule::max:
                take_extremes(-infinity, [](double a, double b) { return std::max(a, b); });
                break;
            case fusion_rule::rrf:
                add([&](std::size_t list, std::size_t at) {
                    return 1 / (options_.constant + rank(list, at));
                });
                break;
            case fusion_rule::borda:
                add_points();
                break;
            default:
                add_scores();
        }
    }

    fused_list best(const tie_order& before) const {
        struct scored {
            double score;
            std::uint32_t id;
        };
        std::vector<scored> order;
        order.reserve(score_.size());
        for (std::uint32_t d = 0; d < score_.size(); ++d) {
            if (count_[d] == 0) continue;
            if (!std::isfinite(score_[d]))
                refuse_last(d, "the fused score of its document exceeds the range of double");
            order.push_back({score_[d] + 0.0, d});
        }
        const auto precedes = [&](const scored& a, const scored& b) {
            if (a.score != b.score) return a.score > b.score;
            return before ? before(a.id, b.id) : a.id < b.id;
        };
        const std::size_t kept = std::min<std::uint64_t>(options_.depth, order.size());
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(kept);
        if (kept < order.size()) std::nth_element(order.begin(), end, order.end(), precedes);
        std::sort(order.begin(), end, precedes);
        order.resize(kept);
        fused_list list;
        for (const scored& one : order) {
            list.ids.push_back(one.id);
            list.scores.push_back(one.score);
        }
        return list;
    }

  private:
    double rank(std::size_t list, std::size_t at) const {
        const std::span<const std::uint32_t> ranks = lists_[list].ranks;
        return ranks.empty() ? static_cast<double>(at + 1) : static_cast<double>(ranks[at]);
    }
    double weight(std::size_t list) const { return options_.weights.empty() ? 1 : options_.weights[list]; }

    /// Also counts the lists that hold each document.
    void check_lists() {
        std::vector<std::uint32_t> seen_in(score_.size(), std::numeric_limits<std::uint32_t>::max());
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            const auto& [ids, scores, ranks] = lists_[l];
            if (ids.size() != scores.size() || (!ranks.empty() && ids.size() != ranks.size()))
                throw usage_error("a fusion list needs one score and one rank for each id");
            for (std::size_t at = 0; at < ids.size(); ++at) {
                if (ids[at] >= score_.size()) throw list_fault(l, at, "the id is out of range");
                if (!std::isfinite(scores[at])) throw list_fault(l, at, "the score is not a finite number");
                if (at != 0 && scores[at] > scores[at - 1])
                    throw list_fault(l, at, "the score is greater than the previous one");
                if (!ranks.empty() && options_.rule == fusion_rule::rrf && ranks[at] + options_.constant == 0)
                    throw list_fault(l, at, "the rank and the constant of reciprocal ranks are both 0");
                if (seen_in[ids[at]] == l) throw list_fault(l, at, "the id occurs twice in the list");
                seen_in[ids[at]] = static_cast<std::uint32_t>(l);
                ++count_[ids[at]];
            }
        }
    }

    /// Reports the document's position in the last list that holds it.
    [[noreturn]] void refuse_last(std::uint32_t document, const char* reason) const {
        for (std::size_t l = lists_.size(); l-- > 0;) {
            const auto at = std::ranges::find(lists_[l].ids, document);
            if (at != lists_[l].ids.end())
                throw list_fault(l, static_cast<std::uint64_t>(at - lists_[l].ids.begin()), reason);
        }
        throw usage_error(reason);  // no list holds it: it is skipped
    }

    template <class Part>
    void add(Part part) {
        for (std::size_t l = 0; l < lists_.size(); ++l)
            for (std::size_t at = 0; at < lists_[l].ids.size(); ++at)
                score_[lists_[l].ids[at]] += weight(l) * part(l, at);
    }

    void add_scores() {
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            const normalised_scores normalised(lists_[l], options_.normalisation);
            for (std::size_t at = 0; at < lists_[l].ids.size(); ++at)
                score_[lists_[l].ids[at]] += weight(l) * normalised[at];
        }
        for (std::size_t d = 0; d < score_.size(); ++d) {
            const double lists = count_[d];
            if (options_.rule == fusion_rule::mnz) score_[d] *= lists;
            if (options_.rule == fusion_rule::anz && lists != 0) score_[d] /= lists;
            if (options_.rule == fusion_rule::mean) score_[d] /= static_cast<double>(lists_.size());
        }
    }

    template <class Better>
    void take_extremes(double none, Better better) {
        std::ranges::fill(score_, none);
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            const normalised_scores normalised(lists_[l], options_.normalisation);
            for (std::size_t at = 0; at < lists_[l].ids.size(); ++at) {
                double& score = score_[lists_[l].ids[at]];
                score = better(score, weight(l) * normalised[at]);
            }
        }
    }

    void take_medians() {
        std::vector<std::size_t> begin(score_.size() + 1);
        for (std::size_t d = 0; d < score_.size(); ++d) begin[d + 1] = begin[d] + count_[d];
        std::vector<double> scores(begin.back());
        std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            const normalised_scores normalised(lists_[l], options_.normalisation);
            for (std::size_t at = 0; at < lists_[l].ids.size(); ++at)
                scores[next[lists_[l].ids[at]]++] = weight(l) * normalised[at];
        }
        for (std::size_t d = 0; d < score_.size(); ++d) {
            if (count_[d] == 0) continue;
            const auto first = scores.begin() + static_cast<std::ptrdiff_t>(begin[d]);
            std::sort(first, first + count_[d]);
            score_[d] = (first[(count_[d] - 1) / 2] + first[count_[d] / 2]) / 2;
        }
    }

    void add_points() {
        const auto all = static_cast<double>(
            std::ranges::count_if(count_, [](std::uint32_t lists) { return lists != 0; }));
        // For each document, adds run by run, so that the sum has one order. The points from a run that holds the document
        // replace those for a run that does not.
        std::vector<double> points(score_.size());
        for (std::size_t l = 0; l < lists_.size(); ++l) {
            const std::span<const std::uint32_t> ids = lists_[l].ids;
            std::ranges::fill(points, (all - static_cast<double>(ids.size()) + 1) / 2);
            for (std::size_t at = 0; at < ids.size(); ++at) points[ids[at]] = all - rank(l, at) + 1;
            for (std::size_t d = 0; d < score_.size(); ++d) score_[d] += weight(l) * points[d];
        }
    }

    std::span<const run_list_view> lists_;
    const fusion_options& options_;
    std::vector<double> score_;
    std::vector<std::uint32_t> count_;  ///< lists that hold the document
};

}  // namespace

fused_list fuse(std::span<const run_list_view> lists, std::uint32_t documents, const fusion_options& options,
                const tie_order& before) {
    check(options, lists.size());
    return fused_scores(lists, documents, options).best(before);
}

}  // namespace quern
