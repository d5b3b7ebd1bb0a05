// SPDX-License-Identifier: Apache-2.0
// A block makes the bitmaps of a text, scale by scale, in passages of 4,096 units. What is serial on the CPU is not here:
//   - Which occurrence of a number comes first does not matter, because the set of its keys depends only on their count. A
//     table of numbers in shared memory counts them with atomics.
//   - The walk that meets the disjoint grams is a scan of maps of six states (gram_walk.hpp), 16 units a thread.
// Texts below 4,096 units have their tables in shared memory; longer ones in device memory, a part for each block.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "ops/near_duplicates/filter/device_sketcher.hpp"
#include "ops/near_duplicates/filter/gram_walk.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned warp = 32, block_threads = 256, warps = block_threads / warp, full_warp = 0xffffffffu;
constexpr unsigned part = 16;                       // units of a thread
constexpr unsigned passage = block_threads * part;  // units at a time
// Parts lie 20 bytes apart, so that the threads of a warp read from different banks.
constexpr unsigned part_bytes = part + 4;
constexpr unsigned units_bytes = passage + 16;  // 7 more units, read by words
constexpr unsigned max_short = passage - 1;     // units
constexpr unsigned short_all_slots = 2 * passage, short_disjoint_slots = passage / 2;
constexpr std::size_t shared_bitmap_bits = std::size_t{1} << 13;  // of the scale of max_short
static_assert(bitmap_bits(11) == shared_bitmap_bits && scale_of(max_short) == 11);

constexpr unsigned long_shared_bytes = units_bytes + block_threads * part_bytes;
constexpr unsigned short_shared_bytes =
    long_shared_bytes + 4 * (short_all_slots + short_disjoint_slots) + 2 * shared_bitmap_bits / 8;

/// The slots of the tables for the numbers of all grams and of disjoint ones: half and two thirds of them are used at most,
/// or a number is its slot.
constexpr std::uint32_t max_slots = 1u << max_number_bits;
__host__ __device__ constexpr std::uint32_t slots_for(std::uint64_t numbers) {
    std::uint32_t slots = 32;
    while (slots < numbers && slots < max_slots) slots *= 2;
    return slots;
}
__host__ __device__ constexpr std::uint32_t all_slots(std::uint32_t length) {
    return slots_for(std::uint64_t{2} * length);
}
__host__ __device__ constexpr std::uint32_t disjoint_slots(std::uint32_t length) {
    return slots_for(length / 2);
}
static_assert(all_slots(max_short) == short_all_slots && disjoint_slots(max_short) == short_disjoint_slots);

/// Occurrences by number, and the bitmap of their keys. A slot holds the number + 1 and, above it, its count; 0: free. Counts
/// stop soon after max_times: at most a block more add at the same time.
struct key_table {
    std::uint32_t* slots;
    std::uint32_t slot_mask;
    std::uint32_t* bits;
    std::size_t bit_mask;

    static constexpr unsigned count_shift = max_number_bits + 1;
    static constexpr std::uint32_t one = 1u << count_shift;
    static_assert(max_times + 2 + block_threads < (1u << (32 - count_shift)));

    __device__ void add(std::uint32_t number) const {
        const std::uint32_t key = number + 1;
        for (std::uint32_t at = number & slot_mask;; at = (at + 1) & slot_mask) {
            const std::uint32_t held = atomicCAS(slots + at, 0u, key | one);
            std::uint32_t times = 0;
            if (held != 0) {
                if ((held & (one - 1)) != key) continue;
                if (held >> count_shift > max_times) return;  // has all its keys
                times = atomicAdd(slots + at, one) >> count_shift;
            }
            const std::size_t bit = key_bit(number, min(times, max_times), bit_mask);
            atomicOr(bits + bit / 32, 1u << (bit % 32));
            return;
        }
    }
};

template <class Unit>
struct sketch_job {
    const Unit* units;
    const text_to_sketch* texts;
    std::uint32_t count;
    const std::uint32_t* rules;
    unsigned first_scale;
    std::uint64_t* bitmaps;
    std::uint32_t* populations;
    std::uint32_t* tables;  ///< of each block, for long texts
    std::size_t block_slots, block_all_slots;
};

