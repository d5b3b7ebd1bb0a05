// SPDX-License-Identifier: Apache-2.0
// Dense vectors for benchmarks and tests. A row depends only on the seed, the dimensions and its own number, and all
// arithmetic is that of IEEE 754 additions, multiplications, divisions and square roots: the same bits on every machine,
// from any number of threads. Queries are the rows after those of the set.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::generator {

/// uniform: in [0, 1), all components. All distances are nearly the same: the hardest case for every filter.
/// embeddings: of length 1, like those of language models: a common mean, 1,024 clusters around it, bell-shaped noise; of
/// 32 rows one repeats an earlier row, bit for bit, and one repeats it with noise of 2^-14 of its length, as in collections
/// of texts: differences of large numbers cancel there.
/// sift: integers of 0 to 255, like histograms of gradients: skewed, length 512, a tenth of them 0 (TEXMEX's SIFT,
/// 5,000 rows: mean 33.5, 8 % zeros, median 26, 99th percentile 119; these: 34.8, 11 %, 29, 122). Squared distances are
/// integers, and many are equal.
enum class vectors_kind { uniform, embeddings, sift };
inline constexpr std::string_view vectors_kind_names[] = {"uniform", "embeddings", "sift"};

/// Rows `first` to `first + rows`, one after the other.
std::vector<float> make_vectors(vectors_kind kind, std::uint64_t first, std::uint64_t rows,
                                std::uint32_t dimensions, std::uint64_t seed = 1);

}  // namespace quern::generator
