// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU: every word against tiles of words, sums in shared memory (automatic_cuda_product.cu),
// candidates scored exactly (automatic_cuda_scores.cu). A matrix beyond the place's memory is processed in groups of rows,
// each group against each.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
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

/// Appends the lists of some words to those of the previous ones.
void append_lists(cuda_place& place, const best_lists& best, neighbour_lists& all) {
    const std::vector<std::uint32_t> counts = to_host(place, best.counts.span());
    std::size_t to = all.words.size(), from = to;
    all.words.resize(to + best.ids.size());
    all.scores.resize(to + best.ids.size());
    copy_out<std::uint32_t>(place, best.ids.span(), std::span(all.words).subspan(to));
    copy_out<double>(place, best.scores.span(), std::span(all.scores).subspan(to));
    for (const std::uint32_t count : counts) {  // closes the gaps of lists that are not full
        if (to != from) {
            std::copy_n(all.words.data() + from, count, all.words.data() + to);
            std::copy_n(all.scores.data() + from, count, all.scores.data() + to);
        }
        from += best.top;
        to += count;
        all.offsets.push_back(to);
    }
    all.words.resize(to);
    all.scores.resize(to);
}

class candidate_search : public range_search {
  public:
    candidate_search(cuda_place& place, const fixed_rows& rows, std::uint32_t top, weight_codes codes,
                     double scale)
        : place_(place),
          rows_(rows),
          top_(top),
          codes_(std::move(codes)),
          scale_(scale),
          exact_norms_(array_from<cuda_place, std::uint64_t>(
              place, codes_.measure == similarity_measure::lin ? rows.sums : rows.squares, "sums of rows")),
          norms_(array_from<cuda_place, float>(place, codes_.norms, "sums of rows")) {
        const std::uint64_t bytes_a_row =
            std::uint64_t{candidate_capacity(top)} * 4 + std::uint64_t{top} * 12 + 12 + 8 + 16;
        cut_ = choose_cutting(rows, place.memory().left(), bytes_a_row);
        for (const word_range& words : cut_words(rows, {0, rows.words}, cut_.group_words, cut_.group_entries))
            groups_.push_back({words, {}, cut_words(rows, words, tile_words(place), cut_.tile_entries)});
        if (groups_.size() > 1) return;
        whole_ = row_group(place, rows, 0, rows.words);
        groups_[0].kept.resize(groups_[0].tiles.size());
        keeps_tiles_ = rows.words * bytes_a_row + cut_.tile_entries * 20 + rows.columns.size() * 4 +
                           groups_[0].tiles.size() * rows.column_count * 16 <=
                       place.memory().left() / 10 * 9;
    }

    neighbour_lists find(word_range requested) override {
        neighbour_lists all;
        all.offsets.push_back(0);
        for (const word_range& mine : cut_words(rows_, requested, cut_.group_words, cut_.group_entries)) {
            row_group loaded;
            if (groups_.size() > 1) loaded = row_group(place_, rows_, mine.first, mine.count);
            const device_rows own =
                groups_.size() > 1 ? loaded.view() : some_rows(whole_.view(), mine.first, mine.count);
            best_lists best(place_, mine.count, top_);
            for (group& theirs : groups_) compare(own, theirs, best);
            append_lists(place_, best, all);
        }
        return all;
    }

  private:
    /// Some of all words, their tiles, and the postings of these if they stay.
    struct group {
        word_range words;
        std::vector<tile_postings> kept;
        std::vector<word_range> tiles;
    };

    void compare(const device_rows& own, group& theirs, best_lists& best) {
        row_group loaded;
        if (groups_.size() > 1) loaded = row_group(place_, rows_, theirs.words.first, theirs.words.count);
        const device_rows others = groups_.size() > 1 ? loaded.view() : whole_.view();
        for (std::size_t t = 0; t < theirs.tiles.size(); ++t) {
            place_.ctx().check_stop();
            const word_range words = theirs.tiles[t];
            tile_postings made;
            tile_postings& tile = keeps_tiles_ ? theirs.kept[t] : made;
            if (tile.count == 0) {
                const std::uint64_t begin = rows_.offsets[words.first];
                tile = make_postings(place_, others, words.first - theirs.words.first, words.count,
                                     begin - rows_.offsets[theirs.words.first],
                                     rows_.offsets[words.first + words.count] - begin, rows_.column_count,
                                     codes_);
            }
            choose_candidates(place_, own, tile, codes_, norms_.span(), best);
            keep_best(place_, own, others, words.first, words.count, codes_.measure, scale_,
                      exact_norms_.span(), best);
            place_.synchronise();  // to notice an interruption
        }
    }

