// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on the CPU. Classes of equal new texts by rising length; each is compared with those before it
// whose length allows a pair, which are neighbours in that order, by filters of rising cost: 64 bytes, then 1 KB of
// counts (sketch.hpp), then the q-grams of the texts themselves (gram_filter.hpp), then the bounded edit distance. Each
// filter is a lower bound of the edit distance, so none loses a pair. Old texts meet the new ones before (old_texts.hpp).
// Where memory does not hold the sketches of all classes, a tile of them is compared with itself and with the tiles that
// its windows reach (sketched_classes.hpp).
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <array>
#include <optional>

#include "ops/near_duplicates/candidate_scan.hpp"
#include "ops/near_duplicates/gram_filter.hpp"
#include "ops/near_duplicates/methods.hpp"
#include "ops/near_duplicates/old_texts.hpp"
#include "ops/near_duplicates/pair_bounds.hpp"
#include "ops/near_duplicates/sketched_classes.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t rows_at_once = 16;     ///< of a piece of work
constexpr std::uint32_t columns_at_once = 64;  ///< whose sketches stay in the cache while all rows meet them

/// What one thread needs, again and again.
template <class Unit>
struct row_scratch {
    gram_filter<Unit> grams;
    std::vector<Unit> next_row, grams_units, column;  ///< decoded texts
};

/// What one thread finds for classes of a tile of rows beside a tile of columns. `skipped`: classes whose pairs are
/// known.
template <class Unit>
class row_scan {
  public:
    row_scan(const unit_texts<Unit>& texts, const sketched_classes& rows, const sketched_classes& columns,
             const std::vector<std::uint8_t>& skipped, const decimal& threshold, row_scratch<Unit>& scratch)
        : texts_(texts),
          rows_(rows),
          columns_(columns),
          classes_(rows.classes),
          skipped_(skipped),
          threshold_(threshold),
          scratch_(scratch) {}

    /// The candidates of at most rows_at_once classes first, …, last - 1 and those before each.
    void scan(std::uint32_t first, std::uint32_t last) {
        std::array<class_range, rows_at_once> windows{};
        class_range columns{last, 0};
        for (std::uint32_t b = first; b < last; ++b) {
            if (skipped_[b] != 0) continue;
            class_range& window = windows[b - first] = window_of(classes_, threshold_, b);
            window.first = std::max(window.first, columns_.range.first);
            window.last = std::min(window.last, columns_.range.last);
            columns.first = std::min(columns.first, window.first);
            columns.last = std::max(columns.last, window.last);
        }
        for (std::uint32_t begin = columns.first; begin < columns.last; begin += columns_at_once) {
            for (std::uint32_t b = first; b < last; ++b) {
                const class_range& window = windows[b - first];
                const std::uint32_t from = std::max(begin, window.first);
                const std::uint32_t to = std::min(begin + columns_at_once, window.last);
                if (from < to) compare(b, {from, to});
            }
        }
        read_grams();
    }

    scanned result;

  private:
    void compare(std::uint32_t b, class_range columns) {
        const std::uint32_t count = columns.last - columns.first;
        unit_norms(rows_.unit_row(b), columns_.unit_row(columns.first), count, norms_.data());
        result.compared += count;
        // Bounds rise with the shorter length: that of the last column is a bound for all of them.
        const norm_bounds most = bounds(columns.last - 1, b);
        std::uint32_t passed = 0;  // kept without a branch: nobody could guess it
        for (std::uint32_t k = 0; k < count; ++k) {
            passed_[passed] = columns.first + k;
            passed += norms_[k] <= most.unit_norm ? 1 : 0;
        }
        for (std::uint32_t i = 0; i < passed; ++i) {
            const std::uint32_t a = passed_[i];
            const std::uint32_t norm = pair_norm(columns_.pair_row(a), rows_.pair_row(b));
            if (norm > most.pair_norm || skipped_[a] != 0) continue;
            const norm_bounds own = bounds(a, b);
            if (norms_[a - columns.first] <= own.unit_norm && norm <= own.pair_norm) close_.push_back({a, b});
        }
    }

    struct norm_bounds {
        std::int64_t unit_norm, pair_norm;
    };
    std::uint32_t distance(std::uint32_t a, std::uint32_t b) const {
        return largest_distance(threshold_, std::uint64_t{classes_.length(a)} + classes_.length(b));
    }
    /// Of the norms of a pair, a < b.
    norm_bounds bounds(std::uint32_t a, std::uint32_t b) const {
        const std::uint64_t shorter = classes_.length(a), longer = classes_.length(b);
        const std::uint32_t d = distance(a, b);
        const auto apart = [&](unsigned q) { return grams_in(longer, q) - grams_in(shorter, q); };
        return {largest_norm(1, d, apart(1)), largest_norm(2, d, apart(2))};
    }

