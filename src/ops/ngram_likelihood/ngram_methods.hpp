// SPDX-License-Identifier: Apache-2.0
// The methods on each place. The entry point has checked the options.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "ops/ngram_likelihood/rows/joined_rows.hpp"
#include "ops/ngram_likelihood/rows/range_turns.hpp"
#include "ops/ngram_likelihood/word_exchange.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

using row_sink = std::function<void(const ngram_rows&)>;
using collection_sink = std::function<void(const collection_ngrams&)>;

/// Counts by the requested method, and fills in the record.
void count_ngrams(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                  const row_sink& sink, ngram_record& record);
void count_ngrams(cuda_place& place, const ngram_collection& collection, const ngram_options& options,
                  const row_sink& sink, ngram_record& record);

/// One place's part of the work of several, by the method `automatic`; false if a place lacks the memory for all words. Only totals
/// and pieces of the record.
bool count_part(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                const place_share& share, ngram_record& record);
bool count_part(cuda_place& place, const ngram_collection& collection, const ngram_options& options,
                const place_share& share, ngram_record& record);

/// The entry points on these places, even if the words are few. The collection is checked. Other methods than `automatic`
/// use the first place.
ngram_record count_ngrams_on(const chosen_device& chosen, const ngram_collection& collection,
                             const ngram_options& options, const context& ctx, const row_sink& sink);
ngram_record count_collection_on(const chosen_device& chosen, const ngram_collection& collection,
                                 const ngram_options& options, const context& ctx,
                                 const collection_sink& sink);

/// The n-grams of the collection as a whole, by the requested method: from the rows of documents,
template <class Place>
void count_collection(Place& place, const ngram_collection& collection, const ngram_options& options,
                      const collection_sink& sink, ngram_record& record) {
    joined_rows joined(collection.documents, options.order, sink);
    count_ngrams(
        place, collection, options, [&](const ngram_rows& rows) { joined.add(rows); }, record);
    for (ngram_totals& of_n : record.totals) of_n.rows = 0;
}
/// or from the order of positions, if the method has one.
void count_collection(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                      const collection_sink& sink, ngram_record& record);

/// Adds the occurrences of each n in documents of these offsets to `totals`.
void count_lengths(std::span<const std::uint64_t> documents, std::vector<ngram_totals>& totals);

/// The same rows as rows_from_order.
std::vector<ngram_totals> suffix_sigma(cpu_place& place, const ngram_collection& collection,
                                       const document_table& documents, const ngram_options& options,
                                       const std::function<void(const ngram_rows&)>& sink);

}  // namespace quern::ngram_detail
