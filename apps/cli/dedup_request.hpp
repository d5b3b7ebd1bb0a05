// SPDX-License-Identifier: Apache-2.0
// What quern dedup is asked for, and the rows of its pairs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster.hpp"
#include "dedup_parts.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/dedup.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {

struct dedup_request {
    common_options common;
    dedup_options dedup;
    dedup_parts_request parts;
    cluster_options cluster;
    build_options corpus;  ///< --input-format, --max-errors
    text_choice text;
    std::vector<std::string> inputs;
    std::string pairs, groups, kept, report;  ///< `kept` ends with a slash if it is a folder
    bool stream = false, binary = false;
};

inline void write_pair(row_writer& rows, std::string_view a, std::string_view b, const duplicate_pair& p) {
    rows.row({a, b, p.distance, p.rate()});
}

inline const std::vector<std::string> pair_columns{"id_a", "id_b", "distance", "rate"};

/// --stream: a row for each document of standard input as it arrives.
int dedup_stream(dedup_request& request, session& job);

}  // namespace quern::cli
