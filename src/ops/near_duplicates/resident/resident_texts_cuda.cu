// SPDX-License-Identifier: Apache-2.0
// Resident texts occupy slots, in order of arrival; a batch takes the slots after them until it is known which of its texts
// stay. Nothing in memory moves when texts arrive: an order of slots by length gives the columns of the join. It has two parts,
// each sorted: a long one, and a short one of recent texts that is merged into it when it is full, so that a batch of one text
// costs no copy of the long one.
#include <algorithm>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/growing_array.hpp"
#include "ops/near_duplicates/exact/verify.hpp"
#include "ops/near_duplicates/filter/device_sketcher.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/filter/sketch_join.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"
#include "ops/near_duplicates/resident/resident_texts.hpp"
#include "ops/near_duplicates/texts/texts.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr const char* what_for = "holding the texts of a stream";
constexpr std::size_t max_recent = 4096;
constexpr std::uint32_t columns_at_once = 16 * column_tile;  // per block
constexpr std::size_t few_rows = 1024;                       // need more blocks, of fewer columns
constexpr std::size_t work_at_once = std::size_t{1} << 16;   // blocks per launch
constexpr std::size_t max_passed = std::size_t{1} << 20;     // of a launch
static_assert(max_passed >= std::size_t{row_tile} * columns_at_once, "those of one block fit");
constexpr std::size_t max_pairs = std::size_t{1} << 22;  // of a batch; with more it is cut
constexpr unsigned first_last_scale = 16;
constexpr std::size_t max_scales = sketched_classes::max_scales;

/// A sample of the texts that arrive, for the rules of grams. Whenever it has doubled there are new rules.
class growing_sample {
  public:
    template <class Unit>
    void add(std::span<const Unit> text) {
        constexpr std::size_t of_a_text = gram_rules::max_sample / 1024;
        const std::size_t left = gram_rules::max_sample - units_.size();
        const std::size_t wanted = std::min({text.size(), of_a_text, left});
        for (const Unit unit : text.subspan((text.size() - wanted) / 2, wanted))
            units_.push_back(folded(unit));
    }
    bool has_doubled() const {
        return units_.size() >= gram_rules::min_sample && units_.size() >= 2 * learnt_;
    }
    std::span<const std::uint8_t> learn() {
        learnt_ = units_.size();
        return units_;
    }
    std::uint64_t bytes() const { return units_.capacity(); }

  private:
    std::vector<std::uint8_t> units_;
    std::size_t learnt_ = 0;
};

template <class Unit>
class texts_on_device final : public resident_texts {
  public:
    texts_on_device(cuda_place& place, cpu_place& host, const duplicate_options& options)
        : threshold_(options.threshold),
          host_(host),
          place_(place),
          first_found_(place_, max_passed, what_for),
          found_(place_, max_passed, what_for) {}

    std::size_t compare(const text_list& batch, std::span<const text_sketch> sketches, bool within_batch,
                        std::vector<resident_pair>& pairs) override {
        settle_added();
        if (batch.size() == 0) return 0;
        bring(batch, sketches);
        sketch_rows();
        for (std::uint32_t count = batch_;; count /= 2) {
            const auto candidates = join(count, within_batch);
            if (!candidates && count > 1) continue;
            if (candidates) append_pairs(*candidates, pairs);
            return count;
        }
    }

    void add(std::uint32_t position, std::uint32_t number) override {
        numbers_[base_ + position] = number;
        added_.push_back(base_ + position);
    }

    void add_all(const text_list& batch, std::span<const text_sketch> sketches,
                 std::uint32_t first) override {
        settle_added();
        if (batch.size() == 0) return;
        bring(batch, sketches);
        for (std::uint32_t i = 0; i < batch_; ++i) add(i, first + i);
        settle_added();
    }