/// The memory of a block: shared, but for the tables and bitmaps of long texts.
struct block_memory {
    std::uint32_t* units;   ///< a passage, folded
    std::uint8_t* lengths;  ///< of its grams
    std::uint32_t *all, *disjoint;
    std::uint32_t *all_bits, *disjoint_bits;  ///< null: in place
};

__device__ std::uint64_t units_at(const std::uint32_t* units, unsigned i) {
    const unsigned shift = 8 * (i % 4);
    const std::uint32_t first = units[i / 4], second = units[i / 4 + 1], third = units[i / 4 + 2];
    return std::uint64_t{__funnelshift_r(second, third, shift)} << 32 | __funnelshift_r(first, second, shift);
}
__device__ std::uint8_t& length_at(std::uint8_t* lengths, unsigned i) {
    return lengths[i / part * part_bytes + i % part];
}
__device__ void clear(std::uint32_t* words, std::size_t count) {
    for (std::size_t i = threadIdx.x; i < count; i += block_threads) words[i] = 0;
}

/// By a block: the sum of the threads' values, for thread 0.
__device__ std::uint32_t block_sum(std::uint32_t value, std::uint32_t* of_warps) {
    value = cuda::sum_of_warp(value);
    if (threadIdx.x % warp == 0) of_warps[threadIdx.x / warp] = value;
    __syncthreads();
    std::uint32_t sum = 0;
    for (unsigned w = 0; w < warps; ++w) sum += of_warps[w];
    __syncthreads();
    return sum;
}

/// By a block: the state in which the walk reaches the part of this thread, from that before the passage, which becomes that
/// after it.
__device__ unsigned state_before(walk_map own, unsigned& carried, std::uint32_t* of_warps) {
    const unsigned lane = threadIdx.x % warp, mine = threadIdx.x / warp;
    walk_map through = own;
#pragma unroll
    for (unsigned step = 1; step < warp; step *= 2) {
        const walk_map before(__shfl_up_sync(full_warp, through.bits(), step));
        if (lane >= step) through = before.then(through);
    }
    const std::uint32_t previous = __shfl_up_sync(full_warp, through.bits(), 1);
    if (lane == warp - 1) of_warps[mine] = through.bits();
    __syncthreads();
    unsigned state = carried, own_state = 0;
    for (unsigned w = 0; w < warps; ++w) {
        if (w == mine) own_state = state;
        state = walk_map(of_warps[w])(state);
    }
    __syncthreads();
    carried = state;
    return lane == 0 ? own_state : walk_map(previous)(own_state);
}

