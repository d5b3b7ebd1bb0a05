// SPDX-License-Identifier: Apache-2.0
// Compaction in one pass (primitives/look_back.cuh): a block converts its flags to bits, gets the start of its output from
// the blocks before it, and only then reads the values it keeps, so that other values are not read. The number of kept
// values is read back once.
#include <cub/block/block_scan.cuh>

#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/look_back.cuh"
#include "primitives/select/select.hpp"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned flags_per_thread = 16;  // one load
constexpr unsigned round_flags = block_threads * flags_per_thread;
constexpr unsigned rounds_of_many = 4;                    // per tile
constexpr std::size_t many_flags = std::size_t{2} << 20;  // from here on, tiles of 4 rounds fill the device
constexpr unsigned copied_at_once = 8;                    // by a thread, loads first
constexpr unsigned look_back_rows = 1;

struct sum_of_counts {
    static constexpr bool uses_second = false;
    __device__ cuda::tile_prefix operator()(cuda::tile_prefix a, cuda::tile_prefix b) const {
        return {a.value + b.value, 0};
    }
};

/// The source of kept values: an array of words, or their own positions.
template <class T>
struct values_of {
    const T* values;
    __device__ T operator()(std::uint64_t position) const { return values[position]; }
};
template <class T>
struct positions_of {
    __device__ T operator()(std::uint64_t position) const { return static_cast<T>(position); }
};

/// One bit for each of 16 bytes: set if it is not 0.
__device__ unsigned bits_of(uint4 bytes) {
    const auto four = [](unsigned word) {
        return (__vcmpne4(word, 0) & 0x08040201u) * 0x01010101u >> 24;  // the sum of the bytes: bits 0 to 3
    };
    return four(bytes.x) | four(bytes.y) << 4 | four(bytes.z) << 8 | four(bytes.w) << 12;
}

/// Flags from `first` on as bits; 16 at once if all exist; reads nothing outside the array. `first` may be before the
/// array: tiles begin where 16 bytes can be loaded.
__device__ unsigned flag_bits(const std::uint8_t* flags, std::int64_t first, std::int64_t count) {
    if (first >= 0 && first + flags_per_thread <= count)
        return bits_of(*reinterpret_cast<const uint4*>(flags + first));
    unsigned bits = 0;
    for (int k = 0; k < static_cast<int>(flags_per_thread); ++k) {
        const std::int64_t at = first + k;
        if (at >= 0 && at < count && flags[at] != 0) bits |= 1u << k;
    }
    return bits;
}

/// Block b keeps what tile b flags, 4,096 flags per round. A thread has 16 of them and writes the positions of set flags to
/// the block's list; then all threads copy along the list, so that writes, and reads of dense flags, are of whole lines.
/// There are two lists (shared memory, 16 KB), so that a round waits once. Values that do not fit `out` are counted and not
/// written. The last block writes the number kept.
template <class T, class Source, unsigned rounds>
__global__ __launch_bounds__(block_threads) void compact_kernel(Source source, const std::uint8_t* flags,
                                                                std::int64_t count, unsigned misaligned,
                                                                T* out, std::uint64_t capacity,
                                                                cuda::tile_word* tiles, std::uint64_t* kept) {
    using scan_type = cub::BlockScan<std::uint64_t, block_threads>;
    static_assert(rounds <= 4, "one scan for all: 16 bits a round");
    __shared__ typename scan_type::TempStorage scan;
    __shared__ std::uint16_t lists[2][round_flags];
    __shared__ std::uint64_t out_begin;
    const std::int64_t tile_begin =
        static_cast<std::int64_t>(blockIdx.x) * (round_flags * rounds) - misaligned;
    const unsigned first = threadIdx.x * flags_per_thread;
    unsigned bits[rounds];
    std::uint64_t counts = 0, before, in_rounds;
#pragma unroll
    for (unsigned q = 0; q < rounds; ++q) {
        bits[q] = flag_bits(flags, tile_begin + q * round_flags + first, count);
        counts |= static_cast<std::uint64_t>(__popc(bits[q])) << (16 * q);
    }
    scan_type(scan).ExclusiveSum(counts, before, in_rounds);
    const auto in_round = [&](unsigned q) { return static_cast<unsigned>(in_rounds >> (16 * q) & 0xffff); };
    if (threadIdx.x < 32) {
        std::uint64_t in_tile = 0, found = 0;
#pragma unroll
        for (unsigned q = 0; q < rounds; ++q) in_tile += in_round(q);
        const bool leader = threadIdx.x == 0;
        if (blockIdx.x != 0) {
            if (leader) cuda::publish(tiles + blockIdx.x, {in_tile, 0}, cuda::tile_state::own);
            found = cuda::look_back<look_back_rows>(tiles, blockIdx.x, sum_of_counts{}, {0, 0}).value;
        }
        if (leader) {
            cuda::publish(tiles + blockIdx.x, {found + in_tile, 0}, cuda::tile_state::whole);
            out_begin = found;
            if (blockIdx.x == gridDim.x - 1) *kept = found + in_tile;
        }
    }
    std::uint64_t to = 0;
#pragma unroll
    for (unsigned q = 0; q < rounds; ++q) {
        std::uint16_t* const list = lists[q % 2];
        unsigned at = static_cast<unsigned>(before >> (16 * q) & 0xffff);
        for (unsigned left = bits[q]; left != 0; left &= left - 1)
            list[at++] =
                static_cast<std::uint16_t>(first + static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1);
        __syncthreads();
        if (q == 0) to = out_begin;
        const std::int64_t round_begin = tile_begin + q * round_flags;
        for (unsigned base = threadIdx.x; base < in_round(q); base += block_threads * copied_at_once) {
            T values[copied_at_once];
#pragma unroll
            for (unsigned k = 0; k < copied_at_once; ++k) {
                const unsigned r = base + k * block_threads;
                if (r < in_round(q)) values[k] = source(static_cast<std::uint64_t>(round_begin + list[r]));
            }
#pragma unroll
            for (unsigned k = 0; k < copied_at_once; ++k) {
                const unsigned r = base + k * block_threads;
                if (r < in_round(q) && to + r < capacity) out[to + r] = values[k];
            }
        }
        to += in_round(q);
    }
}

