// SPDX-License-Identifier: Apache-2.0
#include "tasks/vectors/truth_comparison.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "quern/base/error.hpp"

namespace quern {

truth_comparison::truth_comparison(io::neighbour_truth truth, const std::filesystem::path& path,
                                   std::uint64_t queries, std::uint64_t k)
    : truth_(std::move(truth)) {
    if (truth_.queries != queries) {
        throw invalid_input(
            path.string(), 0,
            "has " + std::to_string(truth_.queries) + " queries, but there are " + std::to_string(queries));
    }
    recall_.queries = queries;
    recall_.depth = std::min(k, truth_.k);
    std::vector<std::uint32_t> ids;
    for (std::uint64_t query = 0; query < queries; ++query) {
        const auto row = std::span(truth_.ids).subspan(query * truth_.k, truth_.k);
        ids.assign(row.begin(), row.end());
        std::ranges::sort(ids);
        if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) {
            throw invalid_input(
                path.string(), 0,
                "query " + std::to_string(query) + " repeats the id " + std::to_string(*twice));
        }
    }
}

void truth_comparison::take(std::uint64_t query, std::span<const std::uint32_t> ids,
                            std::span<const double> distances) {
    const std::size_t depth = recall_.depth;
    std::vector<std::uint32_t> ours(ids.begin(),
                                    ids.begin() + static_cast<std::ptrdiff_t>(std::min(depth, ids.size())));
    std::ranges::sort(ours);
    const auto true_ids = std::span(truth_.ids).subspan(query * truth_.k, depth);
    std::vector<std::uint32_t> theirs(true_ids.begin(), true_ids.end()), absent;
    std::ranges::sort(theirs);
    std::ranges::set_difference(theirs, ours, std::back_inserter(absent));
    recall_.found += theirs.size() - absent.size();
    // A ranking shortened by a filter or a radius has lost nothing to ties.
    if (!absent.empty() && ours.size() == depth)
        missing_.push_back({query, distances[depth - 1], std::move(absent)});
}

nearest_recall truth_comparison::result(bool greatest_first, const distances_of& distances,
                                        std::uint64_t rows) const {
    nearest_recall recall = recall_;
    std::vector<std::uint64_t> chosen((rows + 63) / 64);
    for (const missing& of : missing_) {
        for (const std::uint32_t id : of.ids) chosen[id / 64] |= std::uint64_t{1} << (id % 64);
        for (const double distance : distances(of.query, chosen)) {
            if (distance == of.last)
                ++recall.ties;
            else if ((distance < of.last) == greatest_first)
                ++recall.worse;
        }
        for (const std::uint32_t id : of.ids) chosen[id / 64] = 0;
    }
    return recall;
}

}  // namespace quern
