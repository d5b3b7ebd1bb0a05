// SPDX-License-Identifier: Apache-2.0
// Tiles in memory that a place can read. The CPU reads the caller's memory, and a device what lies there; of other rows it
// has a copy, in memory that is reused for one range of rows after another. A copy may use a second place of the same device, and so run in parallel with the
// first one's work; the host orders the two by synchronising them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/nearest/index/vector_views.hpp"

namespace quern::nearest_detail {

template <class Place, class View>
class tile_memory;

// ---- The CPU ----

inline row_tile<cpu_place> tile_over(const vectors_view& view) {
    return {view.type, static_cast<std::uint32_t>(view.rows), view.dimensions, view.stride, view.values, {}};
}
inline sparse_tile<cpu_place> tile_over(const sparse_vectors_view& view) {
    return {
        static_cast<std::uint32_t>(view.rows), view.dimensions, view.offsets, view.columns, view.values, {}};
}

/// Reads a byte of every page, so that data still on disk is in memory when needed.
inline void touch(std::span<const std::byte> memory) {
    constexpr std::size_t page = 4096;
    unsigned sum = 0;
    for (std::size_t at = 0; at < memory.size(); at += page) sum += std::to_integer<unsigned>(memory[at]);
    [[maybe_unused]] const volatile unsigned read = sum;
}
inline void touch(const vectors_view& view) {
    touch(view.values);
}
inline void touch(const sparse_vectors_view& view) {
    touch(std::as_bytes(view.columns));
    touch(std::as_bytes(view.values));
}

template <class View>
class tile_memory<cpu_place, View> {
  public:
    static constexpr bool copies = false;

    tile_memory() = default;
    /// For tiles of at most so many rows; with their sums of squares, if requested.
    tile_memory(cpu_place& place, std::uint64_t rows, std::uint64_t /*bytes*/, bool with_squares)
        : squares_(place, with_squares ? rows : 0, "the lengths of vectors") {}

    /// The tile views the caller's memory; a second place only reads it into memory.
    void load(cpu_place& /*host*/, cpu_place& /*through*/, const View& view) {
        tile_ = tile_over(view);
        tile_.squares = squares().first(std::min<std::size_t>(squares().size(), view.rows));
    }
    void borrow(cpu_place& place, const View& view) { load(place, place, view); }
    std::span<double> squares() const { return squares_.span(); }
    const tile_on<cpu_place, View>& tile() const { return tile_; }

  private:
    cpu_array<double> squares_;
    tile_on<cpu_place, View> tile_;
};

// ---- A device ----

/// Host rows with gaps between them → rows without, packed a few at a time.
inline void copy_rows_in(cpu_place& host, cuda_place& through, std::byte* to, const vectors_view& view) {
    const std::uint64_t row = view.row_bytes();
    if (view.rows == 0) return;
    if (view.stride == row) return through.copy_in(to, view.values.data(), view.rows * row);
    const std::uint64_t packed_bytes = std::min(std::uint64_t{32} << 20, host.memory().left() / 4);
    const std::uint64_t at_once = std::clamp<std::uint64_t>(packed_bytes / row, 1, view.rows);
    const auto packed = make_array<std::byte>(host, at_once * row, "vectors without gaps");
    for (std::uint64_t first = 0; first < view.rows; first += at_once) {
        const std::uint64_t count = std::min(at_once, view.rows - first);
        const std::size_t pieces = pieces_for(host, count * row, 1 << 20);
        for_each_piece(host, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(count, pieces, p);
            for (std::size_t i = begin; i < end; ++i)
                std::memcpy(packed.data() + i * row, view.values.data() + (first + i) * view.stride, row);
        });
        through.copy_in(to + first * row, packed.data(), count * row);
    }
}

template <class View>
class tile_memory<cuda_place, View> {
  public:
    static constexpr bool copies = true;

    tile_memory() = default;
    /// For tiles of at most so many rows that take at most so many bytes.
    tile_memory(cuda_place& place, std::uint64_t rows, std::uint64_t bytes, bool with_squares)
        : memory_(place, bytes, "a tile of vectors"),
          squares_(place, with_squares ? rows : 0, "the lengths of vectors") {}

    /// Through a place of the same device. The memory must be free on that place's stream; others may use the tile once
    /// that place has been synchronised.
    void load(cpu_place& host, cuda_place& through, const View& view) {
        place_values(host, through, view);
        tile_.rows = static_cast<std::uint32_t>(view.rows);
        tile_.dimensions = view.dimensions;
        tile_.squares = squares().first(std::min<std::size_t>(squares().size(), view.rows));
    }
    /// Rows that lie in the device's memory already, without gaps: nothing is copied.
    void borrow(cuda_place& /*place*/, const vectors_view& view) {
        tile_ = {view.type,
                 static_cast<std::uint32_t>(view.rows),
                 view.dimensions,
                 view.stride,
                 {view.values.data(), view.values.size()},
                 squares().first(std::min<std::size_t>(squares().size(), view.rows))};
    }
    device_span<double> squares() const { return squares_.span(); }
    const tile_on<cuda_place, View>& tile() const { return tile_; }

  private:
    void place_values(cpu_place& host, cuda_place& through, const vectors_view& view) {
        copy_rows_in(host, through, memory_.data(), view);
        tile_.type = view.type;
        tile_.stride = view.row_bytes();
        tile_.values = memory_.span().first(view.rows * view.row_bytes());
    }
    void place_values(cpu_place& /*host*/, cuda_place& through, const sparse_vectors_view& view) {
        std::byte* at = memory_.data();
        tile_.offsets = next_array(through, at, view.offsets);
        tile_.columns = next_array(through, at, view.columns);
        tile_.values = next_array(through, at, view.values);
    }
    template <class T>
    static device_span<const T> next_array(cuda_place& through, std::byte*& at, std::span<const T> values) {
        through.copy_in(at, values.data(), values.size_bytes());
        // Memory of a device, used as T from now on: aligned, never read by the host.
        const device_span<const T> placed(reinterpret_cast<const T*>(at), values.size());
        at += aligned_bytes(values.size_bytes());
        return placed;
    }

    cuda_array<std::byte> memory_;
    cuda_array<double> squares_;
    tile_on<cuda_place, View> tile_;
};

}  // namespace quern::nearest_detail
