// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on the CPU. Classes of equal new texts are sorted by ascending length. Each is compared with the
// earlier ones whose length allows a pair; these are neighbours in that order. Filters, by increasing cost:
//   1. 64 bytes of counts (sketch.hpp);
//   2. bitmaps of grams (gram_sketch.hpp), or 1 KB of counts, whichever is cheaper (second_filter.hpp);
//   3. the q-grams of the texts themselves (gram_filter.hpp);
// then the bounded edit distance. Each filter is a lower bound of the edit distance, so none loses a pair. Old texts are
// compared with the new ones first (old_texts.hpp). Where memory does not hold the sketches of all classes, a tile of them
// is compared with itself and with the tiles that its windows reach (sketched_classes.hpp).
//
// The classes of short texts, the first ones, are not scanned where an index of their segments finds their pairs
// (short_texts.hpp): where there are many, that costs less.
//
// Where links are enough, the costly filters skip texts that are already connected, and the cheap filter skips ranges of
// classes that are all connected (link_search.hpp).
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <array>
#include <optional>

#include "device/progress_meter.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/filter/candidate_scan.hpp"
#include "ops/near_duplicates/filter/find_on_cpu.hpp"
#include "ops/near_duplicates/filter/gram_filter.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/filter/second_filter.hpp"
#include "ops/near_duplicates/filter/short_texts.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"
#include "ops/near_duplicates/links/link_search.hpp"
#include "ops/near_duplicates/texts/old_texts.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t rows_at_once = 64;     ///< per piece of work, at most
constexpr std::size_t row_bytes = 64 << 10;    ///< of their bitmaps, which stay cached for all columns
constexpr std::uint32_t columns_at_once = 64;  ///< whose sketches stay cached for all rows

constexpr std::size_t max_close = 64;  ///< of a row, where links suffice, before a search

/// Reusable buffers of one thread.
template <class Unit>
struct row_scratch {
    gram_filter<Unit> grams;
    std::vector<Unit> next_row, grams_units, column;  ///< decoded texts
    std::optional<link_finder<Unit>> finder;          ///< where links are enough
};

/// Ranges of columns_at_once classes that are all connected: a class connected with the first one is connected with all.
/// Any thread.
class linked_ranges {
  public:
    linked_ranges(const text_classes& classes, const link_search& search)
        : classes_(classes), links_(search.links), are_linked_(classes.size() / columns_at_once + 1) {}

    static bool is_one(class_range columns) {
        return columns.first % columns_at_once == 0 && columns.last - columns.first == columns_at_once;
    }
    bool connected(class_range columns, std::uint32_t b) const {
        return at(columns).load(std::memory_order_relaxed) != 0 && connected(columns.first, b);
    }
    bool connected(std::uint32_t a, std::uint32_t b) const {
        return links_.connected(classes_.text(a), classes_.text(b));
    }
    void mark(class_range columns) { at(columns).store(1, std::memory_order_relaxed); }

  private:
    std::atomic_ref<std::uint8_t> at(class_range columns) const {
        return std::atomic_ref<std::uint8_t>(are_linked_[columns.first / columns_at_once]);
    }

    const text_classes& classes_;
    const text_links& links_;
    mutable std::vector<std::uint8_t> are_linked_;
};

/// The results of one thread for the classes of a tile of rows against a tile of columns. `skipped`: classes whose pairs
/// are known. `linked`: used where links are enough; null: collects all candidates.
template <class Unit>
class row_scan {
  public:
    row_scan(const unit_texts<Unit>& texts, const sketched_classes& rows, const sketched_classes& columns,
             const std::vector<std::uint8_t>& skipped, const decimal& threshold, row_scratch<Unit>& scratch,
             linked_ranges* linked, const context& ctx)
        : texts_(texts),
          rows_(rows),
          columns_(columns),
          classes_(rows.sizes.classes()),
          skipped_(skipped),
          threshold_(threshold),
          scratch_(scratch),
          linked_(linked),
          ctx_(ctx) {}

