// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/segment_join.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <array>
#include <optional>

#include "ops/near_duplicates/filter/candidate_scan.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t at_once = 64;                ///< parities compared by one call
constexpr std::uint32_t rows_of_a_piece = 64;        ///< looked up in an index
constexpr std::uint64_t pairs_of_a_piece = 1 << 16;  ///< compared by parities
constexpr std::uint32_t long_list = segment_index::long_list;

template <class Unit>
struct probe_scratch {
    explicit probe_scratch(cpu_place& place) : aligner(place) {}

    part_hashes<Unit> hashes;
    std::vector<Unit> row, column;  ///< decoded texts
    std::vector<std::uint64_t> keys;
    std::vector<segment_index::list> lists;
    std::vector<std::uint32_t> met;    ///< columns whose parities allow a pair
    std::vector<std::uint32_t> apart;  ///< where links suffice: columns too far from the row
    primitives::pair_aligner<Unit> aligner;
};

/// One row after another of one step, in one thread.
template <class Unit>
class step_scan {
  public:
    step_scan(const unit_texts<Unit>& texts, const sketch_list& sketches, const texts_by_length& columns,
              const texts_by_length& rows, bool same, std::span<const std::uint8_t> skipped,
              const segment_step& step, probe_scratch<Unit>& scratch, link_search* search)
        : texts_(texts),
          sketches_(sketches),
          columns_(columns),
          rows_(rows),
          same_(same),
          skipped_(skipped),
          step_(step),
          scratch_(scratch),
          search_(search) {}

    void by_segments(std::uint32_t row, segment_index& index) {
        if (!begin(row)) return;
        list_keys();
        for (const std::uint64_t key : scratch_.keys) index.prefetch(key);
        std::erase_if(scratch_.keys, [&](std::uint64_t key) { return !index.may_have(key); });
        scratch_.lists.clear();
        for (const std::uint64_t key : scratch_.keys) scratch_.lists.push_back(index.find(key));
        for (std::size_t i = 0; i < scratch_.keys.size(); ++i)
            meet(scratch_.lists[i], scratch_.keys[i], index);
        if (scratch_.met.size() > 1) {  // texts share several segments
            std::ranges::sort(scratch_.met);
            scratch_.met.erase(std::ranges::unique(scratch_.met).begin(), scratch_.met.end());
        }
        finish();
    }

    void by_parities(std::uint32_t row) {
        if (!begin(row)) return;
        for (std::uint32_t from = step_.columns.first; from < end_; from += at_once) {
            const std::uint32_t count = std::min(at_once, end_ - from);
            const std::size_t near = near_words(rows_.parities[row], columns_.parities.data() + from, count,
                                                max_bits_, near_.data());
            for (std::size_t i = 0; i < near; ++i) meet_column(from + near_[i]);
        }
        finish();
    }

    scanned result;

  private:
    bool begin(std::uint32_t row) {
        row_ = row;
        text_ = rows_.texts[row];
        end_ = same_ ? std::min(row, step_.columns.last) : step_.columns.last;
        if (end_ <= step_.columns.first || (same_ && is_skipped(row))) return false;
        longer_by_ = static_cast<std::int32_t>(rows_.lengths[row] - step_.length);
        const auto apart = static_cast<std::uint32_t>(std::abs(longer_by_));
        if (apart > step_.distance) return false;
        max_bits_ = 2 * step_.distance - apart;
        max_norm_ = largest_norm(1, step_.distance, apart);
        is_read_ = false;
        scratch_.met.clear();
        scratch_.apart.clear();
        return true;
    }
    bool is_skipped(std::uint32_t number) const { return !skipped_.empty() && skipped_[number] != 0; }
    std::span<const Unit> units() {
        if (!is_read_) units_ = texts_.read(text_, scratch_.row);
        is_read_ = true;
        return units_;
    }

    /// The parts of the row that can be a segment of a column.
    void list_keys() {
        scratch_.hashes.set(units());
        scratch_.keys.clear();
        const auto length = static_cast<std::int32_t>(units_.size());
        for (std::uint32_t s = 0; s <= step_.distance; ++s) {
            const auto first = static_cast<std::int32_t>(step_.cuts[s]);
            const auto size = static_cast<std::int32_t>(step_.cuts[s + 1]) - first;
            const shift_range shifts = shifts_of(s, step_.distance, longer_by_);
            const std::int32_t last = std::min(first + shifts.last, length - size);
            for (std::int32_t at = std::max(first + shifts.first, 0); at <= last; ++at)
                scratch_.keys.push_back(scratch_.hashes.of(s, static_cast<std::uint32_t>(at),
                                                           static_cast<std::uint32_t>(at + size)));
        }
    }

