// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/second_filter.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/grouped.hpp"
#include "device/files/mapped_pages.hpp"
#include "ops/near_duplicates/filter/gram_filter.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "primitives/edit_distance/edit_distance.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t sampled_rows = 256, sampled_columns = 64, sampled_texts = 96;
constexpr std::uint64_t few_pairs = 100'000;  // not worth an estimate

// Measured nanoseconds, on one core of 2024.
constexpr double to_count_a_unit = 1.2, to_map_a_unit = 7;  ///< to make the sketches
constexpr double to_compare_units = 1.5;
constexpr double to_compare_counts = 30, to_compare_a_word = 0.25;
constexpr double to_read_a_unit = 2;      ///< of a text that passed, for its q-grams
constexpr double to_edit_a_unit = 0.008;  ///< for each edit that the threshold allows

struct sampled_pair {
    std::uint32_t a, b;
    double weight;  ///< how many pairs it stands for
};

/// Classes whose units allow a pair, in a sample of pairs that stands for `count` pairs.
std::vector<sampled_pair> passed_pairs(const sketch_list& sketches, const text_classes& classes,
                                       const decimal& threshold, std::uint32_t from, double& count) {
    std::vector<sampled_pair> passed;
    const std::uint32_t n = classes.size() - from, rows = std::min(n, sampled_rows);
    for (std::uint32_t r = 0; r < rows; ++r) {
        const auto b = from + static_cast<std::uint32_t>((r + std::uint64_t{1}) * n / rows - 1);
        class_range window = window_of(classes, threshold, b);
        window.first = std::max(window.first, from);
        window.last = std::max(window.last, window.first);
        const std::uint32_t size = window.last - window.first, columns = std::min(size, sampled_columns);
        const double weight = static_cast<double>(size) / std::max(columns, 1u);
        for (std::uint32_t i = 0; i < columns; ++i) {
            const auto a = window.first + static_cast<std::uint32_t>(std::uint64_t{i} * size / columns);
            if (a == b) continue;
            count += weight;
            const std::uint64_t x = classes.length(a), y = classes.length(b);
            std::uint32_t norm = 0;
            unit_norms(sketches[classes.text(b)].counts.data(), sketches[classes.text(a)].counts.data(), 1,
                       &norm);
            if (norm <= largest_norm(1, largest_distance(threshold, x + y), x < y ? y - x : x - y))
                passed.push_back({a, b, weight});
        }
    }
    return passed;
}

/// The factor for times by these constants: `taken` was measured where they predict `expected` nanoseconds.
double slowness(std::chrono::steady_clock::duration taken, double expected) {
    constexpr double enough = 100'000;
    if (expected < enough) return 1;
    return std::clamp(std::chrono::duration<double, std::nano>(taken).count() / expected, 0.3, 5.0);
}

}  // namespace

