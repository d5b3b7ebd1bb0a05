// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU. The host makes classes and counts units, because it reads the texts for their hashes anyway.
// The device makes the bitmaps of grams (sketch_upload.hpp), compares them (sketch_join.hpp), then decides by the bounded edit
// distance. Another filter is not needed: a warp abandons an unrelated pair early.
//
// Old texts with sketches are not read for that: few new texts match them on the host (old_texts.hpp), and only these go
// through the join. With many new texts there are more pairs than old bytes; then the device compares all sketches.
//
// Where links are enough, candidates of the join are decided in waves, those first that would connect the most texts
// (link_search.hpp). The choice does not change what is connected.
//
// Where device memory does not hold the sketches of all classes, a tile of rows stays there while the tiles of columns that
// its windows reach pass through. The host only holds the tile in transfer.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "ops/near_duplicates/filter/candidate_scan.hpp"
#include "ops/near_duplicates/filter/second_filter.hpp"
#include "ops/near_duplicates/filter/sketch_join.hpp"
#include "ops/near_duplicates/filter/sketch_upload.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"
#include "ops/near_duplicates/links/link_search.hpp"
#include "ops/near_duplicates/texts/old_texts.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t columns_at_once = 16 * column_tile;  // per block
constexpr std::size_t work_at_once = std::size_t{1} << 16;   // blocks per launch
constexpr std::size_t max_of_a_block =
    std::size_t{row_tile} * columns_at_once;  // pairs that pass the filters

// For the estimate: half of an H200's rate of products; a unit is copied to the device, and its grams go to the bitmaps.
constexpr double bits_a_second = 1e15, seconds_a_unit = 1e-10;

/// The work of blocks: tiles of rows ([begin, end) of `rows`) with the `columns` that any of their rows can make a pair
/// with, apart by scales.
std::vector<join_work> cut_work(const text_classes& classes, const decimal& threshold,
                                const std::vector<std::uint32_t>& rows, class_range some,
                                class_range columns) {
    std::vector<join_work> work;
    for (std::uint32_t row = some.first; row < some.last; row += row_tile) {
        const std::uint32_t last_row = std::min(row + row_tile, some.last) - 1;
        const std::uint32_t first = std::max(window_of(classes, threshold, rows[row]).first, columns.first);
        const std::uint32_t last = std::min(window_of(classes, threshold, rows[last_row]).last, columns.last);
        for (std::uint32_t column = first; column < last;) {
            const unsigned scale = scale_of(classes.length(column));
            const auto lengths = classes.lengths().first(std::min(last, column + columns_at_once));
            const auto end = static_cast<std::uint32_t>(
                std::upper_bound(lengths.begin() + column, lengths.end(), (std::uint64_t{2} << scale) - 1) -
                lengths.begin());
            work.push_back({row, column, end, scale});
            column = end;
        }
    }
    return work;
}

/// All candidates of a new class and another one whose pairs are requested, tile by tile as sketches fit the device.
/// `skipped`: classes whose pairs are known.
template <class Unit>
class class_join {
  public:
    class_join(cuda_place& place, cpu_place& host, unit_texts<Unit>& texts, const sketch_list& sketches,
               const text_classes& classes, const gram_rules& rules, const std::vector<std::uint8_t>& skipped,
               const decimal& threshold, bool within_new, const take_candidates& take,
               duplicate_counts& counts, progress_meter& meter)
        : place_(place),
          classes_(classes),
          threshold_(threshold),
          within_new_(within_new),
          take_(take),
          counts_(counts),
          meter_(meter),
          sizes_(classes, threshold, second_filter::bitmaps) {
        const std::uint32_t n = classes.size();
        std::vector<std::uint8_t> kinds(n);
        std::vector<device_scales> scales(n);
        for (std::uint32_t c = 0; c < n; ++c) {
            kinds[c] = static_cast<std::uint8_t>((classes.has_old(c) ? old_members : 0) |
                                                 (classes.has_new(c) ? new_members : 0));
            const scale_range own = sizes_.scales(c);
            scales[c] = {static_cast<std::uint8_t>(own.first), static_cast<std::uint8_t>(own.last)};
            if (classes.has_new(c) && skipped[c] == 0) rows_.push_back(c);
        }
        if (rows_.empty() || n < 2) return;
        whole_.emplace(place, texts);
        uploader_.emplace(place, host, texts, *whole_, sketches, rules, sizes_);
        lengths_ = array_from<cuda_place, std::uint32_t>(place, classes.lengths(), "lengths of texts");
        kinds_ = array_from<cuda_place, std::uint8_t>(place, kinds, "kinds of texts");
        scales_ = array_from<cuda_place, device_scales>(place, scales, "scales of texts");
        device_rows_ = array_from<cuda_place, std::uint32_t>(place, rows_, "new texts");
        const std::size_t capacity =
            std::clamp<std::size_t>(place.memory().left() / 64, max_of_a_block, std::size_t{1} << 25);
        first_found_ = cuda_array<first_pair>(place, capacity, "candidates");
        found_ = cuda_array<std::uint64_t>(place, capacity, "candidates");
        // The other half is for texts.
        tiles_ = tiles_within(place.memory().left() / 2, sizes_);
        is_one_tile_ = sizes_.bytes({0, n}) <= tiles_.rows;
        row_sketches_ = room_for(tiles_.rows);
        if (!is_one_tile_) column_sketches_ = room_for(tiles_.columns);
    }

