// SPDX-License-Identifier: Apache-2.0
// Statistics of a run, for --stats and the record in a store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

struct stage_statistics {
    std::string name;
    double seconds = 0;         ///< wall time; 0 for a step that overlaps with others ("stage/step")
    double thread_seconds = 0;  ///< processor time of all threads, without waiting
    std::uint64_t bytes = 0;    ///< read or written by the stage, depending on its name
};

struct run_statistics {
    std::vector<stage_statistics> stages;  ///< in order
    std::map<std::string, std::uint64_t> counts;
    std::map<std::string, double> measures;  ///< quality of the result: "error_bound"
    std::map<std::string, bool> outcome;     ///< outcome of the run: "converged"
    double seconds = 0;
    std::uint64_t peak_memory_bytes = 0;
    unsigned threads = 0;
    std::string device;         ///< "cpu", "cuda:0"
    std::string device_reason;  ///< the reason for the device
};

/// Peak memory of this process so far (resident set), in bytes.
std::uint64_t peak_memory_bytes();

/// Processor time so far, in seconds: of all threads of this process, or of the calling thread.
double process_cpu_seconds();
double thread_cpu_seconds();

/// The JSON text of `--stats`; keys are the member names.
std::string to_json(const run_statistics& statistics);
/// Whether to_json made the text.
bool is_statistics(std::string_view text);

}  // namespace quern
