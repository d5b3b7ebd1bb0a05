// SPDX-License-Identifier: Apache-2.0
#include "tasks/similar/opened_space.hpp"

#include <algorithm>

namespace quern {

std::vector<double> scores_of_vectors(const std::function<std::span<const float>(std::uint32_t)>& vector,
                                      vector_measure measure, std::span<const word_pair> pairs,
                                      const context& ctx) {
    // Reads only the rows named by the pairs: few pages of a mapped file.
    std::vector<std::uint32_t> named;
    for (const auto& [a, b] : pairs) named.insert(named.end(), {a, b});
    std::ranges::sort(named);
    named.erase(std::unique(named.begin(), named.end()), named.end());
    word_vectors vectors;
    vectors.words = static_cast<std::uint32_t>(named.size());
    for (const std::uint32_t word : named) {
        const std::span<const float> values = vector(word);
        vectors.dimensions = static_cast<std::uint32_t>(values.size());
        vectors.values.insert(vectors.values.end(), values.begin(), values.end());
    }
    const auto place_of = [&named](std::uint32_t word) {
        return static_cast<std::uint32_t>(std::ranges::lower_bound(named, word) - named.begin());
    };
    std::vector<word_pair> places;
    for (const auto& [a, b] : pairs) places.emplace_back(place_of(a), place_of(b));
    return pair_similarities(vectors, measure, places, ctx);
}

}  // namespace quern
