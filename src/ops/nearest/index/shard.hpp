// SPDX-License-Identifier: Apache-2.0
// A range of a set's rows on one place, and its part of every ranking.
//
// As many rows as fit the place's memory stay there (CPU: all; if there are more bytes than the context may use, they are
// mapped from a file). The others arrive in tiles, again in every pass, the next one while this one is ranked. Resident
// rows are checked once, at the beginning; the others in the first pass.
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

#include "device/own_threads.hpp"
#include "ops/nearest/distance/rank_keys.hpp"
#include "ops/nearest/index/row_source.hpp"
#include "ops/nearest/index/shard_plan.hpp"
#include "ops/nearest/index/tile_memory.hpp"
#include "ops/nearest/index/vector_views.hpp"
#include "ops/nearest/quantized/quantized.hpp"
#include "ops/nearest/ranking/rank_tile.hpp"
#include "ops/nearest/ranking/ranking_runs.hpp"
#include "quern/base/error.hpp"

namespace quern::nearest_detail {

/// A batch of queries, the same for every shard.
template <class Key, class View>
struct shard_request {
    View queries;
    std::span<const double> squares;         ///< of the queries, for cosine
    std::uint64_t k = 0;                     ///< at most the number of allowed rows in the set
    std::optional<Key> limit;                ///< keys beyond it are not wanted
    std::span<const std::uint64_t> allowed;  ///< of the whole set; empty: all. No bit past the last row
    unsigned key_bits = 64;
    bool values = false;                ///< keys are those of values (bounded_distance.hpp)
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

/// The number of allowed rows among [first, first + rows).
inline std::uint64_t count_allowed(std::span<const std::uint64_t> allowed, std::uint64_t first,
                                   std::uint64_t rows) {
    if (allowed.empty()) return rows;
    std::uint64_t count = 0;
    for (const std::uint64_t word : allowed.subspan(first / 64, (rows + 63) / 64))
        count += static_cast<unsigned>(std::popcount(word));
    return count;
}

/// A second place of the same device, whose transfers run in parallel to the first one's work. The CPU needs none.
inline std::unique_ptr<cpu_place> place_next_to(cpu_place& /*unused*/) {
    return nullptr;
}
inline std::unique_ptr<cuda_place> place_next_to(cuda_place& place) {
    return std::make_unique<cuda_place>(place.ctx(), place.ordinal());
}

/// Values of sparse rows are computed on the host.
template <class Place, class View, class Key>
inline constexpr bool ranks_on_host =
    !std::is_same_v<Place, cpu_place> && !std::is_same_v<View, vectors_view> && sizeof(Key) == 8;

template <class Place, class View>
class shard {
  public:
    /// Rows [first_row, first_row + rows.rows) of the set; first_row is a multiple of row_group. `source`: of all these
    /// rows, if they lie in the place's memory already and the host cannot read them; else null.
    shard(Place& place, cpu_place& host, const View& rows, std::uint64_t first_row,
          const vector_set_options& options, row_source* source = nullptr)
        : place_(place),
          host_(host),
          rows_(rows),
          first_row_(first_row),
          options_(options),
          source_(source),
          squares_(options.metric == vector_metric::cosine),
          layout_(source == nullptr ? layout_of(place, rows, squares_) : shard_layout{rows.rows, 0}) {}

    /// Loads the resident rows and checks them.
    void prepare() {
        if (layout_.resident_rows == 0) return;
        const View view = rows_of(rows_, 0, layout_.resident_rows);
        const std::uint64_t bytes =
            source_ == nullptr ? tile_bytes(rows_, 0, layout_.resident_rows) : std::uint64_t{0};
        resident_ = tile_memory<Place, View>(place_, view.rows, bytes, squares_);
        place_resident(view);
        if constexpr (tile_memory<Place, View>::copies) counts_.tile_bytes += bytes;
        check(resident_, view, 0);
    }

    std::uint64_t first_row() const { return first_row_; }
    std::uint64_t rows() const { return rows_.rows; }
    std::uint64_t rows_allowed(std::span<const std::uint64_t> allowed) const {
        return count_allowed(allowed, first_row_, rows_.rows);
    }
    bool streams() const { return layout_.resident_rows < rows_.rows; }
    /// For the integers in its rows; the type's range before all of them have been seen.
    integer_range range() const { return unseen_ == 0 ? range_ : range_of(type_of(rows_)); }
    /// The maximum |component| of floats in the rows checked so far.
    double greatest() const { return greatest_; }
    /// Whether a checked row is so short that its sum of squares has few valid digits (is_short); for cosine.
    bool has_short_rows() const { return short_rows_; }
    /// The work done since the last call.
    shard_counts take_counts() { return std::exchange(counts_, {}); }

