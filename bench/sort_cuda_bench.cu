// SPDX-License-Identifier: Apache-2.0
// sort_cuda_bench [ROUNDS]: sorting, sorting within segments and merging on a GPU, compared with CUB and Thrust on the same
// data, in turns on one stream; prints Markdown tables. CUB's temporary memory is allocated before the clock starts,
// ours within it. Times are between CUDA events around the call; a call's input is restored before it, untimed.
// Every result is compared with the peer's; one that differs ends the program with code 1.
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/merge.h>
#include <thrust/sort.h>
#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "primitives/merge/merge.hpp"
#include "primitives/sort/sort.hpp"

namespace quern {
namespace {

using primitives::order;
using quern::cuda::blocks_for;
using quern::cuda::launch_shape;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

__device__ u64 mixed(u64 x) {  // splitmix64, which run-cuda-sort repeats for torch
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/// Distinct = 0: uniform over [0, 1) or all integers.
template <class Key>
__global__ void draw_kernel(Key* keys, u64 count, unsigned distinct) {
    const u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const u64 bits = mixed(i);
    if (distinct != 0)
        keys[i] = static_cast<Key>(bits % distinct);
    else if constexpr (std::is_same_v<Key, float>)
        keys[i] = static_cast<float>(bits >> 40) * 0x1p-24f;
    else
        keys[i] = static_cast<Key>(bits);
}

__global__ void number_kernel(u32* ids, u64 count) {
    const u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) ids[i] = static_cast<u32>(i);
}

/// One contestant: its function, and the array of its last milliseconds.
struct contestant {
    std::function<void()> run;
    std::vector<float> times{};
};

class stopwatch {
  public:
    stopwatch(cuda_place& place, int rounds) : place_(place), rounds_(rounds) {
        QUERN_CHECK(cudaEventCreate(&begin_));
        QUERN_CHECK(cudaEventCreate(&end_));
    }
    ~stopwatch() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    stopwatch(const stopwatch&) = delete;  // owns events
    stopwatch& operator=(const stopwatch&) = delete;

    /// Median milliseconds of each, taken in turns after two rounds of warming up.
    std::vector<float> medians(const std::function<void()>& restore, std::vector<contestant> all) {
        for (int round = -2; round < rounds_; ++round) {
            for (contestant& one : all) {
                restore();
                QUERN_CHECK(cudaStreamSynchronize(place_.stream()));
                QUERN_CHECK(cudaEventRecord(begin_, place_.stream()));
                one.run();
                QUERN_CHECK(cudaEventRecord(end_, place_.stream()));
                QUERN_CHECK(cudaEventSynchronize(end_));
                float ms = 0;
                QUERN_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
                if (round >= 0) one.times.push_back(ms);
            }
        }
        std::vector<float> medians;
        for (contestant& one : all) {
            std::sort(one.times.begin(), one.times.end());
            medians.push_back(one.times[one.times.size() / 2]);
        }
        return medians;
    }

