// SPDX-License-Identifier: Apache-2.0
// Counts of all shards together, with which each of them scores: sums, so that scores are those of one store.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quern/ops/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

class whole_statistics {
  public:
    /// The stores must outlive it; none has near-duplicates.
    explicit whole_statistics(std::vector<const opened_store*> shards);

    const whole_counts& collection() const { return collection_; }  ///< documents and words
    float max_weight() const { return max_weight_; }                ///< of stores of weights
    /// The documents and occurrences of a word; 0 if no shard has it. Cost: a look-up in each dictionary.
    whole_counts of_word(std::string_view word) const;
    std::span<const opened_store* const> shards() const { return shards_; }

  private:
    std::vector<const opened_store*> shards_;
    whole_counts collection_;
    float max_weight_ = 0;
};

}  // namespace quern