    void run() {
        const class_range all{0, classes_.size()};
        if (found_.size() == 0) return;
        if (is_one_tile_) {  // all rows are columns too
            uploader_->upload(all, row_sketches_);
            join({0, static_cast<std::uint32_t>(rows_.size())}, all);
            return;
        }
        for_each_tile(sizes_, all, tiles_.rows, [&](class_range range) {
            const auto index_of = [&](std::uint32_t c) {
                return static_cast<std::uint32_t>(std::ranges::lower_bound(rows_, c) - rows_.begin());
            };
            const class_range some{index_of(range.first), index_of(range.last)};
            if (some.first == some.last) return;
            uploader_->upload(range, row_sketches_);
            const class_range near_lengths{window_of(classes_, threshold_, rows_[some.first]).first,
                                           window_of(classes_, threshold_, rows_[some.last - 1]).last};
            for_each_tile(sizes_, near_lengths, tiles_.columns, [&](class_range columns) {
                uploader_->upload(columns, column_sketches_);
                join(some, columns);
            });
        });
    }

  private:
    /// For any range of classes that for_each_tile() makes with so many bytes.
    uploaded_sketches room_for(std::uint64_t bytes) {
        std::size_t classes = 0, words = 0;
        for (std::uint32_t begin = 0; begin < classes_.size(); ++begin) {
            const class_range range = sizes_.first_of({begin, classes_.size()}, bytes);
            classes = std::max<std::size_t>(classes, range.last - range.first);
            words = std::max<std::size_t>(words, sizes_.words(range));
            if (range.last == classes_.size()) break;
        }
        return {place_, classes, words};
    }

    void join(class_range some, class_range columns) {
        const std::vector<join_work> work = cut_work(classes_, threshold_, rows_, some, columns);
        if (work.empty()) return;
        const auto device_work = array_from<cuda_place, join_work>(place_, work, "the work of a join");
        // Tiles of rows end with the existing rows.
        const device_classes classes{
            lengths_.span(),          kinds_.span(),
            scales_.span(),           device_span<const std::uint32_t>(device_rows_.span()).first(some.last),
            row_sketches_.sketches(), is_one_tile_ ? row_sketches_.sketches() : column_sketches_.sketches()};
        std::size_t at_once = work_at_once;
        for (std::size_t begin = 0; begin < work.size();) {
            place_.ctx().check_stop();
            const std::size_t count = std::min(at_once, work.size() - begin);
            const join_found passed =
                join_sketches(place_, classes, threshold_, within_new_,
                              device_span<const join_work>(device_work.span()).subspan(begin, count),
                              first_found_.span(), found_.span());
            if (passed.first > found_.size()) {
                at_once = count / 2;  // one block alone always fits
                continue;
            }
            std::uint64_t compared = 0;
            for (std::size_t w = begin; w < begin + count; ++w)
                compared += std::uint64_t{std::min(row_tile, some.last - work[w].row)} *
                            (work[w].last - work[w].first);
            begin += count;
            counts_.compared += compared;
            counts_.candidates += passed.all;
            meter_.add(compared);
            hand_over(passed.all);
        }
    }

    void hand_over(std::uint64_t count) {
        const auto packed = to_host(place_, device_span<const std::uint64_t>(found_.span()).first(count));
        std::vector<candidate> candidates;
        candidates.reserve(packed.size());
        for (const std::uint64_t pair : packed) {
            const std::uint32_t x = classes_.text(static_cast<std::uint32_t>(pair >> 32)),
                                y = classes_.text(static_cast<std::uint32_t>(pair));
            candidates.push_back({std::min(x, y), std::max(x, y)});
        }
        take_(candidates);
    }

    cuda_place& place_;
    const text_classes& classes_;
    const decimal& threshold_;
    bool within_new_;
    const take_candidates& take_;
    duplicate_counts& counts_;
    progress_meter& meter_;
    std::vector<std::uint32_t> rows_;
    sketch_sizes sizes_;
    std::optional<whole_texts<Unit>> whole_;
    std::optional<sketch_uploader<Unit>> uploader_;
    tile_sizes tiles_{};
    bool is_one_tile_ = false;
    cuda_array<std::uint32_t> lengths_, device_rows_;
    cuda_array<std::uint8_t> kinds_;
    cuda_array<device_scales> scales_;
    uploaded_sketches row_sketches_, column_sketches_;
    cuda_array<first_pair> first_found_;
    cuda_array<std::uint64_t> found_;
};

