// SPDX-License-Identifier: Apache-2.0
// Dense and sparse vectors by ranges of rows, in the caller's memory (views) and in a place's (tiles): the interface of
// code written once for both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/nearest/index/tile.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/nearest.hpp"

namespace quern::nearest_detail {

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

// ---- Ranges of rows ----

inline vectors_view rows_of(const vectors_view& all, std::uint64_t first, std::uint64_t count) {
    vectors_view part = all;
    part.rows = count;
    const std::uint64_t bytes = count == 0 ? 0 : (count - 1) * all.stride + all.row_bytes();
    part.values = count == 0 ? std::span<const std::byte>() : all.values.subspan(first * all.stride, bytes);
    return part;
}
/// As in a sparse_tile, entry e of a range is at columns[e − offsets[0]].
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
/// `view`: the source of the tile, because the host cannot read a device's offsets.
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

/// Whether a component of the row of f32 or bf16 is not 0.
inline bool has_component(const vectors_view& view, std::uint64_t row) {
    const std::span<const std::byte> bytes = view.values.subspan(row * view.stride, view.row_bytes());
    const std::size_t each = view.type == vector_type::f32 ? 4 : 2;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::byte sign = i % each == each - 1 ? std::byte{0x80} : std::byte{0};  // −0 is 0
        if ((bytes[i] & ~sign) != std::byte{0}) return true;
    }
    return false;
}
inline bool has_component(const sparse_vectors_view& view, std::uint64_t row) {
    const auto values =
        view.values.subspan(view.offsets[row] - view.offsets[0], view.offsets[row + 1] - view.offsets[row]);
    return std::any_of(values.begin(), values.end(), [](float value) { return value != 0; });
}

/// Contiguous copies of some rows.
template <class View>
class gathered_views;
template <>
class gathered_views<vectors_view> {
  public:
    gathered_views(const vectors_view& from, std::span<const std::uint64_t> which) : view_(from) {
        view_.rows = which.size();
        view_.stride = (from.row_bytes() + 7) / 8 * 8;
        words_.resize(which.size() * view_.stride / 8);
        const std::span<std::byte> to = std::as_writable_bytes(std::span(words_));
        for (std::size_t i = 0; i < which.size(); ++i) {
            const auto row = from.values.subspan(which[i] * from.stride, from.row_bytes());
            std::copy(row.begin(), row.end(), to.begin() + static_cast<std::ptrdiff_t>(i * view_.stride));
        }
        view_.values = to;
    }
    gathered_views(const gathered_views&) = delete;  // the view points into it
    gathered_views& operator=(const gathered_views&) = delete;
    const vectors_view& view() const { return view_; }

  private:
    vectors_view view_;
    std::vector<std::uint64_t> words_;
};
template <>
class gathered_views<sparse_vectors_view> {
  public:
    gathered_views(const sparse_vectors_view& from, std::span<const std::uint64_t> which)
        : dimensions_(from.dimensions) {
        for (const std::uint64_t row : which) {
            const sparse_vectors_view one = rows_of(from, row, 1);
            columns_.insert(columns_.end(), one.columns.begin(), one.columns.end());
            values_.insert(values_.end(), one.values.begin(), one.values.end());
            offsets_.push_back(columns_.size());
        }
    }
    sparse_vectors_view view() const {
        return {offsets_.size() - 1, dimensions_, offsets_, columns_, values_};
    }

  private:
    std::uint32_t dimensions_;
    std::vector<std::uint64_t> offsets_{0};
    std::vector<std::uint32_t> columns_;
    std::vector<float> values_;
};

// ---- Their memory ----

/// Every array of a tile starts at a multiple of this.
inline constexpr std::uint64_t tile_alignment = 256;
constexpr std::uint64_t aligned_bytes(std::uint64_t bytes) {
    return (bytes + tile_alignment - 1) / tile_alignment * tile_alignment;
}

/// For the rows [first, last) on a device, without sums of squares.
inline std::uint64_t tile_bytes(const vectors_view& all, std::uint64_t first, std::uint64_t last) {
    return aligned_bytes((last - first) * all.row_bytes());
}
inline std::uint64_t tile_bytes(const sparse_vectors_view& all, std::uint64_t first, std::uint64_t last) {
    const std::uint64_t entries = all.offsets[last] - all.offsets[first];
    return aligned_bytes((last - first + 1) * sizeof(std::uint64_t)) +
           aligned_bytes(entries * sizeof(std::uint32_t)) + aligned_bytes(entries * sizeof(float));
}

/// Rows are cut at multiples of this: words of a bitmap of 64 rows, and rows of one byte that start aligned.
inline constexpr std::uint64_t row_group = 256;

/// The maximum number of rows from `first` on, in whole groups except at the end, that take at most `bytes` with `extra`
/// more per row; one group if even that takes more.
template <class View>
std::uint64_t rows_within(const View& all, std::uint64_t first, std::uint64_t bytes, std::uint64_t extra) {
    const std::uint64_t left = all.rows - first;
    std::uint64_t fits = 0, fails = (left + row_group - 1) / row_group + 1;  // in groups
    const auto end_of = [&](std::uint64_t groups) { return first + std::min(left, groups * row_group); };
    while (fails - fits > 1) {
        const std::uint64_t middle = fits + (fails - fits) / 2, last = end_of(middle);
        (tile_bytes(all, first, last) + (last - first) * extra <= bytes ? fits : fails) = middle;
    }
    return end_of(std::max<std::uint64_t>(fits, 1)) - first;
}

// The requirements on sets, queries and options, and the messages that reject them: the same on every place and for any
// partition.

/// Sizes, strides and alignment; throws usage_error. `what`: "the vectors", "the queries".
void check_sizes(const vectors_view& view, std::string_view what);
void check_sizes(const sparse_vectors_view& view, std::string_view what);

/// Whether the type has the metric; throws usage_error.
void check_metric(const vectors_view& view, vector_metric metric);
void check_metric(const sparse_vectors_view& view, vector_metric metric);

/// Whether queries have the set's form; throws usage_error.
void check_alike(const vectors_view& set, const vectors_view& queries);
void check_alike(const sparse_vectors_view& set, const sparse_vectors_view& queries);

void check_options(const retrieval_options& options, std::uint64_t rows);

/// The maximum magnitude of a float (for f64, of a double) with which no sum of products of so many components can
/// overflow: a quarter of the maximum is reserved for rounding, and more from 2^27 components on.
double greatest_component(vector_type type, vector_metric metric, std::uint32_t dimensions);

/// Whether rows with these statistics must be rejected.
bool has_fault(const row_stats& stats, vector_type type, vector_metric metric, std::uint32_t dimensions);

/// Throws invalid_value for the first row to reject, "row 17 has a value that is not finite"; its position is that row's,
/// relative to `first_row`. Reads every component, in the host's memory. `what`: "row", "query".
void check_rows(const vectors_view& view, vector_metric metric, std::uint64_t first_row,
                std::string_view what);
/// For rows that have a fault: the same; it always throws, as what it read may have changed.
[[noreturn]] void throw_first_fault(const vectors_view& view, vector_metric metric, std::uint64_t first_row,
                                    std::string_view what);
[[noreturn]] void throw_first_fault(const sparse_vectors_view& view, vector_metric metric,
                                    std::uint64_t first_row, std::string_view what);

}  // namespace quern::nearest_detail