template <class Unit>
__device__ void sketch_scale(const sketch_job<Unit>& job, const text_to_sketch& text, unsigned scale,
                             const block_memory& memory, std::uint64_t* all_to, std::uint64_t* disjoint_to,
                             std::uint32_t* population, std::uint32_t* of_warps) {
    const unsigned thread = threadIdx.x, shift = 32 - number_bits(scale);
    const std::size_t bitmap = bitmap_bits(scale) / 32, bit_mask = bitmap_bits(scale) - 1;
    const std::uint32_t* const three = job.rules + (scale - job.first_scale) * device_rules::words_of_scale;
    const std::uint32_t* const longer = three + gram_table::three_words;
    const bool in_place = memory.all_bits == nullptr || bitmap_bits(scale) > shared_bitmap_bits;
    const std::uint32_t some = all_slots(text.length), few = disjoint_slots(text.length);
    const key_table all{memory.all, some - 1,
                        in_place ? reinterpret_cast<std::uint32_t*>(all_to) : memory.all_bits, bit_mask};
    const key_table disjoint{memory.disjoint, few - 1,
                             in_place ? reinterpret_cast<std::uint32_t*>(disjoint_to) : memory.disjoint_bits,
                             bit_mask};
    if (all_to != nullptr) clear(all.slots, some), clear(all.bits, bitmap);
    if (disjoint_to != nullptr) clear(disjoint.slots, few), clear(disjoint.bits, bitmap);

    const Unit* const units = job.units + text.begin;
    const auto number_at = [&](unsigned i, unsigned length) {
        return gram_hash(units_at(memory.units, i), length) >> shift;
    };
    unsigned carried = 0;
    for (std::uint32_t begin = 0; begin < text.length; begin += passage) {
        const std::uint32_t left = text.length - begin;
        __syncthreads();
        for (unsigned i = thread; i < units_bytes; i += block_threads)
            reinterpret_cast<std::uint8_t*>(memory.units)[i] =
                i < left ? folded(units[std::size_t{begin} + i]) : std::uint8_t{0};
        __syncthreads();
        for (unsigned i = thread; i < passage; i += block_threads) {
            unsigned length = i < left ? gram_table::length(units_at(memory.units, i), three, longer) : 0;
            if (i + length > left) length = 0;
            length_at(memory.lengths, i) = static_cast<std::uint8_t>(length);
            if (length != 0 && all_to != nullptr) all.add(number_at(i, length));
        }
        if (disjoint_to == nullptr) continue;
        __syncthreads();
        const unsigned mine = thread * part;
        const auto length_of = [&](unsigned i) -> unsigned { return length_at(memory.lengths, mine + i); };
        for (unsigned i = state_before(map_of_walk(part, length_of), carried, of_warps); i < part;) {
            const unsigned length = length_of(i);
            if (length != 0) disjoint.add(number_at(mine + i, length));
            i += length != 0 ? length : 1;
        }
    }
    __syncthreads();
    std::uint32_t set = 0;
    for (std::size_t i = thread; i < bitmap; i += block_threads) {
        if (disjoint_to != nullptr) set += static_cast<std::uint32_t>(__popc(disjoint.bits[i]));
        if (in_place) continue;
        if (all_to != nullptr) reinterpret_cast<std::uint32_t*>(all_to)[i] = all.bits[i];
        if (disjoint_to != nullptr) reinterpret_cast<std::uint32_t*>(disjoint_to)[i] = disjoint.bits[i];
    }
    set = block_sum(set, of_warps);
    if (disjoint_to != nullptr && thread == 0) *population = set;
}

/// Block b makes the bitmaps of the texts b, b + blocks, …. Shared memory: short_shared_bytes, or long_shared_bytes.
template <class Unit, bool IsLong>
__global__ void __launch_bounds__(block_threads) sketch_texts_kernel(sketch_job<Unit> job) {
    extern __shared__ __align__(16) std::uint8_t shared[];
    __shared__ std::uint32_t of_warps[warps];
    block_memory memory{
        reinterpret_cast<std::uint32_t*>(shared), shared + units_bytes, nullptr, nullptr, nullptr, nullptr};
    if constexpr (IsLong) {
        memory.all = job.tables + std::size_t{blockIdx.x} * job.block_slots;
        memory.disjoint = memory.all + job.block_all_slots;
    } else {
        memory.all = reinterpret_cast<std::uint32_t*>(shared + long_shared_bytes);
        memory.disjoint = memory.all + short_all_slots;
        memory.all_bits = memory.disjoint + short_disjoint_slots;
        memory.disjoint_bits = memory.all_bits + shared_bitmap_bits / 32;
    }
    for (std::uint32_t t = blockIdx.x; t < job.count; t += gridDim.x) {
        const text_to_sketch text = job.texts[t];
        const unsigned own = scale_of(text.length);
        const bool has_disjoint = text.first <= text.last;
        std::uint64_t* const all_to = job.bitmaps + text.bitmaps;
        std::uint64_t* disjoint_to = all_to + bitmap_words(own);
        std::uint32_t* population = job.populations + text.populations;
        if (has_disjoint) {
            for (unsigned scale = text.last; scale + 1 > text.first; --scale) {
                sketch_scale(job, text, scale, memory, scale == own ? all_to : nullptr, disjoint_to,
                             population++, of_warps);
                disjoint_to += bitmap_words(scale);
            }
        }
        if (!has_disjoint || own < text.first || own > text.last)
            sketch_scale(job, text, own, memory, all_to, nullptr, nullptr, of_warps);
    }
}

