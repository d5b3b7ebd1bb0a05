// SPDX-License-Identifier: Apache-2.0
// The join of method `automatic` on a GPU (the search: sketch_search.hpp). The device makes the bitmaps of grams
// (sketch_upload.hpp) and compares them (sketch_join.hpp).
//
// If device memory holds the sketches of all classes, each is made when a unit first needs it, and stays. Otherwise a unit's
// rows stay there while the tiles of columns that its windows reach pass through. The host only holds the tile in transfer.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/near_duplicates/filter/sketch_search.hpp"
#include "ops/near_duplicates/filter/sketch_upload.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t columns_at_once = 16 * column_tile;  // per block
constexpr std::size_t work_at_once = std::size_t{1} << 16;   // blocks per launch
constexpr std::size_t max_of_a_block =
    std::size_t{row_tile} * columns_at_once;  // pairs that pass the filters

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
            const std::uint64_t longest = (std::uint64_t{2} << scale) - 1;
            std::uint32_t end = std::min(last, column + columns_at_once);
            if (classes.length(end - 1) > longest) {
                const auto lengths = classes.lengths().first(end).subspan(column);
                end = column + static_cast<std::uint32_t>(std::ranges::upper_bound(lengths, longest) -
                                                          lengths.begin());
            }
            work.push_back({row, column, end, scale});
            column = end;
        }
    }
    return work;
}

template <class Unit>
class device_join final : public rows_join<Unit> {
  public:
    device_join(cuda_place& place, cpu_place& host, const join_input<Unit>& input,
                const copied_texts<Unit>& copied)
        : place_(place),
          in_(input),
          uploader_(place, host, input.texts, copied, input.sketches, input.rules, input.sizes),
          lengths_(array_from<cuda_place, std::uint32_t>(place, input.classes.lengths(), "lengths of texts")),
          device_rows_(array_from<cuda_place, std::uint32_t>(place, input.rows, "new texts")),
          kinds_(array_from<cuda_place, std::uint8_t>(place, input.kinds, "kinds of texts")),
          scales_(array_from<cuda_place, device_scales>(place, input.scales, "scales of texts")) {
        const std::size_t capacity =
            std::clamp<std::size_t>(place.memory().left() / 64, max_of_a_block, std::size_t{1} << 25);
        first_found_ = cuda_array<first_pair>(place, capacity, "candidates");
        found_ = cuda_array<std::uint64_t>(place, capacity, "candidates");
        // The other half is for texts.
        tiles_ = tiles_within(place.memory().left() / 2, in_.sizes);
        all_fit_ = in_.sizes.bytes({0, in_.classes.size()}) <= tiles_.rows;
        row_sketches_ = room_for(tiles_.rows);
        if (all_fit_) {
            is_made_.assign(in_.classes.size(), missing);
        } else {
            column_sketches_ = room_for(tiles_.columns);
        }
    }

    std::optional<std::uint64_t> bytes_of_rows() const override {
        return all_fit_ ? std::nullopt : std::optional(tiles_.rows);
    }
    void join(class_range some, const take_joined& take) override {
        const class_range rows = in_.classes_of(some), columns = in_.columns_of(some);
        if (all_fit_) {
            bring(rows);
            bring(columns);
            join(some, columns, take);
            return;
        }
        uploader_.upload(rows, row_sketches_);
        for_each_tile(in_.sizes, columns, tiles_.columns, [&](class_range tile) {
            uploader_.upload(tile, column_sketches_);
            join(some, tile, take);
        });
    }

  private:
    /// For any range of classes that for_each_tile() makes with so many bytes.
    uploaded_sketches room_for(std::uint64_t bytes) {
        const std::uint32_t n = in_.classes.size();
        std::size_t classes = 0, words = 0;
        for (std::uint32_t begin = 0; begin < n; ++begin) {
            const class_range range = in_.sizes.first_of({begin, n}, bytes);
            classes = std::max<std::size_t>(classes, range.last - range.first);
            words = std::max<std::size_t>(words, in_.sizes.words(range));
            if (range.last == n) break;
        }
        return {place_, classes, words};
    }

