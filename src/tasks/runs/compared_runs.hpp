// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "quern/tasks/evaluate.hpp"

namespace quern {

/// Measures runs one after the other, so that only one need be in memory, then tests them.
class compared_runs {
  public:
    /// The arguments outlive it.
    compared_runs(const relevance_judgements& judgements, const comparison_options& options,
                  const context& ctx);
    void add(std::string name, const retrieval_run& run);
    void add(std::string name, measured_run run);
    run_comparison take();

  private:
    std::vector<paired_result> tests_of(const measured_run& run) const;

    const relevance_judgements& judgements_;
    const context& ctx_;
    run_comparison made_;
};

}  // namespace quern
