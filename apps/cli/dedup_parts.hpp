// SPDX-License-Identifier: Apache-2.0
// quern dedup --level paragraph|line|substring
#pragma once

#include <string>

#include "command_line.hpp"
#include "quern/tasks/dedup_parts.hpp"
#include "session.hpp"

namespace quern::cli {

struct dedup_parts_request {
    dedup_parts_options options;
    std::string cuts, kept;  ///< destinations
};

/// --level, --min-length, --whole-words, --cuts.
void declare_parts(command_line& line, dedup_parts_request& request);
/// After the line is parsed: refuses the options of whole documents with parts, and those of parts without; --min-length
/// of whole documents is that of words.
void settle_parts(command_line& line, const dedup_parts_request& request, text_choice& text);
int dedup_parts(dedup_parts_request& request, session& job);

}  // namespace quern::cli
