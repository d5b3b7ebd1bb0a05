// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/texts/old_texts.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <array>
#include <atomic>
#include <optional>

#include "device/progress_meter.hpp"
#include "ops/near_duplicates/filter/candidate_scan.hpp"
#include "ops/near_duplicates/filter/gram_filter.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::size_t texts_at_once = 1024;  ///< per piece of work

/// The new classes that an old text of some length is compared with.
class class_windows {
  public:
    class_windows(const text_classes& fresh, const decimal& threshold) {
        for (const std::uint32_t length : fresh.lengths()) {
            const length_window near_lengths = lengths_near(threshold, length);
            shortest_.push_back(near_lengths.shortest);
            longest_.push_back(near_lengths.longest);
        }
    }
    class_range of(std::uint64_t length) const {
        // Both ascend with the class.
        const auto first = std::ranges::lower_bound(longest_, length) - longest_.begin();
        const auto last = std::ranges::upper_bound(shortest_, length) - shortest_.begin();
        return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
    }

  private:
    std::vector<std::uint64_t> shortest_, longest_;
};

/// The bitmaps of an old text at one scale.
struct old_grams {
    bool are_made = false;
    std::uint32_t population = 0;
    std::vector<std::uint64_t> disjoint, all;
};

/// Reusable buffers of one thread.
template <class Unit>
struct scan_scratch {
    explicit scan_scratch(const gram_rules& rules) : sketcher(rules) {}

    gram_filter<Unit> grams;
    std::vector<Unit> old_units, grams_units, new_units;  ///< decoded texts
    std::array<std::uint8_t, pair_buckets> old_pairs{};
    gram_sketcher sketcher;
    std::array<old_grams, max_scale + 1> old_grams_of{};  ///< by scale
    std::optional<link_finder<Unit>> finder;              ///< where links are enough
};

/// Processes old texts one after another.
template <class Unit>
class old_scan {
  public:
    old_scan(const unit_texts<Unit>& texts, const sketch_list& sketches, const sketched_classes& fresh,
             const decimal& threshold, const class_windows& windows, scan_scratch<Unit>& scratch,
             const link_search* search)
        : texts_(texts),
          sketches_(sketches),
          fresh_(fresh),
          threshold_(threshold),
          windows_(windows),
          scratch_(scratch),
          search_(search) {}

    void scan(std::uint32_t text) {
        const text_sketch& own = sketches_[text];
        if (own.first_equal != text) {
            if (fresh_.range.first == 0) result.copies.push_back({own.first_equal, text});
            return;
        }
        class_range window = windows_.of(own.length);
        window = {std::max(window.first, fresh_.range.first), std::min(window.last, fresh_.range.last)};
        is_read_ = grams_are_set_ = false;
        for (std::uint32_t begin = window.first; begin < window.last; begin += at_once) {
            const std::uint32_t count = std::min(at_once, window.last - begin);
            unit_norms(own.counts.data(), fresh_.unit_row(begin), count, norms_.data());
            result.compared += count;
            for (std::uint32_t k = 0; k < count; ++k) look_closer(text, own, begin + k, norms_[k]);
        }
    }

    scanned result;

  private:
    static constexpr std::uint32_t at_once = 64;

    void look_closer(std::uint32_t text, const text_sketch& own, std::uint32_t c, std::uint32_t norm) {
        const std::uint64_t x = own.length, y = fresh_.sizes.classes().length(c);
        const std::uint32_t d = largest_distance(threshold_, x + y);
        if (norm > largest_norm(1, d, x < y ? y - x : x - y)) return;
        const std::uint32_t other = fresh_.sizes.classes().text(c);
        if (sketches_.are_equal(text, other)) {
            result.copies.push_back({text, other});
            return;
        }
        if (search_ != nullptr && search_->links.connected(text, other)) return;
        if (!is_read_) {
            units_ = texts_.read(text, scratch_.old_units);
            scratch_.sketcher.set(units_);
            for (old_grams& grams : scratch_.old_grams_of) grams.are_made = false;
            if (fresh_.sizes.second() == second_filter::pair_counts)
                sketch_pairs(units_, scratch_.old_pairs.data());
            is_read_ = true;
        }
        const std::uint32_t at_least = distance_at_least(x, c);
        if (at_least > d) return;
        if (search_ != nullptr) {
            close_text close{other, d, at_least};
            scratch_.finder->find(text, {&close, 1});
            return;
        }
        if (!grams_are_set_) {
            scratch_.grams.set(units_);  // compares with its last text again
            scratch_.old_units.swap(scratch_.grams_units);
            grams_are_set_ = true;
        }
        if (scratch_.grams.allows(other, texts_.read(other, scratch_.new_units), d))
            result.found.push_back({text, other});
    }

    /// A lower bound of the distance by the second filter. `x`: the length of the old text.
    std::uint32_t distance_at_least(std::uint64_t x, std::uint32_t c) {
        if (fresh_.sizes.second() == second_filter::pair_counts)
            return min_distance(pair_norm(scratch_.old_pairs.data(), fresh_.pair_row(c)), 2, x,
                                fresh_.sizes.classes().length(c));
        const unsigned scale = fresh_.sizes.scale(c);
        const std::size_t words = bitmap_words(scale);
        const bool is_own = scale_of(x) == scale;
        old_grams& own = scratch_.old_grams_of[scale];
        if (!own.are_made) {
            own.disjoint.resize(words);
            own.population = scratch_.sketcher.write_disjoint(scale, own.disjoint.data());
            if (is_own) {
                own.all.resize(words);
                scratch_.sketcher.write_all(scale, own.all.data());
            }
            own.are_made = true;
        }
        const std::uint64_t* other = fresh_.all_grams(c);
        std::uint32_t common = 0;
        common_bits(own.disjoint.data(), &other, 1, words, &common);
        const std::uint32_t missing = own.population - common;
        if (!is_own) return missing;
        const auto disjoint = fresh_.disjoint(c, scale);
        other = own.all.data();
        common_bits(disjoint.bits, &other, 1, words, &common);
        return std::max(missing, disjoint.population - common);
    }

