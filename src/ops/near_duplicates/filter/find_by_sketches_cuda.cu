// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU. The host makes classes and sketches, because it reads the texts anyway. The device compares
// the sketches (sketch_join.hpp), then decides by the bounded edit distance. A third filter is not needed: a warp abandons
// an unrelated pair early.
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
#include <optional>
#include <vector>

#include "ops/near_duplicates/filter/candidate_scan.hpp"
#include "ops/near_duplicates/filter/sketch_join.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"
#include "ops/near_duplicates/links/link_search.hpp"
#include "ops/near_duplicates/texts/old_texts.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t columns_at_once = 32 * column_tile;  // per block
constexpr std::size_t work_at_once = std::size_t{1} << 16;   // blocks per launch
constexpr std::size_t max_of_a_block =
    std::size_t{row_tile} * columns_at_once;  // pairs that pass the filters

constexpr std::uint32_t sketched_at_once = 1 << 18;  // classes in transfer to the device

/// The work of blocks: tiles of rows ([begin, end) of `rows`) with the `columns` that any of their rows can make a pair
/// with.
std::vector<join_work> cut_work(const text_classes& classes, const decimal& threshold,
                                const std::vector<std::uint32_t>& rows, class_range some,
                                class_range columns) {
    std::vector<join_work> work;
    for (std::uint32_t row = some.first; row < some.last; row += row_tile) {
        const std::uint32_t last_row = std::min(row + row_tile, some.last) - 1;
        const std::uint32_t first = std::max(window_of(classes, threshold, rows[row]).first, columns.first);
        const std::uint32_t last = std::min(window_of(classes, threshold, rows[last_row]).last, columns.last);
        for (std::uint32_t column = first; column < last; column += columns_at_once)
            work.push_back({row, column, std::min(last, column + columns_at_once)});
    }
    return work;
}

/// All candidates of a new class and another one whose pairs are requested, tile by tile as sketches fit the device.
/// `skipped`: classes whose pairs are known.
template <class Unit>
class class_join {
  public:
    class_join(cuda_place& place, cpu_place& host, const unit_texts<Unit>& texts, const sketch_list& sketches,
               const text_classes& classes, const std::vector<std::uint8_t>& skipped,
               const decimal& threshold, bool within_new, const take_candidates& take,
               duplicate_counts& counts, progress_meter& meter)
        : place_(place),
          host_(host),
          texts_(texts),
          sketches_(sketches),
          classes_(classes),
          threshold_(threshold),
          within_new_(within_new),
          take_(take),
          counts_(counts),
          meter_(meter) {
        const std::uint32_t n = classes.size();
        std::vector<std::uint8_t> kinds(n);
        for (std::uint32_t c = 0; c < n; ++c) {
            kinds[c] = static_cast<std::uint8_t>((classes.has_old(c) ? old_members : 0) |
                                                 (classes.has_new(c) ? new_members : 0));
            if (classes.has_new(c) && skipped[c] == 0) rows_.push_back(c);
        }
        if (rows_.empty() || n < 2) return;
        lengths_ = array_from<cuda_place, std::uint32_t>(place, classes.lengths(), "lengths of texts");
        kinds_ = array_from<cuda_place, std::uint8_t>(place, kinds, "kinds of texts");
        device_rows_ = array_from<cuda_place, std::uint32_t>(place, rows_, "new texts");
        const std::size_t capacity =
            std::clamp<std::size_t>(place.memory().left() / 64, max_of_a_block, std::size_t{1} << 25);
        first_found_ = cuda_array<std::uint64_t>(place, capacity, "candidates");
        found_ = cuda_array<std::uint64_t>(place, capacity, "candidates");
        // The other half is for texts.
        tiles_ = tiles_within(place.memory().left() / 2, n);
        const std::size_t slots = tiles_.columns == n ? n : std::size_t{tiles_.columns} + tiles_.rows;
        units_ = cuda_array<std::uint8_t>(place, slots * unit_buckets, "sketches of texts");
        pairs_ = cuda_array<std::uint8_t>(place, slots * pair_buckets, "sketches of texts");
    }

