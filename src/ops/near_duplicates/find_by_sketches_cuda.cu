// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU: classes and sketches are made on the host, which reads the texts anyway; the sketches
// are compared on the device (sketch_join.hpp), then the bounded edit distance decides there. The sketches that pass
// need no third filter: a warp gives an unrelated pair up early.
#include <algorithm>
#include <vector>

#include "ops/near_duplicates/sketch_join.hpp"
#include "ops/near_duplicates/sketched_classes.hpp"
#include "ops/near_duplicates/verify.hpp"

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

}  // namespace

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cuda_place& place, const unit_list<Unit>& texts,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             duplicate_counts& counts) {
    cpu_place host(place.run());
    const text_classes classes(host, texts, scope.first_new);
    const std::uint32_t n = classes.size();
    std::vector<std::uint32_t> lengths(n), rows;
    std::vector<std::uint8_t> kinds(n);
    for (std::uint32_t c = 0; c < n; ++c) {
        lengths[c] = classes.length(c);
        kinds[c] = static_cast<std::uint8_t>((classes.has_old(c) ? old_members : 0) |
                                             (classes.has_new(c) ? new_members : 0));
        if (classes.has_new(c)) rows.push_back(c);
    }
    const std::vector<join_work> work = cut_work(classes, options.threshold, rows);
    std::vector<duplicate_pair> class_pairs;
    if (!work.empty()) {
        const auto sketches = sketch_all(host, texts, classes);
        const auto device_lengths = array_from<cuda_place, std::uint32_t>(place, lengths, "lengths of texts");
        const auto device_kinds = array_from<cuda_place, std::uint8_t>(place, kinds, "kinds of texts");
        const auto device_units =
            array_from<cuda_place, std::uint8_t>(place, sketches.units.span(), "sketches of texts");
        const auto device_pairs =
            array_from<cuda_place, std::uint8_t>(place, sketches.pairs.span(), "sketches of texts");
        const auto device_rows = array_from<cuda_place, std::uint32_t>(place, rows, "new texts");
        const auto device_work = array_from<cuda_place, join_work>(place, work, "the work of a join");
        const std::size_t room =
            std::clamp<std::size_t>(place.memory().left() / 64, most_of_a_block, std::size_t{1} << 25);
        const cuda_array<std::uint64_t> first_found(place, room, "candidates"),
            found(place, room, "candidates");
        const device_sketches all{device_lengths.span(), device_kinds.span(), device_units.span(),
                                  device_pairs.span(), device_rows.span()};
        std::size_t at_once = work_at_once;
        for (std::size_t begin = 0; begin < work.size();) {
            place.run().check_stop();
            const std::size_t count = std::min(at_once, work.size() - begin);
            const join_found passed =
                join_sketches(place, all, options.threshold, scope.within_new,
                              device_span<const join_work>(device_work.span()).subspan(begin, count),
                              first_found.span(), found.span());
            if (passed.first > room) {
                at_once = count / 2;  // one block alone has room
                continue;
            }
            begin += count;
            counts.compared += passed.compared;
            counts.candidates += passed.both;
            const auto packed =
                to_host(place, device_span<const std::uint64_t>(found.span()).first(passed.both));
            std::vector<candidate> candidates;
            candidates.reserve(packed.size());
            for (const std::uint64_t pair : packed)
                candidates.push_back(
                    {static_cast<std::uint32_t>(pair >> 32), static_cast<std::uint32_t>(pair)});
            append_class_pairs(place, texts, classes, options.threshold,
                               std::span<const candidate>(candidates), class_pairs, counts);
        }
    }
    return pairs_of_texts(classes, scope, class_pairs);
}

template std::vector<duplicate_pair> find_by_sketches(cuda_place&, const unit_list<std::uint8_t>&,
                                                      const duplicate_options&, const duplicate_scope&,
                                                      duplicate_counts&);
template std::vector<duplicate_pair> find_by_sketches(cuda_place&, const unit_list<std::uint32_t>&,
                                                      const duplicate_options&, const duplicate_scope&,
                                                      duplicate_counts&);

}  // namespace quern::near_duplicates_detail
