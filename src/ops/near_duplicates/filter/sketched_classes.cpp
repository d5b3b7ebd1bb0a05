// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/sketched_classes.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <numeric>

#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"

namespace quern::near_duplicates_detail {

sketch_sizes::sketch_sizes(cpu_place& place, const text_classes& classes, const decimal& threshold,
                           second_filter second)
    : classes_(classes), second_(second), ends_(classes.size() + std::size_t{1}) {
    static_assert(other_bytes == unit_buckets + sizeof(std::uint64_t) +
                                     sizeof(std::uint32_t) * sketched_classes::max_scales);
    const std::uint32_t n = classes.size();
    const bool has_bitmaps = second == second_filter::bitmaps;
    if (has_bitmaps) scales_.resize(n);
    const std::size_t pieces = pieces_for(place, n, 4096);
    std::vector<std::uint64_t> before(pieces + 1);  // the bytes of earlier pieces
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(n, pieces, p);
        std::uint64_t bytes = 0;
        length_window window{};
        for (auto c = static_cast<std::uint32_t>(mine.begin); c < mine.end; ++c) {
            if (has_bitmaps) {
                const std::uint32_t length = classes.length(c);
                if (c == mine.begin || length != classes.length(c - 1))
                    window = lengths_near(threshold, length);
                const std::uint64_t shortest = std::max<std::uint64_t>(window.shortest, classes.length(0)),
                                    longest =
                                        std::min<std::uint64_t>(window.longest, classes.lengths().back());
                const unsigned own = scale_of(length), first = scale_of(shortest);
                const unsigned last = classes.any_old() ? scale_of(longest) : own;
                scales_[c] = {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last)};
                std::uint64_t words = bitmap_words(own);
                for (unsigned s = first; s <= last; ++s) words += bitmap_words(s);
                bytes += sizeof(std::uint64_t) * words + other_bytes;
            } else {
                bytes += unit_buckets + pair_buckets;
            }
            ends_[c + std::size_t{1}] = bytes;
        }
        before[p + 1] = bytes;
    });
    std::partial_sum(before.begin(), before.end(), before.begin());
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(n, pieces, p);
        for (std::size_t c = mine.begin; c < mine.end; ++c) ends_[c + 1] += before[p];
    });
}

class_range sketch_sizes::first_of(class_range range, std::uint64_t bytes) const {
    const auto begin = ends_.begin() + range.first + 1, end = ends_.begin() + range.last + 1;
    const auto fit = std::upper_bound(begin, end, ends_[range.first] + bytes) - begin;
    return {range.first, range.first + std::max(static_cast<std::uint32_t>(fit), 1u)};
}

template <class Unit>
gram_rules learn_rules(cpu_place& place, const unit_texts<Unit>& texts, const text_classes& classes) {
    constexpr std::uint32_t max_texts = 1024;
    const std::uint32_t count = std::min(classes.size(), max_texts);
    std::vector<std::uint8_t> sample;
    std::vector<Unit> scratch;
    for (std::uint32_t i = 0; i < count; ++i) {
        place.ctx().check_stop();
        const auto c = static_cast<std::uint32_t>(std::uint64_t{i} * classes.size() / count);
        auto text = texts.read(classes.text(c), scratch);
        const std::size_t wanted = std::min(text.size(), gram_rules::max_sample / count);
        text = text.subspan((text.size() - wanted) / 2, wanted);
        for (const Unit unit : text) sample.push_back(folded(unit));
    }
    const unsigned first = classes.size() == 0 ? min_scale : scale_of(classes.length(0));
    const unsigned last = classes.size() == 0 ? first : scale_of(classes.length(classes.size() - 1));
    return gram_rules(place, sample, first, last);
}

template gram_rules learn_rules(cpu_place&, const unit_texts<std::uint8_t>&, const text_classes&);
template gram_rules learn_rules(cpu_place&, const unit_texts<std::uint32_t>&, const text_classes&);

template <class Unit>
sketched_classes sketch_classes(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                                const gram_rules& rules, const sketch_sizes& sizes, class_range range) {
    const std::size_t n = range.last - range.first;
    const bool has_bitmaps = sizes.second() == second_filter::bitmaps;
    cpu_array<std::uint64_t> begins(place, has_bitmaps ? n : 0, "sketches of texts");
    std::uint64_t words = 0;
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const auto c = range.first + static_cast<std::uint32_t>(i);
        begins.data()[i] = words;
        words += bitmap_words(sizes.scale(c));
        for (unsigned s = sizes.scales(c).first; s <= sizes.scales(c).last; ++s) words += bitmap_words(s);
    }
    sketched_classes all{
        sizes,
        range,
        cpu_array<std::uint8_t>(place, n * unit_buckets, "sketches of texts"),
        cpu_array<std::uint8_t>(place, has_bitmaps ? 0 : n * pair_buckets, "sketches of texts"),
        cpu_array<std::uint64_t>(place, words, "sketches of texts"),
        std::move(begins),
        cpu_array<std::uint32_t>(place, has_bitmaps ? n * sketched_classes::max_scales : 0,
                                 "sketches of texts")};
    struct scratch {
        gram_sketcher sketcher;
        std::vector<Unit> units;
    };
    const auto write_bitmaps = [&](std::uint32_t c, std::size_t i, gram_sketcher& sketcher) {
        std::uint64_t* to = all.bitmaps.data() + all.begins.data()[i];
        sketcher.write_all(sizes.scale(c), to);
        to += bitmap_words(sizes.scale(c));
        std::uint32_t* population = all.populations.data() + i * sketched_classes::max_scales;
        for (unsigned s = sizes.scales(c).last + 1; s-- > sizes.scales(c).first;) {
            *population++ = sketcher.write_disjoint(s, to);
            to += bitmap_words(s);
        }
    };
    tbb::enumerable_thread_specific<scratch> scratches([&] { return scratch{gram_sketcher(rules), {}}; });
    const std::size_t pieces = n / 16 + 1;
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const item_range mine = piece_of(n, pieces, p);
        auto& [sketcher, units] = scratches.local();
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            const std::uint32_t c = range.first + static_cast<std::uint32_t>(i);
            const std::uint32_t text = sizes.classes().text(c);
            std::ranges::copy(sketches[text].counts, all.units.data() + i * unit_buckets);
            const std::span<const Unit> read = texts.read(text, units);
            if (has_bitmaps) {
                sketcher.set(read);
                write_bitmaps(c, i, sketcher);
            } else {
                sketch_pairs(read, all.pairs.data() + i * pair_buckets);
            }
        }
    });
    return all;
}

template sketched_classes sketch_classes(cpu_place&, const unit_texts<std::uint8_t>&, const sketch_list&,
                                         const gram_rules&, const sketch_sizes&, class_range);
template sketched_classes sketch_classes(cpu_place&, const unit_texts<std::uint32_t>&, const sketch_list&,
                                         const gram_rules&, const sketch_sizes&, class_range);

}  // namespace quern::near_duplicates_detail
