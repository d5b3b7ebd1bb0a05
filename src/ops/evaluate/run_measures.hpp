// SPDX-License-Identifier: Apache-2.0
// A run measured topic by topic, so that it need not be in memory as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/retrieved_view.hpp"
#include "quern/base/retrieval.hpp"
#include "quern/ops/evaluate.hpp"
#include "quern/ops/measures.hpp"

namespace quern::evaluate_detail {

class run_measures {
  public:
    /// The arguments outlive it.
    run_measures(const relevance_judgements& judgements, std::span<const measure> measures, bool complete)
        : judgements_(judgements), measures_(measures), complete_(complete) {}

    /// Each topic of the run once, in any order; its documents in the order of the run.
    void add(const std::string& topic, std::span<const retrieved_view> documents);
    /// As measure_run returns it, without the mismatch. Once.
    measured_run take();

    /// The most memory that add() takes for each document of a topic.
    static std::uint64_t bytes_of_a_document(std::span<const measure> measures);

  private:
    const relevance_judgements& judgements_;
    const std::span<const measure> measures_;
    const bool complete_;
    run_overlap overlap_;
    std::map<std::string_view, std::vector<double>> values_;  ///< of judged topics, by measure
};

/// The five measures of evaluate(), in this order.
evaluation evaluation_of(measured_run measured);

}  // namespace quern::evaluate_detail
