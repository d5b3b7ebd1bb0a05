// SPDX-License-Identifier: Apache-2.0
// The look-up of find_words_cpu.cpp, one thread per word. The keys of ten million words take 5 MB and stay in the L2 cache,
// so a plain bisection suffices.
#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/dictionary/text_to_ids.hpp"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;

struct device_list {
    const std::uint64_t* keys;
    const std::uint32_t* offsets;  ///< null: they are wide
    const std::uint64_t* wide_offsets;
    const std::uint8_t* blocks;
    std::uint64_t block_count;
    std::uint32_t size;
};

struct keys_of_list {
    const std::uint64_t* keys;
    constexpr std::uint64_t operator()(std::uint64_t i) const { return keys[i]; }
};

struct blocks_of_list {
    device_list list;
    constexpr front_coding::block_bytes operator()(std::uint64_t i) const {
        if (list.offsets != nullptr)
            return {list.blocks + list.offsets[i], list.blocks + list.offsets[i + 1]};
        return {list.blocks + list.wide_offsets[i], list.blocks + list.wide_offsets[i + 1]};
    }
};

/// One thread per word. Any grid that covers `count`; no shared memory. A word outside the text is not found.
__global__ void find_words_kernel(device_list list, const std::uint8_t* text, std::uint64_t text_size,
                                  const std::uint32_t* begins, const std::uint32_t* ends, std::uint64_t count,
                                  std::uint32_t* ids) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const std::uint32_t begin = begins[i], end = ends[i];
    if (list.size == 0 || begin > end || end > text_size) {
        ids[i] = list.size;
        return;
    }
    const std::uint8_t* const word = text + begin;
    const std::uint64_t length = end - begin, key = front_coding::key_of(word, length);
    std::uint64_t before = 0;  // number of blocks with a smaller key
    for (std::uint64_t left = list.block_count; left > 0;) {
        const std::uint64_t half = (left + 1) / 2;
        if (list.keys[before + half - 1] < key) before += half;
        left -= half;
    }
    const blocks_of_list blocks{list};
    const std::uint64_t block =
        front_coding::block_of(keys_of_list{list.keys}, blocks, list.block_count, before, key, word, length);
    const front_coding::block_bytes bytes = blocks(block);
    const front_coding::bound found = front_coding::in_list(
        front_coding::lower_bound(bytes.begin, bytes.end, front_coding::words_in(block, list.size), word,
                                  length),
        block);
    ids[i] = found.equal ? found.rank : list.size;
}

}  // namespace

void find_words(cuda_place& place, const word_list<cuda_place>& list, device_span<const std::uint8_t> text,
                device_span<const std::uint32_t> begins, device_span<const std::uint32_t> ends,
                device_span<std::uint32_t> ids) {
    check_same_size("find_words", "begins", begins.size(), "ends", ends.size());
    check_same_size("find_words", "begins", begins.size(), "ids", ids.size());
    const device_list on_device{
        list.keys.data(),         list.offsets.empty() ? nullptr : list.offsets.data(),
        list.wide_offsets.data(), list.blocks.data(),
        list.keys.size(),         list.size};
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(ids.size(), block_threads), block_threads}),
                 find_words_kernel, on_device, text.data(), text.size(), begins.data(), ends.data(),
                 ids.size(), ids.data());
}

}  // namespace quern::primitives