    /// The first k of its rows for every query, as sorted runs.
    template <class Key>
    void rank(const shard_request<Key, View>& request, ranking_runs<Key>& into) {
        if constexpr (ranks_on_host<Place, View, Key>)
            rank_on_host(request, into);
        else
            rank_here(request, into);
    }

  private:
    void place_resident(const View& view) {
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (source_ != nullptr) return resident_.borrow(place_, view);
        }
        resident_.load(host_, place_, view);
    }

    template <class Key>
    void rank_here(const shard_request<Key, View>& request, ranking_runs<Key>& into) {
        tile_memory<Place, View> queries(place_, request.queries.rows,
                                         tile_bytes(request.queries, 0, request.queries.rows), squares_);
        queries.load(host_, place_, request.queries);
        if (squares_)
            copy_in<double>(place_, request.squares, queries.squares().first(request.squares.size()));
        if (layout_.resident_rows != 0) {
            const part all{resident_.tile(), rows_of(rows_, 0, layout_.resident_rows), 0};
            make_quantized(request);
            rank_part(all, quantized_ ? &*quantized_ : nullptr, request, queries.tile(), into);
            ++counts_.tiles;
        }
        if (streams()) rank_streamed(request, queries.tile(), into);
        passes_ += passes_of<Place>(request.queries.rows);
    }
    template <class Key>
    void rank_on_host(const shard_request<Key, View>& request, ranking_runs<Key>& into) {
        if (!on_host_) {
            on_host_ = std::make_unique<shard<cpu_place, View>>(host_, host_, rows_, first_row_, options_);
            on_host_->prepare();
        }
        on_host_->rank(request, into);
        counts_ += on_host_->take_counts();
    }

    using tile_type = tile_on<Place, View>;
    struct no_quantized {};
    using quantized_type =
        std::conditional_t<std::is_same_v<View, vectors_view>, quantized_rows<Place>, no_quantized>;

    /// Rows that can be ranked now.
    struct part {
        const tile_type& tile;
        View view;
        std::uint64_t first;  ///< its first row in the shard
    };

    // ---- Checking ----

    void check(const tile_memory<Place, View>& memory, const View& view, std::uint64_t first) {
        const row_stats stats =
            stats_of(place_, memory.tile(), memory.squares().first(memory.tile().squares.size()));
        if (has_fault(stats, type_of(view), options_.metric, view.dimensions)) throw_fault(view, first);
        if (first + view.rows <= rows_.rows - unseen_) return;  // not the first time
        greatest_ = std::max(greatest_, stats.greatest);
        short_rows_ = short_rows_ || holds_short_rows(memory, view);
        range_ = unseen_ == rows_.rows ? stats.range : joined(range_, stats.range);
        unseen_ = rows_.rows - (first + view.rows);
    }

    [[noreturn]] void throw_fault(const View& view, std::uint64_t first) {
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (source_ != nullptr) {
                for_each_range(*source_, view.rows, [&](const vectors_view& some, std::uint64_t from) {
                    check_rows(some, options_.metric, first_row_ + from, "row");
                    return true;
                });
                throw invalid_value("the vectors changed while they were checked", first_row_ + first);
            }
        }
        throw_first_fault(view, options_.metric, first_row_ + first, "row");
    }