template <class Unit>
search_cost estimate_cost(const unit_texts<Unit>& texts, const sketch_list& sketches,
                          const text_classes& classes, const gram_rules& rules, const decimal& threshold,
                          std::uint64_t pairs, bool links_suffice, std::uint32_t first) {
    double units = 0;
    for (const std::uint32_t length : classes.lengths().subspan(first)) units += length;
    double count = 0;
    std::vector<sampled_pair> passed;
    if (pairs >= few_pairs) passed = passed_pairs(sketches, classes, threshold, first, count);
    const double to_compare = to_compare_units * static_cast<double>(pairs);
    if (passed.empty()) {
        constexpr double second = 1e-9;
        return {second * (units * to_count_a_unit + to_compare),
                second * (units * to_map_a_unit + to_compare), 32};
    }
    // The units of the texts that each filter leaves to be read, for some of these pairs.
    const std::size_t some = std::min<std::size_t>(passed.size(), sampled_texts);
    std::vector<Unit> scratch, other_scratch;
    std::array<std::uint8_t, pair_buckets> of_a{}, of_b{};
    gram_sketcher sketcher(rules);
    gram_filter<Unit> grams;
    std::vector<std::uint64_t> all, disjoint;
    cpu_place place(context::cpu(1));
    primitives::pair_aligner<Unit> aligner(place);
    double spent = 0;  // nanoseconds, by the constants: the same in every run
    const auto are_near = [&](std::span<const Unit> a, std::span<const Unit> b, std::uint32_t d) {
        constexpr double enough = 50e6;
        const double cost = to_edit_a_unit * static_cast<double>(a.size()) * d;
        if (spent + cost > enough) return false;
        spent += cost;
        return aligner.distance(a, b, d) != primitives::beyond_bound;
    };
    double words = 0, after_counts = 0, after_bitmaps = 0, after_both = 0, edits = 0, mapped = 0;
    double passed_weight = 0, read_weight = 0;
    for (const sampled_pair& pair : passed) passed_weight += pair.weight;
    std::chrono::steady_clock::duration mapping{};
    for (std::size_t i = 0; i < some; ++i) {
        give_back_mapped_pages();  // texts from everywhere
        const auto [a, b, weight] = passed[i * passed.size() / some];
        read_weight += weight;
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
        const auto begin = std::chrono::steady_clock::now();
        sketcher.set(text);
        sketcher.write_all(scale, all.data());
        sketcher.set(other);
        const std::uint32_t population = sketcher.write_disjoint(scale, disjoint.data());
        mapping += std::chrono::steady_clock::now() - begin;
        mapped += static_cast<double>(x + y) / 2;
        const std::uint64_t* const bits = all.data();
        std::uint32_t common = 0;
        common_bits(disjoint.data(), &bits, 1, bitmap_words(scale), &common);
        const bool bitmaps_allow = population - common <= d;
        words += weight * static_cast<double>(bitmap_words(scale));
        if (links_suffice && counts_allow && bitmaps_allow && are_near(text, other, d)) continue;
        if (counts_allow) after_counts += weight * static_cast<double>(x);
        if (bitmaps_allow) after_bitmaps += weight * static_cast<double>(x);
        if (!counts_allow || !bitmaps_allow) continue;
        after_both += weight * static_cast<double>(x);
        grams.set(text);
        if (!grams.allows(b, other, d)) continue;
        edits += weight * static_cast<double>(x) * d;
    }
    // Pairs for each unit of weight that was read.
    const double expected = static_cast<double>(pairs) * passed_weight / count / read_weight;
    const double second = 1e-9 * slowness(mapping, mapped * to_map_a_unit);
    const double pairs_passed = read_weight;
    return {second * (units * to_count_a_unit + to_compare +
                      expected * (pairs_passed * to_compare_counts + after_counts * to_read_a_unit)),
            second * (units * to_map_a_unit + to_compare +
                      expected * (words * to_compare_a_word + after_bitmaps * to_count_a_unit +
                                  after_both * to_read_a_unit)),
            words / pairs_passed, second * expected * edits * to_edit_a_unit};
}

template search_cost estimate_cost(const unit_texts<std::uint8_t>&, const sketch_list&, const text_classes&,
                                   const gram_rules&, const decimal&, std::uint64_t, bool, std::uint32_t);
template search_cost estimate_cost(const unit_texts<std::uint32_t>&, const sketch_list&, const text_classes&,
                                   const gram_rules&, const decimal&, std::uint64_t, bool, std::uint32_t);

namespace {

std::string rounded(double seconds) {
    const auto whole = [](double x) { return grouped(static_cast<std::uint64_t>(std::llround(x))); };
    if (seconds < 100) return whole(seconds) + " s";
    if (seconds < 100 * 60) return whole(seconds / 60) + " minutes";
    return whole(seconds / 3600) + " hours";
}

}  // namespace

void report_cost(const context& ctx, std::uint64_t pairs, double seconds) {
    constexpr double brief = 5, long_time = 600;
    if (seconds < brief) return;
    std::string message = grouped(pairs) +
                          " pairs of texts have similar lengths; comparing them takes about " +
                          rounded(seconds);
    if (seconds >= long_time)
        message +=
            "; a lower threshold is faster, so is a GPU, and so are the methods signature and shingle, "
            "which have another definition of a pair";
    ctx.log(log_level::info, message);
}

}  // namespace quern::near_duplicates_detail