    cuda_place& place_;
    const fixed_rows& rows_;
    std::uint32_t top_;
    weight_codes codes_;
    double scale_;
    cuda_array<std::uint64_t> exact_norms_;
    cuda_array<float> norms_;
    cutting cut_{};
    std::vector<group> groups_;
    row_group whole_;  ///< if there is one group
    bool keeps_tiles_ = false;
};

/// Without candidates, for lists too long for them and for weights outside the range of 16 bits: the scores of some rows
/// with all words, and the best of them.
class score_search : public range_search {
  public:
    score_search(cuda_place& place, const fixed_rows& rows, std::uint32_t top, similarity_measure measure,
                 double scale)
        : place_(place),
          rows_(rows),
          top_(top),
          measure_(measure),
          scale_(scale),
          norms_(array_from<cuda_place, std::uint64_t>(
              place, measure == similarity_measure::lin ? rows.sums : rows.squares, "sums of rows")),
          cut_(choose_cutting(rows, place.memory().left() / 2, 16)),
          groups_(cut_words(rows, {0, rows.words}, cut_.group_words, cut_.group_entries)) {
        const std::uint64_t bytes_a_row =
            std::uint64_t{rows.words} * 40;  // scores, and the sorting of all of them
        at_once_ = static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(place.memory().left() / 2 / bytes_a_row, 1, 4096));
        if (groups_.size() == 1) whole_ = row_group(place, rows, 0, rows.words);
    }

    neighbour_lists find(word_range requested) override {
        neighbour_lists all;
        all.offsets.push_back(0);
        for (const word_range& mine : cut_words(rows_, requested, cut_.group_words, cut_.group_entries)) {
            row_group own;
            if (groups_.size() > 1) own = row_group(place_, rows_, mine.first, mine.count);
            const device_rows view =
                groups_.size() > 1 ? own.view() : some_rows(whole_.view(), mine.first, mine.count);
            for (std::uint32_t from = 0; from < mine.count; from += at_once_)
                find_some(view, from, std::min(at_once_, mine.count - from), all);
        }
        return all;
    }

  private:
    void find_some(const device_rows& own, std::uint32_t from, std::uint32_t count, neighbour_lists& all) {
        place_.ctx().check_stop();
        const cuda_array<double> scores(place_, std::size_t{count} * rows_.words, "similarities"),
            best(place_, std::size_t{count} * top_, "neighbours");
        const cuda_array<std::uint32_t> ids(place_, std::size_t{count} * top_, "neighbours");
        for (const word_range& theirs : groups_) {
            row_group loaded;
            if (groups_.size() > 1) loaded = row_group(place_, rows_, theirs.first, theirs.count);
            score_all(place_, own, from, count, groups_.size() > 1 ? loaded.view() : whole_.view(), measure_,
                      scale_, norms_.span(), rows_.words, scores.span());
        }
        primitives::batched_top_k<double>(place_, scores.span(), rows_.words, top_, best.span(), ids.span());
        append_positive(place_, best.span(), ids.span(), top_, all);
    }

    cuda_place& place_;
    const fixed_rows& rows_;
    std::uint32_t top_;
    similarity_measure measure_;
    double scale_;
    cuda_array<std::uint64_t> norms_;
    cutting cut_;
    std::vector<word_range> groups_;
    row_group whole_;  ///< if there is one group
    std::uint32_t at_once_ = 1;
};

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

std::unique_ptr<range_search> open_range_search(cuda_place& place, const fixed_rows& rows,
                                                const similarity_options& options) {
    if (is_further_measure(options.measure)) return open_further_search(place, rows, options);
    cpu_place host(place.ctx());
    const bool is_lin = options.measure == similarity_measure::lin;
    const std::uint32_t top = std::min(options.top, rows.words - 1);
    const double scale = std::ldexp(1.0, is_lin ? rows.bits : rows.product_bits);
    if (top <= max_listed && rows.column_count <= max_columns)
        if (auto codes = choose_codes(host, rows, options.measure))
            return std::make_unique<candidate_search>(place, rows, top, std::move(*codes), scale);
    return std::make_unique<score_search>(place, rows, top, options.measure, scale);
}

neighbour_lists find_automatically(cuda_place& place, const fixed_rows& rows,
                                   const similarity_options& options) {
    if (rows.words < 2 || rows.columns.empty())
        return {std::vector<std::uint64_t>(std::size_t{rows.words} + 1), {}, {}, {}};
    return open_range_search(place, rows, options)->find({0, rows.words});
}

}  // namespace quern::word_similarity_detail
