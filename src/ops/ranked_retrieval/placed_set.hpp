// SPDX-License-Identifier: Apache-2.0
// A set of vectors over one place or several: its rows are cut into shards, each with a thread of its own, whose rankings
// are merged on the host. Merging runs that are sorted by key, in the order of their rows, gives the order of (distance,
// row): the same bits for any number of shards and tiles.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/ranked_retrieval/shard.hpp"
#include "ops/ranked_retrieval/threads_of_their_own.hpp"
#include "primitives/merge/merge.hpp"

namespace quern::ranked_retrieval_detail {

/// What the public vector_set is, for one kind of vectors, whatever the place.
template <class View>
class searched_set {
  public:
    searched_set() = default;
    searched_set(const searched_set&) = delete;
    searched_set& operator=(const searched_set&) = delete;
    virtual ~searched_set() = default;
    virtual void search(const View& queries, const retrieval_options& options,
                        const vector_set::sink& each) = 0;
    virtual rankings search(const View& queries, const retrieval_options& options) = 0;
    virtual const retrieval_record& record() const = 0;
};

/// Seconds since it was made, or asked for the last time.
class stopwatch {
  public:
    double seconds() {
        const auto before = std::exchange(since_, std::chrono::steady_clock::now());
        return std::chrono::duration<double>(since_ - before).count();
    }

  private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// A part of a budget that is taken while it lives.
class budget_share {
  public:
    budget_share(memory_budget& budget, std::uint64_t bytes, std::string_view what_for)
        : budget_(budget), bytes_(bytes) {
        budget_.take(bytes, what_for);
    }
    budget_share(const budget_share&) = delete;
    budget_share& operator=(const budget_share&) = delete;
    ~budget_share() { budget_.give_back(bytes_); }

  private:
    memory_budget& budget_;
    std::uint64_t bytes_;
};

template <class Place, class View>
class placed_set final : public searched_set<View> {
  public:
    /// A shard for each of `places`, or, of the CPU, for each of `shards` on the host's place.
    placed_set(const View& vectors, const vector_set_options& options, const context& run,
               std::vector<std::unique_ptr<Place>> places, std::size_t shards, std::string name)
        : host_(run), places_(std::move(places)), vectors_(vectors), options_(options) {
        record_.place = std::move(name);
        stopwatch clock;
        for (std::uint64_t first = 0, s = 0; s < shards; ++s) {
            const std::uint64_t bytes = tile_bytes(vectors, first, vectors.rows) / (shards - s);
            const std::uint64_t rows =
                s + 1 == shards ? vectors.rows - first : rows_within(vectors, first, bytes, 0);
            shards_.push_back(std::make_unique<shard<Place, View>>(
                place_of(s), host_, rows_of(vectors, first, rows), first, options));
            first += rows;
        }
        on_threads_of_their_own(shards, [&](std::size_t s) { shards_[s]->prepare(); });
        prepare_seconds_ = clock.seconds();
    }

    void search(const View& queries, const retrieval_options& options,
                const vector_set::sink& each) override {
        stopwatch clock;
        check_sizes(queries, "the queries");
        check_alike(vectors_, queries);
        check_options(options, vectors_.rows);
        search_checked(queries, options, each);
        // What was done for the set as a whole is told with its first search.
        record_ = {.place = record_.place,
                   .prepare_seconds = std::exchange(prepare_seconds_, 0),
                   .search_seconds = clock.seconds()};
        for (const auto& s : shards_) {
            const shard_counts counts = s->take_counts();
            record_.distances += counts.distances;
            record_.filtered += counts.filtered;
            record_.tiles += counts.tiles;
            record_.tile_bytes += counts.tile_bytes;
        }
    }

    rankings search(const View& queries, const retrieval_options& options) override {
        check_sizes(queries, "the queries");
        check_options(options, vectors_.rows);
        // Where the result's size is known, it is taken from the budget before anything is computed.
        const std::uint64_t k =
            options.radius ? 0 : std::min(options.k, count_allowed(options.allowed, 0, vectors_.rows));
        const budget_share share(host_.memory(), array_bytes<ranked_place>(queries.rows * k),
                                 "the rankings of all queries");
        rankings all{.offsets = {0}, .ids = {}, .distances = {}};
        all.offsets.reserve(queries.rows + 1);
        all.ids.reserve(queries.rows * k);
        all.distances.reserve(queries.rows * k);
        search(queries, options,
               [&](std::uint64_t, std::span<const std::uint32_t> ids, std::span<const double> distances) {
                   all.ids.insert(all.ids.end(), ids.begin(), ids.end());
                   all.distances.insert(all.distances.end(), distances.begin(), distances.end());
                   all.offsets.push_back(all.ids.size());
               });
        return all;
    }

