// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/segment_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "ops/near_duplicates/filter/gram_filter.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"

namespace quern::near_duplicates_detail {
namespace {

// Measured nanoseconds, on one core of 2024.
constexpr double to_index_a_segment = 20, to_read_a_text = 80, to_read_a_unit = 2, to_look_up = 9;
constexpr double to_meet_a_text = 4;  ///< in a list
constexpr double to_compare_parities = 0.7;
constexpr double to_compare_counts = 25;  ///< of a text anywhere
constexpr double to_scan_a_pair = 2.5,
                 to_filter = 40;  ///< by find_by_sketches_cpu.cpp; if counts of units allow it
// Edit distances: of links one by one, of pairs as many at once as fit a vector.
constexpr double to_edit = 1000, to_edit_some_at_once = 200, to_edit_a_long_text = 2000;

// Where links suffice and so many of all pairs of a length are near-duplicates, nearly all texts get connected, and the scan skips
// whole blocks of them.
constexpr double many_pairs = 0.05, to_skip_a_pair = 0.1;

constexpr std::uint64_t few_pairs = 20'000;  ///< of a length: not worth a sample
constexpr std::uint32_t max_segments = 64;

/// Consecutive texts of one length.
struct length_run {
    std::uint32_t length;
    class_range range;
    std::uint64_t size() const { return range.last - range.first; }
};

std::vector<length_run> runs_of(std::span<const std::uint32_t> lengths) {
    std::vector<length_run> runs;
    for (std::size_t at = 0; at < lengths.size();) {
        const auto end =
            std::upper_bound(lengths.begin() + static_cast<std::ptrdiff_t>(at), lengths.end(), lengths[at]);
        const auto past_end = static_cast<std::size_t>(end - lengths.begin());
        runs.push_back({lengths[at], {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(past_end)}});
        at = past_end;
    }
    return runs;
}

/// Pairs of texts of one length, in a sample.
struct length_sample {
    explicit length_sample(std::uint32_t length) : agreed(length) {}

    agreements agreed;
    double pairs = 0;
    std::array<double, unit_buckets + 1>
        by_parity{};                ///< pairs whose parities differ in at most so many bits
    std::vector<double> by_counts;  ///< pairs whose counts allow at most so many edits
    // Of pairs that the counts allow, some: all of these, those too far apart that the scan's filters leave, near-duplicates.
    double filtered = 0, left = 0, near = 0;

    double parities_allow(std::uint32_t d) const {
        return by_parity[std::min<std::size_t>(2 * std::size_t{d}, unit_buckets)] / pairs;
    }
    double counts_allow(std::uint32_t d) const {
        return by_counts[std::min<std::size_t>(d, by_counts.size() - 1)] / pairs;
    }
};

template <class Unit>
length_sample sample_of(const unit_texts<Unit>& texts, const sketch_list& sketches,
                        const texts_by_length& columns, const length_run& run, std::uint32_t distance,
                        primitives::pair_aligner<Unit>& aligner) {
    // Texts of one length are in the order of their hashes: any are a sample.
    const auto wanted = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(run.size())));
    const auto n =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(std::clamp(wanted, 24u, 192u), run.size()));
    length_sample sample(run.length);
    sample.by_counts.resize(max_segments + std::size_t{1});
    constexpr double max_filtered = 64;
    std::vector<std::vector<Unit>> chosen(n);
    gram_filter<Unit> grams;
    std::vector<Unit> scratch;
    for (std::uint32_t i = 0; i < n; ++i) {
        const auto text = texts.read(columns.texts[run.range.first + i], scratch);
        chosen[i].assign(text.begin(), text.end());
    }
    for (std::uint32_t a = 0; a < n; ++a) {
        const std::uint32_t first = run.range.first + a;
        for (std::uint32_t b = a + 1; b < n; ++b) {
            const std::uint32_t second = run.range.first + b;
            sample.agreed.add<Unit>(chosen[a], chosen[b]);
            ++sample.by_parity[count_of_ones(columns.parities[first] ^ columns.parities[second])];
            std::uint32_t norm = 0;
            unit_norms(sketches[columns.texts[first]].counts.data(),
                       sketches[columns.texts[second]].counts.data(), 1, &norm);
            const std::uint32_t edits = (norm + 1) / 2;
            ++sample.by_counts[std::min(edits, max_segments)];
            if (edits > distance || sample.filtered >= max_filtered) continue;
            ++sample.filtered;
            grams.set(chosen[a]);
            if (!grams.allows(b, chosen[b], distance)) continue;
            if (aligner.distance(chosen[a], chosen[b], distance) != primitives::beyond_bound)
                ++sample.near;
            else
                ++sample.left;
        }
    }
    sample.agreed.finish();
    sample.pairs = std::max(1.0, n * (n - 1.0) / 2);
    for (std::size_t i = 1; i < sample.by_parity.size(); ++i) sample.by_parity[i] += sample.by_parity[i - 1];
    for (std::size_t i = 1; i < sample.by_counts.size(); ++i) sample.by_counts[i] += sample.by_counts[i - 1];
    return sample;
}

