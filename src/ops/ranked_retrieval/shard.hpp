// SPDX-License-Identifier: Apache-2.0
// A stretch of a set's rows on one place, and its part of every ranking.
//
// As many rows as the place's memory holds stay there (CPU: all, unless there are more bytes than the run may use, which
// then are mapped from a file); the others come in tiles, in every pass anew, the next one while this one is ranked.
// Rows that stay are checked once, at the beginning; the others in the first pass, which they need for that anyway.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/ranked_retrieval/rank_keys.hpp"
#include "ops/ranked_retrieval/rank_tile.hpp"
#include "ops/ranked_retrieval/ranking_runs.hpp"
#include "ops/ranked_retrieval/set_checks.hpp"
#include "ops/ranked_retrieval/shard_plan.hpp"
#include "ops/ranked_retrieval/sketch.hpp"
#include "ops/ranked_retrieval/threads_of_their_own.hpp"
#include "ops/ranked_retrieval/tile_memory.hpp"

namespace quern::ranked_retrieval_detail {

/// A batch of queries, as every shard is asked.
template <class Key, class View>
struct shard_request {
    View queries;
    std::span<const double> squares;         ///< of the queries, for cosine
    std::uint64_t k = 0;                     ///< at most as many as are allowed in the set
    std::optional<Key> limit;                ///< no key beyond it is wanted
    std::span<const std::uint64_t> allowed;  ///< of the whole set; empty: all. No bit beyond the last row
    unsigned key_bits = 64;
    std::uint64_t queries_to_come = 0;  ///< in this search, from this batch on
};

struct shard_counts {
    std::uint64_t distances = 0, filtered = 0, tiles = 0, tile_bytes = 0;
    shard_counts& operator+=(const shard_counts& other) {
        distances += other.distances;
        filtered += other.filtered;
        tiles += other.tiles;
        tile_bytes += other.tile_bytes;
        return *this;
    }
};

/// How many of the rows [first, first + rows) are allowed.
inline std::uint64_t count_allowed(std::span<const std::uint64_t> allowed, std::uint64_t first,
                                   std::uint64_t rows) {
    if (allowed.empty()) return rows;
    std::uint64_t count = 0;
    for (const std::uint64_t word : allowed.subspan(first / 64, (rows + 63) / 64))
        count += static_cast<unsigned>(std::popcount(word));
    return count;
}

/// Another place of the same device, whose transfers run beside the first one's work. The CPU needs none.
inline std::unique_ptr<cpu_place> place_beside(cpu_place& /*unused*/) {
    return nullptr;
}
inline std::unique_ptr<cuda_place> place_beside(cuda_place& place) {
    return std::make_unique<cuda_place>(place.run(), place.ordinal());
}

template <class Place, class View>
class shard {
  public:
    /// Rows [first_row, first_row + rows.rows) of the set; first_row is a multiple of row_group.
    shard(Place& place, cpu_place& host, const View& rows, std::uint64_t first_row,
          const vector_set_options& options)
        : place_(place),
          host_(host),
          rows_(rows),
          first_row_(first_row),
          options_(options),
          squares_(options.metric == vector_metric::cosine),
          layout_(layout_of(place, rows, squares_)) {}

    /// Puts the rows that stay where they belong, and checks them.
    void prepare() {
        if (layout_.resident_rows == 0) return;
        const View view = rows_of(rows_, 0, layout_.resident_rows);
        const std::uint64_t bytes = tile_bytes(rows_, 0, layout_.resident_rows);
        resident_ = tile_memory<Place, View>(place_, view.rows, bytes, squares_);
        resident_.load(host_, place_, view);
        if constexpr (tile_memory<Place, View>::copies) counts_.tile_bytes += bytes;
        check(resident_, view, 0);
    }

    std::uint64_t first_row() const { return first_row_; }
    std::uint64_t rows() const { return rows_.rows; }
    std::uint64_t rows_allowed(std::span<const std::uint64_t> allowed) const {
        return count_allowed(allowed, first_row_, rows_.rows);
    }
    bool streams() const { return layout_.resident_rows < rows_.rows; }
    /// Of the integers in its rows; of the type's, before all of them have been seen.
    integer_range range() const { return unseen_ == 0 ? range_ : range_of(type_of(rows_)); }
    /// What was done since this was last asked.
    shard_counts take_counts() { return std::exchange(counts_, {}); }

