// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/rows_join.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"

namespace quern::near_duplicates_detail {
namespace {

template <class Unit>
class counts_join final : public rows_join<Unit> {
  public:
    explicit counts_join(const join_input<Unit>& input) : in_(input) {}

    std::optional<std::uint64_t> bytes_of_rows() const override { return std::nullopt; }

    void join(class_range some, const take_joined& take) override {
        std::vector<candidate> found;
        for (std::uint32_t r = some.first; r < some.last; ++r) {
            const std::uint32_t row = in_.rows[r];
            const class_range window = window_of(in_.classes, in_.threshold, row);
            for (std::uint32_t column = window.first; column < window.last; ++column) {
                if (!is_requested(row, column) || !allow(row, column)) continue;
                const std::uint32_t x = in_.classes.text(row), y = in_.classes.text(column);
                found.push_back({std::min(x, y), std::max(x, y)});
            }
            take(found, window.last - window.first);
            found.clear();
        }
    }

  private:
    /// As on the device: of two rows, the later finds their pair.
    bool is_requested(std::uint32_t row, std::uint32_t column) const {
        const unsigned of_row = in_.kinds[row], of_column = in_.kinds[column];
        if (row == column || (column > row && (of_column & new_members) != 0)) return false;
        return (of_column & old_members) != 0 || (of_row & old_members) != 0 || in_.within_new;
    }
    bool allow(std::uint32_t row, std::uint32_t column) const {
        const std::uint64_t x = in_.classes.length(row), y = in_.classes.length(column);
        std::uint32_t norm = 0;
        unit_norms(in_.sketches[in_.classes.text(row)].counts.data(),
                   in_.sketches[in_.classes.text(column)].counts.data(), 1, &norm);
        return norm <= largest_norm(1, largest_distance(in_.threshold, x + y), x < y ? y - x : x - y);
    }

    const join_input<Unit>& in_;
};

}  // namespace

template <class Unit>
join_input<Unit>::join_input(cpu_place& host, const unit_texts<Unit>& the_texts,
                             const sketch_list& the_sketches, const text_classes& the_classes,
                             const gram_rules& the_rules, std::span<const std::uint8_t> skipped,
                             const decimal& rate, bool new_with_new)
    : texts(the_texts),
      sketches(the_sketches),
      classes(the_classes),
      rules(the_rules),
      threshold(rate),
      within_new(new_with_new),
      sizes(host, the_classes, rate, second_filter::bitmaps),
      kinds(the_classes.size()),
      scales(the_classes.size()) {
    const auto is_row = [&](std::uint32_t c) {
        return (kinds[c] & new_members) != 0 && (skipped.empty() || skipped[c] == 0);
    };
    const std::size_t pieces = pieces_for(host, classes.size(), 4096);
    const auto for_each_class = [&](const auto& work) {
        for_each_piece(host, pieces, [&](std::size_t p) {
            const item_range mine = piece_of(classes.size(), pieces, p);
            for (auto c = static_cast<std::uint32_t>(mine.begin); c < mine.end; ++c) work(p, c);
        });
    };
    std::vector<std::size_t> begins(pieces + 1);  // of the rows of a piece
    for_each_class([&](std::size_t p, std::uint32_t c) {
        kinds[c] = static_cast<std::uint8_t>((classes.has_old(c) ? old_members : 0) |
                                             (classes.has_new(c) ? new_members : 0));
        const scale_range own = sizes.scales(c);
        scales[c] = {static_cast<std::uint8_t>(own.first), static_cast<std::uint8_t>(own.last)};
        begins[p + 1] += is_row(c) ? 1 : 0;
    });
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    rows.resize(begins.back());
    for_each_class([&](std::size_t p, std::uint32_t c) {
        if (is_row(c)) rows[begins[p]++] = c;
    });
}

template <class Unit>
std::vector<class_range> cut_units(const join_input<Unit>& input, std::size_t places,
                                   std::optional<std::uint64_t> bytes_of_rows, const join_sharing& sharing) {
    std::vector<class_range> units;
    const auto rows = static_cast<std::uint32_t>(input.rows.size());
    if (bytes_of_rows) {  // each unit makes the sketches of its columns again: as few as keep all places busy
        const class_range all{0, input.classes.size()};
        const std::uint64_t bytes = places == 1
                                        ? *bytes_of_rows
                                        : std::min(*bytes_of_rows, input.sizes.bytes(all) / (4 * places) + 1);
        for_each_tile(input.sizes, all, bytes, [&](class_range range) {
            const auto index_of = [&](std::uint32_t c) {
                return static_cast<std::uint32_t>(std::ranges::lower_bound(input.rows, c) -
                                                  input.rows.begin());
            };
            const class_range some{index_of(range.first), index_of(range.last)};
            if (some.first < some.last) units.push_back(some);
        });
        return units;
    }
    // Whole tiles of rows, several where there are many.
    constexpr std::uint32_t max_steps = 4096;
    const std::uint32_t step = std::max(rows / max_steps / row_tile, 1u) * row_tile;
    std::vector<std::uint64_t> pairs;  // of each step, about
    for (std::uint32_t row = 0; row < rows; row += step) {
        const class_range some{row, std::min(row + step, rows)};
        const class_range columns = input.columns_of(some);
        pairs.push_back(std::uint64_t{some.last - some.first} * (columns.last - columns.first));
    }
    const std::uint64_t all = std::accumulate(pairs.begin(), pairs.end(), std::uint64_t{0});
    const std::uint64_t wanted =
        std::clamp(all / (places * sharing.units_of_place), sharing.unit, sharing.largest_unit);
    std::uint32_t begin = 0;
    std::uint64_t work = 0;
    for (std::uint32_t i = 0; i < pairs.size(); ++i) {
        work += pairs[i];
        const std::uint32_t end = std::min((i + 1) * step, rows);
        if (work < wanted && end != rows) continue;
        units.push_back({begin, end});
        begin = end;
        work = 0;
    }
    return units;
}

template <class Unit>
std::unique_ptr<rows_join<Unit>> make_rows_join(cpu_place& /*place*/, cpu_place& /*host*/,
                                                const join_input<Unit>& input,
                                                const copied_texts<Unit>& /*copied*/) {
    return std::make_unique<counts_join<Unit>>(input);
}

template struct join_input<std::uint8_t>;
template struct join_input<std::uint32_t>;
template std::vector<class_range> cut_units(const join_input<std::uint8_t>&, std::size_t,
                                            std::optional<std::uint64_t>, const join_sharing&);
template std::vector<class_range> cut_units(const join_input<std::uint32_t>&, std::size_t,
                                            std::optional<std::uint64_t>, const join_sharing&);
template std::unique_ptr<rows_join<std::uint8_t>> make_rows_join(cpu_place&, cpu_place&,
                                                                 const join_input<std::uint8_t>&,
                                                                 const copied_texts<std::uint8_t>&);
template std::unique_ptr<rows_join<std::uint32_t>> make_rows_join(cpu_place&, cpu_place&,
                                                                  const join_input<std::uint32_t>&,
                                                                  const copied_texts<std::uint32_t>&);

}  // namespace quern::near_duplicates_detail
