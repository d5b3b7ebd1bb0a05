// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU: classes and sketches are made on the host, which reads the texts anyway; the sketches
// are compared on the device (sketch_join.hpp), then the bounded edit distance decides there. The sketches that pass
// need no third filter: a warp gives an unrelated pair up early.
//
// Old texts with sketches are not read for that: few new texts meet them on the host (old_texts.hpp), and only these go
// through the join. Many new texts mean more pairs than old bytes: then all sketches are compared on the device.
//
// Where its memory does not hold the sketches of all classes, a tile of rows stays there while the tiles of columns that
// its windows reach come and go; on the host there is never more than what is on its way.
#include <algorithm>
#include <vector>

#include "ops/near_duplicates/old_texts.hpp"
#include "ops/near_duplicates/sketch_join.hpp"
#include "ops/near_duplicates/sketched_classes.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t columns_at_once = 32 * column_tile;  // of a block
constexpr std::size_t work_at_once = std::size_t{1} << 16;   // blocks of a launch
constexpr std::size_t most_of_a_block =
    std::size_t{row_tile} * columns_at_once;  // pairs that pass the filters

constexpr std::uint32_t sketched_at_once = 1 << 18;  // classes, on their way to the device

/// What blocks do: tiles of rows, those [begin, end) of `rows`, with the ones among `columns` that any of their rows can
/// make a pair with.
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

/// All candidates of a new class and another one whose pairs are asked for, tile by tile as the device has room for their
/// sketches. `skipped`: classes whose pairs are known.
template <class Unit>
class class_join {
  public:
    class_join(cuda_place& place, cpu_place& host, const unit_texts<Unit>& texts, const sketch_list& sketches,
               const text_classes& classes, const std::vector<std::uint8_t>& skipped,
               const decimal& threshold, bool within_new, const take_candidates& take,
               duplicate_counts& counts)
        : place_(place),
          host_(host),
          texts_(texts),
          sketches_(sketches),
          classes_(classes),
          threshold_(threshold),
          within_new_(within_new),
          take_(take),
          counts_(counts) {
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
        const std::size_t room =
            std::clamp<std::size_t>(place.memory().left() / 64, most_of_a_block, std::size_t{1} << 25);
        first_found_ = cuda_array<std::uint64_t>(place, room, "candidates");
        found_ = cuda_array<std::uint64_t>(place, room, "candidates");
        // The other half is for texts.
        tiles_ = tiles_within(place.memory().left() / 2, n);
        const std::size_t slots = tiles_.columns == n ? n : std::size_t{tiles_.columns} + tiles_.rows;
        units_ = cuda_array<std::uint8_t>(place, slots * unit_buckets, "sketches of texts");
        pairs_ = cuda_array<std::uint8_t>(place, slots * pair_buckets, "sketches of texts");
    }

    void run() {
        const std::uint32_t n = classes_.size();
        if (pairs_.size() == 0) return;
        if (tiles_.columns == n) {  // all rows are columns, too
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
            const class_range beside{window_of(classes_, threshold_, rows_[some.first]).first,
                                     window_of(classes_, threshold_, rows_[some.last - 1]).last};
            for_each_tile(beside, tiles_.columns, [&](class_range columns) {
                upload(columns, 0);
                join(some, columns);
            });
        });
    }

  private:
    /// Sketches of classes to the device, from a slot on.
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
        // Tiles of rows end with the rows that are there.
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
            place_.run().check_stop();
            const std::size_t count = std::min(at_once, work.size() - begin);
            const join_found passed =
                join_sketches(place_, sketches, threshold_, within_new_,
                              device_span<const join_work>(device_work.span()).subspan(begin, count),
                              first_found_.span(), found_.span());
            if (passed.first > first_found_.size()) {
                at_once = count / 2;  // one block alone has room
                continue;
            }
            begin += count;
            counts_.compared += passed.compared;
            counts_.candidates += passed.both;
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
    std::vector<std::uint32_t> rows_;
    tile_sizes tiles_{};
    std::uint32_t first_row_ = 0;  ///< of the tile of rows
    cuda_array<std::uint32_t> lengths_, device_rows_;
    cuda_array<std::uint8_t> kinds_, units_, pairs_;
    cuda_array<std::uint64_t> first_found_, found_;
};

/// Whether old texts meet the new ones on the host: where that costs less than to read the old texts and count their
/// pairs of units. A comparison of 64 bytes takes as long as a few bytes of text.
bool on_host(cpu_place& host, const text_list& list, const sketch_list& sketches, const text_classes& fresh,
             const decimal& threshold) {
    constexpr std::uint64_t bytes_a_pair = 8;
    const std::uint64_t old_bytes = list.offsets[sketches.first_new()] - list.offsets[0];
    return pairs_beside_old(host, sketches, fresh, threshold) * bytes_a_pair < old_bytes;
}

}  // namespace

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cuda_place& place, const text_list& list,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts) {
    cpu_place host(place.run());
    const sketch_list sketches(host, list, known, unit_of<Unit>, scope.first_new);
    const unit_texts<Unit> texts(host, list, sketches);
    std::vector<duplicate_pair> found;
    std::vector<text_copy> copies;
    const take_candidates taking = [&](std::span<const candidate> candidates) {
        texts.append_pairs(place, options.threshold, candidates, found, counts);
    };
    const text_classes fresh(host, sketches, scope.first_new, sketches.size(), true);
    if (scope.first_new != 0 && !on_host(host, list, sketches, fresh, options.threshold)) {
        const text_classes classes(host, sketches, 0, sketches.size(), true);
        const std::vector<std::uint8_t> skipped(classes.size());
        class_join<Unit>(place, host, texts, sketches, classes, skipped, options.threshold, scope.within_new,
                         taking, counts)
            .run();
        append_copies(classes, copies);
        return pairs_of_texts(host, sketches, scope, std::move(copies), std::move(found), counts);
    }
    if (scope.first_new != 0) {
        const tile_sizes tiles = tiles_within(host.memory().left() / 2, fresh.size());
        for_each_tile({0, fresh.size()}, tiles.rows, [&](class_range range) {
            const sketched_classes rows = sketch_classes(host, texts, sketches, fresh, range);
            scan_old_texts(host, texts, sketches, rows, options.threshold, taking, copies, counts);
        });
    }
    const std::vector<std::uint8_t> skipped = lead_to_old(fresh, copies);
    if (scope.within_new) {
        class_join<Unit>(place, host, texts, sketches, fresh, skipped, options.threshold, true, taking,
                         counts)
            .run();
    }
    return pairs_of_texts(host, sketches, scope, std::move(copies), std::move(found), counts);
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
