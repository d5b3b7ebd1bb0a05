// SPDX-License-Identifier: Apache-2.0
// The small files of retrieval experiments: topics, judgements, runs. Errors name file, line and reason.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/byte_source.hpp"
#include "quern/base/context.hpp"
#include "quern/base/retrieval.hpp"

namespace quern::io {

struct topic {
    std::string id;
    std::string query;
};

// Each reader throws invalid_input for: a wrong number of fields, a number that is none, a repeated topic or
// document, a line beyond 1 MiB. Lines end with LF or CR LF; empty lines are passed over; a byte order mark
// too.

/// `id TAB text` lines, or TREC topics (<top>, <num>, <title>, closing tags optional), told from the first
/// character that is not white space; any compression. Ids are trimmed and hold no white space. Of TREC
/// topics the title is taken, without the words "Number:" and "Topic:" that label the fields, white space
/// made single blanks, the five entities of XML decoded.
std::vector<topic> read_topics(const std::filesystem::path& path, const context& run);
std::vector<topic> read_topics(byte_source& source);

/// `topic 0 document grade`, white space between.
relevance_judgements read_judgements(const std::filesystem::path& path, const context& run);
relevance_judgements read_judgements(byte_source& source);

/// Lines as run_lines takes them. The score becomes float32, as trec_eval reads it.
retrieval_run read_run(const std::filesystem::path& path, const context& run);
retrieval_run read_run(byte_source& source);

}  // namespace quern::io
