// SPDX-License-Identifier: Apache-2.0
// Runs filters on all threads and passes their candidates on in batches that fit memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/grouped.hpp"
#include "base/release.hpp"
#include "device/cpu/parallel.hpp"
#include "device/progress_meter.hpp"
#include "ops/near_duplicates/texts/old_texts.hpp"

namespace quern::near_duplicates_detail {

/// The result of one piece of work.
struct scanned {
    std::vector<candidate> found;             ///< texts that may be a pair
    std::vector<text_copy> copies;            ///< texts that are equal
    std::uint64_t compared = 0, allowed = 0;  ///< compared pairs, and pairs that lengths allow
};

/// Reports once how many edit distances are to be computed, if that takes long. `seen` of `all`: the part of the work that
/// has found these candidates.
inline void report_candidates(const context& ctx, std::uint64_t before, std::uint64_t now, std::uint64_t seen,
                              std::uint64_t all) {
    constexpr std::uint64_t many = 100'000;
    if (before + now < many || before >= many) return;
    const bool is_part = seen != 0 && seen < all;
    const double part = is_part ? static_cast<double>(seen) / static_cast<double>(all) : 1;
    const auto expected = static_cast<std::uint64_t>(static_cast<double>(before + now) / part);
    ctx.log(log_level::info, (is_part ? "about " : "") + grouped(expected) +
                                 " pairs need an edit distance, because all pairs are requested; "
                                 "groups or kept documents need far fewer");
}

/// Calls scan(piece) -> scanned for all pieces, in parallel but observably in order. `meter` counts the pairs that scan()
/// does, and here those that are processed.
template <class Scan>
void scan_pieces(cpu_place& place, std::size_t pieces, const Scan& scan, const take_candidates& take,
                 std::vector<text_copy>& copies, duplicate_counts& counts, progress_meter& meter) {
    // For their edit distances, about; they and what pieces find meanwhile are an eighth of the memory.
    const auto max_waiting = static_cast<std::size_t>(std::clamp<std::uint64_t>(
        place.memory().limit() / 16 / sizeof(candidate), std::size_t{1} << 16, std::size_t{1} << 22));
    constexpr std::size_t taken_at_once = std::size_t{1} << 16;
    // Pieces at once: more and more, if the largest of the last ones leaves room for the candidates of so many.
    const std::size_t min_pieces = place.threads(), max_pieces = 256 * min_pieces;
    std::size_t at_once = min_pieces;
    std::vector<candidate> waiting;
    const auto flush = [&] {
        report_candidates(place.ctx(), counts.candidates, waiting.size(), meter.done() - counts.candidates,
                          meter.total() - counts.candidates);
        counts.candidates += waiting.size();
        meter.extend(waiting.size());
        for (std::span<const candidate> rest = waiting; !rest.empty();) {
            const auto some = rest.first(std::min(rest.size(), taken_at_once));
            take(some);
            meter.add(some.size());
            rest = rest.subspan(some.size());
        }
        waiting.clear();
    };
    for (std::size_t begin = 0, size = 0; begin < pieces; begin += size) {
        size = std::min(at_once, pieces - begin);
        std::vector<scanned> results(size);
        for_each_piece(place, results.size(), [&](std::size_t p) {
            place.ctx().check_stop();
            results[p] = scan(begin + p);
        });
        std::size_t largest = 0;
        for (scanned& result : results) {
            counts.compared += result.compared;
            copies.insert(copies.end(), result.copies.begin(), result.copies.end());
            if (waiting.size() + result.found.size() > max_waiting) flush();
            waiting.insert(waiting.end(), result.found.begin(), result.found.end());
            largest = std::max(largest, result.found.size());
            release(result.found);
        }
        at_once = std::clamp(std::min(2 * at_once, max_waiting / (largest + 1)), min_pieces, max_pieces);
    }
    flush();
}

}  // namespace quern::near_duplicates_detail