    const unit_texts<Unit>& texts_;
    const sketch_list& sketches_;
    const sketched_classes& fresh_;
    const decimal& threshold_;
    const class_windows& windows_;
    scan_scratch<Unit>& scratch_;
    const link_search* search_;
    std::array<std::uint32_t, at_once> norms_{};
    std::span<const Unit> units_;
    bool is_read_ = false, grams_are_set_ = false;
};

}  // namespace

template <class Unit>
void scan_old_texts(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                    const gram_rules& rules, const sketched_classes& fresh, const decimal& threshold,
                    const take_candidates& take, link_search* search, std::vector<text_copy>& copies,
                    duplicate_counts& counts, progress_meter& meter) {
    const std::uint32_t old = sketches.first_new();
    const class_windows windows(fresh.sizes.classes(), threshold);
    tbb::enumerable_thread_specific<scan_scratch<Unit>> scratch([&] {
        scan_scratch<Unit> made(rules);
        if (search != nullptr) made.finder.emplace(place, *search, texts);
        return made;
    });
    const std::size_t pieces = (old + texts_at_once - 1) / texts_at_once;
    const auto scan = [&](std::size_t p) {
        old_scan<Unit> texts_of_piece(texts, sketches, fresh, threshold, windows, scratch.local(), search);
        const std::size_t begin = p * texts_at_once, end = std::min<std::size_t>(begin + texts_at_once, old);
        for (std::size_t i = begin; i < end; ++i) {
            place.ctx().check_stop();
            texts_of_piece.scan(static_cast<std::uint32_t>(i));
        }
        meter.add(texts_of_piece.result.compared);
        return std::move(texts_of_piece.result);
    };
    scan_pieces(place, pieces, scan, take, copies, counts, meter);
}

template void scan_old_texts(cpu_place&, const unit_texts<std::uint8_t>&, const sketch_list&,
                             const gram_rules&, const sketched_classes&, const decimal&,
                             const take_candidates&, link_search*, std::vector<text_copy>&, duplicate_counts&,
                             progress_meter&);
template void scan_old_texts(cpu_place&, const unit_texts<std::uint32_t>&, const sketch_list&,
                             const gram_rules&, const sketched_classes&, const decimal&,
                             const take_candidates&, link_search*, std::vector<text_copy>&, duplicate_counts&,
                             progress_meter&);

namespace {

/// Counts for the first `some` of each `of` old texts.
std::uint64_t pairs_of_some(cpu_place& place, const sketch_list& sketches, const text_classes& fresh,
                            const decimal& threshold, std::size_t some, std::size_t of) {
    const class_windows windows(fresh, threshold);
    std::atomic<std::uint64_t> pairs{0};
    const std::size_t chunks = (sketches.first_new() + of - 1) / of;
    const std::size_t pieces = pieces_for(place, chunks, std::max<std::size_t>(1, 4096 / some));
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(chunks, pieces, p);
        std::uint64_t own = 0;
        for (std::size_t s = mine.begin; s < mine.end; ++s) {
            const std::size_t end = std::min<std::size_t>(s * of + some, sketches.first_new());
            for (std::size_t i = s * of; i < end; ++i) {
                const text_sketch& text = sketches[static_cast<std::uint32_t>(i)];
                if (text.first_equal != i) continue;
                const class_range window = windows.of(text.length);
                own += window.last - window.first;
            }
        }
        pairs += own;
    });
    return pairs;
}

}  // namespace

std::uint64_t pairs_with_old(cpu_place& place, const sketch_list& sketches, const text_classes& fresh,
                             const decimal& threshold) {
    return pairs_of_some(place, sketches, fresh, threshold, 1, 1);
}

std::uint64_t about_pairs_with_old(cpu_place& place, const sketch_list& sketches, const text_classes& fresh,
                                   const decimal& threshold) {
    constexpr std::size_t some = 64, of = 4096;
    if (sketches.first_new() < 16 * of) return pairs_with_old(place, sketches, fresh, threshold);
    return pairs_of_some(place, sketches, fresh, threshold, some, of) * (of / some);
}

std::vector<std::uint8_t> lead_to_old(const text_classes& fresh, std::vector<text_copy>& copies) {
    std::vector<text_copy> led;  // of texts that represent their class
    std::vector<std::uint8_t> flags(fresh.size());
    for (const text_copy& copy : copies)
        if (copy.text >= fresh.first_new() && copy.first < fresh.first_new()) led.push_back(copy);
    std::ranges::sort(led, {}, &text_copy::text);
    for (std::uint32_t c = 0; c < fresh.size(); ++c) {
        const auto at = std::ranges::lower_bound(led, fresh.text(c), {}, &text_copy::text);
        flags[c] = at != led.end() && at->text == fresh.text(c);
        for (const std::uint32_t text : fresh.members(c).subspan(1))
            copies.push_back({flags[c] != 0 ? at->first : fresh.text(c), text});
    }
    return flags;
}

}  // namespace quern::near_duplicates_detail
