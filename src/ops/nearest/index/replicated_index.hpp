// SPDX-License-Identifier: Apache-2.0
// A set of vectors on several places that each hold all of it: they share the queries, so that no rankings are merged. A
// set that does not fit each place is split by rows instead (sharded_index.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "device/joined_units.hpp"
#include "device/place_set.hpp"
#include "ops/nearest/index/sharded_index.hpp"

namespace quern::nearest_detail {

template <class View>
class replicated_index {
  public:
    /// Null: a place cannot hold all rows. Checks and throws as sharded_index.
    static std::unique_ptr<replicated_index> make(const View& vectors, const vector_set_options& options,
                                                  const context& ctx, const chosen_device& chosen) {
        std::unique_ptr<replicated_index> index(new replicated_index(vectors, options, ctx, chosen));
        if (!index->fits()) return nullptr;
        index->prepare();
        return index;
    }

    void search(const View& queries, const retrieval_options& options, const vector_set::sink& each) {
        check_search(vectors_, queries, options);
        search_checked(queries, options, each);
    }
    rankings search(const View& queries, const retrieval_options& options) {
        check_search(vectors_, queries, options);
        return all_rankings(*this, host_, vectors_.rows, queries, options);
    }

    /// search(), after check_search().
    void search_checked(const View& queries, const retrieval_options& options, const vector_set::sink& each) {
        stopwatch clock;
        check_queries(queries);
        record_ = {.place = places_.where(), .prepare_seconds = std::exchange(prepare_seconds_, 0)};
        search_in_units(queries, options, each);
        record_.search_seconds = clock.seconds();
    }

    const retrieval_record& record() const { return record_; }

  private:
    template <class... Places>
    using variant_of = std::variant<std::monostate, sharded_index<Places, View>...>;
    using one_of = every_place<variant_of>;

    struct part_of_search {
        rankings found;
        retrieval_record record;
    };

    replicated_index(const View& vectors, const vector_set_options& options, const context& ctx,
                     const chosen_device& chosen)
        : vectors_(vectors),
          options_(options),
          host_(ctx),
          places_(without_progress(ctx), chosen),
          indexes_(places_.size()) {}

    /// The progress of a part says nothing about the whole.
    static context without_progress(context ctx) {
        ctx.on_progress = nullptr;
        return ctx;
    }

    bool fits() {
        const bool squares = options_.metric == vector_metric::cosine;
        bool all = true;
        for (std::size_t i = 0; i < places_.size(); ++i)
            places_[i].visit([&](auto& place) {
                all = all && layout_of(place, vectors_, squares).resident_rows == vectors_.rows;
            });
        return all;
    }

    void prepare() {
        stopwatch clock;
        places_.on_each([&]<class Place>(Place& place, cpu_place& host, std::size_t index) {
            indexes_[index].template emplace<sharded_index<Place, View>>(
                place, host, vectors_, options_, index_layout{places_.where(), {}, {}, &grain_});
        });
        prepare_seconds_ = clock.seconds();
    }

    /// All queries, before the first result.
    void check_queries(const View& queries) {
        const auto squares = make_array<double>(
            host_, options_.metric == vector_metric::cosine ? queries.rows : 0, "the lengths of queries");
        checked_stats(host_, queries, options_.metric, squares.span());
    }

    /// Queries of a unit: several units for each place, so that a faster one does more of them, but enough queries for a
    /// place to be busy.
    std::uint64_t queries_of_unit(std::uint64_t queries) const {
        constexpr std::uint64_t enough = 64, max = quantized_at_once;
        const std::uint64_t places = places_.size();
        const auto share_of = [&](std::uint64_t parts) { return (queries + parts - 1) / parts; };
        return std::clamp<std::uint64_t>(share_of(4 * places), std::min(enough, share_of(places)), max);
    }

    void search_in_units(const View& queries, const retrieval_options& options,
                         const vector_set::sink& each) {
        const std::uint64_t k = std::min(options.k, count_allowed(options.allowed, 0, vectors_.rows));
        // Rankings that are computed or wait take at most an eighth of the memory.
        const std::size_t ahead = 2 * places_.size();
        const std::uint64_t bytes = k * (sizeof(std::uint32_t) + sizeof(double)),
                            space = host_.ctx().memory_limit() / 8 / ahead;
        std::uint64_t of_unit = queries_of_unit(std::max<std::uint64_t>(queries.rows, 1));
        if (bytes != 0) of_unit = std::min(of_unit, space / bytes);
        if (of_unit == 0 || of_unit >= queries.rows) return search_on_first(queries, options, each);
        const std::size_t units = (queries.rows + of_unit - 1) / of_unit;
        std::uint64_t given = 0;
        join_units<part_of_search>(
            places_, units,
            [&]<class Place>(Place&, cpu_place&, std::size_t index) {
                return [&, &mine = std::get<sharded_index<Place, View>>(indexes_[index])](std::size_t unit) {
                    const std::uint64_t first = unit * of_unit;
                    part_of_search part;
                    part.found = mine.search_checked(
                        rows_of(queries, first, std::min(of_unit, queries.rows - first)), options);
                    part.record = mine.record();
                    return part;
                };
            },
            [&](const part_of_search& part) {
                add(part.record);
                for (std::size_t q = 0; q + 1 < part.found.offsets.size(); ++q) {
                    const std::uint64_t begin = part.found.offsets[q],
                                        size = part.found.offsets[q + 1] - begin;
                    each(given++, std::span(part.found.ids).subspan(begin, size),
                         std::span(part.found.distances).subspan(begin, size));
                }
                host_.ctx().report({"ranking", given, queries.rows, "queries"});
            },
            ahead);
    }

    /// One query, or rankings that are too long to wait: they go to the caller at once.
    void search_on_first(const View& queries, const retrieval_options& options,
                         const vector_set::sink& each) {
        places_[0].run([&]<class Place>(Place&, cpu_place&) {
            auto& first = std::get<sharded_index<Place, View>>(indexes_[0]);
            first.search_checked(queries, options, each);
            add(first.record());
        });
    }

    void add(const retrieval_record& part) {
        record_.distances += part.distances;
        record_.filtered += part.filtered;
        record_.tiles = std::max(record_.tiles, part.tiles);  // each part is over the whole set
        record_.tile_bytes += part.tile_bytes;
    }

    View vectors_;
    vector_set_options options_;
    cpu_place host_;
    shared_grain grain_{host_};
    place_set places_;
    std::vector<one_of> indexes_;  ///< one on each place
    double prepare_seconds_ = 0;
    retrieval_record record_;
};

}  // namespace quern::nearest_detail
