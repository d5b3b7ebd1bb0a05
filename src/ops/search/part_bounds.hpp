// SPDX-License-Identifier: Apache-2.0
// What a list adds to scores at least and at most: words that are not typed exactly weigh less than those that are.
#pragma once

#include <cstdint>
#include <optional>

#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// In units of 2^-32, of a term with weight and count 1; 0 if the term has no documents.
struct part_bounds {
    std::int64_t least = 0;    ///< the smaller one of the least part of a posting and the part of a title
    std::int64_t largest = 0;  ///< the largest part of a posting and the part of a title together
};

/// `list` and `titles` as in query_term. Exact. Cost: a pass over the list.
part_bounds bounds_of(const collection_view& collection, const posting_list& list, const posting_list& titles,
                      const ranking_options& options);

/// What the shards of a collection know of the bounds of a term, so that its bounds in all of them can be told.
struct shard_bounds {
    std::optional<part_bounds> of_postings;  ///< nothing without documents
    std::optional<std::int64_t> of_titles;   ///< the part of a title, if there are any and they count

    void add(const shard_bounds& other);
    part_bounds together() const;
};
/// Of one shard, with the counts of the whole. Cost: a pass over the list.
shard_bounds bounds_in_shard(const collection_view& collection, const posting_list& list,
                             const posting_list& titles, const ranking_options& options);

/// The largest weight of at most `max`, and at least 1, with which every part of `lower` is below `least`, as far as parts
/// of one unit allow; `max` if `least` is 0.
std::uint32_t weight_below(std::int64_t least, const part_bounds& lower, std::uint32_t max);

}  // namespace quern::search_detail
