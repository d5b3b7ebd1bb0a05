// SPDX-License-Identifier: Apache-2.0
// Rankings with rounded sums: more rows than are wanted have been ranked by key; their values put them into the true order
// (true_order.hpp), if bounds prove that the wanted ones are among them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/nearest/index/row_source.hpp"
#include "ops/nearest/index/shard_plan.hpp"
#include "ops/nearest/ranking/merged_rankings.hpp"
#include "ops/nearest/ranking/true_order.hpp"

namespace quern::nearest_detail {

/// Instead of a size: more rows have to be ranked.
inline constexpr std::uint64_t not_proved = ~std::uint64_t{0};

struct settle_request {
    std::uint64_t ranked = 0;  ///< the first of each query that were ranked by key
    std::uint64_t wanted = 0;  ///< the first of these
    bool all_ranked = false;   ///< `ranked` are all rows of the set that are allowed
    std::optional<double> radius;
};

/// The rankings of a batch of queries; keys of 64 bits are those of values.
template <class View, class Key>
class settled_rankings {
    using ranking = typename true_order<View>::ranking;

  public:
    /// `source`: as of true_order. `found`: the runs of each shard.
    settled_rankings(cpu_place& host, const true_order<View>& order, vector_metric metric, row_source* source,
                     const settle_request& request, const std::vector<ranking_runs<Key>>& found)
        : host_(host),
          order_(order),
          metric_(metric),
          source_(source),
          request_(request),
          found_(found),
          at_once_(rankings_at_once()),
          rows_(make_array<std::uint32_t>(host, at_once_ * request.ranked, "the rows of rankings")),
          values_(make_array<double>(host, at_once_ * request.ranked, "the values of rankings")),
          reported_(make_array<double>(host, at_once_ * request.ranked, "the distances of rankings")) {}

    std::uint64_t queries() const { return found_.front().queries(); }
    /// How many rankings are settled together, at most.
    std::uint64_t at_once() const { return at_once_; }

    /// Settles `queries` rankings from `from` on. Returns the size of each, or not_proved.
    std::vector<std::uint64_t> settle(std::uint64_t from, std::uint64_t queries) {
        if (!together()) return {settle_long(from)};
        std::vector<std::uint64_t> sizes(queries);
        std::vector<merged_ranking> merged(queries);
        for_each_query(queries, request_.ranked, [&](std::uint64_t q) {
            merged[q] = merge_short(from + q, ranking_of(q));
            if (sizeof(Key) != 8 && !source_) {
                const ranking all = first_of(q, merged[q].size);
                order_.measure(from + q, all.rows, all.values);
                sort_by_value(all);
            }
        });
        if constexpr (sizeof(Key) != 8 && std::is_same_v<View, vectors_view>) {
            if (source_) measure_copies(from, merged);
        }
        for_each_query(queries, request_.ranked,
                       [&](std::uint64_t q) { sizes[q] = settle_short(merged[q], q, from + q); });
        return sizes;
    }
    /// Query q of those that were settled last: the first `size` of its ranking.
    ranking first_of(std::uint64_t q, std::uint64_t size) const {
        const ranking all = ranking_of(q);
        return {all.values.first(size), all.rows.first(size), all.reported.first(size)};
    }

  private:
    /// The rows of one ranking, in a part of the memory.
    struct merged_ranking {
        std::uint64_t size = 0;
        Key last = 0;  ///< key
    };

    bool together() const { return request_.ranked < merged_by_all_from; }
    std::uint64_t rankings_at_once() const {
        constexpr std::uint64_t max_places = 1 << 21, pair = sizeof(Key) + 2 * sizeof(std::uint32_t);
        if (!together()) return 1;
        const std::uint64_t places =
            std::min(max_places, host_.memory().left() / 2 / (pair + 2 * sizeof(double)));
        const std::uint64_t rankings = std::clamp<std::uint64_t>(places / request_.ranked, 1, queries());
        return source_ ? std::min(rankings, queries_to_copy()) : rankings;
    }
    /// How many rankings' rows are copied at once, at most.
    std::uint64_t queries_to_copy() const {
        constexpr std::uint64_t max_bytes = 256 * mebibyte;
        const std::uint64_t bytes = std::min(max_bytes, host_.memory().left() / 4);
        return std::max<std::uint64_t>(bytes / (request_.ranked * (source_->row_bytes() + 8)), 1);
    }
    ranking ranking_of(std::uint64_t q) const {
        const std::uint64_t size = request_.ranked;
        return {values_.span().subspan(q * size, size), rows_.span().subspan(q * size, size),
                reported_.span().subspan(q * size, size)};
    }

    /// Whether the first `wanted` of a sorted ranking are the nearest of all: every unranked row is farther.
    bool is_proved(std::uint64_t query, std::span<const double> values, std::uint64_t wanted,
                   Key last) const {
        if (values.size() < request_.ranked || request_.all_ranked) return true;
        const value_bound bound = order_.template bound_of<Key>(query);
        if (bound.exact()) return true;  // and so is the order of keys
        return order_.values_bound(query).upper(values[wanted - 1]) <
               bound.lower(value_of_key(metric_, last));
    }

