// SPDX-License-Identifier: Apache-2.0
// Ranked lists fused into one: the combinations of Fox and Shaw (1994), Borda counts (Aslam and Montague 2001) and
// reciprocal ranks (Cormack, Clarke and Büttcher 2009), after scores were made comparable.
//
// Contract class: exact. Sums are taken over the runs in their order, in double; ties by id.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace quern {

/// Of the normalised scores s_i of the c runs, of n, that hold a document, each times its weight, i rising:
///   sum    Σ s_i            mean   Σ s_i / n         median   of the c scores; of an even number the mean of the two
///   min    the least s_i    max    the greatest s_i  mnz   c · Σ s_i            anz   Σ s_i / c
///   rrf    Σ weight_i / (constant + rank_i)
///   borda  Σ weight_i · p_i: p_i = N − rank_i + 1 in a run that holds it, N the documents of the topic over all runs;
///          else the mean of the points that the run leaves over, (N − size_i + 1) / 2
enum class fusion_rule { sum, min, max, mean, median, mnz, anz, rrf, borda };
inline constexpr std::string_view fusion_rule_names[] = {"sum", "min", "max", "mean", "median",
                                                         "mnz", "anz", "rrf", "borda"};

/// Of the scores of one topic in one run:
///   minmax  (s − least) / (greatest − least); all equal: 1
///   zscore  (s − mean) / deviation (of the population); all equal: 0
///   sum     (s − least) / Σ (s − least); all equal: 1 / how many
///   rank    1 − (rank − 1) / how many
enum class score_normalisation { none, minmax, zscore, sum, rank };
inline constexpr std::string_view score_normalisation_names[] = {"none", "minmax", "zscore", "sum", "rank"};

struct fusion_options {
    fusion_rule rule = fusion_rule::sum;
    score_normalisation normalisation = score_normalisation::none;
    double constant = 60;                                             ///< of rrf, 0 and more
    std::span<const double> weights = {};                             ///< one a run, finite; empty: 1 each
    std::uint64_t depth = std::numeric_limits<std::uint64_t>::max();  ///< documents kept, 1 and more
};

/// One topic in one run, in the run's order (score falling): documents by number.
struct run_list_view {
    std::span<const std::uint32_t> ids;  ///< all different
    std::span<const double> scores;
    /// Of rrf and borda, where ranks are not the places in the list, from 1.
    std::span<const std::uint32_t> ranks = {};
};
struct fused_list {
    std::vector<std::uint32_t> ids;  ///< score falling, ties as `before` has them
    std::vector<double> scores;
};

/// Whether document a stands before document b of the same score; a strict order.
using tie_order = std::function<bool(std::uint32_t a, std::uint32_t b)>;

/// One topic. `lists`: one a run, empty where the topic is not in it; ids below `documents`. `before`: empty for ties by
/// rising id. A score of −0 is 0. Cost: a pass over the lists and the sorting of what is kept. Throws usage_error for
/// options out of range, list_fault (a NaN, an infinity, an id twice or out of range, a list that does not fall; a fused
/// score beyond the doubles, or the reciprocal of rank 0 and constant 0). One thread; may be called from several for
/// different topics.
fused_list fuse(std::span<const run_list_view> lists, std::uint32_t documents, const fusion_options& options,
                const tie_order& before = {});

}  // namespace quern
