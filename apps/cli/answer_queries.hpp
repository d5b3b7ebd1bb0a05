// SPDX-License-Identifier: Apache-2.0
// The answers of quern search: rows of hits, counts and facets, and TREC runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corrections.hpp"
#include "output.hpp"
#include "quern/tasks/search.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {

struct search_request {
    common_options common;
    search_options search;
    build_options corpus;
    text_choice text;
    std::string path, topics, topic_fields = "title", run_file;
    std::vector<std::string> words;
    correction correct = correction::automatic;
    std::optional<std::string> like;
    given_vectors vectors;
    std::string query_vector;
};

/// What a run found: rows, or with --count or --total documents.
struct found_counts {
    std::uint64_t hits = 0, documents = 0;
    void add(const search_result& result) {
        hits += result.hits.size();
        documents += result.total.value_or(0);
    }
    bool none() const { return hits == 0 && documents == 0; }
};

/// Whether the topics' results are a TREC run.
bool writes_run(const search_request& request);

/// The query of the arguments.
found_counts search_one(const search_engine& engine, const search_request& request, session& job, output& to);
/// Answers each line as it arrives, so that a person or a program can work interactively. A line that is far
/// too long is refused with a warning, and the loop continues.
found_counts search_lines(const search_engine& engine, const search_request& request, session& job,
                          output& to);
found_counts search_topics_to(const search_engine& engine, search_request& request, session& job, output& to);

}  // namespace quern::cli
