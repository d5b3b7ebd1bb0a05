// SPDX-License-Identifier: Apache-2.0
// Links of texts: candidates are decided immediately, one by one, so that the connections of one pair save later
// comparisons.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/filter/gram_filter.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"
#include "primitives/edit_distance/edit_distance.hpp"

namespace quern::near_duplicates_detail {

/// Tracks which texts are already connected, where links are enough: two texts of one group need not be compared. A thousand
/// edited copies of a page then cost about a thousand edit distances, not half a million.
///
/// Connected components by union-find (Tarjan 1975), lock-free by many threads: a root gets a parent by one operation that
/// succeeds once, and parents descend, so that no cycle can arise.
///
/// A copy also keeps its distance from the text that it was found with: its pivot. By the triangle inequality, texts near
/// two pivots that are far apart are not a pair either: distance(a, b) >= distance(p, q) - distance(a, p) - distance(b, q).
class text_links {
  public:
    /// For texts without connections yet. 20 bytes per text.
    text_links(cpu_place& place, std::uint32_t texts)
        : parents_(place, texts, "links of texts"),
          links_(place, texts, "links of texts"),
          pivots_(place, texts, "links of texts") {
        std::iota(parents_.span().begin(), parents_.span().end(), 0u);
        for (std::uint32_t i = 0; i < texts; ++i) pivots_.data()[i] = std::uint64_t{i} << 32;
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(parents_.size()); }
    /// The first text that this one is connected with, as far as known now. Any thread.
    std::uint32_t first_of(std::uint32_t text) const {
        for (;;) {
            std::uint32_t parent = at(parents_, text).load(std::memory_order_relaxed);
            if (parent == text) return text;
            const std::uint32_t above = at(parents_, parent).load(std::memory_order_relaxed);
            if (above != parent) {
                at(parents_, text).compare_exchange_weak(parent, above, std::memory_order_relaxed);
            }
            text = above;
        }
    }
    /// True is final; false may be outdated. Any thread.
    bool connected(std::uint32_t a, std::uint32_t b) const { return first_of(a) == first_of(b); }

    /// Connects a pair of texts. Any thread.
    void connect(std::uint32_t a, std::uint32_t b) {
        for (;;) {
            const auto [first, last] = std::minmax({first_of(a), first_of(b)});
            if (first == last) break;
            std::uint32_t expected = last;
            if (!at(parents_, last).compare_exchange_strong(expected, first, std::memory_order_relaxed))
                continue;
            links_.data()[last] = {std::min(a, b), std::max(a, b)};  // `last` was a root: happens once
            break;
        }
    }

    struct near_pivot {
        std::uint32_t text, distance;
    };
    /// The pivot of a text, initially the text itself. Any thread.
    near_pivot pivot_of(std::uint32_t text) const {
        const std::uint64_t packed = at(pivots_, text).load(std::memory_order_relaxed);
        return {static_cast<std::uint32_t>(packed >> 32), static_cast<std::uint32_t>(packed)};
    }

    void set_pivot(std::uint32_t text, const near_pivot& pivot) {
        at(pivots_, text).store(std::uint64_t{pivot.text} << 32 | pivot.distance, std::memory_order_relaxed);
    }

    /// The pairs that connect all connected texts, one fewer than texts in each component. Call it after all threads are
    /// done.
    std::vector<duplicate_pair> links() const {
        std::vector<duplicate_pair> all;
        for (std::uint32_t text = 0; text < parents_.size(); ++text) {
            if (parents_.data()[text] != text)
                all.push_back({links_.data()[text].a, links_.data()[text].b, 0, 0});
        }
        return all;
    }

  private:
    template <class T>
    static std::atomic_ref<T> at(const cpu_array<T>& values, std::uint32_t i) {
        return std::atomic_ref<T>(values.data()[i]);
    }

    cpu_array<std::uint32_t> parents_;
    cpu_array<candidate> links_;       ///< for every text that is not a root: the pair that linked it
    cpu_array<std::uint64_t> pivots_;  ///< text · 2³² + distance
};

/// Whether such a scope omits pairs of texts.
constexpr bool wants_links(const duplicate_scope& scope) {
    return scope.links_only && !scope.all_firsts;
}

/// Shared by all threads.
struct link_search {
    link_search(cpu_place& place, std::uint32_t texts) : links(place, texts) {}

    /// All requested links of texts, equal texts included: each text of a group with the first one, with 0 of 0, ascending.
    /// Texts outside groups cost nothing. Call it after all threads are done.
    std::vector<duplicate_pair> found(cpu_place& place, const sketch_list& sketches,
                                      const duplicate_scope& scope, std::vector<text_copy> copies,
                                      duplicate_counts& counts) const;

    text_links links;
    std::atomic<std::uint64_t> measured{0};  ///< candidates that passed every filter
};

/// A text that passed the sketches against the current text.
struct close_text {
    std::uint32_t text, bound;  ///< the largest distance of a pair
    std::uint32_t at_least;     ///< a lower bound of the distance, from the sketches
};
/// The path from candidates to links in one thread.
template <class Unit>
class link_finder {
  public:
    link_finder(cpu_place& place, link_search& shared, const unit_texts<Unit>& texts)
        : place_(place), shared_(shared), texts_(texts), aligner_(place) {}

