// SPDX-License-Identifier: Apache-2.0
// Sorts positions with equal keys by the words that follow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "primitives/external_sort/external_sort.hpp"

namespace quern::ngram_detail {

/// Positions [begin, end) of the order share their first `known` words.
struct tied_range {
    std::size_t begin, end;
    unsigned known;
};

struct tie {
    std::uint64_t key, position;
    auto operator<=>(const tie&) const = default;
};

/// Sorts positions that share all words of their keys by the following words. In natural text most ties are short: one
/// thread sorts each, in the cache. The few long ones (repetitive texts) are sorted one after another by all threads,
/// within the budget.
template <class Position, class Keys>
class tie_sorter {
  public:
    static constexpr std::size_t max_in_cache = std::size_t{1} << 15;

    /// `shared`: as in sorted_ngrams, up to the words of a key. Both are changed. `max_of_thread`: how many ties one thread
    /// sorts, in 16 bytes each.
    tie_sorter(cpu_place& place, const Keys& keys, std::span<Position> positions,
               std::span<std::uint8_t> shared, std::size_t max_of_thread = max_in_cache)
        : place_(place), keys_(keys), positions_(positions), shared_(shared), max_of_thread_(max_of_thread) {}

    void sort() {
        const unsigned known = keys_.packing().words;
        // A piece has the ranges that begin in it; the part of a range that the next piece sees stays at `known` words and
        // above.
        std::vector<std::size_t> begins{0};
        for (std::size_t i = piece_positions; i < shared_.size(); i = begins.back() + piece_positions) {
            while (i < shared_.size() && shared_[i] >= known) ++i;
            if (i == shared_.size()) break;
            begins.push_back(i);
        }
        begins.push_back(shared_.size());
        for_each_piece(place_, begins.size() - 1, [&](std::size_t p) {
            place_.ctx().check_stop();
            scratch with(place_.ctx());
            sort_ranges({begins[p], begins[p + 1], known}, with);
        });
        while (!long_.empty()) {
            const tied_range next = long_.back();
            long_.pop_back();
            sort_long(next);
        }
    }

  private:
    static constexpr std::size_t piece_positions = std::size_t{1} << 16, ahead = 24;

    /// Of a thread.
    struct scratch {
        explicit scratch(const context& ctx) : checks(ctx, scattered_values) {}
        std::vector<tie> ties;
        paced_checks checks;  ///< the words of positions may be mapped
    };

    /// Sorts the ranges within one, each of which shares its first `known` words.
    void sort_ranges(const tied_range& within, scratch& with) {
        const bool far = within.end - within.begin > 2 * ahead;  // near data has been fetched already
        for (std::size_t i = within.begin; i < within.end;) {
            std::size_t end = i + 1;
            while (end < within.end && shared_[end] >= within.known) ++end;
            if (far && end + ahead < within.end) {
                for (std::size_t j = i + ahead; j < end + ahead; ++j)
                    if (shared_[j] >= within.known || shared_[j + 1] >= within.known)
                        keys_.fetch(positions_[j], within.known);
            }
            if (end - i > max_of_thread_) {
                const std::lock_guard hold(mutex_);
                long_.push_back({i, end, within.known});
            } else if (end - i > 1) {
                with.checks.after(end - i);
                sort_short({i, end, within.known}, with);
            }
            i = end;
        }
    }

    void sort_short(const tied_range& of, scratch& with) {
        std::vector<tie>& ties = with.ties;
        ties.clear();
        for (std::size_t i = of.begin; i < of.end; ++i)
            ties.push_back({keys_.key_after(positions_[i], of.known), positions_[i]});
        std::sort(ties.begin(), ties.end());
        for (std::size_t i = of.begin; i < of.end; ++i) {
            positions_[i] = static_cast<Position>(ties[i - of.begin].position);
            if (i != of.begin) note_shared(i, of.known, ties[i - of.begin - 1].key, ties[i - of.begin].key);
        }
        go_deeper(of, with);
    }

    void sort_long(const tied_range& of) {
        const std::uint64_t memory = place_.memory().left() / 4 * 3;
        primitives::external_sorter<cpu_place, std::uint64_t, std::uint64_t> sorter(
            place_, memory, {}, std::min(memory, primitives::external_sort_min_memory));
        std::vector<std::uint64_t> keys(std::min(of.end - of.begin, max_in_cache)), positions(keys.size());
        for (std::size_t i = of.begin; i < of.end; i += keys.size()) {
            const std::size_t size = std::min(keys.size(), of.end - i);
            place_.ctx().check_stop();
            for_each_piece(place_, pieces_for(place_, size, 1 << 12), [&](std::size_t p) {
                const auto [begin, end] = piece_of(size, pieces_for(place_, size, 1 << 12), p);
                for (std::size_t j = begin; j < end; ++j) {
                    positions[j] = positions_[i + j];
                    keys[j] = keys_.key_after(positions[j], of.known);
                }
            });
            sorter.push(std::span(keys).first(size), std::span(positions).first(size));
        }
        std::size_t i = of.begin;
        std::uint64_t last = 0;
        sorter.finish([&](std::span<const std::uint64_t> sorted_keys, std::span<const std::uint64_t> sorted) {
            place_.ctx().check_stop();
            for (std::size_t j = 0; j < sorted.size(); ++j, ++i) {
                positions_[i] = static_cast<Position>(sorted[j]);
                if (i != of.begin) note_shared(i, of.known, last, sorted_keys[j]);
                last = sorted_keys[j];
            }
        });
        scratch with(place_.ctx());
        go_deeper(of, with);
    }

    void note_shared(std::size_t i, unsigned known, std::uint64_t before, std::uint64_t key) {
        shared_[i] = static_cast<std::uint8_t>(known + keys_.packing().shared(before, key));
    }

    void go_deeper(const tied_range& of, scratch& with) {
        const unsigned known = of.known + keys_.words_after(of.known);
        if (known < keys_.order()) sort_ranges({of.begin, of.end, known}, with);
    }

    cpu_place& place_;
    const Keys& keys_;
    std::span<Position> positions_;
    std::span<std::uint8_t> shared_;
    std::size_t max_of_thread_;
    std::mutex mutex_;
    std::vector<tied_range> long_;  ///< still unsorted
};

}  // namespace quern::ngram_detail