    const retrieval_record& record() const override { return record_; }

  private:
    /// A vector's place in a ranking, as the caller gets it.
    struct ranked_place {
        std::byte bytes[sizeof(std::uint32_t) + sizeof(double)];
    };

    /// What a search has found out before the first batch.
    struct search_plan {
        std::span<const double> squares;         ///< of all queries
        std::span<const std::uint64_t> allowed;  ///< without bits beyond the last row
        std::uint64_t k = 0;                     ///< at most as many as are allowed
        std::optional<double> radius;
        unsigned key_bits = 64;
    };

    Place& place_of(std::size_t s) {
        if constexpr (std::is_same_v<Place, cpu_place>)
            return host_;
        else
            return *places_[s];
    }

    void search_checked(const View& queries, const retrieval_options& options, const vector_set::sink& each) {
        const auto squares = make_array<double>(
            host_, options_.metric == vector_metric::cosine ? queries.rows : 0, "the lengths of queries");
        const row_facts facts = facts_of_queries(queries, squares.span());
        search_plan plan{squares.span(), options.allowed, 0, options.radius, 64};
        std::vector<std::uint64_t> without_rest;
        if (const unsigned used = vectors_.rows % 64; used != 0 && !options.allowed.empty()) {
            without_rest.assign(options.allowed.begin(), options.allowed.end());
            without_rest.back() &= (std::uint64_t{1} << used) - 1;
            plan.allowed = without_rest;
        }
        plan.k = std::min(options.k, count_allowed(plan.allowed, 0, vectors_.rows));
        integer_range range = facts.range;
        for (const auto& s : shards_) range = joined(range, s->range());
        const vector_type type = type_of(vectors_);
        plan.key_bits = bits_of_keys(type, options_.metric, range, vectors_.dimensions);
        if constexpr (std::is_same_v<View, vectors_view>) {  // sparse vectors are floats
            if (has_wide_keys(type, options_.metric, range, vectors_.dimensions))
                return search_by_key<std::uint64_t>(queries, plan, each);
        }
        search_by_key<std::uint32_t>(queries, plan, each);
    }

    row_facts facts_of_queries(const View& queries, std::span<double> squares) {
        if (queries.rows == 0) return {};
        const row_facts facts = facts_of(host_, tile_over(queries), squares);
        if (has_fault(facts, type_of(queries), options_.metric, queries.dimensions))
            throw_first_fault(queries, options_.metric, 0, "query");
        return facts;
    }

    template <class Key>
    void search_by_key(const View& queries, const search_plan& plan, const vector_set::sink& each) {
        std::optional<Key> limit;
        if (plan.radius) {
            limit = limit_of_radius<Key>(type_of(vectors_), options_.metric, *plan.radius);
            if (!limit) return give_nothing(queries.rows, each);
        }
        if (plan.k == 0) return give_nothing(queries.rows, each);
        const std::uint64_t at_once = queries_at_once<Key>(plan, queries.rows);
        for (std::uint64_t first = 0; first < queries.rows; first += at_once) {
            host_.run().check_stop();
            const std::uint64_t count = std::min(at_once, queries.rows - first);
            shard_request<Key, View> request{
                .queries = rows_of(queries, first, count),
                .squares = plan.squares.empty() ? plan.squares : plan.squares.subspan(first, count),
                .k = plan.k,
                .limit = limit,
                .allowed = plan.allowed,
                .key_bits = plan.key_bits,
                .queries_to_come = queries.rows - first};
            std::vector<ranking_runs<Key>> found;
            found.reserve(shards_.size());
            for (const auto& s : shards_) {
                const std::uint64_t room = room_of_query(s->rows_allowed(plan.allowed), plan.k);
                found.emplace_back(host_, count, std::min(plan.k, room), room);
            }
            on_threads_of_their_own(shards_.size(),
                                    [&](std::size_t s) { shards_[s]->rank(request, found[s]); });
            give<Key>(first, count, found, plan.k, limit, each);
            host_.run().report({"ranking", first + count, queries.rows, "queries"});
        }
    }