    std::uint64_t host_bytes() const override {
        return 4 * (lengths_.capacity() + numbers_.capacity() + long_order_.capacity() + recent_.capacity()) +
               8 * (offsets_.capacity() + begins_.capacity()) + sample_.bytes();
    }
    std::uint64_t device_bytes() const override {
        return units_.bytes() + bitmaps_.bytes() + counts_.bytes() + device_offsets_.bytes() +
               device_begins_.bytes() + device_lengths_.bytes() + kinds_.bytes() + scales_.bytes() +
               columns_.bytes() + row_bitmaps_.bytes() + row_begins_.bytes() + row_populations_.bytes() +
               rows_.bytes() + first_found_.span().size_bytes() + found_.span().size_bytes();
    }

  private:
    std::uint32_t end() const { return base_ + batch_; }

    /// Texts of the last batch that were added become resident; the slots after the last of them are free again.
    void settle_added() {
        if (added_.empty()) return forget_batch();
        const std::uint32_t last = added_.back() + 1;
        place_.fill_bytes(kinds_.data() + base_, old_members, last - base_);
        insert_by_length(recent_, added_);
        added_.clear();
        batch_ = 0;
        base_ = last;
        cut_to_base();
        if (recent_.size() <= max_recent) return;
        insert_by_length(long_order_, recent_);
        recent_.clear();
        is_long_order_on_device_ = false;
    }
    void forget_batch() {
        batch_ = 0;
        cut_to_base();
    }
    void cut_to_base() {
        lengths_.resize(base_);
        numbers_.resize(base_);
        begins_.resize(base_ + std::size_t{1});
        offsets_.resize(base_ + std::size_t{1});
    }

    void insert_by_length(std::vector<std::uint32_t>& order, std::vector<std::uint32_t> slots) const {
        const auto is_shorter = [&](std::uint32_t x, std::uint32_t y) {
            return lengths_[x] != lengths_[y] ? lengths_[x] < lengths_[y] : x < y;
        };
        std::ranges::sort(slots, is_shorter);
        const auto middle = static_cast<std::ptrdiff_t>(order.size());
        order.insert(order.end(), slots.begin(), slots.end());
        std::inplace_merge(order.begin(), order.begin() + middle, order.end(), is_shorter);
    }

