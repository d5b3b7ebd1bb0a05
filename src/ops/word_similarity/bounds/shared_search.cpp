// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/bounds/shared_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/word_similarity/bounds/pair_search.hpp"
#include "ops/word_similarity/exact/further_terms.hpp"
#include "ops/word_similarity/exact/row_by_row.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {
namespace {

/// About the number of postings that are as costly as to compare a part, by every eighth of its rows.
std::uint64_t cost_of(const bound_rows& rows, const bound_tile& tile, const tile_part& part) {
    constexpr std::uint32_t rows_for_one = 8;
    constexpr std::uint64_t look_up = 4, postings_of_a_dense_step = 8, words_of_a_step = 4;
    std::uint64_t sum = 0;
    for (std::uint32_t row = part.begin; row < part.end; row += rows_for_one) {
        sum += tile.size() / words_of_a_step;
        for (std::uint64_t i = rows.begin(row); i < rows.end(row); ++i) {
            const std::uint32_t column = rows.columns()[i],
                                length = tile.starts()[column + 1] - tile.starts()[column];
            sum += look_up + (length == tile.dense_length() ? length / postings_of_a_dense_step : length);
        }
    }
    return sum;
}

/// All pairs of words of different tiles: every tile with the rows after it.
std::vector<tile_part> parts_of(const bound_rows& rows, std::span<const bound_tile> tiles) {
    constexpr std::uint32_t rows_at_once = 256;
    std::vector<tile_part> parts;
    for (std::uint32_t t = 0; t < tiles.size(); ++t)
        for (auto begin = static_cast<std::uint32_t>(tiles[t].words.end); begin < rows.size();
             begin += rows_at_once)
            parts.push_back({t, begin, std::min(begin + rows_at_once, rows.size())});
    return parts;
}

/// Ends of consecutive parts of about equal cost.
std::vector<std::uint64_t> cut_into_shares(cpu_place& place, const bound_rows& rows,
                                           std::span<const bound_tile> tiles,
                                           std::span<const tile_part> parts, std::uint64_t shares) {
    std::vector<std::uint64_t> costs(parts.size());
    for_each_index(place.ctx(), parts.size(), [&](std::uint64_t p) {
        place.ctx().check_stop();
        costs[p] = cost_of(rows, tiles[parts[p].tile], parts[p]);
    });
    std::inclusive_scan(costs.begin(), costs.end(), costs.begin());
    const std::uint64_t all = costs.empty() ? 0 : costs.back();
    std::vector<std::uint64_t> ends;
    for (std::uint64_t share = 1; share < shares; ++share) {
        const std::uint64_t target = all / shares * share + all % shares * share / shares;
        ends.push_back(static_cast<std::uint64_t>(std::ranges::lower_bound(costs, target) - costs.begin()));
    }
    ends.push_back(parts.size());
    return ends;
}

/// The weights and sums of rows in the order of `bounds`.
struct rows_by_position {
    rows_by_position(cpu_place& place, const fixed_rows& rows, const bound_rows& bounds)
        : weights(place, bounds.arrays().columns.size(), "weights of rows by length"),
          sums(bounds.size()),
          squares(bounds.size()) {
        const std::size_t pieces = pieces_for(place, bounds.size(), 256);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const item_range part = piece_of(bounds.size(), pieces, p);
            for (std::size_t position = part.begin; position < part.end; ++position) {
                place.ctx().check_stop();
                const std::uint32_t word = bounds.word(position);
                const auto row =
                    rows.weights.subspan(rows.offsets[word], rows.offsets[word + 1] - rows.offsets[word]);
                std::ranges::copy(row, weights.data() + bounds.begin(position));
                sums[position] = rows.sums[word];
                squares[position] = rows.squares[word];
            }
        });
    }
    spilled_array<float> weights;
    std::vector<std::uint64_t> sums, squares;
};

/// By position.
std::vector<float> min_scores(const neighbour_lists& lists, const bound_rows& rows, std::uint32_t top) {
    std::vector<float> least(rows.size());
    for (std::size_t position = 0; position < rows.size(); ++position) {
        const std::uint32_t word = rows.word(position);
        if (lists.offsets[word + 1] - lists.offsets[word] == top)
            least[position] =
                static_cast<float>(lists.scores[lists.offsets[word + 1] - 1]) * (1 - bound_margin);
    }
    return least;
}

