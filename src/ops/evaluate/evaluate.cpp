// SPDX-License-Identifier: Apache-2.0
#include "quern/ops/evaluate.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ops/evaluate/overlap.hpp"
#include "ops/evaluate/run_measures.hpp"
#include "quern/ops/measures.hpp"

namespace quern {

namespace evaluate_detail {

evaluation evaluation_of(measured_run measured) {
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

}  // namespace evaluate_detail

evaluation evaluate(const relevance_judgements& judgements, const retrieval_run& run) {
    return evaluate_detail::evaluation_of(measure_run(judgements, run, usual_measures()));
}

measured_run measure_run(const relevance_judgements& judgements, const retrieval_run& run,
                         std::span<const measure> measures, bool complete) {
    evaluate_detail::run_measures of(judgements, measures, complete);
    std::vector<retrieved_view> views;
    for (const auto& [topic, documents] : run) {
        views.clear();
        for (const retrieved_document& document : documents) views.push_back({document.id, document.score});
        of.add(topic, views);
    }
    measured_run made = of.take();
    if (!made.overlap.none()) return made;
    evaluate_detail::sampled_ids sample;
    for (const auto& [topic, documents] : run) {
        if (!sample.add_topic(topic)) break;
        for (const retrieved_document& document : documents)
            if (!sample.add_document(document.id)) break;
    }
    made.mismatch = evaluate_detail::differing_ids(judgements, sample, made.overlap.shared_topics != 0);
    return made;
}

bool run_overlap::little() const {
    return 2 * shared_topics < std::min(judged_topics, run_topics) ||
           20 * shared < std::min(judged, retrieved);
}

}  // namespace quern
