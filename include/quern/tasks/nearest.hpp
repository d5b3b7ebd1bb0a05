// SPDX-License-Identifier: Apache-2.0
// The vectors of a file that are nearest to those of another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/nearest.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

struct nearest_request {
    std::filesystem::path vectors, queries;    ///< in any format of docs/vectors.md
    std::string tensor = {};                   ///< name in safetensors files, for both
    std::optional<vector_metric> metric = {};  ///< default: l2, hamming for bits
    retrieval_method method = retrieval_method::automatic;
    std::uint64_t k = 10;  ///< all_vectors: the complete rankings
    std::optional<double> radius = {};
    std::filesystem::path allowed = {};  ///< ids to search; empty: all
    std::filesystem::path truth = {};    ///< the known nearest ids, for comparison
    /// If not empty, writes the rankings here as a matrix of ids (.ibin), and the distances next to it (.fbin).
    std::filesystem::path ibin = {};
    bool replace = false;  ///< whether to replace these two
    /// The folder of a job (quern/tasks/cluster.hpp) whose tasks have ranked the rows: their rankings are merged. Empty: none.
    std::filesystem::path rankings = {};
};

/// The type of a distance: its shortest text reads back to the same value of this type.
enum class distance_number { float32, float64, integer };

/// Properties of the two files, known before the first ranking.
struct nearest_files {
    std::uint64_t rows = 0, queries = 0;
    std::uint32_t dimensions = 0;
    vector_type type = vector_type::f32;
    bool sparse = false;
    vector_metric metric = vector_metric::l2;
    distance_number number = distance_number::float32;
    /// The words in text formats, one per row or query; else empty.
    std::span<const std::string_view> names, query_names;
};

/// Agreement with the given truth, over the first `depth` ids of each of its queries.
struct nearest_recall {
    std::uint64_t queries = 0, depth = 0;
    std::uint64_t found = 0;  ///< of queries · depth
    std::uint64_t ties = 0;   ///< not found, but as close as our last one
    std::uint64_t worse = 0;  ///< not found: all of ours are closer
    double recall() const;    ///< found / (queries · depth); 1 if empty
};

struct nearest_result {
    nearest_files files;  ///< names are no longer valid
    std::uint64_t listed = 0;
    std::optional<nearest_recall> recall;
    std::vector<std::string> notes;  ///< changes made while reading, for the user
    run_statistics statistics;
};

using nearest_sink =
    std::function<void(const nearest_files& files, std::uint64_t query, std::span<const std::uint32_t> ids,
                       std::span<const double> distances)>;

/// Calls `each` for every query in turn. Throws usage_error, invalid_input (file, line or row, reason), io_error,
/// out_of_memory, device_error, interrupted, and what `each` throws.
nearest_result nearest(const nearest_request& request, const context& ctx, const nearest_sink& sink);

}  // namespace quern