/// The cost of the pairs of one length, in nanoseconds.
struct run_costs {
    double scan = 0, here = 0;
};

template <class Unit>
class planner {
  public:
    planner(const unit_texts<Unit>& texts, const sketch_list& sketches, const texts_by_length& columns,
            bool same, const decimal& threshold, const segment_choice& choice)
        : texts_(texts),
          sketches_(sketches),
          columns_(columns),
          same_(same),
          threshold_(threshold),
          choice_(choice),
          aligner_(place_) {}

    /// Adds the steps of one length. `rows`: those whose lengths allow a pair.
    run_costs add(const length_run& run, std::span<const length_run> rows, segment_plan& plan) {
        run_costs costs;
        std::uint64_t all = 0;
        for (const length_run& row : rows) all += pairs(run, row);
        plan.pairs += all;
        std::optional<length_sample> sample;
        if (all >= few_pairs && run.size() > 1 && choice_.by == segment_choice::way::cheapest)
            sample.emplace(sample_of(texts_, sketches_, columns_, run, distance_of(run, run), aligner_));
        for (std::size_t first = 0; first < rows.size();) {
            const std::uint32_t distance = distance_of(run, rows[first]);
            std::size_t last = first;
            std::uint64_t count = 0;
            while (last < rows.size() && distance_of(run, rows[last]) == distance)
                count += pairs(run, rows[last++]);
            if (distance == 0) {
                plan.apart += count;
                costs.scan += to_scan_a_pair * static_cast<double>(count);
            } else {
                add_step(run, rows.subspan(first, last - first), distance, count, sample, plan, costs);
            }
            first = last;
        }
        return costs;
    }

  private:
    std::uint64_t pairs(const length_run& run, const length_run& row) const {
        const bool is_own = same_ && row.length == run.length;
        return is_own ? run.size() * (run.size() - 1) / 2 : run.size() * row.size();
    }
    std::uint32_t distance_of(const length_run& run, const length_run& row) const {
        return largest_distance(threshold_, std::uint64_t{run.length} + row.length);
    }