    /// The number of settled ones within the radius.
    std::uint64_t size_reported(std::span<const double> reported) const {
        if (!request_.radius) return reported.size();
        const double radius = *request_.radius;
        const bool product = metric_ == vector_metric::ip;
        const auto end = std::partition_point(reported.begin(), reported.end(), [&](double number) {
            return product ? number >= radius : number <= radius;
        });
        return static_cast<std::uint64_t>(end - reported.begin());
    }

    /// work(q) for `queries` of them, by all threads.
    template <class Work>
    void for_each_query(std::uint64_t queries, std::uint64_t rows, const Work& work) {
        const std::size_t pieces =
            std::min<std::uint64_t>(queries, pieces_for(host_, queries * rows, 1 << 11));
        for_each_piece(host_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(queries, pieces, p);
            for (std::uint64_t q = begin; q < end; ++q) work(q);
        });
    }

    /// Sets rows; values too, if keys are those of values.
    merged_ranking merge_short(std::uint64_t query, const ranking& into) const {
        const auto runs = runs_of(found_, query);
        const std::uint64_t size = std::min(request_.ranked, pairs_in(runs));
        if (size == 0) return {};
        std::vector<Key> keys(size);
        merge_runs<Key>(runs, keys, into.rows.first(size));
        if constexpr (sizeof(Key) == 8)
            for (std::uint64_t i = 0; i < size; ++i) into.values[i] = value_of_key(metric_, keys[i]);
        return {size, keys[size - 1]};
    }

    std::uint64_t settle_short(const merged_ranking& merged, std::uint64_t q, std::uint64_t query) const {
        const std::uint64_t wanted = std::min(request_.wanted, merged.size);
        if (merged.size == 0) return 0;
        const ranking all = first_of(q, merged.size);
        if (!is_proved(query, all.values, wanted, merged.last)) return not_proved;
        order_.settle(query, all, 0, wanted);
        return size_reported(all.reported.first(wanted));
    }

    static void sort_by_value(const ranking& all) {
        std::vector<std::pair<double, std::uint32_t>> pairs(all.rows.size());
        for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {all.values[i], all.rows[i]};
        std::sort(pairs.begin(), pairs.end());
        for (std::size_t i = 0; i < pairs.size(); ++i) std::tie(all.values[i], all.rows[i]) = pairs[i];
    }

    /// Measures and sorts rankings whose rows the host cannot read: those of many queries are copied at once.
    void measure_copies(std::uint64_t from, const std::vector<merged_ranking>& merged) {
        std::vector<std::uint64_t> offsets{0};
        for (const merged_ranking& one : merged) offsets.push_back(offsets.back() + one.size);
        std::vector<std::uint32_t> rows(offsets.back());
        for (std::uint64_t q = 0; q < merged.size(); ++q)
            std::ranges::copy(first_of(q, merged[q].size).rows, rows.data() + offsets[q]);
        row_memory memory;
        const vectors_view copies = source_->rows(rows, memory);
        for_each_query(merged.size(), std::max<std::uint64_t>(rows.size() / merged.size(), 1),
                       [&](std::uint64_t q) {
                           const ranking all = first_of(q, merged[q].size);
                           order_.measure(from + q, copies, offsets[q], all.values);
                           sort_by_value(all);
                       });
    }

    /// One ranking by all threads; its keys are those of values.
    std::uint64_t settle_long(std::uint64_t query) {
        const whole_ranking<Key> whole(host_, found_, query);
        const ranked_run<Key>& ranked = whole.run();
        const std::uint64_t size = std::min<std::uint64_t>(request_.ranked, ranked.keys.size());
        if (size == 0) return 0;
        const ranking all = first_of(0, size);
        const std::size_t pieces = pieces_for(host_, size, 1 << 14);
        for_each_piece(host_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(size, pieces, p);
            for (std::uint64_t i = begin; i < end; ++i) all.values[i] = value_of_key(metric_, ranked.keys[i]);
            std::ranges::copy(ranked.ids.subspan(begin, end - begin), all.rows.data() + begin);
        });
        const std::uint64_t wanted = std::min(request_.wanted, size);
        if (!is_proved(query, all.values, wanted, ranked.keys[size - 1])) return not_proved;
        for_each_piece(host_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(wanted, pieces, p);
            if (begin < end) order_.settle(query, all, begin, end);
        });
        return size_reported(all.reported.first(wanted));
    }

    cpu_place& host_;
    const true_order<View>& order_;
    vector_metric metric_;
    row_source* source_;
    settle_request request_;
    const std::vector<ranking_runs<Key>>& found_;
    std::uint64_t at_once_;
    cpu_array<std::uint32_t> rows_;
    cpu_array<double> values_, reported_;
};

}  // namespace quern::nearest_detail