    /// Whether one of these rows, shorter than a number, is not of zeros only.
    bool any_has_component(const View& view, std::span<const std::uint32_t> short_rows) {
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (source_ != nullptr) {
                row_memory memory;
                const vectors_view some = source_->rows(short_rows, memory);
                for (std::uint64_t i = 0; i < some.rows; ++i)
                    if (has_component(some, i)) return true;
                return false;
            }
        }
        return std::any_of(short_rows.begin(), short_rows.end(),
                           [&](std::uint32_t row) { return has_component(view, row); });
    }

    /// Reads nothing if all sums of squares are normal numbers or exact.
    bool holds_short_rows(const tile_memory<Place, View>& memory, const View& view) {
        const vector_type type = type_of(view);
        if (!squares_ || (type != vector_type::f32 && type != vector_type::bf16)) return false;
        constexpr std::uint64_t at_once = 1 << 16;
        std::vector<double> some(std::is_same_v<Place, cpu_place> ? 0 : std::min(at_once, view.rows));
        std::vector<std::uint32_t> short_rows;
        for (std::uint64_t begin = 0; begin < view.rows; begin += at_once) {
            const std::uint64_t count = std::min(at_once, view.rows - begin);
            const auto squares = memory.tile().squares.subspan(begin, count);
            std::span<const double> here;
            if constexpr (std::is_same_v<Place, cpu_place>) {
                here = squares;
            } else {
                copy_out<double>(place_, squares, std::span(some).first(count));
                here = some;
            }
            short_rows.clear();
            for (std::uint64_t i = 0; i < count; ++i)
                if (is_short(here[i])) short_rows.push_back(static_cast<std::uint32_t>(begin + i));
            if (!short_rows.empty() && any_has_component(view, short_rows)) return true;
        }
        return false;
    }

    // ---- Rows that arrive in tiles ----

    struct row_range {
        std::uint64_t begin, end;
        std::uint64_t size() const { return end - begin; }
    };

    /// The tiles with allowed rows, and those not yet checked.
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
        std::uint64_t max_rows = 0, max_bytes = 0;
        for (const row_range& tile : tiles) {
            max_rows = std::max(max_rows, tile.size());
            max_bytes = std::max(max_bytes, tile_bytes(rows_, tile.begin, tile.end));
        }
        if (!loader_) loader_ = place_next_to(place_);
        Place& loader = loader_ ? *loader_ : place_;
        tile_memory<Place, View> memories[2];
        for (auto& memory : memories)
            memory = tile_memory<Place, View>(place_, max_rows, max_bytes, squares_);
        place_.synchronise();  // the memory is theirs from now on, on every stream
        const auto view_of = [&](std::size_t t) { return rows_of(rows_, tiles[t].begin, tiles[t].size()); };
        const auto load = [&](std::size_t t) {
            try {
                if constexpr (!tile_memory<Place, View>::copies) touch(view_of(t));
                memories[t % 2].load(host_, loader, view_of(t));
                loader.synchronise();
            } catch (...) {
                loader.synchronise();  // before the memory is freed
                throw;
            }
        };
        load(0);
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            alongside next;
            if (t + 1 < tiles.size()) next.start([&load, t] { load(t + 1); });
            rank_tile_of_stream(memories[t % 2], view_of(t), tiles[t].begin, request, queries, into);
            place_.synchronise();  // the tile after the next may overwrite it
            next.wait();
        }
    }

    template <class Key>
    void rank_tile_of_stream(const tile_memory<Place, View>& memory, const View& view, std::uint64_t first,
                             const shard_request<Key, View>& request, const tile_type& queries,
                             ranking_runs<Key>& into) {
        place_.ctx().check_stop();
        if (squares_ || first + view.rows > rows_.rows - unseen_) check(memory, view, first);
        const part now{memory.tile(), view, first};
        const bool by_codes = quantizing_pays(now, request, passes_of<Place>(request.queries.rows));
        std::optional<quantized_type> quantized;
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (by_codes) quantized.emplace(place_, now.tile, options_.metric);
        }
        rank_part(now, quantized ? &*quantized : nullptr, request, queries, into);
        ++counts_.tiles;
        if constexpr (tile_memory<Place, View>::copies)
            counts_.tile_bytes += tile_bytes(rows_, first, first + view.rows);
    }

    // ---- The filter ----

    /// Whether these rows should have a quantized form, because exact distances have cost that many passes or would.
    template <class Key>
    bool quantizing_pays(const part& rows, const shard_request<Key, View>& request,
                         std::uint64_t passes) const {
        if constexpr (!std::is_same_v<View, vectors_view>) {
            return false;
        } else {
            return options_.method == retrieval_method::automatic &&
                   can_quantize(rows.view.type, options_.metric, rows.view.dimensions) &&
                   coding_pays(passes) && filters(rows.view.rows, request) &&
                   quantized_bytes(rows.view) <= place_.memory().left() / 2;
        }
    }
    template <class Key>
    bool filters(std::uint64_t rows, const shard_request<Key, View>& request) const {
        return !request.values && request.k < unfiltered_from_ &&
               quantized_is_faster<Place>(request.queries.rows, rows, request.k, type_of(rows_));
    }
    template <class Key>
    void make_quantized(const shard_request<Key, View>& request) {
        if constexpr (std::is_same_v<View, vectors_view>) {
            const part all{resident_.tile(), rows_of(rows_, 0, layout_.resident_rows), 0};
            if (!quantized_ &&
                quantizing_pays(all, request, passes_ + passes_of<Place>(request.queries_to_come)))
                quantized_.emplace(place_, all.tile, options_.metric);
        }
    }

    // ---- Ranking ----

    std::span<const std::uint64_t> allowed_in(const part& rows,
                                              std::span<const std::uint64_t> allowed) const {
        if (allowed.empty()) return {};
        return allowed.subspan((first_row_ + rows.first) / 64, (rows.view.rows + 63) / 64);
    }

    template <class Key>
    void rank_part(const part& rows, const quantized_type* quantized, const shard_request<Key, View>& request,
                   const tile_type& queries, ranking_runs<Key>& into) {
        const auto allowed = allowed_in(rows, request.allowed);
        const std::uint64_t count = count_allowed(allowed, 0, rows.view.rows);
        if (count == 0) return;
        if constexpr (std::is_same_v<View, vectors_view>) {
            if (quantized != nullptr && filters(count, request))
                return rank_quantized(rows, *quantized, count, request, queries, into);
        }
        const bool within = request.limit && request.k >= count / 8;
        const bool everything =
            within || request.k >= count / 8 || options_.method == retrieval_method::reduction;
        const piece_plan plan = plan_pieces<Place>(place_.memory().left(), rows.view.rows, queries.rows,
                                                   request.k, everything, sizeof(Key), within);
        for (std::uint64_t first = 0; first < rows.view.rows; first += plan.rows) {
            place_.ctx().check_stop();
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
        const ranking_method how{options_.metric, options_.method, request.key_bits, request.values};
        const auto first_id = static_cast<std::uint32_t>(first_row_ + rows.first + first);
        for (std::uint64_t q = 0; q < queries.rows; q += at_once) {
            const std::uint64_t now = std::min<std::uint64_t>(at_once, queries.rows - q);
            const tile_type requested = rows_of(queries, request.queries, q, now);
            std::uint64_t found = length;
            const auto rank = [&](span_on<Place, Key> keys, span_on<Place, std::uint32_t> ids) {
                if (within)
                    found = rank_within<Key, Place>(place_, tile, requested, how, list, *request.limit, keys,
                                                    ids);
                else
                    rank_tile<Key, Place>(place_, tile, requested, how, list, keys, ids);
                return std::span<const std::uint64_t>(&found, within ? 1 : 0);
            };
            collect<Key>(q, now, length, first_id, rank, into);
            counts_.distances += now * n;
        }
    }

    template <class Key>
    void rank_quantized(const part& rows, const quantized_type& quantized, std::uint64_t count,
                        const shard_request<Key, View>& request, const tile_type& queries,
                        ranking_runs<Key>& into) {
        const auto words = allowed_in(rows, request.allowed);
        const auto allowed = allowed_on(words);
        const std::uint64_t length = std::min(request.k, count);
        filter_counts all;
        for (std::uint64_t q = 0; q < queries.rows; q += quantized_at_once) {
            place_.ctx().check_stop();
            const std::uint64_t now = std::min<std::uint64_t>(quantized_at_once, queries.rows - q);
            const tile_type requested = rows_of(queries, request.queries, q, now);
            const auto rank = [&](span_on<Place, Key> keys, span_on<Place, std::uint32_t> ids) {
                const filter_counts did =
                    quantized_top_k<Key>(place_, rows.tile, quantized, requested, options_.metric,
                                         static_cast<std::uint32_t>(length), allowed.span(), keys, ids);
                all.filtered += did.filtered;
                all.confirmed += did.confirmed;
                return std::span<const std::uint64_t>();
            };
            collect<Key>(q, now, length, static_cast<std::uint32_t>(first_row_ + rows.first), rank, into);
        }
        counts_.filtered += all.filtered;
        counts_.distances += all.confirmed;
        // Rows that are not excluded cost twice.
        if (all.confirmed > queries.rows * count / 4)
            unfiltered_from_ = std::min(unfiltered_from_, request.k);
    }

    /// rank(keys, ids) writes `length` pairs for each of `queries` queries into the place's memory and returns the valid
    /// number of each (empty: all). They go to `into`, without a copy if possible.
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
    row_source* source_;
    bool squares_;
    shard_layout layout_;
    std::unique_ptr<Place> loader_;
    tile_memory<Place, View> resident_;
    std::optional<quantized_type> quantized_;
    std::uint64_t unfiltered_from_ = all_vectors;  ///< minimum k for which the filter passed too many rows
    integer_range range_;
    std::uint64_t unseen_ = rows_.rows;  ///< rows at the end not yet checked
    std::uint64_t passes_ = 0;           ///< over all rows, so far
    double greatest_ = 0;
    bool short_rows_ = false;
    std::unique_ptr<shard<cpu_place, View>> on_host_;
    shard_counts counts_;
};

}  // namespace quern::nearest_detail
