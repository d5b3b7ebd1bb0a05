// SPDX-License-Identifier: Apache-2.0
// The search for similar words by upper bounds in small integers (bound_rows.hpp), which exclude most pairs; the others are
// scored exactly.
//
// A row is compared with all longer ones, so each pair of rows is considered once, from the shorter row: one look-up of
// an entry adds a whole posting list. Its 16-bit values are added to the sums of a tile, which stay in the core's own
// cache; then one pass over the sums selects those that may be among the best of either row. After Bayardo, Ma, Srikant
// 2007 (All-Pairs), with a threshold for each row that rises as neighbours are found.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "device/paced_checks.hpp"
#include "device/progress_meter.hpp"
#include "ops/word_similarity/bounds/bound_rows.hpp"
#include "ops/word_similarity/bounds/bound_sums.hpp"
#include "ops/word_similarity/bounds/candidate_lists.hpp"
#include "ops/word_similarity/bounds/shared_search.hpp"
#include "ops/word_similarity/exact/best_words.hpp"
#include "ops/word_similarity/exact/terms.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {

struct found_pair {
    std::uint32_t a, b;  ///< positions
    float bound;
};

/// The working memory of a thread.
struct workspace {
    workspace(cpu_place& place, std::size_t max)
        : sums(place, max, "sums of a tile"),
          denominators(place, max, "denominators of a tile"),
          least(place, max, "thresholds of a tile"),
          bounds(place, max, "bounds of candidates"),
          maxima(place, max, "greatest of groups"),
          positions(place, max, "candidates of a row") {
        std::fill_n(sums.data(), max, 0U);
        std::fill_n(denominators.data(), max, 1.F);
        std::fill_n(least.data(), max, 0.F);
    }
    cpu_array<std::uint32_t> sums;
    cpu_array<float> denominators, least, bounds, maxima;
    cpu_array<std::uint32_t> positions;
    std::vector<found_pair> found;
};

/// How the exact rows are ordered.
enum class row_order { by_word, by_position };

template <class Terms>
class pair_search {
  public:
    static constexpr std::uint32_t rows_at_once = 256;  ///< of a piece of work

    /// `tiles`: all, or consecutive ones from number `first_tile` on. What is passed outlives the search.
    pair_search(cpu_place& place, const fixed_rows& exact, row_order order, const Terms& terms,
                std::uint32_t top, const bound_rows& rows, std::span<const bound_tile> tiles,
                std::size_t first_tile = 0)
        : place_(place),
          exact_(exact),
          order_(order),
          terms_(terms),
          top_(top),
          rows_(rows),
          tiles_(tiles),
          first_tile_(first_tile),
          lists_(place, rows_, top_) {
        std::size_t max = 0;
        for (const bound_tile& tile : tiles_) max = std::max(max, tile.size());
        capacity_ = (max + kernel_group - 1) / kernel_group * kernel_group;
    }

    /// Of all pairs.
    neighbour_lists find(const neighbour_sink* sink) {
        // Its own tile first: rows of similar length are the most similar, and raise the thresholds.
        return find_in(
            ranges_of_rows(), [](std::size_t own) { return own + 1; }, sink);
    }
    /// Of the pairs of words of one tile.
    neighbour_lists find_in_own_tiles() {
        return find_in(
            ranges_of_rows(), [](std::size_t) { return std::size_t{1}; }, nullptr);
    }
    /// Of the pairs of these parts; `least`, by position, has lower bounds of the scores of all words' last neighbours.
    neighbour_lists find_in_parts(std::span<const tile_part> parts, std::span<const float> least) {
        for (std::size_t row = 0; row < least.size(); ++row) lists_.raise_min(row, least[row]);
        return find_in(
            parts, [](std::size_t) { return std::size_t{1}; }, nullptr);
    }

  private:
    static constexpr std::size_t pairs_at_once = 1U << 11;  ///< that wait to be put into lists

    /// The rows of every tile with that tile.
    std::vector<tile_part> ranges_of_rows() const {
        std::vector<tile_part> ranges;
        for (std::uint32_t t = 0; t < tiles_.size(); ++t) {
            const auto end = static_cast<std::uint32_t>(tiles_[t].words.end);
            for (auto begin = static_cast<std::uint32_t>(tiles_[t].words.begin); begin < end;
                 begin += rows_at_once)
                ranges.push_back({t, begin, std::min(begin + rows_at_once, end)});
        }
        return ranges;
    }

