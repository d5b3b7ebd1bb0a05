// SPDX-License-Identifier: Apache-2.0
// A set of vectors on one place or several: its rows are cut into shards, each with its own thread; their rankings are
// merged on the host. Merging runs sorted by key, in the order of their rows, gives the order of (distance, row): the same
// bits for any number of shards and tiles.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/budget_share.hpp"
#include "device/cuda/caller_order.hpp"
#include "device/own_threads.hpp"
#include "ops/nearest/index/row_source.hpp"
#include "ops/nearest/index/shard.hpp"
#include "ops/nearest/ranking/merged_rankings.hpp"
#include "ops/nearest/ranking/settled_rankings.hpp"
#include "ops/nearest/ranking/true_order.hpp"

namespace quern::nearest_detail {

/// Seconds since construction or the last call.
class stopwatch {
  public:
    double seconds() {
        const auto before = std::exchange(since_, std::chrono::steady_clock::now());
        return std::chrono::duration<double>(since_ - before).count();
    }

  private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// The grain of a set, for several indexes of it: one learns it, with the threads of `host`, and the others wait.
struct shared_grain {
    cpu_place& host;
    std::mutex mutex = {};
    std::optional<component_grain> known = {};
};

/// How a set lies on places.
struct index_layout {
    std::string name;  ///< of the devices, with the reason, for the record
    std::vector<int>
        more;  ///< numbers of further devices; on the CPU, each makes one more shard on its place
    std::optional<data_location>
        in_place;                   ///< the vectors lie there, in the memory of the only place, without gaps
    shared_grain* grain = nullptr;  ///< with other indexes of the same set; null: its own
};

/// Throws usage_error if the set, the queries and the options do not fit together.
template <class View>
void check_search(const View& vectors, const View& queries, const retrieval_options& options) {
    check_sizes(queries, "the queries");
    check_alike(vectors, queries);
    check_options(options, vectors.rows);
}

/// The statistics of queries, and the squares of their lengths if these have a place. Throws invalid_value for the first bad
/// query.
template <class View>
row_stats checked_stats(cpu_place& host, const View& queries, vector_metric metric,
                        std::span<double> squares) {
    if (queries.rows == 0) return {};
    const row_stats stats = stats_of(host, tile_over(queries), squares);
    if (has_fault(stats, type_of(queries), metric, queries.dimensions))
        throw_first_fault(queries, metric, 0, "query");
    return stats;
}

/// The rankings that index.search_checked() gives one after the other. If their size is known, it is taken from the host's
/// budget before anything is computed.
template <class Index, class View>
rankings all_rankings(Index& index, cpu_place& host, std::uint64_t rows, const View& queries,
                      const retrieval_options& options) {
    struct ranked_place {  // a vector's entry in a ranking, in the caller's form
        std::byte bytes[sizeof(std::uint32_t) + sizeof(double)];
    };
    const std::uint64_t k = options.radius ? 0 : std::min(options.k, count_allowed(options.allowed, 0, rows));
    const budget_share share(host.memory(), array_bytes<ranked_place>(queries.rows * k),
                             "the rankings of all queries");
    rankings all{.offsets = {0}, .ids = {}, .distances = {}};
    all.offsets.reserve(queries.rows + 1);
    all.ids.reserve(queries.rows * k);
    all.distances.reserve(queries.rows * k);
    index.search_checked(
        queries, options,
        [&](std::uint64_t, std::span<const std::uint32_t> ids, std::span<const double> distances) {
            all.ids.insert(all.ids.end(), ids.begin(), ids.end());
            all.distances.insert(all.distances.end(), distances.begin(), distances.end());
            all.offsets.push_back(all.ids.size());
        });
    return all;
}

template <class Place, class View>
class sharded_index {
  public:
    /// One shard for the place and for each further device. The host does not read vectors that lie in place.
    sharded_index(Place& place, cpu_place& host, const View& vectors, const vector_set_options& options,
                  const index_layout& layout)
        : place_(place), host_(host), vectors_(vectors), options_(options), shared_grain_(layout.grain) {
        record_.place = layout.name;
        stopwatch clock;
        if constexpr (!std::is_same_v<Place, cpu_place>) {
            for (const int ordinal : layout.more)
                more_places_.push_back(std::make_unique<Place>(place.ctx(), ordinal));
            if (layout.in_place) cuda::wait_for_caller(*layout.in_place, place);
        }
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (layout.in_place) {
                tile_memory<Place, View> all;
                all.borrow(place, vectors);
                source_ = std::make_unique<place_rows<Place>>(place, all.tile());
                vectors_.values = {};
            }
        }
        const std::size_t shards = 1 + layout.more.size();
        for (std::uint64_t first = 0, s = 0; s < shards; ++s) {
            const std::uint64_t bytes = tile_bytes(vectors, first, vectors.rows) / (shards - s);
            const std::uint64_t rows =
                s + 1 == shards ? vectors.rows - first : rows_within(vectors, first, bytes, 0);
            shards_.push_back(std::make_unique<shard<Place, View>>(
                place_of(s), host_, rows_of(vectors, first, rows), first, options, source_.get()));
            first += rows;
        }
        on_threads_of_their_own(shards, [&](std::size_t s) { shards_[s]->prepare(); });
        prepare_seconds_ = clock.seconds();
    }

