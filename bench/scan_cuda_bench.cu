// SPDX-License-Identifier: Apache-2.0
// scan_cuda_bench [ROUNDS]: scans, reductions, selections, histograms and load balancing on a GPU, compared with CUB and
// Thrust on the same data, in turns on one stream; prints a Markdown table. Temporary memory of CUB is allocated before
// the clock starts, ours within it. Times are between CUDA events around the call: once as a call to an idle device,
// whose launches the host must keep up with, and once enqueued after other work. Where ours returns a number to the
// host, the peer's is read back too. Results are compared; one that differs ends the program with code 1.
#include <thrust/binary_search.h>
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/scan.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "primitives/histogram/histogram.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/reduce/reduce.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/select/select.hpp"

namespace quern {
namespace {

using quern::cuda::blocks_for;
using quern::cuda::launch_shape;
using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

__device__ u64 mixed(u64 x) {  // splitmix64, which run-cuda-scan repeats for torch
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

template <class T, class Make>
__global__ void fill_kernel(T* out, u64 count, Make make) {
    const u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) out[i] = make(i);
}

template <class T, class Make>
cuda_array<T> filled(cuda_place& place, u64 count, Make make) {
    cuda_array<T> made(place, count);
    QUERN_LAUNCH(place, (launch_shape{blocks_for(count, 256), 256}), (fill_kernel<T, Make>), made.data(),
                 count, make);
    return made;
}

__global__ void spin_kernel(long long clocks) {
    const long long begin = clock64();
    while (clock64() - begin < clocks) {
    }
}

using work = std::function<void()>;

/// Medians in turns; `after`: enqueued after 60 µs of other work.
class stopwatch {
  public:
    stopwatch(cuda_place& place, int rounds) : place_(place), rounds_(rounds) {
        QUERN_CHECK(cudaEventCreate(&begin_));
        QUERN_CHECK(cudaEventCreate(&end_));
    }
    stopwatch(const stopwatch&) = delete;  // owns events
    stopwatch& operator=(const stopwatch&) = delete;
    ~stopwatch() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }

    float once(const work& one, bool after) {
        QUERN_CHECK(cudaStreamSynchronize(place_.stream()));
        if (after) QUERN_LAUNCH(place_, (launch_shape{1, 1}), spin_kernel, 100'000ll);
        QUERN_CHECK(cudaEventRecord(begin_, place_.stream()));
        one();
        QUERN_CHECK(cudaEventRecord(end_, place_.stream()));
        QUERN_CHECK(cudaEventSynchronize(end_));
        float ms = 0;
        QUERN_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
        return ms * 1000;
    }
    std::vector<float> medians(const std::vector<work>& all, bool after) {
        std::vector<std::vector<float>> times(all.size());
        for (int round = -2; round < rounds_; ++round)
            for (std::size_t c = 0; c < all.size(); ++c) {
                const float us = all[c] ? once(all[c], after) : 0;
                if (round >= 0) times[c].push_back(us);
            }
        std::vector<float> found;
        for (auto& t : times) {
            std::sort(t.begin(), t.end());
            found.push_back(t[t.size() / 2]);
        }
        return found;
    }

  private:
    cuda_place& place_;
    int rounds_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

class bench {
  public:
    bench(cuda_place& place, int rounds) : place(place), watch_(place, rounds) {
        const u64 bytes = u64{1} << 30;
        cuda_array<char> from(place, bytes), to(place, bytes);
        place.fill_bytes(from.data(), 1, bytes);
        const float us =
            watch_.medians({[&] { place.copy_within(to.data(), from.data(), bytes); }}, false)[0];
        copy_rate_ = 2 * static_cast<double>(bytes) / us;
        std::printf("Copying within the device reaches %.2f TB/s.\n\n", copy_rate_ / 1e6);
        std::printf(
            "| what | data | n | ours, µs | CUB, µs | ours to CUB | after other work: ours | CUB | ours to "
            "CUB | "
            "Thrust, µs | of the copy rate |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
            "---: | "
            "---: |\n");
    }

    /// `bytes`: the minimum that must be read and written.
    void row(const char* what, const std::string& data, u64 n, double bytes, work ours, work cub = {},
             work thrust = {}) {
        const auto alone = watch_.medians({ours, cub, thrust}, false);
        const auto after = watch_.medians({ours, cub}, true);
        const auto pair = [&](const std::vector<float>& t) {
            if (cub)
                std::printf(" %.1f | %.1f | %.2f |", t[0], t[1], t[1] / t[0]);
            else
                std::printf(" %.1f | | |", t[0]);
        };
        std::printf("| %s | %s | %llu M |", what, data.c_str(),
                    static_cast<unsigned long long>(n / 1'000'000));
        pair(alone);
        pair(after);
        if (thrust)
            std::printf(" %.1f |", alone[2]);
        else
            std::printf(" |");
        std::printf(" %.0f %% |\n", 100 * bytes / after[0] / copy_rate_);
        std::fflush(stdout);
    }

    /// CUB's call, its temporary memory already allocated.
    template <class Call>
    work cub_call(Call call) {
        std::size_t bytes = 0;
        QUERN_CHECK(call(nullptr, bytes));
        auto memory = std::make_shared<cuda_array<char>>(place, std::max<std::size_t>(bytes, 1));
        return [=]() mutable { QUERN_CHECK(call(static_cast<void*>(memory->data()), bytes)); };
    }
    auto policy() { return thrust::cuda::par_nosync.on(place.stream()); }
    template <class A, class B>
    void expect_equal(const A& ours, const B& theirs, u64 count, const char* what) {
        if (thrust::equal(policy(), ours.data(), ours.data() + count, theirs.data())) return;
        std::fprintf(stderr, "%s: not what the peer says\n", what);
        std::exit(1);
    }
    void expect(bool same, const char* what) {
        if (same) return;
        std::fprintf(stderr, "%s: not what the peer says\n", what);
        std::exit(1);
    }

    cuda_place& place;

  private:
    stopwatch watch_;
    double copy_rate_ = 0;
};

constexpr u64 sizes[] = {1'000'000, 10'000'000, 100'000'000};

struct widened {
    __host__ __device__ u64 operator()(u32 x) const { return x; }
};
struct added {  // in the type of the sum
    template <class A, class B>
    __host__ __device__ std::common_type_t<A, B> operator()(A a, B b) const {
        return a + b;
    }
};

void bench_scans(bench& b) {
    cuda_place& place = b.place;
    cudaStream_t stream = place.stream();
    for (const u64 n : sizes) {
        const auto in =
            filled<u32>(place, n, [] __device__(u64 i) { return static_cast<u32>(mixed(i) % 100); });
        cuda_array<u32> out(place, n), peer(place, n);
        const work ours = [&] { primitives::inclusive_scan<u32, u32>(place, in.span(), out.span()); };
        const work cub = b.cub_call([&](void* memory, std::size_t& bytes) {
            return cub::DeviceScan::InclusiveSum(memory, bytes, in.data(), peer.data(), n, stream);
        });
        b.row("inclusive sum", "uint32", n, 8.0 * n, ours, cub,
              [&] { thrust::inclusive_scan(b.policy(), in.data(), in.data() + n, peer.data()); });
        b.expect_equal(out, peer, n, "inclusive sum");
        b.row(
            "inclusive maximum", "uint32", n, 8.0 * n,
            [&] {
                primitives::inclusive_scan<u32, u32>(place, in.span(), out.span(),
                                                     primitives::scan_operation::maximum);
            },
            b.cub_call([&](void* memory, std::size_t& bytes) {
                return cub::DeviceScan::InclusiveScan(memory, bytes, in.data(), peer.data(),
                                                      ::cuda::maximum<>{}, n, stream);
            }));
        cuda_array<u64> offsets(place, n + 1), peer_offsets(place, n + 1);
        b.row(
            "exclusive sum and total", "uint32 → uint64", n, 12.0 * n,
            [&] { primitives::exclusive_scan<u32, u64>(place, in.span(), offsets.span()); },
            b.cub_call([&](void* memory, std::size_t& bytes) {
                return cub::DeviceScan::ExclusiveScan(
                    memory, bytes, thrust::make_transform_iterator(in.data(), widened{}), peer_offsets.data(),
                    ::cuda::std::plus<>{}, u64{0}, n, stream);
            }));
        b.expect_equal(offsets, peer_offsets, n, "exclusive sum");
        const auto wide = filled<u64>(place, n, [] __device__(u64 i) { return mixed(i); });
        b.row(
            "inclusive sum", "uint64", n, 16.0 * n,
            [&] { primitives::inclusive_scan<u64, u64>(place, wide.span(), offsets.span().first(n)); },
            b.cub_call([&](void* memory, std::size_t& bytes) {
                return cub::DeviceScan::InclusiveSum(memory, bytes, wide.data(), peer_offsets.data(), n,
                                                     stream);
            }));
        b.expect_equal(offsets, peer_offsets, n, "inclusive sum of uint64");
    }
}

/// Offsets of segments of `mean` items on average (1 to 2 · mean − 1), `empty` segments among them.
struct segments {
    std::string name;
    u64 count, length, empty;
};
/// Segments of one length, with `empty` empty ones in the middle.
cuda_array<u64> offsets_of(cuda_place& place, u64 n, const segments& s) {
    const u64 length = s.length, empty = s.empty, half = s.count / 2;
    return filled<u64>(place, s.count + s.empty + 1, [=] __device__(u64 i) {
        const u64 at = i <= half ? i : i <= half + empty ? half : i - empty;
        return min(at * length, n);
    });
}
std::vector<segments> shapes(u64 n) {
    return {{"of 2", (n + 1) / 2, 2, 0},
            {"of 10", (n + 9) / 10, 10, 0},
            {"of 1,000", (n + 999) / 1000, 1000, 0},
            {"of 100,000", (n + 99'999) / 100'000, 100'000, 0},
            {"one giant", 1, n, 0},
            {"of n / 2 and n / 10 empty", 2, (n + 1) / 2, n / 10}};
}

void bench_segments(bench& b) {
    cuda_place& place = b.place;
    cudaStream_t stream = place.stream();
    for (const u64 n : {sizes[0], sizes[2]}) {
        const auto in =
            filled<u32>(place, n, [] __device__(u64 i) { return static_cast<u32>(mixed(i) % 100); });
        const auto floats = filled<float>(
            place, n, [] __device__(u64 i) { return static_cast<float>(mixed(i) >> 40) * 0x1p-24f; });
        cuda_array<u32> out(place, n), peer(place, n), ids(place, n), peer_ids(place, n);
        for (const segments& s : shapes(n)) {
            const auto offsets = offsets_of(place, n, s);
            const u64 count = offsets.size() - 1;
            const double offset_bytes = 8.0 * static_cast<double>(offsets.size());
            const std::string name = "segments " + s.name;
            b.row(
                "load-balancing search", name, n, 4.0 * n + offset_bytes,
                [&] { primitives::load_balancing_search<u32>(place, offsets.span(), ids.span()); }, {},
                [&] {
                    thrust::upper_bound(b.policy(), offsets.data() + 1, offsets.data() + 1 + count,
                                        thrust::counting_iterator<u64>(0), thrust::counting_iterator<u64>(n),
                                        peer_ids.data());
                });
            b.expect_equal(ids, peer_ids, n, "load-balancing search");
            b.row(
                "segmented inclusive sum", name + " (CUB: by key)", n, 8.0 * n + offset_bytes,
                [&] {
                    primitives::segmented_inclusive_scan<u32>(place, in.span(), offsets.span(), out.span());
                },
                b.cub_call([&](void* memory, std::size_t& bytes) {
                    return cub::DeviceScan::InclusiveSumByKey(memory, bytes, ids.data(), in.data(),
                                                              peer.data(), n, ::cuda::std::equal_to<>{},
                                                              stream);
                }));
            b.expect_equal(out, peer, n, "segmented sum");
            cuda_array<double> sums(place, count), peer_sums(place, count);
            b.row(
                "segmented sum", "float, " + name, n, 4.0 * n + 2 * offset_bytes,
                [&] {
                    primitives::segmented_reduce<float>(place, floats.span(), offsets.span(), sums.span());
                },
                b.cub_call([&](void* memory, std::size_t& bytes) {
                    return cub::DeviceSegmentedReduce::Reduce(
                        memory, bytes, floats.data(), peer_sums.data(), static_cast<std::int64_t>(count),
                        offsets.data(), offsets.data() + 1, added{}, 0.0, stream);
                }));
        }
    }
}

void bench_reductions(bench& b) {
    cuda_place& place = b.place;
    cudaStream_t stream = place.stream();
    cuda_array<u64> sum(place, 1);
    cuda_array<float> extreme(place, 1);
    cuda_array<double> total(place, 1);
    for (const u64 n : sizes) {
        const auto words = filled<u32>(place, n, [] __device__(u64 i) { return static_cast<u32>(mixed(i)); });
        const auto bytes_in =
            filled<u8>(place, n, [] __device__(u64 i) { return static_cast<u8>(mixed(i)); });
        const auto floats = filled<float>(
            place, n, [] __device__(u64 i) { return static_cast<float>(mixed(i) >> 40) * 0x1p-24f; });
        const auto doubles = filled<double>(
            place, n, [] __device__(u64 i) { return static_cast<double>(mixed(i) >> 11) * 0x1p-53; });
        u64 ours_sum = 0, peer_sum = 0;
        float ours_max = 0, peer_max = 0;
        double peer_total = 0;
        const auto read_back = [&](work enqueue, auto& from, auto& to) -> work {
            return [&place, &from, &to, enqueue] {
                enqueue();
                place.copy_out(&to, from.data(), sizeof to);
            };
        };
        b.row(
            "sum", "uint32 → uint64", n, 4.0 * n,
            [&] { ours_sum = primitives::reduce<u32>(place, words.span()); },
            read_back(b.cub_call([&](void* memory, std::size_t& bytes) {
                return cub::DeviceReduce::Reduce(memory, bytes, words.data(), sum.data(), n, added{}, u64{0},
                                                 stream);
            }),
                      sum, peer_sum));
        b.expect(ours_sum == peer_sum, "sum of uint32");
        b.row(
            "sum", "uint8 → uint64", n, 1.0 * n,
            [&] { ours_sum = primitives::reduce<u8>(place, bytes_in.span()); },
            read_back(b.cub_call([&](void* memory, std::size_t& bytes) {
                return cub::DeviceReduce::Reduce(memory, bytes, bytes_in.data(), sum.data(), n, added{},
                                                 u64{0}, stream);
            }),
                      sum, peer_sum));
        b.expect(ours_sum == peer_sum, "sum of uint8");
        b.row(
            "maximum", "float", n, 4.0 * n,
            [&] {
                ours_max = static_cast<float>(
                    primitives::reduce<float>(place, floats.span(), primitives::reduce_operation::maximum));
            },
            read_back(b.cub_call([&](void* memory, std::size_t& bytes) {
                return cub::DeviceReduce::Max(memory, bytes, floats.data(), extreme.data(), n, stream);
            }),
                      extreme, peer_max));
        b.expect(ours_max == peer_max, "maximum");
        b.row(
            "sum (CUB: in any order)", "float → double", n, 4.0 * n,
            [&] { primitives::reduce<float>(place, floats.span()); },
            read_back(b.cub_call([&](void* memory, std::size_t& bytes) {
                return cub::DeviceReduce::Reduce(memory, bytes, floats.data(), total.data(), n, added{}, 0.0,
                                                 stream);
            }),
                      total, peer_total));
        b.row(
            "sum (CUB: in any order)", "double", n, 8.0 * n,
            [&] { primitives::reduce<double>(place, doubles.span()); },
            read_back(b.cub_call([&](void* memory, std::size_t& bytes) {
                return cub::DeviceReduce::Sum(memory, bytes, doubles.data(), total.data(), n, stream);
            }),
                      total, peer_total));
    }
}

void bench_selections(bench& b) {
    cuda_place& place = b.place;
    cudaStream_t stream = place.stream();
    cuda_array<u64> count(place, 1);
    u64 kept = 0, peer_kept = 0;
    const auto counted = [&](work enqueue) -> work {
        return [&, enqueue] {
            enqueue();
            place.copy_out(&peer_kept, count.data(), sizeof peer_kept);
        };
    };
    for (const u64 n : sizes) {
        const auto values =
            filled<u32>(place, n, [] __device__(u64 i) { return static_cast<u32>(mixed(i)); });
        cuda_array<u32> out(place, n), peer(place, n);
        for (const u64 percent : {1, 50, 99}) {
            const auto flags = filled<u8>(
                place, n, [=] __device__(u64 i) { return static_cast<u8>(mixed(i + 7) % 100 < percent); });
            const std::string data = "uint32, " + std::to_string(percent) + " % kept";
            const double share = static_cast<double>(percent) / 100;
            b.row(
                "compact", data, n, n + 8 * share * n,
                [&] { kept = primitives::compact<u32>(place, values.span(), flags.span(), out.span()); },
                counted(b.cub_call([&](void* memory, std::size_t& bytes) {
                    return cub::DeviceSelect::Flagged(memory, bytes, values.data(), flags.data(), peer.data(),
                                                      count.data(), static_cast<std::int64_t>(n), stream);
                })));
            b.expect(kept == peer_kept, "compact");
            b.expect_equal(out, peer, kept, "compact");
            b.row(
                "compact positions", data, n, n + 4 * share * n,
                [&] { kept = primitives::compact_positions<u32>(place, flags.span(), out.span()); },
                counted(b.cub_call([&](void* memory, std::size_t& bytes) {
                    return cub::DeviceSelect::Flagged(memory, bytes, thrust::counting_iterator<u32>(0),
                                                      flags.data(), peer.data(), count.data(),
                                                      static_cast<std::int64_t>(n), stream);
                })));
            b.expect_equal(out, peer, kept, "compact positions");
        }
        for (const u64 mean : {1, 4, 100}) {
            const auto runs = filled<u32>(place, n, [=] __device__(u64 i) {
                return mean == 1 ? static_cast<u32>(i) : static_cast<u32>(mixed(i / mean) % 1000);
            });
            cuda_array<u64> lengths(place, n), peer_lengths(place, n);
            const double share = 1 / static_cast<double>(mean);
            b.row(
                "run-length encode", "uint32, runs of " + std::to_string(mean), n, 4.0 * n + 12 * share * n,
                [&] {
                    kept = primitives::run_length_encode<u32>(place, runs.span(), out.span(), lengths.span());
                },
                counted(b.cub_call([&](void* memory, std::size_t& bytes) {
                    return cub::DeviceRunLengthEncode::Encode(memory, bytes, runs.data(), peer.data(),
                                                              peer_lengths.data(), count.data(),
                                                              static_cast<int>(n), stream);
                })));
            b.expect(kept == peer_kept, "run-length encode");
            b.expect_equal(out, peer, kept, "run-length encode");
            b.expect_equal(lengths, peer_lengths, kept, "run-length encode");
        }
    }
}

template <class Sample, class Make>
void bench_histogram(bench& b, const char* data, u64 n, u64 bins, Make make) {
    cuda_place& place = b.place;
    const auto samples = filled<Sample>(place, n, make);
    cuda_array<u64> counts(place, bins), peer(place, bins);
    b.row(
        "histogram", data, n, static_cast<double>(n * sizeof(Sample) + 8 * bins),
        [&] { primitives::histogram<Sample>(place, samples.span(), counts.span()); },
        b.cub_call([&](void* memory, std::size_t& bytes) {
            return cub::DeviceHistogram::HistogramEven(
                memory, bytes, samples.data(), reinterpret_cast<unsigned long long*>(peer.data()),
                static_cast<int>(bins + 1), 0, static_cast<int>(bins), static_cast<int>(n), place.stream());
        }));
    b.expect_equal(counts, peer, bins, "histogram");
}

void bench_histograms(bench& b) {
    for (const u64 n : sizes) {
        bench_histogram<u8>(b, "uint8, all different", n, 256,
                            [] __device__(u64 i) { return static_cast<u8>(mixed(i)); });
        bench_histogram<u8>(b, "uint8, all equal", n, 256, [] __device__(u64) { return u8{7}; });
        bench_histogram<u32>(b, "uint32, 256 bins", n, 256,
                             [] __device__(u64 i) { return static_cast<u32>(mixed(i) % 256); });
        for (const u64 bins : {u64{4096}, u64{50'000}, u64{1'000'000}}) {
            const std::string name = "uint32, " + std::to_string(bins) + " bins";
            bench_histogram<u32>(b, (name + ", even").c_str(), n, bins,
                                 [=] __device__(u64 i) { return static_cast<u32>(mixed(i) % bins); });
            bench_histogram<u32>(b, (name + ", like words").c_str(), n, bins, [=] __device__(u64 i) {
                const double even = static_cast<double>(mixed(i) >> 11) * 0x1p-53;
                return static_cast<u32>(min(exp(even * log(static_cast<double>(bins))), bins - 1.0));
            });
            bench_histogram<u32>(b, (name + ", all equal").c_str(), n, bins,
                                 [] __device__(u64) { return u32{1000}; });
        }
    }
}

}  // namespace
}  // namespace quern

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::atoi(arguments[1]) : 15;
    const std::string only = count > 2 ? arguments[2] : "";
    quern::cuda_place place(quern::context::cuda(), 0);
    quern::bench b(place, rounds);
    if (only.empty() || only == "scan") quern::bench_scans(b);
    if (only.empty() || only == "segments") quern::bench_segments(b);
    if (only.empty() || only == "reduce") quern::bench_reductions(b);
    if (only.empty() || only == "select") quern::bench_selections(b);
    if (only.empty() || only == "histogram") quern::bench_histograms(b);
}
