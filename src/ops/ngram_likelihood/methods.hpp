// SPDX-License-Identifier: Apache-2.0
// The methods on each place. What is asked for was checked at the door.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/cpu/place.hpp"
#include "device/cuda/place.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// As records name it.
inline std::string place_name(const cpu_place&) {
    return "cpu";
}
inline std::string place_name(const cuda_place& place) {
    return "cuda:" + std::to_string(place.ordinal());
}

using row_taker = std::function<void(const ngram_rows&)>;

/// Counts by the method asked for, and fills in the record.
void count_ngrams(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                  const row_taker& take, ngram_record& record);
void count_ngrams(cuda_place& place, const ngram_collection& collection, const ngram_options& options,
                  const row_taker& take, ngram_record& record);

/// Adds the occurrences of each n in documents of these offsets to `totals`.
void count_lengths(std::span<const std::uint64_t> documents, std::vector<ngram_totals>& totals);

}  // namespace quern::ngram_detail