    void search(const View& queries, const retrieval_options& options, const vector_set::sink& each) {
        check_search(vectors_, queries, options);
        search_checked(queries, options, each);
    }
    rankings search(const View& queries, const retrieval_options& options) {
        check_search(vectors_, queries, options);
        return search_checked(queries, options);
    }

    /// search(), after check_search().
    rankings search_checked(const View& queries, const retrieval_options& options) {
        return all_rankings(*this, host_, vectors_.rows, queries, options);
    }
    void search_checked(const View& queries, const retrieval_options& options, const vector_set::sink& each) {
        stopwatch clock;
        search_by_metric(queries, options, each);
        // Work done for the set as a whole is reported with its first search.
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

    const retrieval_record& record() const { return record_; }

  private:
    /// The data that a search determines before the first batch.
    struct search_plan {
        std::span<const double> squares;         ///< of all queries
        std::span<const std::uint64_t> allowed;  ///< without bits past the last row
        std::uint64_t k = 0;                     ///< at most the number of allowed rows
        std::optional<double> radius;
        unsigned key_bits = 64;
        std::uint64_t allowed_rows = 0;
    };

    Place& place_of(std::size_t s) { return s == 0 || more_places_.empty() ? place_ : *more_places_[s - 1]; }

    void search_by_metric(const View& queries, const retrieval_options& options,
                          const vector_set::sink& each) {
        const auto squares = make_array<double>(
            host_, options_.metric == vector_metric::cosine ? queries.rows : 0, "the lengths of queries");
        const row_stats stats = checked_stats(host_, queries, options_.metric, squares.span());
        search_plan plan{squares.span(), options.allowed, 0, options.radius, 64, 0};
        std::vector<std::uint64_t> without_rest;
        if (const unsigned used = vectors_.rows % 64; used != 0 && !options.allowed.empty()) {
            without_rest.assign(options.allowed.begin(), options.allowed.end());
            without_rest.back() &= (std::uint64_t{1} << used) - 1;
            plan.allowed = without_rest;
        }
        plan.allowed_rows = count_allowed(plan.allowed, 0, vectors_.rows);
        plan.k = std::min(options.k, plan.allowed_rows);
        integer_range range = stats.range;
        for (const auto& s : shards_) range = joined(range, s->range());
        const vector_type type = type_of(vectors_);
        plan.key_bits = bits_of_keys(type, options_.metric, range, vectors_.dimensions);
        if (has_values(type, options_.metric)) return search_by_value(queries, plan, each);
        if constexpr (std::is_same_v<View, vectors_view>) {  // sparse vectors are floats
            if (has_wide_keys(type, options_.metric, range, vectors_.dimensions))
                return search_by_key<std::uint64_t>(queries, plan, each);
            search_by_key<std::uint32_t>(queries, plan, each);
        }
    }

    template <class Key>
    void search_by_key(const View& queries, const search_plan& plan, const vector_set::sink& each) {
        std::optional<Key> limit;
        if (plan.radius) {
            limit = limit_of_radius<Key>(type_of(vectors_), options_.metric, *plan.radius);
            if (!limit) return give_nothing(queries.rows, each);
        }
        if (plan.k == 0) return give_nothing(queries.rows, each);
        rankings_by_key<Key> to_caller(host_, type_of(vectors_), options_.metric, plan.k, limit, each);
        const std::uint64_t at_once = queries_at_once<Key>(plan, plan.k, queries.rows);
        for (std::uint64_t first = 0; first < queries.rows; first += at_once) {
            host_.ctx().check_stop();
            const std::uint64_t count = std::min(at_once, queries.rows - first);
            const shard_request<Key, View> request =
                request_for<Key>(queries, plan, first, count, plan.k, limit);
            to_caller.give(first, rank_on_shards(request));
            host_.ctx().report({"ranking", first + count, queries.rows, "queries"});
        }
    }

    template <class Key>
    shard_request<Key, View> request_for(const View& queries, const search_plan& plan, std::uint64_t first,
                                         std::uint64_t count, std::uint64_t k,
                                         const std::optional<Key>& limit) const {
        return {.queries = rows_of(queries, first, count),
                .squares = plan.squares.empty() ? plan.squares : plan.squares.subspan(first, count),
                .k = k,
                .limit = limit,
                .allowed = plan.allowed,
                .key_bits = plan.key_bits,
                .queries_to_come = queries.rows - first};
    }
    template <class Key>
    std::vector<ranking_runs<Key>> rank_on_shards(const shard_request<Key, View>& request) {
        std::vector<ranking_runs<Key>> found;
        found.reserve(shards_.size());
        for (const auto& s : shards_) {
            const std::uint64_t capacity = capacity_of_query(s->rows_allowed(request.allowed), request.k);
            found.emplace_back(host_, request.queries.rows, std::min(request.k, capacity), capacity);
        }
        on_threads_of_their_own(shards_.size(), [&](std::size_t s) { shards_[s]->rank(request, found[s]); });
        return found;
    }

    // ---- Rankings with rounded sums ----
    //
    // A few more than k are ranked by keys of 32 bits, whose error is bounded, and measured again in double. If these would
    // be too many or their order is not proved, all are ranked by keys of doubles. true_order.hpp orders close rows.

    void search_by_value(const View& queries, const search_plan& plan, const vector_set::sink& each) {
        if (plan.k == 0 || (plan.radius && !value_of_radius(options_.metric, *plan.radius)))
            return give_nothing(queries.rows, each);
        if constexpr (!std::is_same_v<View, vectors_view>) {
            for (std::uint64_t i = 0; i < vectors_.rows; ++i)
                stats_.max_entries =
                    std::max(stats_.max_entries, vectors_.offsets[i + 1] - vectors_.offsets[i]);
        }
        const std::uint64_t extra = 8 + plan.k / 32;  // some of which may precede the k-th
        rank_by_value(queries, plan, plan.k < all_vectors - extra ? plan.k + extra : plan.k, each, true);
    }

    /// Whether rankings of the first `ranked` by keys of 32 bits can be proved and pay.
    bool keys_serve(const search_plan& plan, std::uint64_t ranked) const {
        const auto is_short_query = [&](double square) { return is_short(square); };
        const vector_type type = type_of(vectors_);
        const bool bounded =
            options_.metric != vector_metric::cosine || !is_float(type) || type == vector_type::f16 ||
            (std::none_of(plan.squares.begin(), plan.squares.end(), is_short_query) && !seen().short_ones);
        return type != vector_type::f64 && bounded && keys_are_bounded(vectors_.dimensions) &&
               ranked < merged_by_all_from && ranked <= plan.allowed_rows / 32;
    }

    void rank_by_value(const View& queries, const search_plan& plan, std::uint64_t ranked,
                       const vector_set::sink& each, bool reports) {
        ranked = std::min(ranked, plan.allowed_rows);
        if (keys_serve(plan, ranked))
            rank_by_value_in<std::uint32_t>(queries, plan, ranked, each, reports);
        else
            rank_by_value_in<std::uint64_t>(queries, plan, ranked, each, reports);
    }

    template <class Key>
    void rank_by_value_in(const View& queries, const search_plan& plan, std::uint64_t ranked,
                          const vector_set::sink& each, bool reports) {
        constexpr bool values = sizeof(Key) == 8;
        if (values && ranked == plan.allowed_rows) learn_grain();
        const std::uint64_t at_once = queries_at_once<Key>(plan, ranked, queries.rows);
        for (std::uint64_t first = 0; first < queries.rows; first += at_once) {
            host_.ctx().check_stop();
            const std::uint64_t count = std::min(at_once, queries.rows - first);
            const View requested = rows_of(queries, first, count);
            const seen_rows before = seen();
            const true_order<View> order(host_, vectors_, requested, options_.metric,
                                         stats_for(requested, before), source_.get());
            std::optional<Key> limit;
            if (plan.radius) limit = key_of_radius<Key>(order, count, *plan.radius);
            shard_request<Key, View> request = request_for<Key>(queries, plan, first, count, ranked, limit);
            request.values = values;
            if (values) request.key_bits = options_.metric == vector_metric::ip ? 64 : 63;
            {
                const std::vector<ranking_runs<Key>> found = rank_on_shards(request);
                if (seen() != before) {  // rows were new: the bounds may have been too narrow
                    const search_plan rest = plan_from(plan, first);
                    return rank_by_value(rows_of(queries, first, queries.rows - first), rest, ranked,
                                         shifted(each, first), reports);
                }
                give_by_value<Key>(request, plan, order, found, shifted(each, first));
            }
            if (reports) host_.ctx().report({"ranking", first + count, queries.rows, "queries"});
        }
    }

    /// The input of the metric's bounds.
    struct seen_rows {
        double greatest = 0;
        bool short_ones = false;
        bool operator==(const seen_rows&) const = default;
    };
    seen_rows seen() const {
        seen_rows all;
        for (const auto& s : shards_) {
            if (options_.metric == vector_metric::ip) all.greatest = std::max(all.greatest, s->greatest());
            all.short_ones = all.short_ones || s->has_short_rows();
        }
        return all;
    }

    static search_plan plan_from(search_plan plan, std::uint64_t first) {
        if (!plan.squares.empty()) plan.squares = plan.squares.subspan(first);
        return plan;
    }
    static vector_set::sink shifted(const vector_set::sink& each, std::uint64_t by) {
        return [&each, by](std::uint64_t q, std::span<const std::uint32_t> ids,
                           std::span<const double> distances) { each(q + by, ids, distances); };
    }

    /// One pass over the set, once; only a brief check if components are fine-grained.
    void learn_grain() {
        if (options_.metric == vector_metric::cosine || grain_of_set_) return;
        if (shared_grain_ == nullptr) {
            grain_of_set_ = grain_of_rows_of_set(host_);
            return;
        }
        const std::lock_guard lock(shared_grain_->mutex);
        if (!shared_grain_->known) shared_grain_->known = grain_of_rows_of_set(shared_grain_->host);
        grain_of_set_ = shared_grain_->known;
    }
    component_grain grain_of_rows_of_set(cpu_place& host) {
        const int bits = useful_grain_bits(options_.metric, vectors_.dimensions);
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (source_) {
                component_grain whole;
                for_each_range(*source_, vectors_.rows, [&](const vectors_view& some, std::uint64_t first) {
                    const component_grain part = grain_of(host, some, bits);
                    whole = first == 0 ? part : joined(whole, part);
                    whole.known = whole.known && whole.max - whole.least <= bits;
                    return whole.known;
                });
                return whole;
            }
        }
        return grain_of(host, vectors_, bits);
    }
    /// The input of the bounds for these queries.
    index_stats stats_for(const View& queries, const seen_rows& rows) {
        index_stats stats = stats_;
        stats.greatest = rows.greatest;
        if (!grain_of_set_ || !grain_of_set_->known) return stats;
        const int bits = useful_grain_bits(options_.metric, vectors_.dimensions);
        stats.grain = joined(*grain_of_set_, grain_of(host_, queries, bits));
        return stats;
    }

