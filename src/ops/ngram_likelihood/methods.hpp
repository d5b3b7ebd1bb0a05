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
#include "ops/ngram_likelihood/joined_rows.hpp"
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
using collection_taker = std::function<void(const collection_ngrams&)>;

/// Counts by the method asked for, and fills in the record.
void count_ngrams(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                  const row_taker& take, ngram_record& record);
void count_ngrams(cuda_place& place, const ngram_collection& collection, const ngram_options& options,
                  const row_taker& take, ngram_record& record);

/// The n-grams of the collection as a whole, by the method asked for: from the rows of documents,
template <class Place>
void count_collection(Place& place, const ngram_collection& collection, const ngram_options& options,
                      const collection_taker& take, ngram_record& record) {
    joined_rows joined(collection.documents, options.order, take);
    count_ngrams(
        place, collection, options, [&](const ngram_rows& rows) { joined.add(rows); }, record);
    for (ngram_totals& of_n : record.totals) of_n.rows = 0;
}
/// or from the order of positions, where the method has one.
void count_collection(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                      const collection_taker& take, ngram_record& record);

/// Adds the occurrences of each n in documents of these offsets to `totals`.
void count_lengths(std::span<const std::uint64_t> documents, std::vector<ngram_totals>& totals);

}  // namespace quern::ngram_detail