    /// Each part is compared with `tiles_of(its tile)` tiles: its own and those before.
    template <class TilesOf>
    neighbour_lists find_in(std::span<const tile_part> parts, const TilesOf& tiles_of,
                            const neighbour_sink* sink) {
        // The exact scores of the remaining pairs count as a second pass.
        std::uint64_t steps = exact_steps(rows_.size());
        for (const tile_part& part : parts) steps += tiles_of(part.tile);
        progress_meter meter(place_.ctx(), "similar", steps, "tiles");
        tbb::enumerable_thread_specific<workspace> spaces([this] { return workspace(place_, capacity_); });
        for_each_index(place_.ctx(), parts.size(), [&](std::uint64_t p) {
            const tile_part& part = parts[p];
            for (std::size_t k = 0; k < tiles_of(part.tile); ++k) {
                compare({part.begin, part.end}, tiles_[part.tile - first_tile_ - k], spaces.local());
                meter.add(1);
            }
        });
        return score_exactly(meter, sink);
    }

    void compare(item_range part, const bound_tile& tile, workspace& space) {
        place_.ctx().check_stop();
        for (std::size_t k = 0; k < tile.size(); ++k)
            space.denominators.data()[k] = rows_.denominator(tile.words.begin + k);
        read_thresholds(tile, space);
        for (std::size_t a = part.begin; a < part.end; ++a) {
            // In the row's own tile only the words before it count.
            const std::size_t size = std::min(tile.words.end, a) - tile.words.begin;
            // Where the postings are mapped, each entry of the row may touch different pages.
            const std::uint64_t at_once = tile.spilled() ? scattered_values : UINT64_MAX;
            in_checked_parts(place_.ctx(), rows_.begin(a), rows_.end(a), at_once,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 add_bounds(rows_, tile, {begin, end}, size, space.sums.data());
                             });
            take_candidates(tile, a, size, space);
            if (space.found.size() > pairs_at_once) {
                put_into_lists(space);
                read_thresholds(tile, space);
            }
        }
        put_into_lists(space);
    }

    void read_thresholds(const bound_tile& tile, workspace& space) {
        for (std::size_t k = 0; k < tile.size(); ++k)
            space.least.data()[k] = lists_.least(tile.words.begin + k);
    }

    void take_candidates(const bound_tile& tile, std::size_t a, std::size_t size, workspace& space) {
        row_bound row{rows_.denominator(a), lists_.least(a)};
        if (row.least == 0) row.least = first_threshold(a, size, space);
        const std::size_t count =
            collect_reaching(space.sums.data(), space.denominators.data(), space.least.data(), size, row,
                             space.positions.data(), space.bounds.data());
        const std::size_t summed = (size + kernel_group - 1) / kernel_group * kernel_group;
        std::fill(space.sums.data() + size, space.sums.data() + summed, 0U);
        for (std::size_t k = 0; k < count; ++k)
            space.found.push_back({static_cast<std::uint32_t>(a),
                                   static_cast<std::uint32_t>(tile.words.begin + space.positions.data()[k]),
                                   space.bounds.data()[k]});
    }

    /// For a row without neighbours yet: a lower bound of its K-th score, from the K-th largest of the groups' maximum
    /// bounds.
    float first_threshold(std::size_t a, std::size_t size, workspace& space) {
        const std::size_t groups =
            group_maxima(space.sums.data(), space.denominators.data(), size, rows_.denominator(a),
                         std::size_t{4} * top_, space.maxima.data());
        if (groups < top_) return 0;
        const auto maxima = space.maxima.span().first(groups);
        std::nth_element(maxima.begin(), maxima.begin() + (top_ - 1), maxima.end(), std::greater<>());
        const float least = lists_.lower(a, maxima[top_ - 1]);
        lists_.raise_min(a, least);
        return least;
    }

    /// The lists lie anywhere in memory, so a stop is checked for often.
    void put_into_lists(workspace& space) {
        constexpr std::size_t at_once = 64;
        const auto resolve = [this](std::size_t row, std::span<bounded_pair> pairs) {
            return settle(row, pairs);
        };
        for (std::size_t i = 0; i < space.found.size(); ++i) {
            if (i % at_once == 0) place_.ctx().check_stop();
            const found_pair& pair = space.found[i];
            lists_.offer(pair.a, {pair.bound, pair.b}, resolve);
            lists_.offer(pair.b, {pair.bound, pair.a}, resolve);
        }
        space.found.clear();
    }

    /// Among the exact rows.
    std::uint32_t row_of(std::uint32_t position) const {
        return order_ == row_order::by_word ? rows_.word(position) : position;
    }

    double score(std::uint32_t a, std::uint32_t b) const {
        place_.ctx().check_stop();
        const std::uint32_t left = row_of(a), right = row_of(b);
        return terms_.score(merge_rows(exact_, terms_, left, right), left, right);
    }

    /// See candidate_lists::offer.
    float settle(std::size_t row, std::span<bounded_pair> pairs) const {
        std::vector<std::pair<scored_word, std::uint32_t>> scored;
        for (const bounded_pair& pair : pairs)
            scored.push_back(
                {{score(static_cast<std::uint32_t>(row), pair.other), rows_.word(pair.other)}, pair.other});
        std::nth_element(scored.begin(), scored.begin() + (top_ - 1), scored.end(),
                         [](const auto& a, const auto& b) { return better(a.first, b.first); });
        for (std::size_t k = 0; k < top_; ++k)
            pairs[k] = {static_cast<float>(scored[k].first.score) * (1 + bound_margin), scored[k].second};
        return static_cast<float>(scored[top_ - 1].first.score) * (1 - bound_margin);
    }

    /// The pairs of all lists by their longer row, each with the shorter one's position; some twice.
    struct grouped_pairs {
        std::vector<std::atomic<std::uint64_t>> ends;  ///< of the pairs of each longer row
        spilled_array<std::uint32_t> shorter;

        std::span<std::uint32_t> of(std::size_t longer) const {
            const std::uint64_t begin = longer == 0 ? 0 : ends[longer - 1].load(std::memory_order_relaxed);
            return shorter.span().subspan(begin, ends[longer].load(std::memory_order_relaxed) - begin);
        }
        /// Rows in pieces of about as many pairs: the first rows, the longest, have more than others.
        std::vector<item_range> pieces() const {
            constexpr std::uint64_t pairs_of_a_piece = 512;
            std::vector<item_range> pieces;
            std::uint64_t first = 0;
            for (std::size_t begin = 0, end = 0; begin < ends.size(); begin = end) {
                end = begin + 1;
                while (end < ends.size() && ends[end] - first <= pairs_of_a_piece) ++end;
                pieces.push_back({begin, end});
                first = ends[end - 1];
            }
            return pieces;
        }
    };

    /// work(rows) for all positions in pieces.
    template <class Work>
    void for_pieces_of_rows(const Work& work) const {
        const std::size_t pieces = (rows_.size() + std::size_t{rows_at_once} - 1) / rows_at_once;
        for_each_index(place_.ctx(), pieces,
                       [&](std::uint64_t p) { work(piece_of(rows_.size(), pieces, p)); });
    }

    /// Steps of the progress in the second pass, of the first `rows` rows.
    static std::uint64_t exact_steps(std::size_t rows) { return rows / rows_at_once; }

    template <class Work>
    void for_listed_pairs(const Work& work);
    grouped_pairs group_by_longer_row();
    neighbour_lists score_exactly(progress_meter& meter, const neighbour_sink* sink);

    cpu_place& place_;
    const fixed_rows& exact_;
    row_order order_;
    const Terms& terms_;
    std::uint32_t top_;
    const bound_rows& rows_;
    std::span<const bound_tile> tiles_;
    std::size_t first_tile_;
    candidate_lists lists_;
    std::size_t capacity_ = 0;
};

