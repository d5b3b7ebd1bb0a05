// SPDX-License-Identifier: Apache-2.0
// TREC runs fused, topic by topic.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/fusion.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

enum class rank_source {
    scores,  ///< a document's place in its topic, by score and id, as trec_eval has it
    field,   ///< the number that the line gives
};
inline constexpr std::string_view rank_source_names[] = {"scores", "field"};

struct fuse_request {
    std::vector<std::filesystem::path> runs;  ///< one and more; the order of sums
    fusion_options options;                   ///< weights: one a run, or empty
    /// Lines of `topic TAB weight … ` with a weight for each run, in place of options.weights for that topic; empty: none.
    std::filesystem::path topic_weights = {};
    rank_source ranks = rank_source::scores;  ///< of rrf and borda
};

/// A run that lacks topics which others have.
struct missing_topics {
    std::string run;
    std::uint64_t count = 0;
    std::string first;  ///< one of them
};

struct fuse_result {
    std::uint64_t topics = 0, lines_read = 0, lines_written = 0;
    std::vector<missing_topics> missing;      ///< runs that lack none are not named
    std::vector<std::string> unused_weights;  ///< topics with weights of their own that no run has, by bytes
    run_statistics statistics;
};

/// `write` takes lines of a TREC run, tag `quern`: topics in the order in which they occur first over the runs as given,
/// documents by falling score, equal scores by id (as numbers where all ids of the runs are decimal numbers without
/// leading zeros, else by bytes); ids byte for byte as the runs have them. It is called from one thread at a time. Throws
/// usage_error; invalid_input, with run and line, for a malformed line, a score that is not finite or becomes so, a document
/// twice in a topic, a weight or (where it is looked at) a rank that is none; io_error, out_of_memory, interrupted, and
/// what `write` throws.
fuse_result fuse_runs(const fuse_request& request, const context& run,
                      const std::function<void(std::string_view)>& write);

}  // namespace quern
