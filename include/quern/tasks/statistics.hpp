// SPDX-License-Identifier: Apache-2.0
// What a run cost: for --stats and for the store's own record.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

struct stage_statistics {
    std::string name;
    double seconds = 0;         ///< of the clock; 0 for a step that overlaps with others ("stage/step")
    double thread_seconds = 0;  ///< added up over threads
    std::uint64_t bytes = 0;    ///< read or written by the stage, as its name says
};

struct run_statistics {
    std::vector<stage_statistics> stages;  ///< in order
    std::map<std::string, std::uint64_t> counts;
    std::map<std::string, double> measures;  ///< how good the result is: "error_bound"
    std::map<std::string, bool> outcome;     ///< what became of it: "converged"
    double seconds = 0;
    std::uint64_t peak_memory_bytes = 0;
    unsigned threads = 0;
    std::string device;         ///< "cpu", "cuda:0"
    std::string device_reason;  ///< why this one
};

/// The most memory this process has held so far (resident set), in bytes.
std::uint64_t peak_memory_bytes();

/// The JSON text of `--stats`: keys as the members are named.
std::string to_json(const run_statistics& statistics);
/// Whether a text is one that to_json made.
bool is_statistics(std::string_view text);

}  // namespace quern