/// Calls work(longer, shorter) with the positions of every pair of a list; twice if both words' lists have it.
template <class Terms>
template <class Work>
void pair_search<Terms>::for_listed_pairs(const Work& work) {
    for_pieces_of_rows([&](item_range rows) {
        paced_checks checks(place_.ctx(), scattered_values);
        for (std::size_t row = rows.begin; row < rows.end; ++row) {
            const auto a = static_cast<std::uint32_t>(row);
            checks.after(1);
            for (const bounded_pair& pair : lists_.list(a)) {
                checks.after(1);
                work(std::min(a, pair.other), std::max(a, pair.other));
            }
        }
    });
}

template <class Terms>
typename pair_search<Terms>::grouped_pairs pair_search<Terms>::group_by_longer_row() {
    for_pieces_of_rows([&](item_range rows) {
        for (std::size_t a = rows.begin; a < rows.end; ++a) {
            place_.ctx().check_stop();
            lists_.drop_below(a);
        }
    });
    grouped_pairs pairs;
    pairs.ends = std::vector<std::atomic<std::uint64_t>>(rows_.size());
    for_listed_pairs([&](std::uint32_t longer, std::uint32_t) {
        pairs.ends[longer].fetch_add(1, std::memory_order_relaxed);
    });
    std::uint64_t sum = 0;
    for (auto& end : pairs.ends) sum += end.exchange(sum, std::memory_order_relaxed);
    pairs.shorter = spilled_array<std::uint32_t>(place_, sum, "pairs by their longer rows");
    for_listed_pairs([&](std::uint32_t longer, std::uint32_t shorter) {
        pairs.shorter.data()[pairs.ends[longer].fetch_add(1, std::memory_order_relaxed)] = shorter;
    });
    return pairs;
}

