// SPDX-License-Identifier: Apache-2.0
// Measures of retrieval effectiveness by name, with the values of trec_eval and of ir-measures.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/retrieval.hpp"
#include "quern/ops/evaluate.hpp"

namespace quern {

enum class measure_kind : std::uint8_t {
    ap,
    ndcg,
    precision,
    recall,
    rr,
    rprec,
    bpref,
    infap,
    iprec,
    set_p,
    set_r,
    set_f,
    set_ap,
    success,
    rbp,
    err,
    judged,
    num_q,
    num_ret,
    num_rel,
};

/// A measure with its parameters; parse_measures makes them.
struct measure {
    measure_kind kind = measure_kind::ap;
    std::string name;               ///< as given, without blanks
    std::uint64_t cutoff = 0;       ///< the ranks that count; 0: all
    int rel = 1;                    ///< the lowest grade that is relevant
    bool counts_relevant = false;   ///< NumRet: only the relevant ones
    bool judged_only = false;       ///< results without a judgement are removed first
    bool exponential = false;       ///< nDCG: gains 2^grade - 1
    bool relative = false;          ///< SetP: over the highest SetP possible
    double parameter = 0;           ///< RBP: p; SetF: beta; IPrec: the recall
    std::map<int, int> gains = {};  ///< nDCG: instead of a grade, its gain
    /// Over topics: a mean, or the sum of counts.
    bool is_count() const { return kind >= measure_kind::num_q; }
};

/// Measures by name, separated by commas or blanks:
/// - as ir-measures names them: `AP`, `AP(rel=2)@100`, `nDCG@10`, `nDCG(dcg='exp-log2')@20`, `P@5`, `R@1000`, `RR@10`,
///   `Rprec`, `Bpref`, `infAP`, `IPrec@0.1`, `SetP`, `SetR`, `SetF(beta=0.5)`, `SetAP`, `SetRelP`, `Success@1`,
///   `RBP(p=0.8)`, `ERR@20`, `Judged@10`, `NumQ`, `NumRet`, `NumRel`, `NumRelRet`, and their aliases (`MAP`, `MRR`, …);
/// - as trec_eval does: `map`, `map_cut_10`, `ndcg`, `ndcg_cut_10`, `P_10`, `recall_1000`, `recip_rank`, `Rprec`, `bpref`,
///   `infAP`, `iprec_at_recall_0.10`, `set_P`, `set_recall`, `set_F`, `set_map`, `set_relative_P`, `success_1`, `num_q`, …;
///   several parameters as in `P.5,10`; without one, those that trec_eval has then.
///
/// Throws usage_error for an unknown name, naming the nearest one, and for parameters that a measure lacks or that are out
/// of range.
std::vector<measure> parse_measures(std::string_view names);

/// The five measures of `evaluate`: map, ndcg_cut_10, P_10, recall_1000, recip_rank.
std::span<const measure> usual_measures();

struct measured_run {
    std::vector<std::string> topics;  ///< judged ones, by bytes: those in the run, or all (`complete`)
    std::vector<std::vector<double>> values;  ///< by measure, then topic
    std::vector<double> all;                  ///< by measure: the mean of `values`, or the sum of counts
    std::vector<std::string> missing_topics;  ///< judged but not in the run
    run_overlap overlap;
    std::string mismatch;  ///< as in `evaluation`
};

/// Values of a run, the same numbers as those of the tool that ir-measures calls for a measure:
/// - trec_eval (most of them): results by score as float32, then id, both descending;
/// - gdeval (ERR, nDCG with exp-log2): by score in double, then id, both descending; five digits after the point;
/// - MS MARCO's (RR with a cutoff) and `Judged`: by score in double, descending, then id ascending;
/// - cwl_eval (RBP): by score in double, descending, then in the order of the run; 1,000 results; its sums are made in
///   another order, and the last digit may differ.
///
/// A topic without relevant documents has 0. `complete`: judged topics missing in the run count as 0, as in ir-measures
/// and trec_eval -c; otherwise they are excluded, as in trec_eval. Cost: a sort of each topic's results for each of these
/// orders that is needed, and a pass over them for each measure. Throws only out of memory.
measured_run measure_run(const relevance_judgements& judgements, const retrieval_run& run,
                         std::span<const measure> measures, bool complete = false);

}  // namespace quern
