// SPDX-License-Identifier: Apache-2.0
// Rankings of shards of rows, merged into those of all rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/files/mapped_file.hpp"

namespace quern {

/// The ranking of one query as bytes of a task's result: the number of entries, ids, distances.
void append_ranking(std::string& out, std::span<const std::uint32_t> ids, std::span<const double> distances,
                    std::uint32_t first_row);

struct merge_rules {
    std::uint64_t k = 0;
    bool greatest_first = false;
    /// Equal reported distances are equal distances: the order of their ids decides. Else they may be rounded, and `order` decides
    /// between shards.
    bool are_exact = false;
    /// The given ids, which ascend, in the true order of their distances to the query.
    std::function<std::vector<std::uint32_t>(std::uint64_t query, std::span<const std::uint32_t> ids)> order =
        {};
};

class merged_rankings {
  public:
    /// The results of all tasks of a job.
    explicit merged_rankings(const std::filesystem::path& job);

    /// The ranking of the next query; valid until the next call. Throws damaged_store.
    void next(const merge_rules& rules);
    std::span<const std::uint32_t> ids() const { return ids_; }
    std::span<const double> distances() const { return distances_; }

  private:
    struct shard {
        io::mapped_file file;
        std::uint64_t at = 0;
        std::span<const std::uint32_t> ids = {};
        std::span<const double> distances = {};
        std::vector<std::uint32_t> own_ids = {};
        std::vector<double> own_distances = {};
        std::size_t taken = 0;

        void read();
        bool is_empty() const { return taken == ids.size(); }
    };
    void take_equal(double distance, const merge_rules& rules);

    std::vector<shard> shards_;
    std::uint64_t query_ = 0;
    std::vector<std::uint32_t> ids_, equal_;
    std::vector<double> distances_;
};

}  // namespace quern