    void meet(const segment_index::list& list, std::uint64_t key, segment_index& index) {
        const std::uint32_t size = list.end - list.begin;
        if (size < long_list) {
            for (std::uint32_t e = list.begin; e < list.end; ++e) {
                if (!index.has_key(e, key)) continue;
                if (count_of_ones(rows_.parities[row_] ^ index.parities()[e]) <= max_bits_)
                    meet_column(index.number(e));
            }
        } else if (search_ == nullptr) {
            for_each_near(list, index, [&](std::uint32_t e) {
                if (index.has_key(e, key)) meet_column(index.number(e));
                return true;
            });
        } else {
            meet_many(list, key, index);
        }
    }

    /// Where links suffice, a row that is connected with a list of connected texts skips it.
    void meet_many(const segment_index::list& list, std::uint64_t key, segment_index& index) {
        const auto is_known = [&] {
            return index.is_connected(list) && is_connected(columns_.texts[index.number(list.begin)]);
        };
        if (is_known()) return;
        std::uint32_t connected = 0;
        for_each_near(list, index, [&](std::uint32_t e) {
            const std::uint32_t number = index.number(e);
            if (index.has_key(e, key) && meet_column(number) && is_known()) return false;
            connected += is_connected(columns_.texts[number]) ? 1 : 0;
            return true;
        });
        if (connected == list.end - list.begin) index.mark_connected(list);
    }

    /// Calls work(entry) for the entries whose parities allow a pair, while it returns true.
    template <class Work>
    void for_each_near(const segment_index::list& list, const segment_index& index, const Work& work) {
        for (std::uint32_t from = list.begin; from < list.end; from += at_once) {
            const std::size_t near = near_words(rows_.parities[row_], index.parities() + from,
                                                std::min(at_once, list.end - from), max_bits_, near_.data());
            for (std::size_t i = 0; i < near; ++i)
                if (!work(from + near_[i])) return;
        }
    }

    /// A column whose parities allow a pair with the row. Whether it was connected now, where links suffice.
    bool meet_column(std::uint32_t number) {
        if (number >= end_) return false;
        if (search_ != nullptr) return link(number);
        scratch_.met.push_back(number);
        return false;
    }

    bool is_connected(std::uint32_t text) const { return search_->links.connected(text_, text); }

    bool link(std::uint32_t number) {
        const std::uint32_t text = columns_.texts[number];
        if (is_skipped(number) || is_connected(text)) return false;
        if (std::ranges::find(scratch_.apart, number) != scratch_.apart.end()) return false;
        if (counts_allow(text)) {
            ++search_->measured;
            const auto other = texts_.read(text, scratch_.column);
            if (scratch_.aligner.distance(other, units(), step_.distance) != primitives::beyond_bound) {
                search_->links.connect(text_, text);
                return true;
            }
            if (scratch_.apart.size() < at_once) scratch_.apart.push_back(number);
        }
        return false;
    }

    bool counts_allow(std::uint32_t text) const {
        std::uint32_t norm = 0;
        unit_norms(sketches_[text_].counts.data(), sketches_[text].counts.data(), 1, &norm);
        return norm <= max_norm_ && (same_ || norm != 0 || !sketches_.are_equal(text_, text));
    }

    void finish() {
        for (const std::uint32_t number : scratch_.met)
            __builtin_prefetch(sketches_[columns_.texts[number]].counts.data());
        for (const std::uint32_t number : scratch_.met) {
            const std::uint32_t text = columns_.texts[number];
            if (is_skipped(number) || !counts_allow(text)) continue;
            result.found.push_back({std::min(text, text_), std::max(text, text_)});
        }
    }

    const unit_texts<Unit>& texts_;
    const sketch_list& sketches_;
    const texts_by_length &columns_, &rows_;
    bool same_;
    std::span<const std::uint8_t> skipped_;
    const segment_step& step_;
    probe_scratch<Unit>& scratch_;
    link_search* search_;
    std::array<std::uint32_t, at_once> near_{};
    std::uint32_t row_ = 0, text_ = 0, end_ = 0, max_bits_ = 0;
    std::int32_t longer_by_ = 0;
    std::int64_t max_norm_ = 0;
    bool is_read_ = false;
    std::span<const Unit> units_;
};

}  // namespace

listed_texts::listed_texts(cpu_place& place, const sketch_list& sketches, const text_classes& classes,
                           std::uint32_t count)
    : texts_(place, count, "short texts"),
      parities_(place, count, "short texts"),
      lengths_(classes.lengths().first(count)) {
    const std::size_t pieces = pieces_for(place, count, 4096);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(count, pieces, p);
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            texts_.data()[i] = classes.text(static_cast<std::uint32_t>(i));
            parities_.data()[i] = parities_of(sketches[texts_.data()[i]].counts);
        }
    });
}