    /// The candidates of the classes first, …, last - 1 (at most rows_at_once) with the classes before each.
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
            if (window.first < window.last) result.allowed += window.last - window.first;
        }
        for (std::uint32_t begin = columns.first / columns_at_once * columns_at_once; begin < columns.last;
             begin += columns_at_once) {
            for (std::uint32_t b = first; b < last; ++b) {
                const class_range& window = windows[b - first];
                const std::uint32_t from = std::max(begin, window.first);
                const std::uint32_t to = std::min(begin + columns_at_once, window.last);
                if (from < to) compare(b, {from, to}, close_of_[b - first]);
            }
        }
        for (std::uint32_t b = first; b < last; ++b) {
            if (linked_ != nullptr) {
                link(b, close_of_[b - first]);
            } else {
                read_grams(b, close_of_[b - first]);
            }
        }
    }

    scanned result;

  private:
    void compare(std::uint32_t b, class_range columns, std::vector<close_text>& close) {
        const bool is_range = linked_ != nullptr && linked_ranges::is_one(columns);
        if (is_range && linked_->connected(columns, b)) return;
        const std::uint32_t count = columns.last - columns.first;
        unit_norms(rows_.unit_row(b), columns_.unit_row(columns.first), count, norms_.data());
        result.compared += count;
        // Bounds grow with the shorter length, so the bound of the last column holds for all columns.
        const std::int64_t max_norm = unit_bound(columns.last - 1, b);
        std::uint32_t passed = 0, connected = 0;  // without a branch, which would be unpredictable
        for (std::uint32_t k = 0; k < count; ++k) {
            passed_[passed] = columns.first + k;
            passed += norms_[k] <= max_norm ? 1 : 0;
        }
        if (linked_ != nullptr) {
            const auto is_connected = [&](std::uint32_t a) { return linked_->connected(a, b); };
            const auto end = std::remove_if(passed_.begin(), passed_.begin() + passed, is_connected);
            connected = passed - static_cast<std::uint32_t>(end - passed_.begin());
            passed -= connected;
        }
        if (columns_.sizes.second() == second_filter::pair_counts) {
            compare_pairs(b, columns, {0, passed}, close);
            passed = 0;
        }
        for (std::uint32_t begin = 0; begin < passed;) {
            const unsigned scale = scale_of(classes_.length(passed_[begin]));
            std::uint32_t end = begin;
            for (; end < passed && scale_of(classes_.length(passed_[end])) == scale; ++end)
                bitmaps_[end] = columns_.all_grams(passed_[end]);
            compare_grams(b, scale, columns, {begin, end}, close);
            begin = end;
        }
        if (is_range && connected == count) linked_->mark(columns);
    }

    /// The second filter, for the texts passed_[some.first .. some.last - 1].
    void compare_pairs(std::uint32_t b, class_range columns, class_range some,
                       std::vector<close_text>& close) {
        for (std::uint32_t i = some.first; i < some.last; ++i) {
            const std::uint32_t a = passed_[i];
            add(a, b, columns,
                min_distance(pair_norm(columns_.pair_row(a), rows_.pair_row(b)), 2, classes_.length(a),
                             classes_.length(b)),
                close);
        }
    }

    /// The same with bitmaps, all of one scale.
    void compare_grams(std::uint32_t b, unsigned scale, class_range columns, class_range some,
                       std::vector<close_text>& close) {
        const auto row = rows_.disjoint(b, scale);
        common_bits(row.bits, bitmaps_.data() + some.first, some.last - some.first, bitmap_words(scale),
                    common_.data());
        const std::uint32_t max = distance(passed_[some.last - 1], b);
        for (std::uint32_t i = some.first; i < some.last; ++i) {
            std::uint32_t missing = row.population - common_[i - some.first];
            if (missing > max) continue;
            const std::uint32_t a = passed_[i];
            if (scale == scale_of(classes_.length(b))) {
                const auto column = columns_.disjoint(a, scale);
                const std::uint64_t* const grams = rows_.all_grams(b);
                std::uint32_t common = 0;
                common_bits(column.bits, &grams, 1, bitmap_words(scale), &common);
                missing = std::max(missing, column.population - common);
            }
            add(a, b, columns, missing, close);
        }
    }

    /// A pair whose distance is at least so much.
    void add(std::uint32_t a, std::uint32_t b, class_range columns, std::uint32_t at_least,
             std::vector<close_text>& close) {
        const std::uint32_t d = distance(a, b);
        if (at_least > d || skipped_[a] != 0 || norms_[a - columns.first] > unit_bound(a, b)) return;
        if (linked_ != nullptr && linked_->connected(a, b)) return;
        close.push_back({classes_.text(a), d, at_least});
        if (linked_ != nullptr && close.size() >= max_close) link(b, close);
    }

    std::uint32_t distance(std::uint32_t a, std::uint32_t b) const {
        return largest_distance(threshold_, std::uint64_t{classes_.length(a)} + classes_.length(b));
    }
    /// The largest norm of the units of a pair, a < b.
    std::int64_t unit_bound(std::uint32_t a, std::uint32_t b) const {
        return largest_norm(1, distance(a, b), classes_.length(b) - classes_.length(a));
    }

    void link(std::uint32_t b, std::vector<close_text>& close) {
        if (!close.empty()) scratch_.finder->find(classes_.text(b), close);
        close.clear();
    }

    /// The third filter, row by row: it holds the grams of one text at a time.
    void read_grams(std::uint32_t b, std::vector<close_text>& close) {
        const std::uint32_t y = classes_.text(b);
        const bool has_pair_counts = columns_.sizes.second() == second_filter::pair_counts;
        bool is_held = false;
        const auto allows = [&](const close_text& other) {
            // Nearly all such texts are a pair.
            if (has_pair_counts && other.at_least * 4 <= other.bound) return true;
            if (!is_held) {
                scratch_.grams.set(texts_.read(y, scratch_.next_row));  // compares with its last text again
                scratch_.next_row.swap(scratch_.grams_units);
                is_held = true;
            }
            const std::span<const Unit> units = texts_.read(other.text, scratch_.column);
            return has_pair_counts ? scratch_.grams.grams_allow(units, other.bound)
                                   : scratch_.grams.allows(other.text, units, other.bound);
        };
        for (const close_text& other : close) {
            ctx_.check_stop();
            if (allows(other)) result.found.push_back({std::min(other.text, y), std::max(other.text, y)});
        }
        close.clear();
    }

    const unit_texts<Unit>& texts_;
    const sketched_classes &rows_, &columns_;
    const text_classes& classes_;
    const std::vector<std::uint8_t>& skipped_;
    const decimal& threshold_;
    row_scratch<Unit>& scratch_;
    linked_ranges* linked_;
    const context& ctx_;
    std::array<std::uint32_t, columns_at_once> norms_{}, passed_{}, common_{};
    std::array<const std::uint64_t*, columns_at_once> bitmaps_{};
    std::array<std::vector<close_text>, rows_at_once> close_of_;  ///< by row: passed both sketches
};

