// SPDX-License-Identifier: Apache-2.0
// Reads a TREC run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern {

/// A line of a run. Views into the file.
struct trec_run_line {
    std::string_view topic, document;
    std::uint32_t rank = 0;  ///< as in the line
    double score = 0;        ///< never NaN; may be infinite
};

/// Calls `sink` for every line of a run (`topic Q0 document rank score tag`, any compression, "-" is standard input):
/// topics in the order of their first line, the lines of a topic together, in their order. Throws usage_error if the file
/// is missing; invalid_input, with the line, for a malformed line, a rank that is not a number, a document that repeats in
/// its topic; io_error, out_of_memory, interrupted, and what `sink` throws. Cost: a pass over the file; memory of its text
/// and 24 bytes per line.
void read_trec_run(const std::filesystem::path& path, const context& ctx,
                   const std::function<void(const trec_run_line&)>& sink);

}  // namespace quern
