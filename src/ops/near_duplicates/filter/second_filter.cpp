// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/second_filter.hpp"

#include <array>
#include <vector>

#include "ops/near_duplicates/filter/pair_bounds.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t sampled_rows = 256, sampled_columns = 64, sampled_texts = 96;
constexpr std::uint64_t few_pairs = 100'000;  // not worth an estimate

// Measured nanoseconds, on one core of 2024.
constexpr double to_count_a_unit = 1.2, to_map_a_unit = 12;  ///< to make the sketches
constexpr double to_compare_counts = 30, to_compare_a_word = 0.25;
constexpr double to_read_a_unit = 2;  ///< of a text that passed, for its q-grams

struct sampled_pair {
    std::uint32_t a, b;
};

/// Classes whose units allow a pair, among `count` pairs of the sample.
std::vector<sampled_pair> passed_pairs(const sketch_list& sketches, const text_classes& classes,
                                       const decimal& threshold, std::uint64_t& count) {
    std::vector<sampled_pair> passed;
    const std::uint32_t n = classes.size(), rows = std::min(n, sampled_rows);
    for (std::uint32_t r = 0; r < rows; ++r) {
        const auto b = static_cast<std::uint32_t>((r + std::uint64_t{1}) * n / rows - 1);
        const class_range window = window_of(classes, threshold, b);
        const std::uint32_t size = window.last - window.first, columns = std::min(size, sampled_columns);
        for (std::uint32_t i = 0; i < columns; ++i) {
            const auto a = window.first + static_cast<std::uint32_t>(std::uint64_t{i} * size / columns);
            if (a == b) continue;
            ++count;
            const std::uint64_t x = classes.length(a), y = classes.length(b);
            std::uint32_t norm = 0;
            unit_norms(sketches[classes.text(b)].counts.data(), sketches[classes.text(a)].counts.data(), 1,
                       &norm);
            if (norm <= largest_norm(1, largest_distance(threshold, x + y), x < y ? y - x : x - y))
                passed.push_back({a, b});
        }
    }
    return passed;
}

}  // namespace

template <class Unit>
second_filter cheaper_filter(const unit_texts<Unit>& texts, const sketch_list& sketches,
                             const text_classes& classes, const gram_rules& rules, const decimal& threshold,
                             std::uint64_t pairs) {
    std::uint64_t count = 0;
    if (pairs < few_pairs) return second_filter::pair_counts;
    const std::vector<sampled_pair> passed = passed_pairs(sketches, classes, threshold, count);
    if (passed.empty()) return second_filter::pair_counts;
    // The units of the texts that each filter leaves to be read, for some of these pairs.
    const std::size_t some = std::min<std::size_t>(passed.size(), sampled_texts);
    std::vector<Unit> scratch, other_scratch;
    std::array<std::uint8_t, pair_buckets> of_a{}, of_b{};
    gram_sketcher sketcher(rules);
    std::vector<std::uint64_t> all, disjoint;
    double words = 0, after_counts = 0, after_bitmaps = 0, after_both = 0;
    for (std::size_t i = 0; i < some; ++i) {
        const auto [a, b] = passed[i * passed.size() / some];
        const std::uint64_t x = classes.length(a), y = classes.length(b);
        const std::span<const Unit> text = texts.read(classes.text(a), scratch),
                                    other = texts.read(classes.text(b), other_scratch);
        sketch_pairs(text, of_a.data());
        sketch_pairs(other, of_b.data());
        const std::uint32_t d = largest_distance(threshold, x + y);
        const bool counts_allow = min_distance(pair_norm(of_a.data(), of_b.data()), 2, x, y) <= d;
        const unsigned scale = scale_of(x);
        all.resize(bitmap_words(scale));
        disjoint.resize(bitmap_words(scale));
        sketcher.set(text);
        sketcher.write_all(scale, all.data());
        sketcher.set(other);
        const std::uint32_t population = sketcher.write_disjoint(scale, disjoint.data());
        const std::uint64_t* const grams = all.data();
        std::uint32_t common = 0;
        common_bits(disjoint.data(), &grams, 1, bitmap_words(scale), &common);
        const bool bitmaps_allow = population - common <= d;
        words += static_cast<double>(bitmap_words(scale));
        if (counts_allow) after_counts += static_cast<double>(x);
        if (bitmaps_allow) after_bitmaps += static_cast<double>(x);
        if (counts_allow && bitmaps_allow) after_both += static_cast<double>(x);
    }
    double units = 0;
    for (const std::uint32_t length : classes.lengths()) units += length;
    const double expected = static_cast<double>(pairs) * static_cast<double>(passed.size()) /
                            static_cast<double>(count) / static_cast<double>(some);
    const double with_counts =
        units * to_count_a_unit +
        expected * (static_cast<double>(some) * to_compare_counts + after_counts * to_read_a_unit);
    const double with_bitmaps =
        units * to_map_a_unit + expected * (words * to_compare_a_word + after_bitmaps * to_count_a_unit +
                                            after_both * to_read_a_unit);
    return with_bitmaps < with_counts ? second_filter::bitmaps : second_filter::pair_counts;
}

template second_filter cheaper_filter(const unit_texts<std::uint8_t>&, const sketch_list&,
                                      const text_classes&, const gram_rules&, const decimal&, std::uint64_t);
template second_filter cheaper_filter(const unit_texts<std::uint32_t>&, const sketch_list&,
                                      const text_classes&, const gram_rules&, const decimal&, std::uint64_t);

}  // namespace quern::near_duplicates_detail
