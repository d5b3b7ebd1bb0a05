// SPDX-License-Identifier: Apache-2.0
// Scores of pairs of words of an opened space, by their vectors. Equal to those that words() stored.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/words.hpp"

namespace quern {

using word_pair = std::pair<std::uint32_t, std::uint32_t>;

/// By vectors, as similar_vectors() computes them; 0 if one of the two has no direction.
std::vector<double> scores_of_vectors(const std::function<std::span<const float>(std::uint32_t)>& vector,
                                      vector_measure measure, std::span<const word_pair> pairs,
                                      const context& ctx);

}  // namespace quern
