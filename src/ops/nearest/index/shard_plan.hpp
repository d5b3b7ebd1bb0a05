// SPDX-License-Identifier: Apache-2.0
// Decides how much is done at once: all decisions by memory size and cost are here. No result depends on them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/nearest/index/vector_views.hpp"

namespace quern::nearest_detail {

inline constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

// ---- Resident rows of a place's memory ----

struct shard_layout {
    std::uint64_t resident_rows = 0;  ///< the first
    std::uint64_t stream_bytes = 0;   ///< of a tile of the others
};

/// The CPU keeps nothing: data that fits memory is used in place, other data is read in pieces.
template <class View>
shard_layout layout_of(cpu_place& place, const View& rows, bool /*squares*/) {
    const std::uint64_t bytes = tile_bytes(rows, 0, rows.rows), limit = place.memory().limit();
    if (bytes <= limit) return {rows.rows, 0};
    return {0, std::clamp(limit / 4, std::uint64_t{1}, 256 * mebibyte)};
}

/// A device keeps everything if that leaves an eighth of its memory to work with. Otherwise half of its memory is for
/// resident rows, a quarter for two tiles of others, and a quarter to work with.
template <class View>
shard_layout layout_of(cuda_place& place, const View& rows, bool squares) {
    const std::uint64_t extra = squares ? sizeof(double) : 0, left = place.memory().left();
    if (tile_bytes(rows, 0, rows.rows) + rows.rows * extra <= left / 8 * 7) return {rows.rows, 0};
    const std::uint64_t kept = rows_within(rows, 0, left / 2, extra);
    const bool fits = tile_bytes(rows, 0, kept) + kept * extra <= left / 2;
    return {fits ? kept : 0, std::clamp(left / 8, std::uint64_t{1}, 1024 * mebibyte)};
}

/// The starts of the tiles of the other rows, and the end of the last.
template <class View>
std::vector<std::uint64_t> cuts_of_tiles(const View& rows, const shard_layout& layout) {
    std::vector<std::uint64_t> cuts{layout.resident_rows};
    while (cuts.back() < rows.rows)
        cuts.push_back(cuts.back() + rows_within(rows, cuts.back(), layout.stream_bytes, sizeof(double)));
    return cuts;
}

// ---- Rows and queries ranked together ----

struct piece_plan {
    std::uint64_t rows = 0, queries = 1;
};

/// Uses half of `left` bytes of the place's memory. `everything`: rows are sorted, not selected. `one_by_one`: one query at
/// a time.
template <class Place>
piece_plan plan_pieces(std::uint64_t left, std::uint64_t rows, std::uint64_t queries, std::uint64_t k,
                       bool everything, std::uint64_t key_bytes, bool one_by_one) {
    constexpr bool on_cpu = std::is_same_v<Place, cpu_place>;
    // Key and row; both again in the sort; a third time if the first k of all sorted are taken.
    const std::uint64_t pair = key_bytes + sizeof(std::uint32_t);
    // A device may sort all to select more than a block holds.
    const bool sorted = everything || (!on_cpu && k > 1000);
    const std::uint64_t bytes = (sorted ? 4 * pair : key_bytes) + sizeof(std::uint32_t);
    const std::uint64_t used = std::min(left / 2, (on_cpu ? 512 : 4096) * mebibyte);
    // For selection on a CPU, distances stay in its caches.
    const std::uint64_t together =
        everything || !on_cpu ? used : std::min(used, (queries == 1 ? 64 : 16) * mebibyte);
    piece_plan plan{rows, 1};
    if (!everything) {
        // Several queries together read a row once; selection from a longer piece costs less.
        const std::uint64_t wanted =
            on_cpu ? std::min<std::uint64_t>(queries, 32) : std::min<std::uint64_t>(queries, 64);
        const std::uint64_t least = std::max<std::uint64_t>(on_cpu ? 1 << 14 : 1 << 20, 16 * k);
        plan.rows = std::min(rows, std::max(least, together / (bytes * wanted)));
    }
    plan.rows = std::min(plan.rows, used / bytes);
    if (plan.rows < rows) plan.rows = std::max(plan.rows / row_group * row_group, row_group);
    plan.rows = std::max<std::uint64_t>(plan.rows, 1);
    if (!one_by_one) plan.queries = std::clamp<std::uint64_t>(together / (plan.rows * bytes), 1, queries);
    return plan;
}

// ---- The filter ----

inline constexpr std::uint64_t quantized_at_once = 1024;

/// The approximate size of a tile's quantized form.
inline std::uint64_t quantized_bytes(const vectors_view& view) {
    return view.rows * (view.dimensions + 80);  // rows are padded
}

/// With exact distances, so many queries at once cost as much as this many passes over the rows.
template <class Place>
constexpr std::uint64_t passes_of(std::uint64_t queries) {
    return std::is_same_v<Place, cpu_place> ? (queries + 2) / 3 : queries;
}

/// Whether coding rows, which costs about eight passes over them, pays for these passes.
constexpr bool coding_pays(std::uint64_t passes) {
    return passes >= 8;
}

/// Whether so many queries are faster through an existing quantized form. The filter passes some hundred rows more than k; on a
/// device it is several kernels and waits, and for one query reads as many bytes as a row of 16 bits.
template <class Place>
bool quantized_is_faster(std::uint64_t queries, std::uint64_t rows, std::uint64_t k, vector_type type) {
    constexpr bool on_cpu = std::is_same_v<Place, cpu_place>;
    if (!on_cpu && queries == 1 && type != vector_type::f32) return false;
    return rows >= (on_cpu ? 4096 : 16'384) && k <= rows / 64;
}

}  // namespace quern::nearest_detail
