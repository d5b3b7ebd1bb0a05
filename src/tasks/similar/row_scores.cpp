// SPDX-License-Identifier: Apache-2.0
#include "tasks/similar/row_scores.hpp"

#include <algorithm>

#include "device/cpu/pipeline.hpp"

namespace quern {
namespace {

constexpr std::size_t pairs_at_once = 4096;

/// Calls work(first, last) for stretches of the pairs, with all threads.
template <class Work>
void in_stretches(std::size_t pairs, const context& run, const Work& work) {
    const std::size_t stretches = (pairs + pairs_at_once - 1) / pairs_at_once;
    const auto one = [&](std::uint64_t i) {
        run.check_stop();
        work(i * pairs_at_once, std::min(pairs, (i + 1) * pairs_at_once));
    };
    if (stretches == 1) return one(0);
    for_each_index(run, stretches, one);
}

}  // namespace

std::vector<double> scores_of_rows(const context_matrix_view& matrix, const similarity_options& options,
                                   std::span<const word_pair> pairs, const context& run) {
    run.check_stop();
    return pair_similarities(matrix, options, pairs);
}

std::vector<double> scores_of_vectors(const std::function<std::span<const float>(std::uint32_t)>& vector,
                                      vector_measure measure, std::span<const word_pair> pairs,
                                      const context& run) {
    std::vector<double> scores(pairs.size());
    context alone = context::cpu(1);
    alone.device.where = device_choice::kind::cpu;
    alone.memory_bytes = run.memory_limit();
    in_stretches(pairs.size(), run, [&](std::size_t first, std::size_t last) {
        word_vectors two;
        for (std::size_t i = first; i < last; ++i) {
            if (pairs[i].first == pairs[i].second) {
                scores[i] = 1;
                continue;
            }
            const auto a = vector(pairs[i].first), b = vector(pairs[i].second);
            two.words = 2;
            two.dimensions = static_cast<std::uint32_t>(a.size());
            two.values.assign(a.begin(), a.end());
            two.values.insert(two.values.end(), b.begin(), b.end());
            const neighbour_lists found = similar_vectors(two, measure, 1, alone);
            scores[i] = found.scores.empty() ? 0 : found.scores.front();
        }
    });
    return scores;
}

}  // namespace quern