    /// The first k of its rows for every query, as sorted runs.
    template <class Key>
    void rank(const shard_request<Key, View>& request, ranking_runs<Key>& into) {
        tile_memory<Place, View> queries(place_, request.queries.rows,
                                         tile_bytes(request.queries, 0, request.queries.rows), squares_);
        queries.load(host_, place_, request.queries);
        if (squares_)
            copy_in<double>(place_, request.squares, queries.squares().first(request.squares.size()));
        if (layout_.resident_rows != 0) {
            const part all{resident_.tile(), rows_of(rows_, 0, layout_.resident_rows), 0};
            make_sketch(request);
            rank_part(all, sketch_ ? &*sketch_ : nullptr, request, queries.tile(), into);
            ++counts_.tiles;
        }
        if (streams()) rank_streamed(request, queries.tile(), into);
        passes_ += passes_of<Place>(request.queries.rows);
    }

  private:
    using tile_type = tile_on<Place, View>;
    struct no_sketch {};
    using sketch_type = std::conditional_t<std::is_same_v<View, vectors_view>, row_sketch<Place>, no_sketch>;

    /// Rows that can be ranked now.
    struct part {
        const tile_type& tile;
        View view;
        std::uint64_t first;  ///< its first row in the shard
    };

    // ---- Checking ----

    void check(const tile_memory<Place, View>& memory, const View& view, std::uint64_t first) {
        const row_facts facts =
            facts_of(place_, memory.tile(), memory.squares().first(memory.tile().squares.size()));
        if (has_fault(facts, type_of(view), options_.metric, view.dimensions))
            throw_first_fault(view, options_.metric, first_row_ + first, "row");
        if (first + view.rows <= rows_.rows - unseen_) return;  // not for the first time
        range_ = unseen_ == rows_.rows ? facts.range : joined(range_, facts.range);
        unseen_ = rows_.rows - (first + view.rows);
    }

    // ---- Rows that come in tiles ----

    struct row_range {
        std::uint64_t begin, end;
        std::uint64_t size() const { return end - begin; }
    };

    /// Those with rows that are allowed, and those that were not checked yet.
    std::vector<row_range> tiles_to_rank(std::span<const std::uint64_t> allowed) const {
        const std::vector<std::uint64_t> cuts = cuts_of_tiles(rows_, layout_);
        std::vector<row_range> tiles;
        for (std::size_t t = 0; t + 1 < cuts.size(); ++t) {
            const row_range tile{cuts[t], cuts[t + 1]};
            if (tile.end > rows_.rows - unseen_ ||
                count_allowed(allowed, first_row_ + tile.begin, tile.size()) != 0)
                tiles.push_back(tile);
        }
        return tiles;
    }

    template <class Key>
    void rank_streamed(const shard_request<Key, View>& request, const tile_type& queries,
                       ranking_runs<Key>& into) {
        const std::vector<row_range> tiles = tiles_to_rank(request.allowed);
        if (tiles.empty()) return;
        std::uint64_t most_rows = 0, most_bytes = 0;
        for (const row_range& tile : tiles) {
            most_rows = std::max(most_rows, tile.size());
            most_bytes = std::max(most_bytes, tile_bytes(rows_, tile.begin, tile.end));
        }
        if (!loader_) loader_ = place_beside(place_);
        Place& loader = loader_ ? *loader_ : place_;
        tile_memory<Place, View> memories[2];
        for (auto& memory : memories)
            memory = tile_memory<Place, View>(place_, most_rows, most_bytes, squares_);
        place_.synchronise();  // the memory is theirs from now on, on every stream
        const auto view_of = [&](std::size_t t) { return rows_of(rows_, tiles[t].begin, tiles[t].size()); };
        const auto load = [&](std::size_t t) {
            try {
                if constexpr (!tile_memory<Place, View>::copies) touch(view_of(t));
                memories[t % 2].load(host_, loader, view_of(t));
                loader.synchronise();
            } catch (...) {
                loader.synchronise();  // before the memory goes
                throw;
            }
        };
        load(0);
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            alongside next;
            if (t + 1 < tiles.size()) next.start([&load, t] { load(t + 1); });
            rank_tile_of_stream(memories[t % 2], view_of(t), tiles[t].begin, request, queries, into);
            place_.synchronise();  // the next but one may be loaded over it
            next.wait();
        }
    }

