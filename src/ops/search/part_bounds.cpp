// SPDX-License-Identifier: Apache-2.0
#include "ops/search/part_bounds.hpp"

#include <algorithm>
#include <limits>

#include "ops/search/postings.hpp"
#include "ops/search/probabilistic_scorers.hpp"

namespace quern::search_detail {

shard_bounds bounds_in_shard(const collection_view& collection, const posting_list& list,
                             const posting_list& titles, const ranking_options& options) {
    shard_bounds bounds;
    if (list.document_frequency != 0) {
        part_bounds found{std::numeric_limits<std::int64_t>::max(), 0};
        with_scorer(options.model, [&]<typename Scorer>() {
            const Scorer scorer(collection, list, options);
            for (postings_cursor cursor(list, collection.document_lengths); !cursor.done();
                 cursor.next_block()) {
                cursor.decode();
                for (std::size_t i = 0; i < cursor.documents().size(); ++i) {
                    const auto length = collection.document_lengths[cursor.documents()[i]];
                    const std::int64_t part = scorer.part(cursor.frequencies()[i], length);
                    found.least = std::min(found.least, part);
                    found.largest = std::max(found.largest, part);
                }
            }
        });
        bounds.of_postings = found;
    }
    if (titles.document_frequency != 0 && options.title_weight != 0)
        bounds.of_titles = title_part(collection, list, options.title_weight);
    return bounds;
}

void shard_bounds::add(const shard_bounds& other) {
    if (!of_postings) {
        of_postings = other.of_postings;
    } else if (other.of_postings) {
        of_postings->least = std::min(of_postings->least, other.of_postings->least);
        of_postings->largest = std::max(of_postings->largest, other.of_postings->largest);
    }
    if (!of_titles) of_titles = other.of_titles;
}

part_bounds shard_bounds::together() const {
    part_bounds bounds = of_postings.value_or(part_bounds{std::numeric_limits<std::int64_t>::max(), 0});
    if (of_titles) {
        bounds.least = std::min(bounds.least, *of_titles);
        bounds.largest += *of_titles;
    }
    if (bounds.largest == 0) bounds.least = 0;
    return bounds;
}

part_bounds bounds_of(const collection_view& collection, const posting_list& list, const posting_list& titles,
                      const ranking_options& options) {
    return bounds_in_shard(collection, list, titles, options).together();
}

std::uint32_t weight_below(std::int64_t least, const part_bounds& lower, std::uint32_t max) {
    static_assert(weight_one == 1 << 16);
    // Parts are rounded up to one unit, of a posting and of a title.
    constexpr std::int64_t spare = 2;
    if (least == 0 || lower.largest == 0) return max;
    const std::int64_t fits = (std::max<std::int64_t>(least - spare, 0) << 16) / lower.largest;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(fits, 1, max));
}

}  // namespace quern::search_detail
