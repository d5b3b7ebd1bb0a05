// SPDX-License-Identifier: Apache-2.0
// Fusion of ranked lists: the combinations of Fox and Shaw (1994), Borda counts (Aslam and Montague 2001) and
// reciprocal ranks (Cormack, Clarke and Büttcher 2009), after normalisation of the scores.
//
// Contract class: exact. Sums run over the runs in their order, in double; ties are ordered by id.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace quern {

/// For a document in c of the n runs, over the weighted normalised scores s_i of these runs, i ascending:
///   sum    Σ s_i            mean   Σ s_i / n         median   of the c scores; for an even c the mean of the middle two
///   min    the smallest s_i max    the largest s_i   mnz   c · Σ s_i            anz   Σ s_i / c
///   rrf    Σ weight_i / (constant + rank_i)
///   borda  Σ weight_i · p_i: p_i = N − rank_i + 1 in a run that contains it, N the documents of the topic over all runs;
///          else the mean of the points left in that run, (N − size_i + 1) / 2
enum class fusion_rule { sum, min, max, mean, median, mnz, anz, rrf, borda };
inline constexpr std::string_view fusion_rule_names[] = {"sum", "min", "max", "mean", "median",
                                                         "mnz", "anz", "rrf", "borda"};

/// For the scores of one topic in one run:
///   minmax  (s − min) / (max − min); all equal: 1
///   zscore  (s − mean) / population standard deviation; all equal: 0
///   sum     (s − min) / Σ (s − min); all equal: 1 / count
///   rank    1 − (rank − 1) / count
enum class score_normalisation { none, minmax, zscore, sum, rank };
inline constexpr std::string_view score_normalisation_names[] = {"none", "minmax", "zscore", "sum", "rank"};

struct fusion_options {
    fusion_rule rule = fusion_rule::sum;
    score_normalisation normalisation = score_normalisation::none;
    double constant = 60;                  ///< for rrf, at least 0
    std::span<const double> weights = {};  ///< one per run, finite; empty: 1 each
    /// Number of documents kept, at least 1.
    std::uint64_t depth = std::numeric_limits<std::uint64_t>::max();
};

/// One topic in one run, in the run's order (descending score): documents by number.
struct run_list_view {
    std::span<const std::uint32_t> ids;  ///< all different
    std::span<const double> scores;
    /// For rrf and borda, if the ranks are not the positions in the list, from 1.
    std::span<const std::uint32_t> ranks = {};
};
struct fused_list {
    std::vector<std::uint32_t> ids;  ///< in descending order of score, ties by `before`
    std::vector<double> scores;
};

/// Whether document a precedes document b of the same score; a strict order.
using tie_order = std::function<bool(std::uint32_t a, std::uint32_t b)>;

/// Fuses one topic. `lists`: one per run, empty if the topic is not in it; ids below `documents`. `before`:
/// empty for ties by ascending id. A score of −0 counts as 0. Cost: a pass over the lists and a sort of the
/// kept documents. Throws usage_error for options out of range, list_fault (a NaN, an infinity, a repeated id
/// or one out of range, a list that is not in descending order; a fused score beyond the range of double, or
/// the reciprocal of rank 0 and constant 0). Uses one thread; several threads may call it for different topics.
fused_list fuse(std::span<const run_list_view> lists, std::uint32_t documents, const fusion_options& options,
                const tie_order& before = {});

}  // namespace quern
