// SPDX-License-Identifier: Apache-2.0
#include "quern/ops/evaluate.hpp"

#include <algorithm>
#include <utility>

#include "quern/ops/measures.hpp"

namespace quern {

evaluation evaluate(const relevance_judgements& judgements, const retrieval_run& run) {
    measured_run measured = measure_run(judgements, run, usual_measures());
    constexpr double effectiveness::*members[] = {&effectiveness::map, &effectiveness::ndcg_cut_10,
                                                  &effectiveness::P_10, &effectiveness::recall_1000,
                                                  &effectiveness::recip_rank};
    evaluation result;
    for (std::size_t t = 0; t < measured.topics.size(); ++t) {
        effectiveness& of = result.topics[measured.topics[t]];
        for (std::size_t m = 0; m < std::size(members); ++m) of.*members[m] = measured.values[m][t];
    }
    for (std::size_t m = 0; m < std::size(members); ++m) result.mean.*members[m] = measured.all[m];
    result.missing_topics = std::move(measured.missing_topics);
    result.overlap = measured.overlap;
    result.mismatch = std::move(measured.mismatch);
    return result;
}

bool run_overlap::little() const {
    return 2 * shared_topics < std::min(judged_topics, run_topics) ||
           20 * shared < std::min(judged, retrieved);
}

}  // namespace quern
