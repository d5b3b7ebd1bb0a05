// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU: classes and sketches are made on the host, which reads the texts anyway; the sketches
// are compared on the device (sketch_join.hpp), then the bounded edit distance decides there. The sketches that pass
// need no third filter: a warp gives an unrelated pair up early.
//
// Old texts with sketches are not read for that: few new texts meet them on the host (old_texts.hpp), and only these go
// through the join. Many new texts mean more pairs than old bytes: then all sketches are compared on the device.
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

/// What blocks do: tiles of rows with the columns that any of their rows can make a pair with.
std::vector<join_work> cut_work(const text_classes& classes, const decimal& threshold,
                                const std::vector<std::uint32_t>& rows) {
    std::vector<join_work> work;
    for (std::uint32_t row = 0; row < rows.size(); row += row_tile) {
        const std::uint32_t last_row =
            std::min<std::uint32_t>(row + row_tile, static_cast<std::uint32_t>(rows.size())) - 1;
        const std::uint32_t first = window_of(classes, threshold, rows[row]).first;
        const std::uint32_t last = window_of(classes, threshold, rows[last_row]).last;
        for (std::uint32_t column = first; column < last; column += columns_at_once)
            work.push_back({row, column, std::min(last, column + columns_at_once)});
    }
    return work;
}

/// All candidates of a new class and another one whose pairs are asked for. `skipped`: classes whose pairs are known.
template <class Unit>
void join_classes(cuda_place& place, cpu_place& host, const unit_texts<Unit>& texts,
                  const sketch_list& sketches, const text_classes& classes,
                  const std::vector<std::uint8_t>& skipped, const duplicate_options& options,
                  const duplicate_scope& scope, const take_candidates& take, duplicate_counts& counts) {
    const std::uint32_t n = classes.size();
    std::vector<std::uint32_t> rows;
    std::vector<std::uint8_t> kinds(n);
    for (std::uint32_t c = 0; c < n; ++c) {
        kinds[c] = static_cast<std::uint8_t>((classes.has_old(c) ? old_members : 0) |
                                             (classes.has_new(c) ? new_members : 0));
        if (classes.has_new(c) && skipped[c] == 0) rows.push_back(c);
    }
    const std::vector<join_work> work = cut_work(classes, options.threshold, rows);
    if (work.empty()) return;
    const sketched_classes all = sketch_classes(host, texts, sketches, classes);
    const auto lengths = array_from<cuda_place, std::uint32_t>(place, classes.lengths(), "lengths of texts");
    const auto device_kinds = array_from<cuda_place, std::uint8_t>(place, kinds, "kinds of texts");
    const auto units = array_from<cuda_place, std::uint8_t>(place, all.units.span(), "sketches of texts");
    const auto pairs = array_from<cuda_place, std::uint8_t>(place, all.pairs.span(), "sketches of texts");
    const auto device_rows = array_from<cuda_place, std::uint32_t>(place, rows, "new texts");
    const auto device_work = array_from<cuda_place, join_work>(place, work, "the work of a join");
    const std::size_t room =
        std::clamp<std::size_t>(place.memory().left() / 64, most_of_a_block, std::size_t{1} << 25);
    const cuda_array<std::uint64_t> first_found(place, room, "candidates"), found(place, room, "candidates");
    const device_sketches device_all{lengths.span(), device_kinds.span(), units.span(), pairs.span(),
                                     device_rows.span()};
    std::size_t at_once = work_at_once;
    for (std::size_t begin = 0; begin < work.size();) {
        place.run().check_stop();
        const std::size_t count = std::min(at_once, work.size() - begin);
        const join_found passed =
            join_sketches(place, device_all, options.threshold, scope.within_new,
                          device_span<const join_work>(device_work.span()).subspan(begin, count),
                          first_found.span(), found.span());
        if (passed.first > room) {
            at_once = count / 2;  // one block alone has room
            continue;
        }
        begin += count;
        counts.compared += passed.compared;
        counts.candidates += passed.both;
        const auto packed = to_host(place, device_span<const std::uint64_t>(found.span()).first(passed.both));
        std::vector<candidate> candidates;
        candidates.reserve(packed.size());
        for (const std::uint64_t pair : packed) {
            const std::uint32_t x = classes.text(static_cast<std::uint32_t>(pair >> 32)),
                                y = classes.text(static_cast<std::uint32_t>(pair));
            candidates.push_back({std::min(x, y), std::max(x, y)});
        }
        take(candidates);
    }
}

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
    const auto take = [&](std::span<const candidate> candidates) {
        texts.append_pairs(place, options.threshold, candidates, found, counts);
    };
    const text_classes fresh(host, sketches, scope.first_new, sketches.size(), true);
    if (scope.first_new != 0 && !on_host(host, list, sketches, fresh, options.threshold)) {
        const text_classes classes(host, sketches, 0, sketches.size(), true);
        join_classes(place, host, texts, sketches, classes, std::vector<std::uint8_t>(classes.size()),
                     options, scope, take, counts);
        append_copies(classes, copies);
        return pairs_of_texts(sketches, scope, std::move(copies), std::move(found));
    }
    if (scope.first_new != 0) {
        const sketched_classes rows = sketch_classes(host, texts, sketches, fresh);
        scan_old_texts(host, texts, sketches, rows, options.threshold, take, copies, counts);
    }
    const std::vector<std::uint8_t> skipped = lead_to_old(fresh, copies);
    if (scope.within_new)
        join_classes(place, host, texts, sketches, fresh, skipped, options, scope, take, counts);
    return pairs_of_texts(sketches, scope, std::move(copies), std::move(found));
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