/// Whether the host compares old texts with new ones: if that costs less than reading the old texts and counting their
/// pairs of units. One comparison of 64 bytes takes as long as a few bytes of text.
bool on_host(cpu_place& host, const text_list& list, const sketch_list& sketches, const text_classes& fresh,
             const decimal& threshold) {
    constexpr std::uint64_t bytes_a_pair = 8;
    const std::uint64_t old_bytes = list.offsets[sketches.first_new()] - list.offsets[0];
    return pairs_with_old(host, sketches, fresh, threshold) * bytes_a_pair < old_bytes;
}

}  // namespace

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cuda_place& place, const text_list& list,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts) {
    cpu_place host(place.ctx());
    const sketch_list sketches(host, list, known, unit_of<Unit>, scope.first_new);
    unit_texts<Unit> texts(host, list, sketches);
    std::vector<duplicate_pair> found;
    std::vector<text_copy> copies;
    std::optional<link_search> search;
    if (wants_links(scope)) search.emplace(host, sketches.size());
    const take_candidates taking = [&](std::span<const candidate> candidates) {
        if (search) {
            link_candidates(place, texts, options.threshold, candidates, search->links, counts);
        } else {
            report_candidates(host.ctx(), counts.candidates - candidates.size(), candidates.size(), 0, 0);
            texts.append_pairs(place, options.threshold, candidates, found, counts);
        }
    };
    const auto result = [&] {
        if (search) return search->found(host, sketches, scope, std::move(copies), counts);
        return pairs_of_texts(host, sketches, scope, std::move(copies), std::move(found), counts);
    };
    const text_classes fresh(host, sketches, scope.first_new, sketches.size(), true);
    std::uint64_t to_compare = about_pairs_with_old(host, sketches, fresh, options.threshold);
    if (scope.within_new) to_compare += pairs_in_windows(host, fresh, options.threshold);
    progress_meter meter(host.ctx(), "compare", to_compare, "pairs");
    if (scope.first_new != 0 && !on_host(host, list, sketches, fresh, options.threshold)) {
        const text_classes classes(host, sketches, 0, sketches.size(), true);
        const std::vector<std::uint8_t> skipped(classes.size());
        const gram_rules rules = learn_rules(host, texts, classes);
        class_join<Unit>(place, host, texts, sketches, classes, rules, skipped, options.threshold,
                         scope.within_new, taking, counts, meter)
            .run();
        append_copies(classes, copies);
        return result();
    }
    const gram_rules rules = learn_rules(host, texts, fresh);
    const search_cost cost =
        estimate_cost(texts, sketches, fresh, rules, options.threshold, to_compare, wants_links(scope));
    const std::uint64_t units =
        std::accumulate(fresh.lengths().begin(), fresh.lengths().end(), std::uint64_t{0});
    const double making = scope.first_new != 0 ? cost.with_bitmaps / static_cast<double>(host.threads())
                                               : static_cast<double>(units) * seconds_a_unit;
    report_cost(host.ctx(), to_compare,
                making + static_cast<double>(to_compare) * cost.words * 64 / bits_a_second);
    if (scope.first_new != 0) {
        const sketch_sizes sizes(fresh, options.threshold, cost.cheaper());
        const tile_sizes tiles = tiles_within(host.memory().left() / 2, sizes);
        for_each_tile(sizes, {0, fresh.size()}, tiles.rows, [&](class_range range) {
            const sketched_classes rows = sketch_classes(host, texts, sketches, rules, sizes, range);
            scan_old_texts(host, texts, sketches, rules, rows, options.threshold, taking,
                           search ? &*search : nullptr, copies, counts, meter);
        });
    }
    const std::vector<std::uint8_t> skipped = lead_to_old(fresh, copies);
    if (scope.within_new) {
        class_join<Unit>(place, host, texts, sketches, fresh, rules, skipped, options.threshold, true, taking,
                         counts, meter)
            .run();
    }
    return result();
}

template std::vector<duplicate_pair> find_by_sketches<std::uint8_t>(cuda_place&, const text_list&,
                                                                    const text_sketches&,
                                                                    const duplicate_options&,
                                                                    const duplicate_scope&,
                                                                    duplicate_counts&);
template std::vector<duplicate_pair> find_by_sketches<std::uint32_t>(cuda_place&, const text_list&,
                                                                     const text_sketches&,
                                                                     const duplicate_options&,
                                                                     const duplicate_scope&,
                                                                     duplicate_counts&);

}  // namespace quern::near_duplicates_detail