/// Texts all short, or all long and of one scale.
template <class Unit, bool IsLong>
void launch(cuda_place& place, sketch_job<Unit> job, std::uint32_t longest) {
    constexpr unsigned max_blocks = 1u << 20;
    unsigned blocks = std::min(job.count, max_blocks);
    cuda_array<std::uint32_t> tables;
    if constexpr (IsLong) {
        job.block_all_slots = all_slots(longest);
        job.block_slots = job.block_all_slots + disjoint_slots(longest);
        const std::uint64_t fit = place.memory().left() / 8 / array_bytes<std::uint32_t>(job.block_slots);
        blocks = static_cast<unsigned>(
            std::clamp<std::uint64_t>(fit, 1, std::min(job.count, 8 * place.multiprocessors())));
        tables = cuda_array<std::uint32_t>(place, blocks * job.block_slots, "sketches of long texts");
        job.tables = tables.data();
    }
    constexpr unsigned bytes = IsLong ? long_shared_bytes : short_shared_bytes;
    place.make_current();  // the attribute is the current device's
    QUERN_CHECK(cudaFuncSetAttribute(sketch_texts_kernel<Unit, IsLong>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(block_threads), bytes}),
                 (sketch_texts_kernel<Unit, IsLong>), job);
}

}  // namespace

device_rules::device_rules(cuda_place& place, const gram_rules& rules) : first_(rules.first_scale()) {
    std::vector<std::uint32_t> words;
    words.reserve((rules.last_scale() - first_ + 1) * words_of_scale);
    for (unsigned scale = first_; scale <= rules.last_scale(); ++scale) {
        const gram_table& table = rules.at(scale);
        words.insert(words.end(), table.three.begin(), table.three.end());
        words.insert(words.end(), table.longer.begin(), table.longer.end());
    }
    words_ = array_from<cuda_place, std::uint32_t>(place, words, "rules of grams");
}

template <class Unit>
void sketch_on_device(cuda_place& place, device_span<const Unit> units, const device_rules& rules,
                      std::span<const text_to_sketch> texts, device_span<std::uint64_t> bitmaps,
                      device_span<std::uint32_t> populations) {
    if (texts.empty()) return;
    const auto on_device = array_from<cuda_place, text_to_sketch>(place, texts, "texts to sketch");
    sketch_job<Unit> job{units.data(),
                         nullptr,
                         0,
                         rules.words().data(),
                         rules.first_scale(),
                         bitmaps.data(),
                         populations.data(),
                         nullptr,
                         0,
                         0};
    const auto end_of = [&](std::size_t begin, std::uint64_t length) {
        return static_cast<std::size_t>(
            std::ranges::partition_point(texts.subspan(begin),
                                         [&](const text_to_sketch& text) { return text.length <= length; }) -
            texts.subspan(begin).begin() + static_cast<std::ptrdiff_t>(begin));
    };
    for (std::size_t begin = 0; begin < texts.size();) {
        const bool is_long = texts[begin].length > max_short;
        const std::uint64_t longest =
            is_long ? (std::uint64_t{2} << scale_of(texts[begin].length)) - 1 : max_short;
        const std::size_t end = end_of(begin, longest);
        job.texts = on_device.data() + begin;
        job.count = static_cast<std::uint32_t>(end - begin);
        if (is_long) {
            launch<Unit, true>(place, job, texts[end - 1].length);
        } else {
            launch<Unit, false>(place, job, max_short);
        }
        begin = end;
    }
}

template void sketch_on_device(cuda_place&, device_span<const std::uint8_t>, const device_rules&,
                               std::span<const text_to_sketch>, device_span<std::uint64_t>,
                               device_span<std::uint32_t>);
template void sketch_on_device(cuda_place&, device_span<const std::uint32_t>, const device_rules&,
                               std::span<const text_to_sketch>, device_span<std::uint64_t>,
                               device_span<std::uint32_t>);

}  // namespace quern::near_duplicates_detail