    static void give_nothing(std::uint64_t queries, const vector_set::sink& each) {
        for (std::uint64_t q = 0; q < queries; ++q) each(q, {}, {});
    }

    // ---- Batches ----

    /// Pairs that a shard's part of a ranking takes: all of them, or some runs that are joined when there is no room.
    static std::uint64_t room_of_query(std::uint64_t allowed, std::uint64_t k) {
        return std::min(allowed, 4 * k);
    }

    /// As many queries as half of the free memory holds rankings of; more than a gibibyte of these is worth its pages
    /// only where every pass reads the set anew.
    template <class Key>
    std::uint64_t queries_at_once(const search_plan& plan, std::uint64_t queries) {
        constexpr std::uint64_t most = 4096, pair = sizeof(Key) + sizeof(std::uint32_t);
        std::uint64_t places = 0;
        bool streams = false;
        for (const auto& s : shards_) {
            places += room_of_query(s->rows_allowed(plan.allowed), plan.k);
            streams = streams || s->streams();
        }
        const std::uint64_t bytes = places * pair + 64;
        std::uint64_t free = host_.memory().left() / 2;
        if (!streams) free = std::min(free, 1024 * mebibyte);
        return std::clamp<std::uint64_t>(free / bytes, 1,
                                         std::min(most, std::max<std::uint64_t>(queries, 1)));
    }

    // ---- Merging and giving ----

    /// From here on a ranking is merged by all threads.
    static constexpr std::uint64_t merged_by_all_from = 1 << 17;

    template <class Key>
    void give(std::uint64_t first_query, std::uint64_t queries, const std::vector<ranking_runs<Key>>& found,
              std::uint64_t k, const std::optional<Key>& limit, const vector_set::sink& each) {
        if (k >= merged_by_all_from) {
            for (std::uint64_t q = 0; q < queries; ++q) give_long(first_query, q, found, k, limit, each);
            return;
        }
        constexpr std::uint64_t most_places = 1 << 21, pair = sizeof(Key) + sizeof(std::uint32_t);
        const std::uint64_t places =
            std::min(most_places, host_.memory().left() / 2 / (pair + sizeof(double)));
        const std::uint64_t at_once = std::clamp<std::uint64_t>(places / k, 1, queries);
        const auto keys = make_array<Key>(host_, at_once * k, "merging rankings");
        const auto ids = make_array<std::uint32_t>(host_, at_once * k, "merging rankings");
        const auto distances = make_array<double>(host_, at_once * k, "the distances of rankings");
        std::vector<std::uint64_t> sizes(at_once);
        for (std::uint64_t from = 0; from < queries; from += at_once) {
            const std::uint64_t now = std::min(at_once, queries - from);
            const std::size_t pieces = std::min<std::uint64_t>(now, pieces_for(host_, now * k, 1 << 13));
            for_each_piece(host_, pieces, [&](std::size_t p) {
                const auto [begin, end] = piece_of(now, pieces, p);
                for (std::uint64_t q = begin; q < end; ++q) {
                    const auto runs = runs_of(found, from + q);
                    const std::uint64_t size = std::min(k, pairs_in<Key>(runs));
                    const auto my_keys = keys.span().subspan(q * k, size);
                    if (size != 0) merge_runs<Key>(runs, my_keys, ids.span().subspan(q * k, size));
                    sizes[q] = size_within<Key>(my_keys, limit);
                    report<Key>(my_keys.first(sizes[q]), distances.data() + q * k);
                }
            });
            for (std::uint64_t q = 0; q < now; ++q)
                each(first_query + from + q, ids.span().subspan(q * k, sizes[q]),
                     distances.span().subspan(q * k, sizes[q]));
        }
    }