    void run() {
        const std::uint32_t n = classes_.size();
        if (pairs_.size() == 0) return;
        if (tiles_.columns == n) {  // all rows are columns too
            upload({0, n}, 0);
            join({0, static_cast<std::uint32_t>(rows_.size())}, {0, n});
            return;
        }
        for_each_tile({0, n}, tiles_.rows, [&](class_range range) {
            const auto index_of = [&](std::uint32_t c) {
                return static_cast<std::uint32_t>(std::ranges::lower_bound(rows_, c) - rows_.begin());
            };
            const class_range some{index_of(range.first), index_of(range.last)};
            if (some.first == some.last) return;
            upload(range, tiles_.columns);
            first_row_ = range.first;
            const class_range near_lengths{window_of(classes_, threshold_, rows_[some.first]).first,
                                           window_of(classes_, threshold_, rows_[some.last - 1]).last};
            for_each_tile(near_lengths, tiles_.columns, [&](class_range columns) {
                upload(columns, 0);
                join(some, columns);
            });
        });
    }

  private:
    /// Copies sketches of classes to the device, from a slot on.
    void upload(class_range range, std::uint32_t slot) {
        const tile_sizes fit = tiles_within(host_.memory().left() / 4, classes_.size());
        for_each_tile(range, std::min(fit.rows, sketched_at_once), [&](class_range part) {
            const sketched_classes made = sketch_classes(host_, texts_, sketches_, classes_, part);
            const std::size_t at = slot + std::size_t{part.first - range.first};
            copy_in<std::uint8_t>(place_, made.units.span(),
                                  units_.span().subspan(at * unit_buckets, made.units.size()));
            copy_in<std::uint8_t>(place_, made.pairs.span(),
                                  pairs_.span().subspan(at * pair_buckets, made.pairs.size()));
        });
    }

    void join(class_range some, class_range columns) {
        const std::vector<join_work> work = cut_work(classes_, threshold_, rows_, some, columns);
        if (work.empty()) return;
        const auto device_work = array_from<cuda_place, join_work>(place_, work, "the work of a join");
        // Tiles of rows end with the existing rows.
        const device_sketches sketches{lengths_.span(),
                                       kinds_.span(),
                                       units_.span(),
                                       pairs_.span(),
                                       device_span<const std::uint32_t>(device_rows_.span()).first(some.last),
                                       columns.first,
                                       columns.last - columns.first,
                                       first_row_,
                                       tiles_.columns};
        std::size_t at_once = work_at_once;
        for (std::size_t begin = 0; begin < work.size();) {
            place_.ctx().check_stop();
            const std::size_t count = std::min(at_once, work.size() - begin);
            const join_found passed =
                join_sketches(place_, sketches, threshold_, within_new_,
                              device_span<const join_work>(device_work.span()).subspan(begin, count),
                              first_found_.span(), found_.span());
            if (passed.first > first_found_.size()) {
                at_once = count / 2;  // one block alone always fits
                continue;
            }
            begin += count;
            counts_.compared += passed.compared;
            counts_.candidates += passed.both;
            meter_.add(passed.compared);
            hand_over(passed.both);
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
    cpu_place& host_;
    const unit_texts<Unit>& texts_;
    const sketch_list& sketches_;
    const text_classes& classes_;
    const decimal& threshold_;
    bool within_new_;
    const take_candidates& take_;
    duplicate_counts& counts_;
    progress_meter& meter_;
    std::vector<std::uint32_t> rows_;
    tile_sizes tiles_{};
    std::uint32_t first_row_ = 0;  ///< of the tile of rows
    cuda_array<std::uint32_t> lengths_, device_rows_;
    cuda_array<std::uint8_t> kinds_, units_, pairs_;
    cuda_array<std::uint64_t> first_found_, found_;
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
    const unit_texts<Unit> texts(host, list, sketches);
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
    if (scope.within_new) to_compare += pairs_in_windows(fresh, options.threshold);
    progress_meter meter(host.ctx(), "compare", to_compare, "pairs");
    if (scope.first_new != 0 && !on_host(host, list, sketches, fresh, options.threshold)) {
        const text_classes classes(host, sketches, 0, sketches.size(), true);
        const std::vector<std::uint8_t> skipped(classes.size());
        class_join<Unit>(place, host, texts, sketches, classes, skipped, options.threshold, scope.within_new,
                         taking, counts, meter)
            .run();
        append_copies(classes, copies);
        return result();
    }
    if (scope.first_new != 0) {
        const tile_sizes tiles = tiles_within(host.memory().left() / 2, fresh.size());
        for_each_tile({0, fresh.size()}, tiles.rows, [&](class_range range) {
            const sketched_classes rows = sketch_classes(host, texts, sketches, fresh, range);
            scan_old_texts(host, texts, sketches, rows, options.threshold, taking,
                           search ? &*search : nullptr, copies, counts, meter);
        });
    }
    const std::vector<std::uint8_t> skipped = lead_to_old(fresh, copies);
    if (scope.within_new) {
        class_join<Unit>(place, host, texts, sketches, fresh, skipped, options.threshold, true, taking,
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
