// SPDX-License-Identifier: Apache-2.0
// Compares rankings with a given truth. An id in the truth that is missing from a ranking is checked again: is it as
// near as the ranking's last (a tie, broken differently), or is the truth wrong?
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "io/vectors/vector_file.hpp"
#include "quern/tasks/nearest.hpp"

namespace quern {

class truth_comparison {
  public:
    /// Throws invalid_input if the truth has another number of queries, or a repeated id within one.
    truth_comparison(io::neighbour_truth truth, const std::filesystem::path& path, std::uint64_t queries,
                     std::uint64_t k);

    /// Call once with the ranking of each query.
    void take(std::uint64_t query, std::span<const std::uint32_t> ids, std::span<const double> distances);

    /// The distances of chosen vectors (a bitmap) to a query, nearest first.
    using distances_of =
        std::function<std::vector<double>(std::uint64_t query, std::span<const std::uint64_t> chosen)>;
    nearest_recall result(bool greatest_first, const distances_of& distances, std::uint64_t rows) const;

  private:
    struct missing {
        std::uint64_t query;
        double last;  ///< of the ranking
        std::vector<std::uint32_t> ids;
    };
    io::neighbour_truth truth_;
    nearest_recall recall_;
    std::vector<missing> missing_;
};

}  // namespace quern