    /// Copies the texts of a batch to the slots from base_ on, and makes their bitmaps of all grams.
    void bring(const text_list& batch, std::span<const text_sketch> sketches) {
        try {
            if constexpr (std::is_same_v<Unit, std::uint8_t>) {
                bring_units(as_bytes(batch), sketches);
            } else {
                const decoded_texts decoded = decode(host_, batch);
                bring_units(decoded.list(), sketches);
            }
        } catch (...) {
            rules_.reset();  // perhaps not all bitmaps follow them
            forget_batch();
            throw;
        }
    }
    void bring_units(const unit_list<Unit>& batch, std::span<const text_sketch> sketches) {
        const std::uint32_t n = batch.size();
        std::uint32_t longest = longest_;
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t length = batch.length(i);
            longest = std::max(longest, length);
            lengths_.push_back(length);
            offsets_.push_back(offsets_.back() + length);
            begins_.push_back(begins_.back() + bitmap_words(scale_of(length)));
            sample_.add(batch.units.subspan(batch.offsets[i], length));
        }
        numbers_.resize(lengths_.size());
        batch_ = n;
        reserve();
        copy_in<Unit>(place_, batch.units.subspan(batch.offsets[0], offsets_.back() - offsets_[base_]),
                      part(units_, offsets_[base_], offsets_.back()));
        copy_new<std::uint64_t>(offsets_, device_offsets_, 1);
        copy_new<std::uint64_t>(begins_, device_begins_, 0);
        copy_new<std::uint32_t>(lengths_, device_lengths_, 0);
        const cpu_array<std::uint8_t> counts(host_, n * unit_buckets, what_for);
        for (std::uint32_t i = 0; i < n; ++i)
            std::ranges::copy(sketches[i].counts, counts.data() + i * unit_buckets);
        copy_in<std::uint8_t>(place_, counts.span(),
                              part(counts_, base_ * unit_buckets, end() * unit_buckets));
        place_.fill_bytes(kinds_.data() + base_, new_members, n);
        longest_ = longest;
        if (!rules_ || rules_->last_scale() < scale_of(longest_) || sample_.has_doubled()) {
            learn();
        } else {
            std::vector<std::uint32_t> slots(n);
            std::iota(slots.begin(), slots.end(), base_);
            sketch_all_grams(slots);
        }
    }

    template <class T>
    static device_span<T> part(const growing_array<T>& array, std::size_t begin, std::size_t end) {
        return array.span().subspan(begin, end - begin);
    }
    /// Of the slots of the batch, which have `more` values more than texts.
    template <class T>
    void copy_new(const std::vector<T>& from, const growing_array<T>& to, std::size_t more) {
        const std::size_t begin = base_, last = std::size_t{end()} + more;
        copy_in<T>(place_, std::span<const T>(from).subspan(begin, last - begin), part(to, begin, last));
    }

    void reserve() {
        const std::size_t old = base_, all = end();
        units_.reserve(place_, offsets_.back(), offsets_[base_], what_for);
        bitmaps_.reserve(place_, begins_.back(), begins_[base_], what_for);
        counts_.reserve(place_, all * unit_buckets, old * unit_buckets, what_for);
        device_offsets_.reserve(place_, all + 1, old == 0 ? 0 : old + 1, what_for);
        device_begins_.reserve(place_, all, old, what_for);
        device_lengths_.reserve(place_, all, old, what_for);
        kinds_.reserve(place_, all, old, what_for);
        scales_.reserve(place_, all, 0, what_for);  // only those of a batch are used
    }

    /// New rules: the bitmaps of all texts, which may not be mixed, are made again.
    void learn() {
        rules_.emplace(host_, sample_.learn(), min_scale, std::max(first_last_scale, scale_of(longest_)));
        device_rules_ = device_rules(place_, *rules_);
        std::vector<std::uint32_t> slots(end());
        std::iota(slots.begin(), slots.end(), 0u);
        sketch_all_grams(slots);
    }

    /// In a sorted order, as sketch_on_device() requires.
    void sketch_all_grams(std::vector<std::uint32_t>& slots) {
        sort_by_length(slots);
        std::vector<text_to_sketch> texts;
        texts.reserve(slots.size());
        for (const std::uint32_t slot : slots)
            texts.push_back({offsets_[slot], begins_[slot], lengths_[slot], 0, 1, 0});
        sketch_on_device<Unit>(place_, units_.span(), device_rules_, texts, bitmaps_.span(), {});
    }
    void sort_by_length(std::vector<std::uint32_t>& slots) const {
        std::ranges::sort(slots, [&](std::uint32_t x, std::uint32_t y) {
            return lengths_[x] != lengths_[y] ? lengths_[x] < lengths_[y] : x < y;
        });
    }

    /// The bitmaps of the batch as rows: of disjoint grams at each scale that a resident text or one of the batch may have.
    void sketch_rows() {
        row_slots_.resize(batch_);
        std::iota(row_slots_.begin(), row_slots_.end(), base_);
        sort_by_length(row_slots_);
        std::vector<device_scales> scales(batch_);
        std::vector<std::uint64_t> begins(batch_);
        std::vector<text_to_sketch> texts;
        std::uint64_t words = 0;
        for (const std::uint32_t slot : row_slots_) {
            const std::uint32_t i = slot - base_, length = lengths_[slot];
            const length_window window = lengths_near(threshold_, length);
            const auto first = static_cast<std::uint8_t>(scale_of(window.shortest)),
                       last = static_cast<std::uint8_t>(
                           scale_of(std::min<std::uint64_t>(window.longest, longest_)));
            scales[i] = {first, last};
            begins[i] = words;
            texts.push_back(
                {offsets_[slot], words, length, static_cast<std::uint32_t>(i * max_scales), first, last});
            words += bitmap_words(scale_of(length));
            for (unsigned s = first; s <= last; ++s) words += bitmap_words(s);
        }
        row_bitmaps_.replace(place_, words, what_for);
        row_begins_.replace(place_, batch_, what_for);
        row_populations_.replace(place_, batch_ * max_scales, what_for);
        rows_.replace(place_, batch_, what_for);
        copy_in<std::uint64_t>(place_, begins, row_begins_.first(batch_));
        copy_in<device_scales>(place_, scales, part(scales_, base_, end()));
        sketch_on_device<Unit>(place_, units_.span(), device_rules_, texts, row_bitmaps_.span(),
                               row_populations_.span());
    }

    /// The candidates of the first `count` texts of the batch as packed slots; none if there are too many.
    std::optional<std::vector<std::uint64_t>> join(std::uint32_t count, bool within_batch) {
        std::vector<std::uint32_t> rows, recent = recent_;
        for (const std::uint32_t slot : row_slots_)
            if (slot < base_ + count) rows.push_back(slot);
        if (within_batch) insert_by_length(recent, rows);
        const std::size_t columns = long_order_.size() + recent.size();
        columns_.reserve(place_, columns, is_long_order_on_device_ ? long_order_.size() : 0, what_for);
        if (!std::exchange(is_long_order_on_device_, true)) bring_long_order();
        copy_in<std::uint32_t>(place_, recent, part(columns_, long_order_.size(), columns));
        copy_in<std::uint32_t>(place_, rows, rows_.first(rows.size()));
        std::vector<join_work> work;
        cut_work(rows, long_order_, 0, work);
        cut_work(rows, recent, static_cast<std::uint32_t>(long_order_.size()), work);
        std::vector<std::uint64_t> candidates;
        if (work.empty()) return candidates;

        const auto device_work = array_from<cuda_place, join_work>(place_, work, what_for);
        const device_span<const std::uint8_t> counts = counts_.span();
        const device_classes classes{device_lengths_.span(),
                                     kinds_.span(),
                                     scales_.span(),
                                     rows_.first(rows.size()),
                                     {base_, part(counts_, base_ * unit_buckets, end() * unit_buckets),
                                      row_bitmaps_.span(), row_begins_.span(), row_populations_.span()},
                                     {0, counts, bitmaps_.span(), device_begins_.span(), {}},
                                     columns_.first(columns),
                                     false};
        std::size_t at_once = work_at_once;
        for (std::size_t begin = 0; begin < work.size();) {
            place_.ctx().check_stop();
            const std::size_t some = std::min(at_once, work.size() - begin);
            const join_found passed =
                join_sketches(place_, classes, threshold_, within_batch,
                              device_span<const join_work>(device_work.span()).subspan(begin, some),
                              first_found_.span(), found_.span());
            if (passed.first > max_passed) {
                at_once = some / 2;  // one block alone always fits
                continue;
            }
            begin += some;
            const std::size_t before = candidates.size();
            if (count > 1 && before + passed.all > max_pairs) return std::nullopt;
            candidates.resize(before + passed.all);
            copy_out<std::uint64_t>(place_, device_span<const std::uint64_t>(found_.span()).first(passed.all),
                                    std::span(candidates).subspan(before));
        }
        return candidates;
    }

    void bring_long_order() {
        try {
            copy_in<std::uint32_t>(place_, long_order_, columns_.first(long_order_.size()));
        } catch (...) {
            is_long_order_on_device_ = false;
            throw;
        }
    }

    /// Tiles of rows with the columns of `order`, whose first is number `first`, that any of them can make a pair with; apart by
    /// scales.
    void cut_work(std::span<const std::uint32_t> rows, std::span<const std::uint32_t> order,
                  std::uint32_t first, std::vector<join_work>& work) const {
        const auto length_of = [&](std::uint32_t slot) -> std::uint64_t { return lengths_[slot]; };
        const std::uint32_t at_once = rows.size() <= few_rows ? column_tile : columns_at_once;
        for (std::size_t row = 0; row < rows.size(); row += row_tile) {
            const std::size_t last_row = std::min<std::size_t>(row + row_tile, rows.size()) - 1;
            const std::uint64_t shortest = lengths_near(threshold_, lengths_[rows[row]]).shortest,
                                longest = lengths_near(threshold_, lengths_[rows[last_row]]).longest;
            auto at = std::ranges::lower_bound(order, shortest, {}, length_of);
            const auto last = std::ranges::upper_bound(at, order.end(), longest, {}, length_of);
            while (at != last) {
                const unsigned scale = scale_of(length_of(*at));
                const auto most = at + std::min<std::ptrdiff_t>(last - at, at_once);
                const auto end =
                    std::ranges::upper_bound(at, most, (std::uint64_t{2} << scale) - 1, {}, length_of);
                work.push_back({static_cast<std::uint32_t>(row),
                                first + static_cast<std::uint32_t>(at - order.begin()),
                                first + static_cast<std::uint32_t>(end - order.begin()), scale});
                at = end;
            }
        }
    }

    void append_pairs(std::span<const std::uint64_t> candidates, std::vector<resident_pair>& pairs) {
        std::vector<primitives::bounded_pair> bounded;
        bounded.reserve(candidates.size());
        const auto total = [&](std::uint32_t a, std::uint32_t b) {
            return std::uint64_t{lengths_[a]} + lengths_[b];
        };
        for (const std::uint64_t packed : candidates) {
            const auto a = static_cast<std::uint32_t>(packed >> 32), b = static_cast<std::uint32_t>(packed);
            bounded.push_back({a, b, largest_distance(threshold_, total(a, b))});
        }
        const device_texts<Unit> texts{units_.span(), device_offsets_.first(end() + std::size_t{1})};
        const auto distances = distances_below(place_, texts, bounded);
        const std::size_t before = pairs.size();
        for (std::size_t i = 0; i < bounded.size(); ++i) {
            if (distances[i] == primitives::beyond_bound) continue;
            const auto [a, b, bound] = bounded[i];  // a < b, which is a row
            const bool is_in_batch = a >= base_;
            pairs.push_back(
                {b - base_, is_in_batch ? a - base_ : numbers_[a], is_in_batch, distances[i], total(a, b)});
        }
        std::sort(pairs.begin() + static_cast<std::ptrdiff_t>(before), pairs.end());
    }

    const decimal threshold_;
    cpu_place& host_;
    cuda_place& place_;
    growing_sample sample_;
    std::optional<gram_rules> rules_;
    device_rules device_rules_;
    std::uint32_t base_ = 0, batch_ = 0, longest_ = 0;
    // By slot; offsets_ of units and begins_ of bitmaps have an end.
    std::vector<std::uint32_t> lengths_, numbers_;
    std::vector<std::uint64_t> offsets_{0}, begins_{0};
    growing_array<Unit> units_;
    growing_array<std::uint64_t> bitmaps_, device_offsets_, device_begins_;
    growing_array<std::uint8_t> counts_, kinds_;
    growing_array<std::uint32_t> device_lengths_;
    growing_array<device_scales> scales_;
    // Slots by ascending length: columns_ has the long order, then the recent one with the batch.
    std::vector<std::uint32_t> long_order_, recent_, added_;
    growing_array<std::uint32_t> columns_;
    bool is_long_order_on_device_ = false;
    // Of the batch.
    std::vector<std::uint32_t> row_slots_;
    growing_array<std::uint64_t> row_bitmaps_, row_begins_;
    growing_array<std::uint32_t> row_populations_, rows_;
    cuda_array<first_pair> first_found_;
    cuda_array<std::uint64_t> found_;
};

}  // namespace

std::unique_ptr<resident_texts> make_resident_texts(cuda_place& place, cpu_place& host,
                                                    const duplicate_options& options) {
    if (options.unit == edit_unit::byte)
        return std::make_unique<texts_on_device<std::uint8_t>>(place, host, options);
    return std::make_unique<texts_on_device<std::uint32_t>>(place, host, options);
}

}  // namespace quern::near_duplicates_detail