    template <class Key>
    void give_long(std::uint64_t first_query, std::uint64_t query,
                   const std::vector<ranking_runs<Key>>& found, std::uint64_t k,
                   const std::optional<Key>& limit, const vector_set::sink& each) {
        const auto runs = runs_of(found, query);
        cpu_array<Key> keys;
        cpu_array<std::uint32_t> ids;
        ranked_run<Key> all;
        if (runs.size() == 1) {
            all = runs[0];
        } else if (runs.size() > 1) {
            std::tie(keys, ids) = merged<Key>(runs);
            all = {keys.span(), ids.span()};
        }
        const std::uint64_t size =
            size_within<Key>(all.keys.first(std::min<std::uint64_t>(k, all.keys.size())), limit);
        const auto distances = make_array<double>(host_, size, "the distances of a ranking");
        const std::size_t pieces = pieces_for(host_, size, 1 << 16);
        for_each_piece(host_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(size, pieces, p);
            report<Key>(all.keys.subspan(begin, end - begin), distances.data() + begin);
        });
        each(first_query + query, all.ids.first(size), distances.span());
    }

    template <class Key>
    static std::vector<ranked_run<Key>> runs_of(const std::vector<ranking_runs<Key>>& found,
                                                std::uint64_t query) {
        std::vector<ranked_run<Key>> runs;
        for (const ranking_runs<Key>& of_shard : found)
            for (std::size_t r = 0; r < of_shard.count_of(query); ++r) runs.push_back(of_shard.run(query, r));
        return runs;
    }
    template <class Key>
    static std::uint64_t pairs_in(std::span<const ranked_run<Key>> runs) {
        std::uint64_t pairs = 0;
        for (const ranked_run<Key>& run : runs) pairs += run.keys.size();
        return pairs;
    }

    /// All pairs of the runs, by all threads.
    template <class Key>
    std::pair<cpu_array<Key>, cpu_array<std::uint32_t>> merged(const std::vector<ranked_run<Key>>& runs) {
        std::vector<std::uint64_t> offsets{0};
        for (const ranked_run<Key>& run : runs) offsets.push_back(offsets.back() + run.keys.size());
        const std::uint64_t pairs = offsets.back();
        auto keys = make_array<Key>(host_, pairs, "merging a ranking");
        auto ids = make_array<std::uint32_t>(host_, pairs, "merging a ranking");
        std::span<const Key> from_keys(runs[0].keys.data(), pairs);
        std::span<const std::uint32_t> from_ids(runs[0].ids.data(), pairs);
        cpu_array<Key> joined_keys;
        cpu_array<std::uint32_t> joined_ids;
        if (shards_.size() > 1) {  // of one shard, they lie side by side
            joined_keys = make_array<Key>(host_, pairs, "merging a ranking");
            joined_ids = make_array<std::uint32_t>(host_, pairs, "merging a ranking");
            for (std::size_t r = 0; r < runs.size(); ++r) {
                std::copy(runs[r].keys.begin(), runs[r].keys.end(), joined_keys.data() + offsets[r]);
                std::copy(runs[r].ids.begin(), runs[r].ids.end(), joined_ids.data() + offsets[r]);
            }
            from_keys = joined_keys.span();
            from_ids = joined_ids.span();
        }
        primitives::merge_pairs<Key, std::uint32_t>(host_, from_keys, from_ids, offsets, keys.span(),
                                                    ids.span());
        return {std::move(keys), std::move(ids)};
    }

    /// How many of the sorted keys are within the limit.
    template <class Key>
    static std::uint64_t size_within(std::span<const Key> keys, const std::optional<Key>& limit) {
        if (!limit) return keys.size();
        return static_cast<std::uint64_t>(std::upper_bound(keys.begin(), keys.end(), *limit) - keys.begin());
    }
    template <class Key>
    void report(std::span<const Key> keys, double* distances) const {
        const vector_type type = type_of(vectors_);
        const vector_metric metric = options_.metric;
        for (std::size_t j = 0; j < keys.size(); ++j) distances[j] = reported_of_key(type, metric, keys[j]);
    }

    cpu_place host_;
    std::vector<std::unique_ptr<Place>> places_;
    View vectors_;
    vector_set_options options_;
    std::vector<std::unique_ptr<shard<Place, View>>> shards_;
    double prepare_seconds_ = 0;
    retrieval_record record_;
};

}  // namespace quern::ranked_retrieval_detail
