// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU: every word against tiles of words, sums in shared memory (automatic_cuda_product.cu),
// candidates scored exactly (automatic_cuda_scores.cu). A matrix beyond the place's memory is processed in groups of rows,
// each group against each.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/word_similarity/bounds/automatic_cuda.hpp"
#include "ops/word_similarity/exact/row_groups.cuh"
#include "ops/word_similarity/similarity_methods.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::word_similarity_detail {
namespace {

// Postings of a tile are numbered in 32 bits, with up to three extra ones per column.
constexpr std::uint64_t max_entries = std::uint64_t{1} << 31;
constexpr std::uint32_t max_columns = 1u << 29;

/// The partition of a matrix so that all data on the device at a time fits.
struct cutting {
    std::uint64_t group_words, group_entries, tile_entries;
};
cutting choose_cutting(const fixed_rows& rows, std::uint64_t memory, std::uint64_t bytes_a_row) {
    const std::uint64_t entries = std::max<std::uint64_t>(rows.columns.size(), 1);
    const std::uint64_t always = std::uint64_t{rows.column_count} * 28 + std::uint64_t{rows.words} * 12;
    cutting cut{rows.words, entries, 0};
    for (unsigned halvings = 0;; ++halvings) {
        cut.group_words = std::max<std::uint64_t>(rows.words >> halvings, 1);
        cut.group_entries = std::max<std::uint64_t>(entries >> halvings, 1);
        for (unsigned parts = 1; parts <= 8; parts *= 2) {
            cut.tile_entries = std::min((cut.group_entries + parts - 1) / parts, max_entries);
            const std::uint64_t bytes = always + cut.group_words * bytes_a_row +
                                        cut.group_entries * (halvings == 0 ? 8 : 16) + cut.tile_entries * 20;
            if (bytes <= memory / 10 * 9 || (parts == 8 && cut.group_entries == 1)) return cut;
        }
    }
}

/// Appends the lists of one group to those of the previous groups.
void append_lists(cuda_place& place, const best_lists& best, neighbour_lists& all) {
    const std::vector<std::uint32_t> counts = to_host(place, best.counts.span()),
                                     ids = to_host(place, best.ids.span());
    const std::vector<double> scores = to_host(place, best.scores.span());
    for (std::size_t w = 0; w < counts.size(); ++w) {
        const auto from = static_cast<std::ptrdiff_t>(w * best.top),
                   count = static_cast<std::ptrdiff_t>(counts[w]);
        all.words.insert(all.words.end(), ids.begin() + from, ids.begin() + from + count);
        all.scores.insert(all.scores.end(), scores.begin() + from, scores.begin() + from + count);
        all.offsets.push_back(all.words.size());
    }
}

neighbour_lists find_by_candidates(cuda_place& place, const fixed_rows& rows, std::uint32_t top,
                                   const weight_codes& codes, double scale,
                                   device_span<const std::uint64_t> exact_norms) {
    const auto norms = array_from<cuda_place, float>(place, codes.norms, "sums of rows");
    const std::uint64_t bytes_a_row =
        std::uint64_t{candidate_capacity(top)} * 4 + std::uint64_t{top} * 12 + 12 + 8 + 16;
    const cutting cut = choose_cutting(rows, place.memory().left(), bytes_a_row);
    const std::vector<word_range> groups =
        cut_words(rows, {0, rows.words}, cut.group_words, cut.group_entries);
    const std::uint32_t words_of_tile = tile_words(place);
    neighbour_lists all;
    all.offsets.push_back(0);
    for (const word_range& mine : groups) {
        const row_group group(place, rows, mine.first, mine.count);
        best_lists best(place, mine.count, top);
        for (const word_range& theirs : groups) {
            row_group loaded;
            if (groups.size() > 1) loaded = row_group(place, rows, theirs.first, theirs.count);
            const device_rows others = groups.size() > 1 ? loaded.view() : group.view();
            for (const word_range& words : cut_words(rows, theirs, words_of_tile, cut.tile_entries)) {
                place.ctx().check_stop();
                const std::uint64_t begin = rows.offsets[words.first];
                const tile_postings tile =
                    make_postings(place, others, words.first - theirs.first, words.count,
                                  begin - rows.offsets[theirs.first],
                                  rows.offsets[words.first + words.count] - begin, rows.column_count, codes);
                choose_candidates(place, group.view(), tile, codes, norms.span(), best);
                keep_best(place, group.view(), others, words.first, words.count, codes.measure, scale,
                          exact_norms, best);
                place.synchronise();  // to notice an interruption
            }
        }
        append_lists(place, best, all);
    }
    return all;
}

/// Without candidates, for lists too long for them and for weights outside the range of 16 bits: the scores of some rows
/// with all words, and the best of them.
neighbour_lists find_by_all_scores(cuda_place& place, const fixed_rows& rows, std::uint32_t top,
                                   similarity_measure measure, double scale,
                                   device_span<const std::uint64_t> norms) {
    const cutting cut = choose_cutting(rows, place.memory().left() / 2, 16);
    const std::vector<word_range> groups =
        cut_words(rows, {0, rows.words}, cut.group_words, cut.group_entries);
    const std::uint64_t bytes_a_row =
        std::uint64_t{rows.words} * 40;  // scores, and the sorting of all of them
    const auto at_once = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(place.memory().left() / 2 / bytes_a_row, 1, 4096));
    neighbour_lists all;
    all.offsets.push_back(0);
    for (const word_range& mine : groups) {
        const row_group group(place, rows, mine.first, mine.count);
        for (std::uint32_t from = 0; from < mine.count; from += at_once) {
            place.ctx().check_stop();
            const std::uint32_t count = std::min(at_once, mine.count - from);
            const cuda_array<double> scores(place, std::size_t{count} * rows.words, "similarities"),
                best(place, std::size_t{count} * top, "neighbours");
            const cuda_array<std::uint32_t> ids(place, std::size_t{count} * top, "neighbours");
            for (const word_range& theirs : groups) {
                row_group loaded;
                if (groups.size() > 1) loaded = row_group(place, rows, theirs.first, theirs.count);
                score_all(place, group.view(), from, count, groups.size() > 1 ? loaded.view() : group.view(),
                          measure, scale, norms, rows.words, scores.span());
            }
            primitives::batched_top_k<double>(place, scores.span(), rows.words, top, best.span(), ids.span());
            append_positive(place, best.span(), ids.span(), top, all);
        }
    }
    return all;
}

}  // namespace