    /// The third filter, row by row: it holds the grams of one text at a time.
    void read_grams() {
        std::ranges::sort(close_, {}, [](const candidate& c) { return std::pair(c.b, c.a); });
        std::uint32_t held = classes_.size();
        for (const auto [a, b] : close_) {
            const std::uint32_t x = classes_.text(a), y = classes_.text(b);
            if (held != b) {
                scratch_.grams.set(
                    texts_.read(y, scratch_.next_row));  // which looks at its last text once more
                scratch_.next_row.swap(scratch_.grams_units);
                held = b;
            }
            if (scratch_.grams.allows(texts_.read(x, scratch_.column), distance(a, b)))
                result.found.push_back({std::min(x, y), std::max(x, y)});
        }
        close_.clear();
    }

    const unit_texts<Unit>& texts_;
    const sketched_classes &rows_, &columns_;
    const text_classes& classes_;
    const std::vector<std::uint8_t>& skipped_;
    const decimal& threshold_;
    row_scratch<Unit>& scratch_;
    std::array<std::uint32_t, columns_at_once> norms_{}, passed_{};
    std::vector<candidate> close_;  ///< classes that passed both sketches
};

/// The end of those of `rows` whose windows begin before `column`: windows rise with the class.
std::uint32_t rows_beside(const text_classes& classes, const decimal& threshold, class_range rows,
                          std::uint32_t column) {
    while (rows.first < rows.last) {
        const std::uint32_t middle = rows.first + (rows.last - rows.first) / 2;
        if (window_of(classes, threshold, middle).first < column) {
            rows.first = middle + 1;
        } else {
            rows.last = middle;
        }
    }
    return rows.first;
}

}  // namespace

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cpu_place& place, const text_list& list,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts) {
    const sketch_list sketches(place, list, known, unit_of<Unit>, scope.first_new);
    const unit_texts<Unit> texts(place, list, sketches);
    const text_classes classes(place, sketches, scope.first_new, sketches.size(), true);
    std::vector<duplicate_pair> found;
    std::vector<text_copy> copies;
    const auto take = [&](std::span<const candidate> candidates) {
        texts.append_pairs(place, options.threshold, candidates, found, counts);
    };
    // The other half is for what candidates need.
    const tile_sizes tiles = tiles_within(place.memory().left() / 2, classes.size());
    std::optional<sketched_classes> rows;
    const auto sketch_rows = [&](class_range range) {
        if (rows && rows->range == range) return;
        rows.reset();
        rows.emplace(sketch_classes(place, texts, sketches, classes, range));
    };
    const class_range all{0, classes.size()};
    if (scope.first_new != 0) {
        for_each_tile(all, tiles.rows, [&](class_range range) {
            sketch_rows(range);
            scan_old_texts(place, texts, sketches, *rows, options.threshold, take, copies, counts);
        });
    }
    const std::vector<std::uint8_t> skipped = lead_to_old(classes, copies);
    if (scope.within_new) {
        tbb::enumerable_thread_specific<row_scratch<Unit>> scratch;
        // Of rows whose windows begin before `end`.
        const auto compare_with = [&](const sketched_classes& columns, std::uint32_t end) {
            const auto scan = [&](std::size_t p) {
                row_scan<Unit> some(texts, *rows, columns, skipped, options.threshold, scratch.local());
                const std::uint32_t begin = rows->range.first + static_cast<std::uint32_t>(p) * rows_at_once;
                some.scan(begin, begin + std::min(rows_at_once, end - begin));
                return std::move(some.result);
            };
            const std::uint32_t count = end - rows->range.first;
            scan_pieces(place, (count + rows_at_once - 1) / rows_at_once, scan, take, copies, counts);
        };
        for_each_tile(all, tiles.rows, [&](class_range range) {
            sketch_rows(range);
            compare_with(*rows, range.last);
            const std::uint32_t first = window_of(classes, options.threshold, range.first).first;
            for_each_tile({first, range.first}, tiles.columns, [&](class_range before) {
                const sketched_classes columns = sketch_classes(place, texts, sketches, classes, before);
                compare_with(columns, rows_beside(classes, options.threshold, range, before.last));
            });
        });
    }
    return pairs_of_texts(place, sketches, scope, std::move(copies), std::move(found), counts);
}

template std::vector<duplicate_pair> find_by_sketches<std::uint8_t>(cpu_place&, const text_list&,
                                                                    const text_sketches&,
                                                                    const duplicate_options&,
                                                                    const duplicate_scope&,
                                                                    duplicate_counts&);
template std::vector<duplicate_pair> find_by_sketches<std::uint32_t>(cpu_place&, const text_list&,
                                                                     const text_sketches&,
                                                                     const duplicate_options&,
                                                                     const duplicate_scope&,
                                                                     duplicate_counts&);

}  // namespace quern::near_duplicates_detail