    template <class Key>
    void rank_tile_of_stream(const tile_memory<Place, View>& memory, const View& view, std::uint64_t first,
                             const shard_request<Key, View>& request, const tile_type& queries,
                             ranking_runs<Key>& into) {
        place_.run().check_stop();
        if (squares_ || first + view.rows > rows_.rows - unseen_) check(memory, view, first);
        const part now{memory.tile(), view, first};
        const bool sketched = sketch_pays(now, request, passes_of<Place>(request.queries.rows));
        std::optional<sketch_type> sketch;
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (sketched) sketch.emplace(place_, now.tile, options_.metric);
        }
        rank_part(now, sketch ? &*sketch : nullptr, request, queries, into);
        ++counts_.tiles;
        if constexpr (tile_memory<Place, View>::copies)
            counts_.tile_bytes += tile_bytes(rows_, first, first + view.rows);
    }

    // ---- The filter ----

    /// Whether these rows should have a sketch, where exact distances have cost so many passes or would.
    template <class Key>
    bool sketch_pays(const part& rows, const shard_request<Key, View>& request, std::uint64_t passes) const {
        if constexpr (!std::is_same_v<View, vectors_view>) {
            return false;
        } else {
            return options_.method == retrieval_method::automatic &&
                   can_sketch(rows.view.type, options_.metric, rows.view.dimensions) &&
                   sketch_is_worth_coding(passes) && filters(rows.view.rows, request) &&
                   sketch_bytes(rows.view) <= place_.memory().left() / 2;
        }
    }
    template <class Key>
    bool filters(std::uint64_t rows, const shard_request<Key, View>& request) const {
        return request.k < unfiltered_from_ &&
               sketch_is_faster<Place>(request.queries.rows, rows, request.k, type_of(rows_));
    }
    template <class Key>
    void make_sketch(const shard_request<Key, View>& request) {
        if constexpr (std::is_same_v<View, vectors_view>) {
            const part all{resident_.tile(), rows_of(rows_, 0, layout_.resident_rows), 0};
            if (!sketch_ && sketch_pays(all, request, passes_ + passes_of<Place>(request.queries_to_come)))
                sketch_.emplace(place_, all.tile, options_.metric);
        }
    }

    // ---- Ranking ----

    std::span<const std::uint64_t> allowed_in(const part& rows,
                                              std::span<const std::uint64_t> allowed) const {
        if (allowed.empty()) return {};
        return allowed.subspan((first_row_ + rows.first) / 64, (rows.view.rows + 63) / 64);
    }

    template <class Key>
    void rank_part(const part& rows, const sketch_type* sketch, const shard_request<Key, View>& request,
                   const tile_type& queries, ranking_runs<Key>& into) {
        const auto allowed = allowed_in(rows, request.allowed);
        const std::uint64_t count = count_allowed(allowed, 0, rows.view.rows);
        if (count == 0) return;
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (sketch != nullptr && filters(count, request))
                return rank_sketched(rows, *sketch, count, request, queries, into);
        }
        const bool within = request.limit && request.k >= count / 8;
        const bool everything =
            within || request.k >= count / 8 || options_.method == retrieval_method::reduction;
        const piece_plan plan = plan_pieces<Place>(place_.memory().left(), rows.view.rows, queries.rows,
                                                   request.k, everything, sizeof(Key), within);
        for (std::uint64_t first = 0; first < rows.view.rows; first += plan.rows) {
            place_.run().check_stop();
            rank_piece(rows, first, std::min(plan.rows, rows.view.rows - first), plan.queries, within,
                       request, queries, into);
        }
    }

    template <class Key>
    void rank_piece(const part& rows, std::uint64_t first, std::uint64_t count, std::uint64_t at_once,
                    bool within, const shard_request<Key, View>& request, const tile_type& queries,
                    ranking_runs<Key>& into) {
        const auto allowed = allowed_in(rows, request.allowed);
        const auto mine = allowed.empty() ? allowed : allowed.subspan(first / 64, (count + 63) / 64);
        const std::uint64_t n = count_allowed(mine, 0, count);
        if (n == 0) return;
        const tile_type tile = rows_of(rows.tile, rows.view, first, count);
        const auto listed = n == count ? array_on<Place, std::uint32_t>() : list_of(mine, n);
        const span_on<Place, const std::uint32_t> list = listed.span();
        const std::uint64_t length = std::min(request.k, n);
        const ranking_method how{options_.metric, options_.method, request.key_bits};
        const auto first_id = static_cast<std::uint32_t>(first_row_ + rows.first + first);
        for (std::uint64_t q = 0; q < queries.rows; q += at_once) {
            const std::uint64_t now = std::min<std::uint64_t>(at_once, queries.rows - q);
            const tile_type asked = rows_of(queries, request.queries, q, now);
            std::uint64_t found = length;
            const auto rank = [&](span_on<Place, Key> keys, span_on<Place, std::uint32_t> ids) {
                if (within)
                    found =
                        rank_within<Key, Place>(place_, tile, asked, how, list, *request.limit, keys, ids);
                else
                    rank_tile<Key, Place>(place_, tile, asked, how, list, keys, ids);
                return std::span<const std::uint64_t>(&found, within ? 1 : 0);
            };
            collect<Key>(q, now, length, first_id, rank, into);
            counts_.distances += now * n;
        }
    }

    template <class Key>
    void rank_sketched(const part& rows, const sketch_type& sketch, std::uint64_t count,
                       const shard_request<Key, View>& request, const tile_type& queries,
                       ranking_runs<Key>& into) {
        const auto words = allowed_in(rows, request.allowed);
        const auto allowed = allowed_on(words);
        const std::uint64_t length = std::min(request.k, count);
        sketch_counts all;
        for (std::uint64_t q = 0; q < queries.rows; q += sketched_at_once) {
            place_.run().check_stop();
            const std::uint64_t now = std::min<std::uint64_t>(sketched_at_once, queries.rows - q);
            const tile_type asked = rows_of(queries, request.queries, q, now);
            const auto rank = [&](span_on<Place, Key> keys, span_on<Place, std::uint32_t> ids) {
                const sketch_counts did =
                    sketched_top_k<Key>(place_, rows.tile, sketch, asked, options_.metric,
                                        static_cast<std::uint32_t>(length), allowed.span(), keys, ids);
                all.filtered += did.filtered;
                all.confirmed += did.confirmed;
                return std::span<const std::uint64_t>();
            };
            collect<Key>(q, now, length, static_cast<std::uint32_t>(first_row_ + rows.first), rank, into);
        }
        counts_.filtered += all.filtered;
        counts_.distances += all.confirmed;
        // What is not excluded costs twice.
        if (all.confirmed > queries.rows * count / 4)
            unfiltered_from_ = std::min(unfiltered_from_, request.k);
    }

    /// rank(keys, ids) writes `length` pairs for each of `queries` queries into the place's memory and returns how many
    /// of them count (nothing: all). They end up in `into`, without a copy where that is possible.
    template <class Key, class Rank>
    void collect(std::uint64_t first_query, std::uint64_t queries, std::uint64_t length,
                 std::uint32_t first_id, const Rank& rank, ranking_runs<Key>& into) {
        cpu_array<Key> host_keys;
        cpu_array<std::uint32_t> host_ids;
        auto block = into.whole(first_query, queries, length);
        if (!block) {
            host_keys = make_array<Key>(host_, queries * length, "rankings of a tile");
            host_ids = make_array<std::uint32_t>(host_, queries * length, "rankings of a tile");
            block.emplace(host_keys.span(), host_ids.span());
        }
        std::span<const std::uint64_t> lengths;
        if constexpr (std::is_same_v<Place, cpu_place>) {
            lengths = rank(block->keys, block->ids);
        } else {
            const auto keys = make_array<Key>(place_, queries * length, "rankings of a tile");
            const auto ids = make_array<std::uint32_t>(place_, queries * length, "rankings of a tile");
            lengths = rank(keys.span(), ids.span());
            const std::uint64_t size = lengths.empty() ? keys.size() : lengths[0];
            copy_out<Key>(place_, keys.span().first(size), block->keys.first(size));
            copy_out<std::uint32_t>(place_, ids.span().first(size), block->ids.first(size));
        }
        into.add(first_query, queries, *block, length, lengths, first_id);
    }

    /// The rows whose bit is set, `count` of them, on the place.
    array_on<Place, std::uint32_t> list_of(std::span<const std::uint64_t> words, std::uint64_t count) {
        const auto rows = make_array<std::uint32_t>(host_, count, "the rows that are allowed");
        std::uint32_t* next = rows.data();
        for (std::size_t w = 0; w < words.size(); ++w)
            for (std::uint64_t bits = words[w]; bits != 0; bits &= bits - 1)
                *next++ = static_cast<std::uint32_t>(64 * w + static_cast<unsigned>(std::countr_zero(bits)));
        return array_from(place_, std::span<const std::uint32_t>(rows.span()), "the rows that are allowed");
    }
    auto allowed_on(std::span<const std::uint64_t> words) {
        return array_from(place_, words, "the bitmap of allowed vectors");
    }

    Place& place_;
    cpu_place& host_;
    View rows_;
    std::uint64_t first_row_;
    vector_set_options options_;
    bool squares_;
    shard_layout layout_;
    std::unique_ptr<Place> loader_;
    tile_memory<Place, View> resident_;
    std::optional<sketch_type> sketch_;
    std::uint64_t unfiltered_from_ = all_vectors;  ///< the least k that the filter let too much through for
    integer_range range_;
    std::uint64_t unseen_ = rows_.rows;  ///< rows at the end that have not been checked
    std::uint64_t passes_ = 0;           ///< over all rows, so far
    shard_counts counts_;
};

}  // namespace quern::ranked_retrieval_detail