    /// Decides which of the candidates are pairs with `text`, the most similar first, and skips those that are connected by
    /// then. Each pair must be a requested one. Reorders the candidates.
    void find(std::uint32_t text, std::span<close_text> candidates) {
        std::ranges::sort(candidates, {}, [](const close_text& c) { return std::pair(c.at_least, c.text); });
        bool is_held = false;
        for (const close_text& c : candidates) {
            if (shared_.links.connected(text, c.text)) continue;
            place_.ctx().check_stop();
            if (are_far(text, c.text, c.bound)) continue;
            if (!is_held) hold(text);
            is_held = true;
            const auto other = texts_.read(c.text, column_);
            if (!grams_.allows(c.text, other, c.bound)) continue;
            ++shared_.measured;
            const std::uint32_t distance = aligner_.distance(other, held_, c.bound);
            if (distance == primitives::beyond_bound) continue;
            shared_.links.connect(text, c.text);
            follow_pivot(text, c.text, distance, c.bound);
        }
    }

  private:
    void hold(std::uint32_t text) {
        held_ = texts_.read(text, next_);
        grams_.set(held_);  // compares with its last text again
        next_.swap(held_units_);
    }

    /// A text that is its own pivot takes the pivot of a near text if it is within an eighth of the bound.
    void follow_pivot(std::uint32_t text, std::uint32_t near, std::uint32_t distance, std::uint32_t bound) {
        if (shared_.links.pivot_of(text).text != text) return;
        const std::uint32_t pivot = shared_.links.pivot_of(near).text;
        if (pivot == text) return;
        if (pivot != near) distance = aligner_.distance(texts_.read(pivot, column_), held_, bound / 8);
        if (distance <= bound / 8) shared_.links.set_pivot(text, {pivot, distance});
    }

    /// Whether the pivots of two texts exclude the pair. Once a pair of pivots has been queried a few times, their distance
    /// is computed: it is worth as much as the pairs that it saves.
    bool are_far(std::uint32_t a, std::uint32_t b, std::uint32_t bound) {
        const auto of_a = shared_.links.pivot_of(a), of_b = shared_.links.pivot_of(b);
        if (of_a.text == of_b.text || (of_a.text == a && of_b.text == b)) return false;
        if (known_.size() > max_known) known_.clear();
        const auto [p, q] = std::minmax(of_a.text, of_b.text);
        between& far = known_[std::uint64_t{p} << 32 | q];
        const std::uint64_t wanted = std::uint64_t{bound} + of_a.distance + of_b.distance;
        if (far.least <= wanted && ++far.requested == compared_before_measuring) {
            const auto x = texts_.read(p, column_), y = texts_.read(q, pivot_units_);
            const auto max = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(std::uint64_t{bound} + bound / 2, std::max(x.size(), y.size())));
            const std::uint32_t distance = aligner_.distance(x, y, max);
            far.least = distance == primitives::beyond_bound ? max + std::uint64_t{1} : distance;
        }
        return far.least > wanted;
    }

    struct between {
        std::uint64_t least = 0;  ///< lower bound of the distance of two pivots
        unsigned requested = 0;
    };
    static constexpr unsigned compared_before_measuring = 2;
    static constexpr std::size_t max_known = std::size_t{1} << 14;

    cpu_place& place_;
    link_search& shared_;
    const unit_texts<Unit>& texts_;
    primitives::pair_aligner<Unit> aligner_;
    gram_filter<Unit> grams_;
    std::span<const Unit> held_;
    std::vector<Unit> next_, held_units_, column_, pivot_units_;  ///< decoded texts
    std::unordered_map<std::uint64_t, between> known_;
};

/// The same for candidates in large batches, each decided by the edit distance at `place`: first those that would connect
/// the most; then the others, where still needed. `host`, `on_device` as for unit_texts::append_pairs(). Any thread, with
/// places of its own: the links may grow meanwhile.
template <class Place, class Unit>
void link_candidates(Place& place, cpu_place& host, const unit_texts<Unit>& texts, const decimal& threshold,
                     std::span<const candidate> candidates, text_links& links, duplicate_counts& counts,
                     const device_texts<Unit>* on_device = nullptr) {
    std::vector<candidate> waiting(candidates.begin(), candidates.end()), wave, rest;
    std::vector<std::uint32_t> planned(links.size());  // components if all pairs of a wave were real
    std::size_t at_least = 0;
    while (!waiting.empty()) {
        place.ctx().check_stop();
        wave.clear();
        rest.clear();
        std::iota(planned.begin(), planned.end(), 0u);
        const auto planned_of = [&](std::uint32_t text) {
            while (planned[text] != text) text = planned[text] = planned[planned[text]];
            return text;
        };
        for (const candidate& c : waiting) {
            const std::uint32_t a = links.first_of(c.a), b = links.first_of(c.b);
            if (a == b) continue;
            const std::uint32_t first = planned_of(a), second = planned_of(b);
            if (first != second) {
                planned[std::max(first, second)] = std::min(first, second);
                wave.push_back(c);
            } else {
                (wave.size() < at_least ? wave : rest).push_back(c);
            }
        }
        std::vector<duplicate_pair> pairs;
        texts.append_pairs(place, host, threshold, wave, pairs, counts, on_device);
        for (const duplicate_pair& pair : pairs) links.connect(pair.a, pair.b);
        // If most were no pairs, the next candidates are unlikely to be connected yet.
        at_least = pairs.size() * 2 < wave.size() ? wave.size() * 4 : 0;
        waiting.swap(rest);
    }
}

}  // namespace quern::near_duplicates_detail
