// SPDX-License-Identifier: Apache-2.0
// Transfers between host and GPU, opening a place, and its memory. Prints Markdown tables; medians. The peers are
// CUDA's own copies: directly from pageable memory, and from pinned memory, which is the limit.
// transfer_cuda_bench [MIB [THREADS]]: sizes up to MIB; with THREADS only for that number (0: all).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "device/place.hpp"
#include "quern/base/error.hpp"

namespace {

using namespace quern;

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_of(std::size_t rounds, const std::function<void()>& work) {
    work();  // opens what is opened on first use
    std::vector<double> taken(rounds);
    for (double& t : taken) t = seconds_of(work);
    std::nth_element(taken.begin(), taken.begin() + rounds / 2, taken.end());
    return taken[rounds / 2];
}

void transfers(unsigned threads, std::size_t largest) {
    context ctx = context::cuda();
    ctx.threads = threads;
    cuda_place place(ctx);
    std::vector<char> pageable(largest, 1);
    char* pinned = nullptr;
    QUERN_CHECK(cudaMallocHost(&pinned, largest));
    const auto array = make_array<char>(place, largest);
    const auto straight = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
        QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, kind, place.stream()));
        QUERN_CHECK(cudaStreamSynchronize(place.stream()));
    };
    std::printf(
        "\n%u threads, GB/s:\n\n| size | in: ours | CUDA, pageable | CUDA, pinned | ours / pinned | out: "
        "ours | "
        "CUDA, pageable | CUDA, pinned | ours / pinned |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
        "---: | ---: |\n",
        ctx.thread_count());
    for (std::size_t bytes :
         {std::size_t{64} << 10, std::size_t{256} << 10, std::size_t{1} << 20, std::size_t{4} << 20,
          std::size_t{16} << 20, std::size_t{64} << 20, std::size_t{256} << 20, std::size_t{2} << 30}) {
        bytes = std::min(bytes, largest);
        const std::size_t rounds = bytes > (std::size_t{1} << 28)   ? 5
                                   : bytes > (std::size_t{1} << 22) ? 15
                                                                    : 101;
        const auto rate = [&](const std::function<void()>& work) {
            return static_cast<double>(bytes) / median_of(rounds, work) / 1e9;
        };
        const double in = rate([&] {
            place.copy_in(array.data(), pageable.data(), bytes);
            place.synchronise();
        });
        const double in_pageable =
            rate([&] { straight(array.data(), pageable.data(), bytes, cudaMemcpyHostToDevice); });
        const double in_pinned = rate([&] { straight(array.data(), pinned, bytes, cudaMemcpyHostToDevice); });
        const double out = rate([&] { place.copy_out(pageable.data(), array.data(), bytes); });
        const double out_pageable =
            rate([&] { straight(pageable.data(), array.data(), bytes, cudaMemcpyDeviceToHost); });
        const double out_pinned =
            rate([&] { straight(pinned, array.data(), bytes, cudaMemcpyDeviceToHost); });
        std::printf("| %zu KiB | %.1f | %.1f | %.1f | %.2f | %.1f | %.1f | %.1f | %.2f |\n", bytes >> 10, in,
                    in_pageable, in_pinned, in / in_pinned, out, out_pageable, out_pinned, out / out_pinned);
        std::fflush(stdout);
        if (bytes == largest) break;
    }
    QUERN_CHECK(cudaFreeHost(pinned));
}

void small_costs() {
    std::printf("\n| what | time |\n| --- | ---: |\n");
    const auto row = [](const char* what, double seconds) {
        if (seconds > 1e-3) {
            std::printf("| %s | %.2f ms |\n", what, seconds * 1e3);
        } else {
            std::printf("| %s | %.2f µs |\n", what, seconds * 1e6);
        }
        std::fflush(stdout);
    };
    const context ctx = context::cuda();
    row("the first choice of a device in a process",
        seconds_of([&] { choose_device(ctx, "this benchmark"); }));
    row("choosing a device again", median_of(21, [&] { choose_device(ctx, "this benchmark"); }));
    row("opening a place and closing it", median_of(21, [&] { cuda_place place(ctx); }));
    row("the same, with an array of 1 GiB", median_of(11, [&] {
            cuda_place place(ctx);
            make_array<char>(place, std::size_t{1} << 30);
        }));
    const std::vector<char> much(std::size_t{128} << 20, 1);
    row("the same, with a first copy of 128 MiB, through staging", median_of(11, [&] {
            cuda_place place(ctx);
            array_from(place, std::span<const char>(much));
        }));
    cuda_place place(ctx);
    row("an array of 1 KiB, made and released", median_of(1001, [&] { make_array<char>(place, 1 << 10); }));
    row("an array of 1 GiB, made and released",
        median_of(1001, [&] { make_array<char>(place, std::size_t{1} << 30); }));
    row("synchronise with nothing under way", median_of(1001, [&] { place.synchronise(); }));
    row("place.stream()", median_of(101, [&] {
                              for (int i = 0; i < 1000; ++i) static_cast<void>(place.stream());
                          }) / 1000);
    const auto array = make_array<char>(place, 1 << 16);
    std::vector<char> host(1 << 16);
    row("8 bytes to the device", median_of(1001, [&] { place.copy_in(array.data(), host.data(), 8); }));
    row("8 bytes to the host", median_of(1001, [&] { place.copy_out(host.data(), array.data(), 8); }));
    row("64 KiB to the host", median_of(1001, [&] { place.copy_out(host.data(), array.data(), 1 << 16); }));
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const std::size_t largest = std::size_t{count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 2048}
                                    << 20;
        if (count > 2) {
            transfers(static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10)), largest);
            return 0;
        }
        small_costs();
        for (const unsigned threads : {1u, 2u, 4u, 8u, 0u}) transfers(threads, largest);
    } catch (const error& e) {
        std::fprintf(stderr, "transfer_cuda_bench: %s\n", e.what());
        return 1;
    }
}