    template <class Key>
    Key key_of_radius(const true_order<View>& order, std::uint64_t queries, double radius) const {
        const double value = *value_of_radius(options_.metric, radius);
        double greatest = value;
        for (std::uint64_t q = 0; q < queries; ++q)
            greatest = std::max(greatest, order.template bound_of<Key>(q).upper(value));
        return key_within<Key>(options_.metric, greatest);
    }

    /// A ranking on its way to the caller.
    struct ranked_again {
        std::vector<std::uint32_t> ids;
        std::vector<double> distances;
    };

    template <class Key>
    void give_by_value(const shard_request<Key, View>& request, const search_plan& plan,
                       const true_order<View>& order, const std::vector<ranking_runs<Key>>& found,
                       const vector_set::sink& each) {
        settled_rankings<View, Key> settled(host_, order, options_.metric, source_.get(),
                                            {request.k, plan.k, request.k == plan.allowed_rows, plan.radius},
                                            found);
        for (std::uint64_t from = 0; from < settled.queries(); from += settled.at_once()) {
            const std::uint64_t now = std::min(settled.at_once(), settled.queries() - from);
            const std::vector<std::uint64_t> sizes = settled.settle(from, now);
            if (order.was_close() && !grain_of_set_) learn_grain();
            const std::vector<ranked_again> again = rank_again(request, plan, from, sizes);
            for (std::uint64_t q = 0, next = 0; q < now; ++q) {
                if (sizes[q] == not_proved) {
                    each(from + q, again[next].ids, again[next].distances);
                    ++next;
                } else {
                    const auto whole = settled.first_of(q, sizes[q]);
                    each(from + q, whole.rows, whole.reported);
                }
            }
        }
    }