  private:
    cuda_place& place_;
    int rounds_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// The input, our copy and the peer's copy.
template <class Key>
struct arena {
    cuda_array<Key> input_keys, keys, peer_keys, spare_keys;
    cuda_array<u32> input_ids, ids, peer_ids, spare_ids;
    arena(cuda_place& place, u64 count)
        : input_keys(place, count),
          keys(place, count),
          peer_keys(place, count),
          spare_keys(place, count),
          input_ids(place, count),
          ids(place, count),
          peer_ids(place, count),
          spare_ids(place, count) {
        QUERN_LAUNCH(place, (launch_shape{blocks_for(count, 256), 256}), number_kernel, input_ids.data(),
                     count);
    }
    void draw(cuda_place& place, unsigned distinct) {
        QUERN_LAUNCH(place, (launch_shape{blocks_for(input_keys.size(), 256), 256}), draw_kernel<Key>,
                     input_keys.data(), input_keys.size(), distinct);
    }
    void restore(cuda_place& place) {
        const u64 n = input_keys.size();
        place.copy_within(keys.data(), input_keys.data(), n * sizeof(Key));
        place.copy_within(peer_keys.data(), input_keys.data(), n * sizeof(Key));
        place.copy_within(ids.data(), input_ids.data(), n * sizeof(u32));
        place.copy_within(peer_ids.data(), input_ids.data(), n * sizeof(u32));
    }
};

void expect_equal(bool equal, const std::string& what) {
    if (equal) return;
    std::fprintf(stderr, "sort_cuda_bench: %s: results differ\n", what.c_str());
    std::exit(1);
}
template <class T>
bool same(cuda_place& place, const T* a, const T* b, u64 count) {
    return thrust::equal(thrust::cuda::par.on(place.stream()), a, a + count, b);
}

double copy_rate(cuda_place& place, stopwatch& clock) {  // bytes read and written a second
    const std::size_t bytes = std::size_t{1} << 30;
    const cuda_array<char> from(place, bytes), to(place, bytes);
    place.fill_bytes(from.data(), 1, bytes);
    const auto ms = clock.medians([] {}, {{[&] { place.copy_within(to.data(), from.data(), bytes); }}});
    return 2.0 * static_cast<double>(bytes) / (ms[0] * 1e-3);
}

const char* data_name(unsigned distinct) {
    return distinct == 0 ? "uniform" : "100 values";
}

template <class Key, bool Pairs>
void bench_sort(cuda_place& place, stopwatch& clock, double copied, const char* name, u64 n,
                unsigned distinct) {
    arena<Key> all(place, n);
    all.draw(place, distinct);
    std::size_t bytes = 0;
    cub::DoubleBuffer<Key> keys(all.peer_keys.data(), all.spare_keys.data());
    cub::DoubleBuffer<u32> ids(all.peer_ids.data(), all.spare_ids.data());
    const auto cub_sort = [&](void* temp) {
        keys = {all.peer_keys.data(), all.spare_keys.data()};
        ids = {all.peer_ids.data(), all.spare_ids.data()};
        const int count = static_cast<int>(n), end = 8 * sizeof(Key);
        if constexpr (Pairs)
            QUERN_CHECK(
                cub::DeviceRadixSort::SortPairs(temp, bytes, keys, ids, count, 0, end, place.stream()));
        else
            QUERN_CHECK(cub::DeviceRadixSort::SortKeys(temp, bytes, keys, count, 0, end, place.stream()));
    };
    cub_sort(nullptr);
    const cuda_array<char> temp(place, bytes);
    const auto ours = [&] {
        if constexpr (Pairs)
            primitives::sort_pairs<Key, u32>(place, all.keys.span(), all.ids.span());
        else
            primitives::sort_keys<Key>(place, all.keys.span());
    };
    const auto ms =
        clock.medians([&] { all.restore(place); },
                      {{ours}, {[&] { cub_sort(temp.data()); }}, {[&] {
                           const auto on = thrust::cuda::par.on(place.stream());
                           if constexpr (Pairs)
                               thrust::stable_sort_by_key(on, all.peer_keys.data(), all.peer_keys.data() + n,
                                                          all.peer_ids.data());
                           else
                               thrust::stable_sort(on, all.peer_keys.data(), all.peer_keys.data() + n);
                       }}});
    all.restore(place);
    ours();
    cub_sort(temp.data());
    place.synchronise();
    expect_equal(same(place, all.keys.data(), keys.Current(), n) &&
                     (!Pairs || same(place, all.ids.data(), ids.Current(), n)),
                 name);
    const double count = static_cast<double>(n);
    const double moved = count * (sizeof(Key) * 2.0 * (sizeof(Key) + (Pairs ? 4.0 : 0.0)) + sizeof(Key));
    std::printf("| %s | %s | %.0f M | %.3f | %.1f | %.1f | %.2f | %.1f | %.2f | %.0f%% |\n", name,
                data_name(distinct), count / 1e6, ms[0], count / ms[0] / 1e6, count / ms[1] / 1e6,
                ms[1] / ms[0], count / ms[2] / 1e6, ms[2] / ms[0], moved / (ms[0] * 1e-3) / copied * 100);
    std::fflush(stdout);
}

struct mixture {
    std::string name;
    std::vector<u64> offsets;
};

std::vector<mixture> mixtures() {
    std::mt19937_64 random(1);
    std::vector<mixture> all;
    const auto add = [&](std::string name, u64 count, const std::function<u64(u64)>& length) {
        std::vector<u64> offsets{0};
        for (u64 s = 0; s < count; ++s) offsets.push_back(offsets.back() + length(s));
        all.push_back({std::move(name), std::move(offsets)});
    };
    const auto up_to = [&](u64 max) { return [&random, max](u64) { return random() % (max + 1); }; };
    add("5 M of 0 to 20", 5'000'000, up_to(20));
    add("500 k of 0 to 200", 500'000, up_to(200));
    add("100 k of 0 to 1,000", 100'000, up_to(1000));
    add("12 k of 0 to 8,000", 12'000, up_to(8000));
    add("500 of 100,000", 500, [](u64) { return u64{100'000}; });
    add("50 of 1 M", 50, [](u64) { return u64{1'000'000}; });
    add("10 of 5 M", 10, [](u64) { return u64{5'000'000}; });
    add("one of 50 M", 1, [](u64) { return u64{50'000'000}; });
    add("one of 30 M among 2 M of 0 to 20", 2'000'000,
        [&](u64 s) { return s == 1'000'000 ? u64{30'000'000} : random() % 21; });
    add("2 M as words: 4 M / rank", 2'000'000, [](u64 s) { return 4'000'000 / (s + 1); });
    return all;
}

template <class Key>
void bench_segments(cuda_place& place, stopwatch& clock, double copied, const char* name) {
    for (const mixture& one : mixtures()) {
        const u64 n = one.offsets.back(), segments = one.offsets.size() - 1;
        arena<Key> all(place, n);
        all.draw(place, 0);
        const auto offsets = array_from(place, std::span<const u64>(one.offsets));
        std::size_t bytes = 0;
        cub::DoubleBuffer<Key> keys;
        cub::DoubleBuffer<u32> ids;
        const auto cub_sort = [&](void* temp) {
            keys = {all.peer_keys.data(), all.spare_keys.data()};
            ids = {all.peer_ids.data(), all.spare_ids.data()};
            QUERN_CHECK(cub::DeviceSegmentedSort::StableSortPairs(
                temp, bytes, keys, ids, static_cast<std::int64_t>(n), static_cast<std::int64_t>(segments),
                offsets.data(), offsets.data() + 1, place.stream()));
        };
        cub_sort(nullptr);
        const cuda_array<char> temp(place, bytes);
        const auto ours = [&] {
            primitives::segmented_sort_pairs<Key, u32>(place, all.keys.span(), all.ids.span(),
                                                       offsets.span());
        };
        const auto ms =
            clock.medians([&] { all.restore(place); }, {{ours}, {[&] { cub_sort(temp.data()); }}});
        all.restore(place);
        ours();
        cub_sort(temp.data());
        place.synchronise();
        expect_equal(
            same(place, all.keys.data(), keys.Current(), n) && same(place, all.ids.data(), ids.Current(), n),
            one.name);
        const double count = static_cast<double>(n);
        const double moved = count * 2.0 * (sizeof(Key) + 4.0);
        std::printf("| %s | %s | %.1f M | %.3f | %.1f | %.1f | %.2f | %.0f%% |\n", name, one.name.c_str(),
                    count / 1e6, ms[0], count / ms[0] / 1e6, count / ms[1] / 1e6, ms[1] / ms[0],
                    moved / (ms[0] * 1e-3) / copied * 100);
        std::fflush(stdout);
    }
}

template <class Key>
void bench_merge(cuda_place& place, stopwatch& clock, double copied, const char* name, u64 n,
                 unsigned distinct) {
    arena<Key> all(place, n);
    all.draw(place, distinct);
    const cuda_array<Key> out_keys(place, n);
    const cuda_array<u32> out_ids(place, n);
    for (const u64 runs : {2, 3, 16, 64, 1000}) {
        std::vector<u64> offsets;
        for (u64 r = 0; r <= runs; ++r) offsets.push_back(n * r / runs);
        all.restore(place);
        for (u64 r = 0; r < runs; ++r)
            primitives::sort_pairs<Key, u32>(place,
                                             all.keys.span().subspan(offsets[r], offsets[r + 1] - offsets[r]),
                                             all.ids.span().subspan(offsets[r], offsets[r + 1] - offsets[r]));
        const auto ours = [&] {
            primitives::merge_pairs<Key, u32>(place, all.keys.span(), all.ids.span(), offsets,
                                              out_keys.span(), out_ids.span());
        };
        const u64 half = offsets[1];
        const auto peer = [&] {
            if (runs == 2)
                thrust::merge_by_key(thrust::cuda::par.on(place.stream()), all.keys.data(),
                                     all.keys.data() + half, all.keys.data() + half, all.keys.data() + n,
                                     all.ids.data(), all.ids.data() + half, all.peer_keys.data(),
                                     all.peer_ids.data());
            else
                thrust::stable_sort_by_key(thrust::cuda::par.on(place.stream()), all.peer_keys.data(),
                                           all.peer_keys.data() + n, all.peer_ids.data());
        };
        const auto ms = clock.medians(
            [&] {
                place.copy_within(all.peer_keys.data(), all.keys.data(), n * sizeof(Key));
                place.copy_within(all.peer_ids.data(), all.ids.data(), n * sizeof(u32));
            },
            {{ours}, {peer}});
        place.synchronise();
        expect_equal(same(place, out_keys.data(), all.peer_keys.data(), n) &&
                         same(place, out_ids.data(), all.peer_ids.data(), n),
                     "merge");
        const double count = static_cast<double>(n);
        const double moved = count * 2.0 * (sizeof(Key) + 4.0);
        std::printf("| %s | %s | %.0f M | %u | %.3f | %.1f | %s | %.1f | %.2f | %.0f%% |\n", name,
                    data_name(distinct), count / 1e6, static_cast<unsigned>(runs), ms[0], count / ms[0] / 1e6,
                    runs == 2 ? "merge_by_key" : "stable_sort_by_key", count / ms[1] / 1e6, ms[1] / ms[0],
                    moved / (ms[0] * 1e-3) / copied * 100);
        std::fflush(stdout);
    }
}

void bench(int rounds) {
    cuda_place place(context::cuda());
    stopwatch clock(place, rounds);
    const double copied = copy_rate(place, clock);
    std::printf("Copying 1 GB within the device: %.2f TB/s, read and written.\n\n", copied / 1e12);

    std::puts(
        "| sort | keys | n | ms | ours, G/s | CUB, G/s | ours to CUB | Thrust, G/s | ours to Thrust | of "
        "the copy rate |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (const unsigned distinct : {0u, 100u}) {
        for (const u64 n : {1'000'000, 5'000'000, 100'000'000}) {
            bench_sort<float, true>(place, clock, copied, "(float, u32)", n, distinct);
            bench_sort<u64, true>(place, clock, copied, "(u64, u32)", n, distinct);
            bench_sort<u32, false>(place, clock, copied, "u32", n, distinct);
            bench_sort<float, false>(place, clock, copied, "float", n, distinct);
        }
    }
    std::puts(
        "\n| segments | lengths | n | ms | ours, G/s | CUB, G/s | ours to CUB | of one copy |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    bench_segments<float>(place, clock, copied, "(float, u32)");
    bench_segments<u64>(place, clock, copied, "(u64, u32)");
    std::puts(
        "\n| merge | keys | n | runs | ms | ours, G/s | Thrust's | G/s | ours to it | of one copy |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |");
    bench_merge<float>(place, clock, copied, "(float, u32)", 5'000'000, 0);
    bench_merge<float>(place, clock, copied, "(float, u32)", 100'000'000, 0);
    bench_merge<float>(place, clock, copied, "(float, u32)", 100'000'000, 100);
    bench_merge<u64>(place, clock, copied, "(u64, u32)", 100'000'000, 0);
}

}  // namespace
}  // namespace quern

int main(int count, char** arguments) try {
    quern::bench(count > 1 ? std::atoi(arguments[1]) : 15);
    return 0;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "sort_cuda_bench: %s\n", failure.what());
    return 3;
}