listed_texts::listed_texts(cpu_place& place, const sketch_list& sketches,
                           std::span<const std::uint32_t> texts, std::span<const std::uint32_t> lengths)
    : texts_(place, texts.size(), "short texts"),
      parities_(place, texts.size(), "short texts"),
      lengths_(lengths) {
    const std::size_t pieces = pieces_for(place, texts.size(), 4096);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(texts.size(), pieces, p);
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            texts_.data()[i] = texts[i];
            parities_.data()[i] = parities_of(sketches[texts[i]].counts);
        }
    });
}

template <class Unit>
void join_segments(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                   const texts_by_length& columns, const texts_by_length* rows, const segment_plan& plan,
                   std::span<const std::uint8_t> skipped, const segment_choice& choice,
                   const found_pairs& found) {
    const bool same = rows == nullptr;
    if (same) rows = &columns;
    found.counts.compared += plan.pairs;
    found.meter.add(plan.apart);
    tbb::enumerable_thread_specific<probe_scratch<Unit>> scratch([&] { return probe_scratch<Unit>(place); });
    std::vector<text_copy> none;
    const auto allowed = [&](class_range of_columns, class_range of_rows) {
        std::uint64_t pairs = 0;
        for (std::uint32_t row = of_rows.first; row < of_rows.last; ++row) {
            const std::uint32_t end = same ? std::min(row, of_columns.last) : of_columns.last;
            pairs += end > of_columns.first ? end - of_columns.first : 0;
        }
        return pairs;
    };
    // Calls work(scan, row) for all rows of a step.
    const auto for_each_row = [&](const segment_step& step, class_range some, const auto& work) {
        step_scan<Unit> scan(texts, sketches, columns, *rows, same, skipped, step, scratch.local(),
                             found.search);
        for (std::uint32_t row = some.first; row < some.last; ++row) work(scan, row);
        found.meter.add(allowed(step.columns, some));
        return std::move(scan.result);
    };
    const auto cut_rows = [](class_range all, std::uint32_t size, const auto& add) {
        for (std::uint32_t row = all.first; row < all.last; row += std::min(size, all.last - row))
            add(class_range{row, row + std::min(size, all.last - row)});
    };

    struct rows_of_step {
        const segment_step* step;
        class_range some;
    };
    std::vector<rows_of_step> pieces;
    for (const segment_step& step : plan.steps) {
        if (!step.cuts.empty()) continue;
        const std::uint64_t size = pairs_of_a_piece / (step.columns.last - step.columns.first);
        cut_rows(step.rows, static_cast<std::uint32_t>(std::max<std::uint64_t>(size, 1)),
                 [&](class_range some) {
                     pieces.push_back({&step, some});
                 });
    }
    scan_pieces(
        place, pieces.size(),
        [&](std::size_t p) {
            return for_each_row(*pieces[p].step, pieces[p].some,
                                [](step_scan<Unit>& scan, std::uint32_t row) { scan.by_parities(row); });
        },
        found.take, none, found.counts, found.meter);

    for (segment_step step : plan.steps) {
        if (step.cuts.empty()) continue;
        const class_range all = step.columns;
        const std::uint64_t fit =
            (place.memory().left() / 2 - std::min(place.memory().left() / 2, segment_index::more_bytes)) /
            segment_index::bytes_of_a_text(step.cuts.size());
        const std::uint64_t most =
            std::min<std::uint64_t>(choice.at_once, segment_index::max_segments / (step.cuts.size() - 1));
        const auto size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, most));
        cut_rows(all, size, [&](class_range some) {
            step.columns = some;
            segment_index index(place, texts, columns, some, step.cuts, found.search != nullptr);
            pieces.clear();
            cut_rows(step.rows, rows_of_a_piece, [&](class_range of_rows) {
                pieces.push_back({&step, of_rows});
            });
            scan_pieces(
                place, pieces.size(),
                [&](std::size_t p) {
                    return for_each_row(step, pieces[p].some, [&](step_scan<Unit>& scan, std::uint32_t row) {
                        scan.by_segments(row, index);
                    });
                },
                found.take, none, found.counts, found.meter);
        });
    }
}

template void join_segments(cpu_place&, const unit_texts<std::uint8_t>&, const sketch_list&,
                            const texts_by_length&, const texts_by_length*, const segment_plan&,
                            std::span<const std::uint8_t>, const segment_choice&, const found_pairs&);
template void join_segments(cpu_place&, const unit_texts<std::uint32_t>&, const sketch_list&,
                            const texts_by_length&, const texts_by_length*, const segment_plan&,
                            std::span<const std::uint8_t>, const segment_choice&, const found_pairs&);

}  // namespace quern::near_duplicates_detail
