// SPDX-License-Identifier: Apache-2.0
// Fusion of TREC runs, topic by topic.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/fusion.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

enum class rank_source {
    scores,  ///< a document's position in its topic, by score and id, as in trec_eval
    field,   ///< the number in the line
};
inline constexpr std::string_view rank_source_names[] = {"scores", "field"};

struct fuse_request {
    std::vector<std::filesystem::path> runs;  ///< at least one; in the order of sums
    /// Runs in memory: the lines of a TREC run for each of `runs`, whose name is then only for messages; nothing: the
    /// file of that name. Empty: all are files.
    std::vector<std::optional<std::string_view>> texts = {};
    fusion_options options;  ///< weights: one per run, or empty
    /// File with lines of `topic TAB weight … `, a weight for each run, which replace options.weights for that
    /// topic; empty: none.
    std::filesystem::path topic_weights = {};
    std::map<std::string, std::vector<double>, std::less<>> weights_by_topic =
        {};                                   ///< the same in memory, without a file
    rank_source ranks = rank_source::scores;  ///< for rrf and borda
};

/// A run that lacks topics of other runs.
struct missing_topics {
    std::string run;
    std::uint64_t count = 0;
    std::string first;  ///< one of them
};

struct fuse_result {
    std::uint64_t topics = 0, lines_read = 0, lines_written = 0;
    std::vector<missing_topics> missing;      ///< only runs that lack some
    std::vector<std::string> unused_weights;  ///< topics in topic_weights that no run has, in byte order
    run_statistics statistics;
};

/// Passes lines of a TREC run, tag `quern`, to `write`: topics in the order of their first occurrence in the
/// given runs, documents by descending score, equal scores by id (as numbers if all ids of the runs are decimal
/// numbers without leading zeros, else by bytes); ids byte for byte as in the runs. One thread at a time calls
/// `write`.
/// Throws usage_error; invalid_input, with run and line, for a malformed line, a score that is or becomes
/// infinite or NaN, a repeated document in a topic, an invalid weight or (if used) rank; io_error,
/// out_of_memory, interrupted, and what `write` throws.
fuse_result fuse_runs(const fuse_request& request, const context& ctx,
                      const std::function<void(std::string_view)>& sink);

}  // namespace quern
