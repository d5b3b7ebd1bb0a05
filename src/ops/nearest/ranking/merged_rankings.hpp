// SPDX-License-Identifier: Apache-2.0
// Rankings by key, from the sorted runs of all shards: a long one is merged by all threads, others by one thread each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/nearest/distance/distance.hpp"
#include "ops/nearest/ranking/ranking_runs.hpp"
#include "primitives/merge/merge.hpp"
#include "quern/ops/nearest.hpp"

namespace quern::nearest_detail {

/// From here on all threads merge a ranking.
inline constexpr std::uint64_t merged_by_all_from = 1 << 17;

template <class Key>
std::vector<ranked_run<Key>> runs_of(const std::vector<ranking_runs<Key>>& found, std::uint64_t query) {
    std::vector<ranked_run<Key>> runs;
    for (const ranking_runs<Key>& of_shard : found)
        for (std::size_t r = 0; r < of_shard.count_of(query); ++r) runs.push_back(of_shard.run(query, r));
    return runs;
}
template <class Key>
std::uint64_t pairs_in(const std::vector<ranked_run<Key>>& runs) {
    std::uint64_t pairs = 0;
    for (const ranked_run<Key>& run : runs) pairs += run.keys.size();
    return pairs;
}

/// All pairs of a query's runs as one run, merged by all threads.
template <class Key>
class whole_ranking {
  public:
    whole_ranking(cpu_place& host, const std::vector<ranking_runs<Key>>& found, std::uint64_t query) {
        const auto runs = runs_of(found, query);
        if (runs.size() == 1) run_ = runs[0];
        if (runs.size() > 1) merge(host, runs, found.size() > 1);
    }
    const ranked_run<Key>& run() const { return run_; }

  private:
    /// `of_several`: shards; the runs of one are contiguous.
    void merge(cpu_place& host, const std::vector<ranked_run<Key>>& runs, bool of_several) {
        std::vector<std::uint64_t> offsets{0};
        for (const ranked_run<Key>& run : runs) offsets.push_back(offsets.back() + run.keys.size());
        const std::uint64_t pairs = offsets.back();
        keys_ = make_array<Key>(host, pairs, "merging a ranking");
        ids_ = make_array<std::uint32_t>(host, pairs, "merging a ranking");
        std::span<const Key> from_keys(runs[0].keys.data(), pairs);
        std::span<const std::uint32_t> from_ids(runs[0].ids.data(), pairs);
        cpu_array<Key> joined_keys;
        cpu_array<std::uint32_t> joined_ids;
        if (of_several) {
            joined_keys = make_array<Key>(host, pairs, "merging a ranking");
            joined_ids = make_array<std::uint32_t>(host, pairs, "merging a ranking");
            for (std::size_t r = 0; r < runs.size(); ++r) {
                std::ranges::copy(runs[r].keys, joined_keys.data() + offsets[r]);
                std::ranges::copy(runs[r].ids, joined_ids.data() + offsets[r]);
            }
            from_keys = joined_keys.span();
            from_ids = joined_ids.span();
        }
        primitives::merge_pairs<Key, std::uint32_t>(host, from_keys, from_ids, offsets, keys_.span(),
                                                    ids_.span());
        run_ = {keys_.span(), ids_.span()};
    }

    cpu_array<Key> keys_;
    cpu_array<std::uint32_t> ids_;
    ranked_run<Key> run_;
};

/// The first k rows of each ranking, with keys within the limit, and their reported distances, one query after another.
template <class Key>
class rankings_by_key {
  public:
    rankings_by_key(cpu_place& host, vector_type type, vector_metric metric, std::uint64_t k,
                    const std::optional<Key>& limit, const vector_set::sink& each)
        : host_(host), type_(type), metric_(metric), k_(k), limit_(limit), each_(each) {}

    /// Those that were found for the queries from `first_query` on.
    void give(std::uint64_t first_query, const std::vector<ranking_runs<Key>>& found) {
        const std::uint64_t queries = found.front().queries();
        if (k_ >= merged_by_all_from) {
            for (std::uint64_t q = 0; q < queries; ++q) give_long(first_query, q, found);
            return;
        }
        constexpr std::uint64_t max_places = 1 << 21, pair = sizeof(Key) + sizeof(std::uint32_t);
        const std::uint64_t places =
            std::min(max_places, host_.memory().left() / 2 / (pair + sizeof(double)));
        const std::uint64_t at_once = std::clamp<std::uint64_t>(places / k_, 1, queries);
        const auto keys = make_array<Key>(host_, at_once * k_, "merging rankings");
        const auto ids = make_array<std::uint32_t>(host_, at_once * k_, "merging rankings");
        const auto distances = make_array<double>(host_, at_once * k_, "the distances of rankings");
        std::vector<std::uint64_t> sizes(at_once);
        for (std::uint64_t from = 0; from < queries; from += at_once) {
            const std::uint64_t now = std::min(at_once, queries - from);
            const std::size_t pieces = std::min<std::uint64_t>(now, pieces_for(host_, now * k_, 1 << 13));
            for_each_piece(host_, pieces, [&](std::size_t p) {
                const auto [begin, end] = piece_of(now, pieces, p);
                for (std::uint64_t q = begin; q < end; ++q) {
                    const auto runs = runs_of(found, from + q);
                    const std::uint64_t size = std::min(k_, pairs_in(runs));
                    const auto my_keys = keys.span().subspan(q * k_, size);
                    if (size != 0) merge_runs<Key>(runs, my_keys, ids.span().subspan(q * k_, size));
                    sizes[q] = size_within(my_keys);
                    report(my_keys.first(sizes[q]), distances.data() + q * k_);
                }
            });
            for (std::uint64_t q = 0; q < now; ++q)
                each_(first_query + from + q, ids.span().subspan(q * k_, sizes[q]),
                      distances.span().subspan(q * k_, sizes[q]));
        }
    }

  private:
    void give_long(std::uint64_t first_query, std::uint64_t query,
                   const std::vector<ranking_runs<Key>>& found) {
        const whole_ranking<Key> whole(host_, found, query);
        const ranked_run<Key>& all = whole.run();
        const std::uint64_t size = size_within(all.keys.first(std::min<std::uint64_t>(k_, all.keys.size())));
        const auto distances = make_array<double>(host_, size, "the distances of a ranking");
        const std::size_t pieces = pieces_for(host_, size, 1 << 16);
        for_each_piece(host_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(size, pieces, p);
            report(all.keys.subspan(begin, end - begin), distances.data() + begin);
        });
        each_(first_query + query, all.ids.first(size), distances.span());
    }

    /// The number of sorted keys within the limit.
    std::uint64_t size_within(std::span<const Key> keys) const {
        if (!limit_) return keys.size();
        return static_cast<std::uint64_t>(std::ranges::upper_bound(keys, *limit_) - keys.begin());
    }
    void report(std::span<const Key> keys, double* distances) const {
        for (std::size_t j = 0; j < keys.size(); ++j) distances[j] = reported_of_key(type_, metric_, keys[j]);
    }

    cpu_place& host_;
    vector_type type_;
    vector_metric metric_;
    std::uint64_t k_;
    std::optional<Key> limit_;
    const vector_set::sink& each_;
};

}  // namespace quern::nearest_detail
