// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/evaluate.hpp"
#include "quern/ops/measures.hpp"
#include "quern/ops/significance.hpp"

namespace quern {

/// Reads judgements (`topic 0 document grade`) and a run (`topic Q0 document rank score tag`), any compression,
/// and evaluates. Throws invalid_input with file and line, usage_error if a file is missing.
evaluation evaluate_files(const std::filesystem::path& judgements, const std::filesystem::path& run_file,
                          const context& ctx);

/// The judgements of a file, to evaluate a run in memory with quern::evaluate. Throws as evaluate_files does.
relevance_judgements read_judgements(const std::filesystem::path& path, const context& ctx);

struct comparison_options {
    std::vector<measure> measures{usual_measures().begin(), usual_measures().end()};
    /// Judged topics that a run lacks count as 0 in it, as in ir-measures and trec_eval -c.
    bool complete = false;
    significance_options significance;
};

struct named_run {
    std::string name;
    retrieval_run run;
};

/// Runs by the same measures, in their order.
struct run_comparison {
    std::vector<std::string> runs;
    comparison_options options;
    std::vector<measured_run> measured;  ///< by run
    /// With a test: by run other than the first, then measure; over the topics that both have.
    std::vector<std::vector<paired_result>> tests;

    /// A page of HTML without scripts and without other files: the means, the tests, and the topics of each measure, of a
    /// single run by value, of several as differences from the first.
    void write_report(const std::function<void(std::string_view)>& sink) const;
};

/// Measures runs and tests each against the first (quern/ops/significance.hpp). p is corrected over the runs, for each
/// measure. Throws usage_error for options out of range; interrupted.
run_comparison compare_runs(const relevance_judgements& judgements, std::span<const named_run> runs,
                            const comparison_options& options, const context& ctx);
/// The same for files. The name of a run is that of its file, with its folder where two are alike. Reads one run at a
/// time. Throws as evaluate_files does.
run_comparison compare_run_files(const std::filesystem::path& judgements,
                                 std::span<const std::filesystem::path> runs,
                                 const comparison_options& options, const context& ctx);

}  // namespace quern