    /// Repeats queries whose order was not proved with longer rankings.
    template <class Key>
    std::vector<ranked_again> rank_again(const shard_request<Key, View>& request, const search_plan& plan,
                                         std::uint64_t from, std::span<const std::uint64_t> sizes) {
        std::vector<std::uint64_t> which;
        for (std::uint64_t q = 0; q < sizes.size(); ++q)
            if (sizes[q] == not_proved) which.push_back(from + q);
        std::vector<ranked_again> found(which.size());
        if (which.empty()) return found;
        if (!grain_of_set_) learn_grain();
        const gathered_views<View> some(request.queries, which);
        std::vector<double> squares;
        for (const std::uint64_t q : which)
            if (!request.squares.empty()) squares.push_back(request.squares[q]);
        search_plan mine = plan;
        mine.squares = squares;
        rank_by_value(
            some.view(), mine, 8 * request.k,
            [&](std::uint64_t i, std::span<const std::uint32_t> ids, std::span<const double> distances) {
                found[i] = {{ids.begin(), ids.end()}, {distances.begin(), distances.end()}};
            },
            false);
        return found;
    }

    static void give_nothing(std::uint64_t queries, const vector_set::sink& each) {
        for (std::uint64_t q = 0; q < queries; ++q) each(q, {}, {});
    }