/// A pair is scored once, while its longer row is laid out by column: one look-up for each entry of the shorter row.
template <class Terms>
neighbour_lists pair_search<Terms>::score_exactly(progress_meter& meter, const neighbour_sink* sink) {
    using value = typename Terms::value;
    const grouped_pairs pairs = group_by_longer_row();
    best_words best(place_, exact_.words, top_);
    std::vector<std::mutex> locks(4096);  // of the best of some words each
    const auto offer = [&](std::uint32_t word, scored_word found) {
        const std::lock_guard hold(locks[word % locks.size()]);
        best.offer(word, found);
    };
    const value* const values = terms_.values().data();
    const std::uint32_t* const columns = exact_.columns.data();
    constexpr std::ptrdiff_t ahead = 3;    // pairs
    constexpr std::uint64_t fetched = 32;  // entries of a row
    tbb::enumerable_thread_specific<std::vector<value>> spread(
        [this] { return std::vector<value>(exact_.column_count); });
    const std::vector<item_range> pieces = pairs.pieces();
    for_each_index(place_.ctx(), pieces.size(), [&](std::uint64_t p) {
        const item_range rows = pieces[p];
        meter.add(exact_steps(rows.end) - exact_steps(rows.begin));
        std::vector<value>& mine = spread.local();
        for (std::size_t a = rows.begin; a < rows.end; ++a) {
            place_.ctx().check_stop();
            const std::span<std::uint32_t> others = pairs.of(a);
            std::sort(others.begin(), others.end());
            const auto last = std::unique(others.begin(), others.end());
            if (others.empty()) continue;
            const std::uint32_t row = row_of(static_cast<std::uint32_t>(a));
            const std::uint64_t begin = exact_.offsets[row], end = exact_.offsets[row + 1];
            for (std::uint64_t i = begin; i < end; ++i) mine[columns[i]] = values[i];
            for (auto pair = others.begin(); pair < last; ++pair) {
                place_.ctx().check_stop();  // rows lie anywhere: the first lines of a later one are fetched
                if (last - pair > ahead) {
                    const std::uint64_t next = exact_.offsets[row_of(pair[ahead])];
                    for (std::uint64_t k = 0; k < fetched; k += 64 / sizeof(value))
                        __builtin_prefetch(values + next + k);
                    for (std::uint64_t k = 0; k < fetched; k += 64 / sizeof(*columns))
                        __builtin_prefetch(columns + next + k);
                }
                const std::uint32_t other = row_of(*pair);
                std::uint64_t shared = 0;
                for (std::uint64_t i = exact_.offsets[other]; i < exact_.offsets[other + 1]; ++i) {
                    const value left = mine[columns[i]];
                    const std::uint64_t term = terms_.term(left, values[i]);
                    shared += left != 0 ? term : 0;
                }
                offer(rows_.word(a), {terms_.score(shared, row, other), rows_.word(*pair)});
                offer(rows_.word(*pair), {terms_.score(shared, other, row), rows_.word(a)});
            }
            for (std::uint64_t i = begin; i < end; ++i) mine[columns[i]] = 0;
        }
    });
    return best.take(place_, sink);
}

}  // namespace quern::word_similarity_detail
