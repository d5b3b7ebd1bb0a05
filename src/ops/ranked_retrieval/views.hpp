// SPDX-License-Identifier: Apache-2.0
// Dense and sparse vectors by stretches of rows, in the caller's memory (views) and in a place's (tiles): what the code
// that is written once for both asks of them.
#pragma once

#include <cstdint>
#include <span>

#include "ops/ranked_retrieval/tile.hpp"
#include "quern/base/vectors.hpp"

namespace quern::ranked_retrieval_detail {

template <class Place, class View>
struct tile_of_view;
template <class Place>
struct tile_of_view<Place, vectors_view> {
    using type = row_tile<Place>;
};
template <class Place>
struct tile_of_view<Place, sparse_vectors_view> {
    using type = sparse_tile<Place>;
};
template <class Place, class View>
using tile_on = typename tile_of_view<Place, View>::type;

constexpr vector_type type_of(const vectors_view& view) {
    return view.type;
}
constexpr vector_type type_of(const sparse_vectors_view& /*unused*/) {
    return vector_type::f32;
}

// ---- Stretches of rows ----

inline vectors_view rows_of(const vectors_view& all, std::uint64_t first, std::uint64_t count) {
    vectors_view part = all;
    part.rows = count;
    const std::uint64_t bytes = count == 0 ? 0 : (count - 1) * all.stride + all.row_bytes();
    part.values = count == 0 ? std::span<const std::byte>() : all.values.subspan(first * all.stride, bytes);
    return part;
}
/// As in a sparse_tile, entry e of a stretch is at columns[e − offsets[0]].
inline sparse_vectors_view rows_of(const sparse_vectors_view& all, std::uint64_t first, std::uint64_t count) {
    const std::uint64_t begin = all.offsets[first] - all.offsets[0];
    const std::uint64_t entries = all.offsets[first + count] - all.offsets[first];
    return {count, all.dimensions, all.offsets.subspan(first, count + 1), all.columns.subspan(begin, entries),
            all.values.subspan(begin, entries)};
}

template <class Place>
row_tile<Place> rows_of(const row_tile<Place>& all, const vectors_view& /*unused*/, std::uint64_t first,
                        std::uint64_t count) {
    row_tile<Place> part = all;
    part.rows = static_cast<std::uint32_t>(count);
    const std::uint64_t bytes =
        count == 0 ? 0 : (count - 1) * all.stride + bytes_of_row(all.type, all.dimensions);
    part.values = all.values.subspan(count == 0 ? 0 : first * all.stride, bytes);
    if (!all.squares.empty()) part.squares = all.squares.subspan(first, count);
    return part;
}
/// `view`: what the tile was made of, for the host cannot read a device's offsets.
template <class Place>
sparse_tile<Place> rows_of(const sparse_tile<Place>& all, const sparse_vectors_view& view,
                           std::uint64_t first, std::uint64_t count) {
    const std::uint64_t begin = view.offsets[first] - view.offsets[0];
    const std::uint64_t entries = view.offsets[first + count] - view.offsets[first];
    sparse_tile<Place> part = all;
    part.rows = static_cast<std::uint32_t>(count);
    part.offsets = all.offsets.subspan(first, count + 1);
    part.columns = all.columns.subspan(begin, entries);
    part.values = all.values.subspan(begin, entries);
    if (!all.squares.empty()) part.squares = all.squares.subspan(first, count);
    return part;
}

// ---- How much memory they take ----

/// Every array of a tile begins at a multiple of this.
inline constexpr std::uint64_t tile_alignment = 256;
constexpr std::uint64_t aligned_bytes(std::uint64_t bytes) {
    return (bytes + tile_alignment - 1) / tile_alignment * tile_alignment;
}

/// Of the rows [first, last) on a device, without sums of squares.
inline std::uint64_t tile_bytes(const vectors_view& all, std::uint64_t first, std::uint64_t last) {
    return aligned_bytes((last - first) * all.row_bytes());
}
inline std::uint64_t tile_bytes(const sparse_vectors_view& all, std::uint64_t first, std::uint64_t last) {
    const std::uint64_t entries = all.offsets[last] - all.offsets[first];
    return aligned_bytes((last - first + 1) * sizeof(std::uint64_t)) +
           aligned_bytes(entries * sizeof(std::uint32_t)) + aligned_bytes(entries * sizeof(float));
}

/// Rows are cut at multiples of this: words of a bitmap of 64 rows, and rows of one byte that begin aligned.
inline constexpr std::uint64_t row_group = 256;

/// The most rows from `first` on, in whole groups but at the end, that take at most `bytes` with `beside` more a row;
/// one group where even that takes more.
template <class View>
std::uint64_t rows_within(const View& all, std::uint64_t first, std::uint64_t bytes, std::uint64_t beside) {
    const std::uint64_t left = all.rows - first;
    std::uint64_t fits = 0, fails = (left + row_group - 1) / row_group + 1;  // in groups
    const auto end_of = [&](std::uint64_t groups) { return first + std::min(left, groups * row_group); };
    while (fails - fits > 1) {
        const std::uint64_t middle = fits + (fails - fits) / 2, last = end_of(middle);
        (tile_bytes(all, first, last) + (last - first) * beside <= bytes ? fits : fails) = middle;
    }
    return end_of(std::max<std::uint64_t>(fits, 1)) - first;
}

}  // namespace quern::ranked_retrieval_detail
