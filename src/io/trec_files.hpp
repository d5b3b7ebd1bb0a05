// SPDX-License-Identifier: Apache-2.0
// The small files of retrieval experiments: topics, judgements, runs. Errors name file, line and reason.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/retrieval.hpp"

namespace quern::io {

struct topic {
    std::string id;
    std::string query;
};

/// `id TAB text` lines, or TREC topics (<top>, <num>, <title>), told from the content; any compression.
std::vector<topic> read_topics(const std::filesystem::path& path, const context& run);
/// `topic 0 document grade`, white space between.
relevance_judgements read_judgements(const std::filesystem::path& path, const context& run);
/// `topic Q0 document rank score tag`.
retrieval_run read_run(const std::filesystem::path& path, const context& run);

}  // namespace quern::io
