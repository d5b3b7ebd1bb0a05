// SPDX-License-Identifier: Apache-2.0
// Tracks which texts are already connected, where links are enough: two texts of one group need not be compared. A thousand
// edited copies of a page then cost about a thousand edit distances, not half a million.
//
// Connected components by union-find (Tarjan 1975), lock-free by many threads: a root gets a parent by one operation that
// succeeds once, and parents descend, so that no cycle can arise.
//
// A copy also keeps its distance from the text that it was found with: its pivot. By the triangle inequality, texts near
// two pivots that are far apart are not a pair either: distance(a, b) >= distance(p, q) - distance(a, p) - distance(b, q).
#pragma once

#include <atomic>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"

namespace quern::near_duplicates_detail {

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

}  // namespace quern::near_duplicates_detail
