// SPDX-License-Identifier: Apache-2.0
// Specific to a CUDA place: streams, faults recorded by kernels, device errors, cached memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "device/devices.hpp"
#include "on_each_place.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t mib = 1 << 20;
constexpr unsigned block_threads = 256;

/// One thread adds `what` to one value. Any grid that covers `count`.
__global__ void add_kernel(std::uint32_t* values, std::size_t count, std::uint32_t what) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) values[i] += what;
}

/// One thread per value: every multiple of `every` except 0 is a fault. Any grid that covers `count`.
__global__ void find_fault_kernel(const std::uint32_t* values, std::size_t count, std::uint32_t every,
                                  fault kind, std::uint64_t* fault_word) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count && values[i] != 0 && values[i] % every == 0) cuda::note_fault(fault_word, kind, i);
}

/// One thread that keeps the stream busy for about `cycles` of the GPU's clock, then writes.
__global__ void write_late_kernel(std::uint32_t* where, std::uint32_t what, long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
    *where = what;
}

__global__ void empty_kernel() {}

void add(cuda_place& place, device_span<std::uint32_t> values, std::uint32_t what) {
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(values.size(), block_threads), block_threads}),
                 add_kernel, values.data(), values.size(), what);
}

void find_faults(cuda_place& place, device_span<const std::uint32_t> values, std::uint32_t every,
                 fault kind) {
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(values.size(), block_threads), block_threads}),
                 find_fault_kernel, values.data(), values.size(), every, kind, place.fault_word());
}

std::vector<std::uint32_t> counted(std::size_t size) {
    std::vector<std::uint32_t> values(size);
    std::iota(values.begin(), values.end(), 0u);
    return values;
}

cuda_array<std::uint32_t> on_device(cuda_place& place, const std::vector<std::uint32_t>& values) {
    return array_from(place, std::span<const std::uint32_t>(values));
}