template <class T, class Source>
std::size_t compact_from(cuda_place& place, Source source, device_span<const std::uint8_t> flags,
                         device_span<T> out, const char* name) {
    if (flags.empty()) {
        place.synchronise();
        return 0;
    }
    const unsigned misaligned =
        static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(flags.data()) % flags_per_thread);
    const bool many = flags.size() >= many_flags;
    const unsigned blocks =
        cuda::blocks_for(flags.size() + misaligned, round_flags * (many ? rounds_of_many : 1));
    cuda_array<cuda::tile_word> tiles(place, blocks, "a compaction's tiles");
    cuda_array<std::uint64_t> kept(place, 1, "a compaction's count");
    place.fill_bytes(tiles.data(), 0, tiles.span().size_bytes());
    const auto kernel = many ? compact_kernel<T, Source, rounds_of_many> : compact_kernel<T, Source, 1>;
    QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads}), kernel, source, flags.data(),
                 static_cast<std::int64_t>(flags.size()), misaligned, out.data(), out.size(), tiles.data(),
                 kept.data());
    std::uint64_t count = 0;
    copy_out<std::uint64_t>(place, kept.span(), std::span(&count, 1));
    check_capacity(name, "out", out.size(), count);
    return count;
}

}  // namespace

template <payload T>
std::size_t compact(cuda_place& place, device_span<const T> values, device_span<const std::uint8_t> flags,
                    device_span<T> out) {
    check_same_size("compact", "values", values.size(), "flags", flags.size());
    return compact_from<T>(place, values_of<T>{values.data()}, flags, out, "compact");
}

template <payload Position>
std::size_t compact_positions(cuda_place& place, device_span<const std::uint8_t> flags,
                              device_span<Position> out) {
    if constexpr (sizeof(Position) == 4)
        check_32_bits("compact_positions", flags.size(), "flags", "positions");
    return compact_from<Position>(place, positions_of<Position>{}, flags, out, "compact_positions");
}

template std::size_t compact(cuda_place&, device_span<const std::uint32_t>, device_span<const std::uint8_t>,
                             device_span<std::uint32_t>);
template std::size_t compact(cuda_place&, device_span<const std::uint64_t>, device_span<const std::uint8_t>,
                             device_span<std::uint64_t>);
template std::size_t compact_positions(cuda_place&, device_span<const std::uint8_t>,
                                       device_span<std::uint32_t>);
template std::size_t compact_positions(cuda_place&, device_span<const std::uint8_t>,
                                       device_span<std::uint64_t>);

}  // namespace quern::primitives