void append_positive(cuda_place& place, device_span<const double> scores,
                     device_span<const std::uint32_t> ids, std::uint32_t top, neighbour_lists& all) {
    const std::vector<double> host_scores = to_host(place, scores);
    const std::vector<std::uint32_t> host_ids = to_host(place, ids);
    for (std::size_t begin = 0; begin < host_scores.size(); begin += top) {
        for (std::size_t i = begin; i < begin + top && host_scores[i] > 0; ++i) {
            all.scores.push_back(host_scores[i]);
            all.words.push_back(host_ids[i]);
        }
        all.offsets.push_back(all.words.size());
    }
}

neighbour_lists find_automatically(cuda_place& place, const fixed_rows& rows,
                                   const similarity_options& options) {
    if (rows.words < 2 || rows.columns.empty())
        return {std::vector<std::uint64_t>(std::size_t{rows.words} + 1), {}, {}, {}};
    cpu_place host(place.ctx());
    const bool is_lin = options.measure == similarity_measure::lin;
    const std::uint32_t top = std::min(options.top, rows.words - 1);
    const double scale = std::ldexp(1.0, is_lin ? rows.bits : rows.product_bits);
    const auto exact_norms =
        array_from<cuda_place, std::uint64_t>(place, is_lin ? rows.sums : rows.squares, "sums of rows");
    if (top <= max_listed && rows.column_count <= max_columns)
        if (const auto codes = choose_codes(host, rows, options.measure))
            return find_by_candidates(place, rows, top, *codes, scale, exact_norms.span());
    return find_by_all_scores(place, rows, top, options.measure, scale, exact_norms.span());
}

}  // namespace quern::word_similarity_detail
