// SPDX-License-Identifier: Apache-2.0
// Evaluates each topic separately, then averages over the topics in the order of their names, as trec_eval does.
#include "quern/ops/evaluate.hpp"

#include <algorithm>
#include <array>

#include "ops/evaluate/overlap.hpp"

namespace quern {
namespace {

using judged_documents = std::map<std::string, int>;

// The grades of the retrieved documents in trec_eval's order: by score, then by id, both descending; unjudged documents
// have grade 0. Counts the judged ones.
std::vector<int> grades_in_order(const judged_documents& judged,
                                 const std::vector<retrieved_document>& retrieved, std::uint64_t& shared) {
    std::vector<const retrieved_document*> order;
    order.reserve(retrieved.size());
    for (const auto& document : retrieved) order.push_back(&document);
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return a->score != b->score ? a->score > b->score : a->id > b->id;
    });
    std::vector<int> grades;
    grades.reserve(order.size());
    for (const auto* document : order) {
        const auto found = judged.find(document->id);
        grades.push_back(found == judged.end() ? 0 : found->second);
        shared += found == judged.end() ? 0 : 1;
    }
    return grades;
}

// Discounted cumulative gain of the first ten results. The discounts log2(rank + 1) are literals: math libraries differ.
double discounted_gain(const std::vector<int>& grades) {
    constexpr std::array<double, 10> discounts{1,
                                               1.584962500721156,
                                               2,
                                               2.321928094887362,
                                               2.584962500721156,
                                               2.807354922057604,
                                               3,
                                               3.169925001442312,
                                               3.321928094887362,
                                               3.4594316186372973};
    double sum = 0;
    for (std::size_t i = 0; i < std::min(discounts.size(), grades.size()); ++i)
        if (grades[i] > 0) sum += grades[i] / discounts[i];
    return sum;
}

effectiveness evaluate_topic(const judged_documents& judged, const std::vector<retrieved_document>& retrieved,
                             std::uint64_t& shared) {
    const std::vector<int> grades = grades_in_order(judged, retrieved, shared);
    std::vector<int> ideal;
    for (const auto& [_, grade] : judged)
        if (grade > 0) ideal.push_back(grade);
    std::sort(ideal.rbegin(), ideal.rend());

    effectiveness result;
    std::size_t found = 0, found_in_10 = 0, found_in_1000 = 0;
    for (std::size_t i = 0; i < grades.size(); ++i) {
        if (grades[i] <= 0) continue;
        ++found;
        result.map += static_cast<double>(found) / static_cast<double>(i + 1);
        if (found == 1) result.recip_rank = 1.0 / static_cast<double>(i + 1);
        found_in_10 += i < 10;
        found_in_1000 += i < 1000;
    }
    result.P_10 = static_cast<double>(found_in_10) / 10;
    if (!ideal.empty()) {
        const double relevant = static_cast<double>(ideal.size());
        result.map /= relevant;
        result.recall_1000 = static_cast<double>(found_in_1000) / relevant;
        result.ndcg_cut_10 = discounted_gain(grades) / discounted_gain(ideal);
    }
    return result;
}

constexpr double effectiveness::*measures[] = {&effectiveness::map, &effectiveness::ndcg_cut_10,
                                               &effectiveness::P_10, &effectiveness::recall_1000,
                                               &effectiveness::recip_rank};

}  // namespace

evaluation evaluate(const relevance_judgements& judgements, const retrieval_run& run) {
    evaluation result;
    run_overlap& overlap = result.overlap;
    overlap.judged_topics = judgements.size();
    overlap.run_topics = run.size();
    for (const auto& [topic, judged] : judgements) {
        const auto retrieved = run.find(topic);
        if (retrieved == run.end()) {
            result.missing_topics.push_back(topic);
            continue;
        }
        const effectiveness& values = result.topics[topic] =
            evaluate_topic(judged, retrieved->second, overlap.shared);
        ++overlap.shared_topics;
        overlap.judged += judged.size();
        overlap.retrieved += retrieved->second.size();
        for (const auto measure : measures) result.mean.*measure += values.*measure;
    }
    if (!result.topics.empty())
        for (const auto measure : measures) result.mean.*measure /= static_cast<double>(result.topics.size());
    if (overlap.none()) result.mismatch = differing_ids(judgements, run);
    return result;
}

}  // namespace quern