template <class Work>
auto with_terms_of_weights(cpu_place& place, const fixed_rows& rows, similarity_measure measure,
                           const Work& work) {
    if (measure == similarity_measure::lin) return work(lin_terms_of_weights(rows));
    return work(cosine_terms(place, rows));
}

neighbour_lists without_neighbours(std::uint32_t words) {
    neighbour_lists none;
    none.offsets.resize(std::size_t{words} + 1);
    return none;
}

fixed_rows rows_of(const shared_rows& shared) {
    fixed_rows rows;
    rows.words = shared.words;
    rows.column_count = shared.column_count;
    rows.offsets = shared.offsets;
    rows.columns = shared.columns;
    rows.weights = shared.weights;
    rows.bits = shared.bits;
    rows.product_bits = shared.product_bits;
    rows.sums.assign(shared.sums.begin(), shared.sums.end());
    rows.squares.assign(shared.squares.begin(), shared.squares.end());
    return rows;
}

shared_rows shared_of(const fixed_rows& rows) {
    shared_rows shared;
    shared.words = rows.words;
    shared.column_count = rows.column_count;
    shared.bits = rows.bits;
    shared.product_bits = rows.product_bits;
    shared.offsets = rows.offsets;
    shared.sums = rows.sums;
    shared.squares = rows.squares;
    shared.columns = rows.columns;
    shared.weights = rows.weights;
    return shared;
}

}  // namespace

neighbour_lists begin_shared_search(const context_matrix_view& matrix, const similarity_options& options,
                                    std::uint64_t shares, const context& ctx,
                                    const std::function<void(const shared_rows&)>& pass_on) {
    validate(options);
    cpu_place place(ctx);
    const owned_rows owned = kept_rows(place, matrix, options);
    const fixed_rows& rows = owned.rows;
    shared_rows shared = shared_of(rows);
    if (!is_bounded(rows, options)) {
        pass_on(shared);
        return without_neighbours(rows.words);
    }
    const bound_rows bounds(place, rows, options.measure);
    const std::vector<bound_tile> tiles = cut_into_tiles(place, bounds, rows.column_count);
    neighbour_lists lists = with_terms(place, rows, options.measure, [&](const auto& terms) {
        return pair_search(place, rows, row_order::by_word, terms, options.top, bounds, tiles)
            .find_in_own_tiles();
    });
    const rows_by_position ordered(place, rows, bounds);
    const std::vector<float> least = min_scores(lists, bounds, options.top);
    const std::vector<tile_part> parts = parts_of(bounds, tiles);
    const std::vector<std::uint64_t> ends = cut_into_shares(place, bounds, tiles, parts, shares);
    shared.is_bounded = true;
    shared.bounds = bounds.arrays();
    shared.offsets = shared.bounds.offsets;
    shared.columns = shared.bounds.columns;
    shared.weights = ordered.weights.span();
    shared.sums = ordered.sums;
    shared.squares = ordered.squares;
    shared.least = least;
    shared.parts = parts;
    shared.ends = ends;
    pass_on(shared);
    return lists;
}

neighbour_lists find_share(const shared_rows& shared, std::uint64_t share, std::uint64_t shares,
                           const similarity_options& options, const context& ctx) {
    validate(options);
    cpu_place place(ctx);
    const fixed_rows rows = rows_of(shared);
    if (!shared.is_bounded)
        return with_all_terms(place, rows, options.measure, [&](const auto& terms) {
            return find_row_by_row(place, rows, terms, options.top, nullptr, {share, shares},
                                   {0, rows.words});
        });
    const std::uint64_t begin = share == 0 ? 0 : shared.ends[share - 1], end = shared.ends[share];
    if (begin == end) return without_neighbours(rows.words);
    const auto parts = shared.parts.subspan(begin, end - begin);
    const bound_rows bounds(shared.bounds);
    const std::size_t first = parts.front().tile, last = parts.back().tile;
    const std::vector<item_range> ranges = ranges_of_tiles(bounds);
    const std::vector<bound_tile> tiles =
        make_tiles(place, bounds, rows.column_count, std::span(ranges).subspan(first, last - first + 1));
    return with_terms_of_weights(place, rows, options.measure, [&](const auto& terms) {
        return pair_search(place, rows, row_order::by_position, terms, options.top, bounds, tiles, first)
            .find_in_parts(parts, shared.least);
    });
}

}  // namespace quern::word_similarity_detail