    // ---- Batches ----

    /// Pairs in a shard's part of a ranking: one sorted run, or several, which are merged when memory runs out.
    static std::uint64_t capacity_of_query(std::uint64_t allowed, std::uint64_t k) {
        return std::min(allowed, 4 * k);
    }

    /// As many queries as half of the free memory holds rankings of. More than a gibibyte of these justifies its pages only
    /// if every pass reads the set again.
    template <class Key>
    std::uint64_t queries_at_once(const search_plan& plan, std::uint64_t k, std::uint64_t queries) {
        constexpr std::uint64_t max = 4096, pair = sizeof(Key) + sizeof(std::uint32_t);
        std::uint64_t places = 0;
        bool streams = false;
        for (const auto& s : shards_) {
            places += capacity_of_query(s->rows_allowed(plan.allowed), k);
            streams = streams || s->streams();
        }
        const std::uint64_t in_double = has_values(type_of(vectors_), options_.metric) ? 8 : 0;
        const std::uint64_t bytes = places * pair + vectors_.dimensions * in_double + 64;
        std::uint64_t free = host_.memory().left() / 2;
        if (!streams) free = std::min(free, 1024 * mebibyte);
        return std::clamp<std::uint64_t>(free / bytes, 1, std::min(max, std::max<std::uint64_t>(queries, 1)));
    }

    Place& place_;
    cpu_place& host_;
    std::vector<std::unique_ptr<Place>> more_places_;
    View vectors_;
    vector_set_options options_;
    std::unique_ptr<row_source> source_;  ///< of all rows, if the host cannot read them
    std::vector<std::unique_ptr<shard<Place, View>>> shards_;
    index_stats stats_;
    std::optional<component_grain> grain_of_set_;
    shared_grain* shared_grain_;
    double prepare_seconds_ = 0;
    retrieval_record record_;
};

}  // namespace quern::nearest_detail