    void add_step(const length_run& run, std::span<const length_run> rows, std::uint32_t distance,
                  std::uint64_t count, const std::optional<length_sample>& sample, segment_plan& plan,
                  run_costs& costs) const {
        using way = segment_choice::way;
        segment_step step{
            run.range, {rows.front().range.first, rows.back().range.last}, run.length, distance, {}};
        const bool can_cut = distance < run.length && distance < max_segments;
        const auto all = static_cast<double>(count);
        if (choice_.by == way::segments && can_cut) {
            agreements none(run.length);
            none.finish();
            step.cuts = none.cuts(distance);
        } else if (choice_.by == way::cheapest) {
            const double near = sample ? sample->counts_allow(distance) : 0;
            const double same_parity = sample ? sample->parities_allow(distance) : 0;
            const double edit = run.length > 128    ? to_edit_a_long_text
                                : choice_.for_links ? to_edit
                                                    : to_edit_some_at_once;
            // Where links suffice, pairs are mostly connected already, and cost nothing.
            double left = 0, edited = 1;
            if (sample && sample->filtered != 0) {
                left = (sample->left + (choice_.for_links ? 0 : sample->near)) / sample->filtered;
                if (choice_.for_links) edited -= sample->near / sample->filtered;
            }
            const double near_pairs =
                sample && sample->filtered != 0 ? near * sample->near / sample->filtered : 0;
            costs.scan += choice_.for_links && near_pairs >= many_pairs
                              ? all * to_skip_a_pair
                              : all * (to_scan_a_pair + near * (to_filter + left * to_edit));
            double here =
                all * (to_compare_parities + same_parity * to_compare_counts + near * edited * edit);
            if (sample && can_cut) {
                std::vector<std::uint32_t> cuts = sample->agreed.cuts(distance);
                double by_segments = to_index_a_segment * static_cast<double>(run.size() * (distance + 1));
                for (const length_run& row : rows) {
                    std::uint64_t lookups = 0;
                    const std::int32_t longer_by = static_cast<std::int32_t>(row.length - run.length);
                    for (std::uint32_t s = 0; s <= distance; ++s)
                        lookups += shifts_of(s, distance, longer_by).size();
                    by_segments +=
                        static_cast<double>(row.size()) * (to_read_a_text + to_read_a_unit * row.length +
                                                           to_look_up * static_cast<double>(lookups));
                }
                const double matches = all * sample->agreed.matches(cuts);
                constexpr double alike = 0.3;  // of the pairs that share a segment, at most about
                by_segments += matches * (to_meet_a_text + std::max(same_parity, alike) * to_compare_counts) +
                               std::min(matches * alike, all * near) * edited * edit;
                if (by_segments < here) {
                    here = by_segments;
                    step.cuts = std::move(cuts);
                }
            }
            costs.here += here;
        }
        plan.steps.push_back(std::move(step));
    }

    const unit_texts<Unit>& texts_;
    const sketch_list& sketches_;
    const texts_by_length& columns_;
    bool same_;
    const decimal& threshold_;
    const segment_choice& choice_;
    cpu_place place_{context::cpu(1)};
    primitives::pair_aligner<Unit> aligner_;
};

}  // namespace

template <class Unit>
segment_plan plan_segments(const unit_texts<Unit>& texts, const sketch_list& sketches,
                           const texts_by_length& columns, const texts_by_length& rows, bool same,
                           const decimal& threshold, const segment_choice& choice, const context& ctx) {
    const bool is_free = choice.by == segment_choice::way::cheapest;
    planner<Unit> of(texts, sketches, columns, same, threshold, choice);
    const std::vector<length_run> runs = runs_of(columns.lengths),
                                  others = same ? runs : runs_of(rows.lengths);
    segment_plan all, best;
    std::size_t best_steps = 0;
    double saved = 0, max_saved = 0, seconds = 0;
    for (const length_run& run : runs) {
        ctx.check_stop();
        if (run.length > choice.longest) break;
        const length_window window = lengths_near(threshold, run.length);
        const auto first =
            std::ranges::lower_bound(others, same ? run.length : window.shortest, {}, &length_run::length);
        const auto last = std::ranges::upper_bound(others, window.longest, {}, &length_run::length);
        if (is_free && largest_distance(threshold, run.length + window.longest) >= max_segments) break;
        const run_costs costs = of.add(run, {first, std::max(first, last)}, all);
        all.end = run.range.last;
        saved += costs.scan - costs.here;
        seconds += 1e-9 * costs.here;
        if (is_free && saved <= max_saved) continue;
        max_saved = saved;
        best_steps = all.steps.size();
        best = {all.end, {}, all.pairs, all.apart, seconds};
    }
    if (best.pairs < choice.min_pairs) return {};
    best.steps.assign(std::make_move_iterator(all.steps.begin()),
                      std::make_move_iterator(all.steps.begin() + static_cast<std::ptrdiff_t>(best_steps)));
    return best;
}

template segment_plan plan_segments(const unit_texts<std::uint8_t>&, const sketch_list&,
                                    const texts_by_length&, const texts_by_length&, bool, const decimal&,
                                    const segment_choice&, const context&);
template segment_plan plan_segments(const unit_texts<std::uint32_t>&, const sketch_list&,
                                    const texts_by_length&, const texts_by_length&, bool, const decimal&,
                                    const segment_choice&, const context&);

}  // namespace quern::near_duplicates_detail
