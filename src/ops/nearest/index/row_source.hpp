// SPDX-License-Identifier: Apache-2.0
// Rows of a set in a device's memory, for the host: it decides ties by true distances and names bad rows in messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "device/array.hpp"
#include "ops/nearest/index/tile.hpp"
#include "quern/base/vectors.hpp"

namespace quern::nearest_detail {

/// rows[i] of `from`, one directly after the other and of `row_bytes` each, to[i · stride]. CUDA: does not synchronise.
void gather_rows(cpu_place& place, std::span<const std::byte> from, std::uint64_t row_bytes,
                 std::span<const std::uint32_t> rows, std::uint64_t stride, std::span<std::byte> to);
void gather_rows(cuda_place& place, device_span<const std::byte> from, std::uint64_t row_bytes,
                 device_span<const std::uint32_t> rows, std::uint64_t stride, device_span<std::byte> to);

/// Host memory for copies of rows, reused.
class row_memory {
  public:
    /// At least so many bytes, not initialised; earlier ones are lost.
    std::span<std::byte> bytes(std::uint64_t count) {
        if (const std::uint64_t words = (count + 7) / 8; words > words_) {
            memory_ = std::make_unique_for_overwrite<std::uint64_t[]>(words);
            words_ = words;
        }
        return std::as_writable_bytes(std::span(memory_.get(), words_)).first(count);
    }

  private:
    std::unique_ptr<std::uint64_t[]> memory_;
    std::uint64_t words_ = 0;
};

/// Thread-safe. Synchronises.
class row_source {
  public:
    row_source() = default;
    row_source(const row_source&) = delete;
    row_source& operator=(const row_source&) = delete;
    virtual ~row_source() = default;
    /// Copies of these rows, in this order.
    virtual vectors_view rows(std::span<const std::uint32_t> which, row_memory& memory) = 0;
    /// Copies of the rows [first, first + count).
    virtual vectors_view range(std::uint64_t first, std::uint64_t count, row_memory& memory) = 0;
    virtual std::uint64_t row_bytes() const = 0;
};

/// Of rows in a place's memory. Its device does other work of the place first.
template <class Place>
class place_rows final : public row_source {
  public:
    place_rows(Place& place, const row_tile<Place>& all) : place_(place), all_(all) {}

    vectors_view rows(std::span<const std::uint32_t> which, row_memory& memory) override {
        const std::uint64_t bytes = row_bytes(), stride = (bytes + 7) / 8 * 8;
        const std::span<std::byte> to = memory.bytes(which.size() * stride);
        const std::uint64_t at_once = std::max<std::uint64_t>(max_gathered / stride, 1);
        const std::lock_guard alone(one_at_a_time_);
        for (std::uint64_t first = 0; first < which.size(); first += at_once) {
            const std::uint64_t count = std::min(at_once, which.size() - first);
            const auto wanted = array_from(place_, which.subspan(first, count), "the rows of rankings");
            const auto found = make_array<std::byte>(place_, count * stride, "the rows of rankings");
            gather_rows(place_, all_.values, bytes, wanted.span(), stride, found.span());
            copy_out<std::byte>(place_, found.span(), to.subspan(first * stride, count * stride));
        }
        return {all_.type, which.size(), all_.dimensions, stride, to};
    }
    vectors_view range(std::uint64_t first, std::uint64_t count, row_memory& memory) override {
        const std::uint64_t bytes = row_bytes();
        const std::span<std::byte> to = memory.bytes(count * bytes);
        const std::lock_guard alone(one_at_a_time_);
        copy_out<std::byte>(place_, all_.values.subspan(first * bytes, count * bytes), to);
        return {all_.type, count, all_.dimensions, bytes, to};
    }
    std::uint64_t row_bytes() const override { return bytes_of_row(all_.type, all_.dimensions); }

  private:
    static constexpr std::uint64_t max_gathered = std::uint64_t{32} << 20;

    Place& place_;
    row_tile<Place> all_;
    std::mutex one_at_a_time_;
};

/// Calls work(rows, first) for all rows in turn, in ranges that begin small; ends early if it returns false.
template <class Work>
void for_each_range(row_source& source, std::uint64_t rows, const Work& work) {
    constexpr std::uint64_t first_bytes = 1 << 20, max_bytes = 64 << 20;
    row_memory memory;
    std::uint64_t bytes = first_bytes;
    for (std::uint64_t first = 0; first < rows;) {
        const std::uint64_t count = std::clamp<std::uint64_t>(bytes / source.row_bytes(), 1, rows - first);
        if (!work(source.range(first, count, memory), first)) return;
        first += count;
        bytes = std::min(2 * bytes, max_bytes);
    }
}

}  // namespace quern::nearest_detail