/// Pieces of work: ends of consecutive rows, the first of which is `rows.first`.
std::vector<std::uint32_t> cut_rows(const sketch_sizes& sizes, class_range rows) {
    std::vector<std::uint32_t> ends{rows.first};
    while (rows.first < rows.last) {
        const auto fit = static_cast<std::uint32_t>(std::clamp<std::size_t>(
            row_bytes / (bitmap_words(sizes.scale(rows.first)) * 8), 4, rows_at_once));
        ends.push_back(rows.first += std::min(fit, rows.last - rows.first));
    }
    return ends;
}

/// The end of those of `rows` whose windows begin before `column`: windows ascend with the class.
std::uint32_t extra_rows(const text_classes& classes, const decimal& threshold, class_range rows,
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
std::vector<duplicate_pair> find_on_cpu(cpu_place& place, const text_list& list, const text_sketches& known,
                                        const duplicate_options& options, const duplicate_scope& scope,
                                        const segment_choice& choice, duplicate_counts& counts) {
    const decimal& threshold = options.threshold;
    const sketch_list sketches(place, list, known, unit_of<Unit>, scope.first_new);
    const unit_texts<Unit> texts(place, list, sketches);
    const text_classes classes(place, sketches, scope.first_new, sketches.size(), true);
    std::vector<duplicate_pair> found;
    std::vector<text_copy> copies;
    const take_candidates take = [&](std::span<const candidate> candidates) {
        texts.append_pairs(place, place, threshold, candidates, found, counts);
    };
    const std::uint64_t pairs_with_new = scope.within_new ? pairs_in_windows(place, classes, threshold) : 0;
    const std::uint64_t to_compare =
        about_pairs_with_old(place, sketches, classes, threshold) + pairs_with_new;
    short_texts<Unit> shorts(place, texts, sketches, classes, scope, threshold, choice);
    // The classes that are scanned.
    const class_range with_old{scope.first_new != 0 ? shorts.end_with_old() : classes.size(), classes.size()},
        with_new{scope.within_new ? shorts.end_with_new() : classes.size(), classes.size()};
    const std::uint32_t first = std::min(with_old.first, with_new.first);
    const std::uint64_t to_scan = to_compare - std::min(to_compare, shorts.pairs());
    const gram_rules rules = learn_rules(place, texts, classes);
    const search_cost cost =
        estimate_cost(texts, sketches, classes, rules, threshold, to_scan, wants_links(scope), first);
    report_cost(place.ctx(), to_compare,
                (std::min(cost.with_counts, cost.with_bitmaps) + cost.edits + shorts.seconds()) /
                    static_cast<double>(place.threads()));
    std::optional<link_search> search;
    if (wants_links(scope)) search.emplace(place, sketches.size());
    progress_meter meter(place.ctx(), "compare", to_compare, "pairs");
    const found_pairs to_short{take, search ? &*search : nullptr, counts, meter};
    shorts.join_old(copies, to_short);
    // With a flag for each class: skipped, and connected.
    const budget_share counted(place.memory(), (sketch_sizes::bytes_of_a_class + 2) * classes.size(),
                               "sizes of sketches");
    const sketch_sizes sizes(place, classes, threshold, cost.cheaper());
    std::optional<sketched_classes> rows;
    const auto sketch_rows = [&](class_range range) {
        if (rows && rows->range == range) return;
        rows.reset();
        rows.emplace(sketch_classes(place, texts, sketches, rules, sizes, range));
    };
    // The rest is for candidates, which links do not collect, and for the buffers of threads.
    const std::uint64_t left = place.memory().left();
    const std::uint64_t of_tiles = search ? left - left / 4 : left / 2;
    if (scope.first_new != 0) {
        for_each_tile(sizes, with_old, tiles_within(of_tiles, sizes, with_old.first).rows,
                      [&](class_range range) {
                          sketch_rows(range);
                          scan_old_texts(place, texts, sketches, rules, *rows, threshold, take,
                                         to_short.search, copies, counts, meter);
                      });
    }
    const std::vector<std::uint8_t> skipped = lead_to_old(classes, copies);
    if (scope.within_new) {
        if (shorts.end_with_new() != 0) rows.reset();
        shorts.join_new(skipped, to_short);
        std::optional<linked_ranges> linked;
        if (search) linked.emplace(classes, *search);
        tbb::enumerable_thread_specific<row_scratch<Unit>> scratch([&] {
            row_scratch<Unit> made;
            if (search) made.finder.emplace(place, *search, texts);
            return made;
        });
        // Compares rows whose windows begin before `end`.
        const auto compare_with = [&](const sketched_classes& columns, std::uint32_t end) {
            const auto ends = cut_rows(sizes, {rows->range.first, end});
            const auto scan = [&](std::size_t p) {
                row_scan<Unit> some(texts, *rows, columns, skipped, threshold, scratch.local(),
                                    linked ? &*linked : nullptr, place.ctx());
                some.scan(ends[p], ends[p + 1]);
                meter.add(some.result.allowed);
                return std::move(some.result);
            };
            scan_pieces(place, ends.size() - 1, scan, take, copies, counts, meter);
        };
        const tile_sizes tiles = tiles_within(of_tiles, sizes, with_new.first);
        for_each_tile(sizes, with_new, tiles.rows, [&](class_range range) {
            sketch_rows(range);
            compare_with(*rows, range.last);
            const std::uint32_t begin =
                std::max(window_of(classes, threshold, range.first).first, with_new.first);
            for_each_tile(sizes, {begin, range.first}, tiles.columns, [&](class_range before) {
                const sketched_classes columns = sketch_classes(place, texts, sketches, rules, sizes, before);
                compare_with(columns, extra_rows(classes, threshold, range, before.last));
            });
        });
    }
    meter.finish();
    if (search) return search->found(place, sketches, scope, std::move(copies), counts);
    return pairs_of_texts(place, sketches, scope, std::move(copies), std::move(found), counts);
}

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cpu_place& place, const text_list& texts,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts) {
    return find_on_cpu<Unit>(place, texts, known, options, scope, {}, counts);
}

template std::vector<duplicate_pair> find_on_cpu<std::uint8_t>(cpu_place&, const text_list&,
                                                               const text_sketches&, const duplicate_options&,
                                                               const duplicate_scope&, const segment_choice&,
                                                               duplicate_counts&);
template std::vector<duplicate_pair> find_on_cpu<std::uint32_t>(cpu_place&, const text_list&,
                                                                const text_sketches&,
                                                                const duplicate_options&,
                                                                const duplicate_scope&, const segment_choice&,
                                                                duplicate_counts&);

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