    /// Makes the sketches of those classes that are not there yet.
    void bring(class_range range) {
        const std::string_view flags(is_made_.data(), range.last);
        for (std::size_t begin = range.first; (begin = flags.find(missing, begin)) != flags.npos;) {
            const std::size_t end = std::min(flags.find(made, begin), flags.size());
            std::fill(is_made_.begin() + static_cast<std::ptrdiff_t>(begin),
                      is_made_.begin() + static_cast<std::ptrdiff_t>(end), made);
            uploader_.add({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)},
                          row_sketches_);
            begin = end;
        }
    }

    void join(class_range some, class_range columns, const take_joined& take) {
        const std::vector<join_work> work = cut_work(in_.classes, in_.threshold, in_.rows, some, columns);
        if (work.empty()) return;
        const auto device_work = array_from<cuda_place, join_work>(place_, work, "the work of a join");
        // Tiles of rows end with the existing rows.
        const device_classes classes{
            lengths_.span(),          kinds_.span(),
            scales_.span(),           device_span<const std::uint32_t>(device_rows_.span()).first(some.last),
            row_sketches_.sketches(), all_fit_ ? row_sketches_.sketches() : column_sketches_.sketches()};
        std::size_t at_once = work_at_once;
        for (std::size_t begin = 0; begin < work.size();) {
            place_.ctx().check_stop();
            const std::size_t count = std::min(at_once, work.size() - begin);
            const join_found passed =
                join_sketches(place_, classes, in_.threshold, in_.within_new,
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
            take(candidates(passed.all), compared);
        }
    }

    std::vector<candidate> candidates(std::uint64_t count) {
        const auto packed = to_host(place_, device_span<const std::uint64_t>(found_.span()).first(count));
        std::vector<candidate> texts;
        texts.reserve(packed.size());
        for (const std::uint64_t pair : packed) {
            const std::uint32_t x = in_.classes.text(static_cast<std::uint32_t>(pair >> 32)),
                                y = in_.classes.text(static_cast<std::uint32_t>(pair));
            texts.push_back({std::min(x, y), std::max(x, y)});
        }
        return texts;
    }

    cuda_place& place_;
    const join_input<Unit>& in_;
    sketch_uploader<Unit> uploader_;
    cuda_array<std::uint32_t> lengths_, device_rows_;
    cuda_array<std::uint8_t> kinds_;
    cuda_array<device_scales> scales_;
    cuda_array<first_pair> first_found_;
    cuda_array<std::uint64_t> found_;
    tile_sizes tiles_{};
    bool all_fit_ = false;
    static constexpr char missing = 0, made = 1;
    std::string is_made_;  ///< for each class, if all fit: whether its sketches are made
    uploaded_sketches row_sketches_, column_sketches_;
};

}  // namespace

template <class Unit>
std::unique_ptr<copied_texts<Unit>> room_for_texts(cuda_place& place,
                                                   const std::optional<unit_list<Unit>>& texts) {
    return std::make_unique<whole_texts<Unit>>(place, texts);
}

template <class Unit>
std::unique_ptr<rows_join<Unit>> make_rows_join(cuda_place& place, cpu_place& host,
                                                const join_input<Unit>& input,
                                                const copied_texts<Unit>& copied) {
    return std::make_unique<device_join<Unit>>(place, host, input, copied);
}

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cuda_place& place, const text_list& list,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts) {
    cpu_place host(place.ctx());
    one_place<cuda_place> only{place, host};
    early_copies<Unit, one_place<cuda_place>> copies(only, list, scope, {});
    sketch_search<Unit> search(host, list, known, options, scope, counts);
    return search.find_on(only, {}, copies);
}

template std::unique_ptr<copied_texts<std::uint8_t>> room_for_texts(
    cuda_place&, const std::optional<unit_list<std::uint8_t>>&);
template std::unique_ptr<copied_texts<std::uint32_t>> room_for_texts(
    cuda_place&, const std::optional<unit_list<std::uint32_t>>&);
template std::unique_ptr<rows_join<std::uint8_t>> make_rows_join(cuda_place&, cpu_place&,
                                                                 const join_input<std::uint8_t>&,
                                                                 const copied_texts<std::uint8_t>&);
template std::unique_ptr<rows_join<std::uint32_t>> make_rows_join(cuda_place&, cpu_place&,
                                                                  const join_input<std::uint32_t>&,
                                                                  const copied_texts<std::uint32_t>&);
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