/// The message that `act` throws; fails the test if it throws nothing, or something else.
template <class Error, class Act>
std::string said(const Act& act) {
    try {
        act();
    } catch (const Error& e) {
        return e.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
}

class cuda_place_test : public on_place<on_cuda> {};

TEST_F(cuda_place_test, runs_kernels_in_order_on_a_stream_of_its_own) {
    EXPECT_NE(place().stream(), nullptr);
    EXPECT_NE(place().stream(), cudaStreamLegacy);
    EXPECT_NE(place().stream(), cudaStreamPerThread);
    EXPECT_GT(place().multiprocessors(), 0u);
    EXPECT_GT(place().l2_bytes(), 0u);
    for (const std::size_t size : test_sizes()) {
        auto values = counted(size);
        const auto array = on_device(place(), values);
        for (std::uint32_t i = 1; i <= 3; ++i) add(place(), array.span(), i);
        for (auto& value : values) value += 6;
        EXPECT_EQ(to_host(place(), array.span()), values) << size;
    }
    QUERN_LAUNCH(place(), (cuda::launch_shape{1, 32}), empty_kernel);
    place().synchronise();
}

TEST_F(cuda_place_test, copies_and_fills_within) {
    const auto from = on_device(place(), counted(1000));
    const auto to = make_array<std::uint32_t>(place(), 1000);
    place().fill_bytes(to.data(), 0x11, to.span().size_bytes());
    place().copy_within(to.data() + 1, from.data() + 500, 3 * sizeof(std::uint32_t));
    place().copy_within(to.data(), from.data(), 0);
    place().fill_bytes(to.data(), 0x22, 0);
    const auto host = to_host(place(), to.span());
    EXPECT_EQ(host[0], 0x11111111u);
    EXPECT_EQ(host[1], 500u);
    EXPECT_EQ(host[3], 502u);
    EXPECT_EQ(host[4], 0x11111111u);
    EXPECT_EQ(host[999], 0x11111111u);
}

TEST_F(cuda_place_test, reads_pinned_memory_before_copy_in_returns) {
    // A kernel delays the stream, so that a copy that did not wait would read later values.
    for (const std::size_t size : {std::size_t{16}, std::size_t{1} << 16, std::size_t{1} << 20}) {
        std::uint32_t* pinned = nullptr;
        ASSERT_EQ(cudaMallocHost(&pinned, size * sizeof *pinned), cudaSuccess);
        std::fill(pinned, pinned + size, 1u);
        const auto array = make_array<std::uint32_t>(place(), size);
        const auto late = make_array<std::uint32_t>(place(), 1);
        QUERN_LAUNCH(place(), (cuda::launch_shape{1, 1}), write_late_kernel, late.data(), 7u, 20'000'000ll);
        place().copy_in(array.data(), pinned, size * sizeof *pinned);
        std::fill(pinned, pinned + size, 2u);
        place().copy_out(pinned, array.data(), size * sizeof *pinned);
        EXPECT_TRUE(std::all_of(pinned, pinned + size, [](auto v) { return v == 1; })) << size;
        EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
    }
}

TEST_F(cuda_place_test, throws_the_first_noted_fault_once) {
    const auto array = on_device(place(), counted(large_size()));
    find_faults(place(), array.span(), 977, fault::key_not_a_number);
    EXPECT_EQ(said<invalid_value>([&] { place().synchronise(); }), "key 977 is not a number");
    EXPECT_NO_THROW(place().synchronise());
    add(place(), array.span(), 1);  // the place stays usable
    EXPECT_EQ(to_host(place(), array.span())[5], 6u);
}

TEST_F(cuda_place_test, throws_a_fault_wherever_it_synchronises) {
    const auto array = on_device(place(), counted(3000));
    std::vector<std::uint32_t> host(3000);
    find_faults(place(), array.span(), 2500, fault::sample_out_of_range);
    EXPECT_EQ(said<invalid_value>([&] { copy_out<std::uint32_t>(place(), array.span(), host); }),
              "sample 2500 has no bin");
    find_faults(place(), array.span(), 2, fault::key_not_a_number);
    find_faults(place(), array.span(), 2999, fault::offsets_not_rising);
    EXPECT_THAT(said<invalid_value>([&] { place().copy_out(host.data(), array.data(), 0); }),
                HasSubstr("offsets do not rise"));
    EXPECT_NO_THROW(copy_out<std::uint32_t>(place(), array.span(), host));
    EXPECT_EQ(host[2999], 2999u);
}

TEST_F(cuda_place_test, at_place_throws_faults_that_the_work_left) {
    const auto values = counted(100);
    EXPECT_EQ(said<invalid_value>([&] {
                  at_place(context::cuda(), "this test", [&](auto& chosen) {
                      if constexpr (std::is_same_v<decltype(chosen), cuda_place&>) {
                          const auto array = on_device(chosen, values);
                          find_faults(chosen, array.span(), 40, fault::key_not_a_number);
                      }
                  });
              }),
              "key 40 is not a number");
}

TEST_F(cuda_place_test, says_which_call_failed_where_and_goes_on) {
    EXPECT_THAT(said<device_error>([&] { QUERN_CHECK(cudaMemset(nullptr, 0, 1)); }),
                AllOf(HasSubstr("cudaMemset(nullptr, 0, 1) failed: "),
                      HasSubstr("(tests/device/cuda/cuda_place_test.cu:")));
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_THAT(said<device_error>([&] {
                    QUERN_LAUNCH(place(), (cuda::launch_shape{1, 4096}), empty_kernel);
                }),
                AllOf(HasSubstr("launch of empty_kernel failed: invalid"), HasSubstr("cuda_place_test.cu:")));
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_NO_THROW(QUERN_LAUNCH(place(), (cuda::launch_shape{0, 32}), empty_kernel));  // nothing to do
    place().synchronise();
}

TEST_F(cuda_place_test, grids_that_are_too_large_fail_and_do_not_wrap) {
    EXPECT_EQ(cuda::blocks_for(0, 256), 0u);
    EXPECT_EQ(cuda::blocks_for(1, 256), 1u);
    EXPECT_EQ(cuda::blocks_for(256, 256), 1u);
    EXPECT_EQ(cuda::blocks_for(257, 256), 2u);
    const unsigned blocks = cuda::blocks_for((std::size_t{1} << 32) + 5, 1);
    EXPECT_THROW(QUERN_LAUNCH(place(), (cuda::launch_shape{blocks, 32}), empty_kernel), device_error);
}

TEST_F(cuda_place_test, that_does_not_exist_is_not_opened) {
    EXPECT_THAT(
        said<device_error>([] { cuda_place none(context::cuda(), 1000); }),
        AllOf(HasSubstr("cudaSetDevice(ordinal) failed: invalid device ordinal"), HasSubstr("(src/device/")));
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(cuda_place_test, uses_memory_again) {
    cuda_place small(context::cuda());
    const std::size_t piece = tested_with().small_sizes ? 8 * mib : free_memory() / 10 * 4;
    // Three times the available memory, sequentially, and in pieces that do not fit into the others' place.
    for (int i = 0; i < 8; ++i) EXPECT_EQ(make_array<char>(small, piece, "a large piece").size(), piece);
    for (int i = 0; i < 3; ++i) {
        std::vector<cuda_array<char>> halves;
        for (int h = 0; h < 4; ++h) halves.push_back(make_array<char>(small, piece / 2, "half a piece"));
        halves.clear();
        EXPECT_EQ(make_array<char>(small, piece * 2, "two pieces").size(), piece * 2);
    }
    EXPECT_EQ(small.memory().used(), 0u);
    EXPECT_LE(small.memory().peak(), 2 * piece);
}

TEST_F(cuda_place_test, says_how_much_memory_is_free_when_the_device_has_no_more) {
    context ctx = context::cuda();
    ctx.gpu_memory_bytes = std::numeric_limits<std::int64_t>::max();  // the budget allows anything
    cuda_place large(ctx);
    std::size_t free = 0, requested = 0;  // all of the memory: some is always in use
    ASSERT_EQ(cudaMemGetInfo(&free, &requested), cudaSuccess);
    EXPECT_THAT(said<out_of_memory>([&] { make_array<char>(large, requested, "the index"); }),
                AllOf(HasSubstr("the index needs "), HasSubstr(" GiB of memory; "), HasSubstr(" are free")));
    EXPECT_EQ(large.memory().used(), 0u);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    const auto array = on_device(large, counted(10));
    EXPECT_EQ(to_host(large, array.span())[9], 9u);
}

TEST_F(cuda_place_test, gives_memory_back_when_it_closes) {
    { cuda_place warm(context::cuda()); }
    const std::size_t before = free_memory();
    {
        cuda_place held(context::cuda());
        const auto array = make_array<char>(held, 256 * mib);
        EXPECT_LE(free_memory() + 256 * mib, before);
    }
    EXPECT_GE(free_memory() + 64 * mib, before);
}

TEST_F(cuda_place_test, budget_is_nine_tenths_of_what_is_free) {
    const std::size_t before = free_memory();
    cuda_place opened(context::cuda());
    EXPECT_LE(opened.memory().limit(), before / 10 * 9);
    EXPECT_GE(opened.memory().limit(), before / 10 * 8);
}

TEST_F(cuda_place_test, stops_transfers_when_the_run_is_to_stop) {
    std::atomic<int> signal{0};
    context ctx = context::cuda();
    ctx.stop_signal = &signal;
    cuda_place stopping(ctx);
    const auto values = counted(9 * mib);
    const auto array = on_device(stopping, values);
    std::vector<std::uint32_t> back(values.size());
    for (int i = 0; i < 4; ++i)
        copy_out<std::uint32_t>(stopping, array.span(), back);  // from here on in chunks
    signal = 2;
    EXPECT_THROW(copy_in<std::uint32_t>(stopping, values, array.span()), interrupted);
    EXPECT_THROW(copy_out<std::uint32_t>(stopping, array.span(), back), interrupted);
    signal = 0;
    copy_out<std::uint32_t>(stopping, array.span(), back);
    EXPECT_EQ(back, values);
}

TEST_F(cuda_place_test, two_at_once_do_not_wait_for_each_other_and_keep_their_faults_apart) {
    cuda_place first(context::cuda()), second(context::cuda());
    EXPECT_NE(first.stream(), second.stream());
    const auto late = make_array<std::uint32_t>(first, 1);
    cudaError_t state = cudaSuccess;
    // Longer and longer, until this thread is fast enough to see it.
    for (long long cycles = 200'000'000; state == cudaSuccess && cycles <= 20'000'000'000; cycles *= 10) {
        QUERN_LAUNCH(first, (cuda::launch_shape{1, 1}), write_late_kernel, late.data(), 7u, cycles);
        const auto array = on_device(second, counted(1000));
        find_faults(second, array.span(), 999, fault::key_not_a_number);
        EXPECT_THROW(second.synchronise(), invalid_value);
        if (tested_with().small_sizes) break;  // checkers run one kernel at a time
        state = cudaStreamQuery(first.stream());
        static_cast<void>(cudaGetLastError());
    }
    if (!tested_with().small_sizes) EXPECT_EQ(state, cudaErrorNotReady) << "the second waited for the first";
    EXPECT_EQ(to_host(first, late.span())[0], 7u);
}

TEST_F(cuda_place_test, several_in_several_threads) {
    std::vector<std::thread> threads;
    std::atomic<unsigned> right{0};
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            cuda_place mine(context::cuda());
            auto values = counted(mib / 2 + t);
            const auto array = on_device(mine, values);
            for (int i = 0; i < 20; ++i) add(mine, array.span(), t);
            for (auto& value : values) value += 20 * t;
            if (to_host(mine, array.span()) == values) ++right;
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(right, 4u);
}

TEST_F(cuda_place_test, is_used_from_another_thread_than_opened_it) {
    const auto array = make_array<std::uint32_t>(place(), 1000);
    const auto values = counted(1000);
    std::thread([&] {
        copy_in<std::uint32_t>(place(), values, array.span());
        add(place(), array.span(), 1);
        place().synchronise();
    }).join();
    EXPECT_EQ(to_host(place(), array.span())[999], 1000u);
}

TEST_F(cuda_place_test, of_several_devices_take_turns_in_one_thread) {
    std::string why_none;
    const auto devices = device::cuda_devices(why_none);
    if (devices.size() < 2) GTEST_SKIP() << "there is one GPU";
    cuda_place first(context::cuda(0), 0), second(context::cuda(1), 1);
    const auto a = on_device(first, counted(mib)), b = on_device(second, counted(mib));
    for (int i = 0; i < 3; ++i) {
        add(first, a.span(), 1);
        add(second, b.span(), 2);
        find_faults(i == 2 ? first : second, i == 2 ? a.span() : b.span(), 1'000'003,
                    fault::key_not_a_number);
        const auto more = make_array<std::uint32_t>(i % 2 == 0 ? first : second, 100);
    }
    EXPECT_EQ(said<invalid_value>([&] { first.synchronise(); }), "key 1000000 is not a number");
    const auto one = said<invalid_value>([&] { second.synchronise(); });
    EXPECT_EQ(one, "key 999999 is not a number");
    EXPECT_EQ(to_host(second, b.span())[7], 13u);
    EXPECT_EQ(to_host(first, a.span())[7], 10u);
}

/// An invalid address in a kernel makes the device unusable for the whole process: so use a separate process.
TEST(cuda_place_death_test, errors_inside_a_kernel_are_thrown_by_synchronise) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    std::string why_none;
    if (device::cuda_devices(why_none).empty()) {
        if (tested_with().cuda_required) FAIL() << why_none;
        GTEST_SKIP() << why_none;
    }
    EXPECT_EXIT(
        {
            cuda_place place(context::cuda());
            const auto array = make_array<std::uint32_t>(place, 10);
            QUERN_LAUNCH(place, (cuda::launch_shape{1, 1}), write_late_kernel,
                         reinterpret_cast<std::uint32_t*>(std::uintptr_t{16}), 1u, 0ll);
            const std::string first = said<device_error>([&] { place.synchronise(); });
            const std::string second = said<device_error>([&] { place.synchronise(); });
            std::fprintf(stderr, "first: %s\nsecond: %s\n", first.c_str(), second.c_str());
            std::exit(first.empty() || second.empty() ? 1
                                                      : 0);  // destructors of place and array must not throw
        },
        testing::ExitedWithCode(0),
        "first: cudaStreamSynchronize.* failed: an illegal memory access.*src/device/cuda/cuda_place.cu:");
}

}  // namespace
}  // namespace quern
