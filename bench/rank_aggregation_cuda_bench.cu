// SPDX-License-Identifier: Apache-2.0
// Top-k of ranked lists that are on a GPU, sorted and checked. Lists are made there.
// rank_aggregation_cuda_bench [paper] [kinds] [large]: what to measure (default: everything). One line a measurement,
// tab-separated: what, kind of scores, objects, lists, k, method, stride, share of the lists that was read, maximum of entries
// held, seconds by the host's clock from the call to the results in host memory (median; one call if the stride is 100).
//   paper  the paper's case, uniform scores in 4 lists, 1 to 10 million objects, k = 100: auto, segmented of stride 100 and
//          of one object in a hundred
//   kinds  10 million objects in 4 lists, all kinds of scores, k of 10, 100 and 10,000: auto, the first call and later ones; with
//          new columns, and with kept ones
//   large  100 million objects in 8 lists
//   several  100 million objects in 8 lists, held by one GPU and by all; only if named. Lines of its own: milliseconds to load
//          the lists from host memory, of the first call and of later ones, and the ratios
//   thread the paper's figure 2: segmented of stride 100 on the GPU and on one thread of the CPU, 1 to 10 million objects; only
//          if named. The entries held and, where known, the bytes of device memory that the search allocated stand in a line
//          "memory": objects, lists, candidates, bytes (0: less than loading the lists took)
//   once   one call of `auto` and one that makes columns, 10 million uniform objects, for a profiler; only if named
// Every result is compared with that of reading everything.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/check.cuh"
#include "ops/rank_aggregation/device_lists.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/ops/rank_aggregation.hpp"

namespace quern {
namespace {

using namespace rank_aggregation_detail;

enum class kind { uniform, correlated, heavy_tailed, anti_correlated };
constexpr const char* kind_names[] = {"uniform", "correlated", "heavy-tailed", "anti-correlated"};

__device__ float unit_of(std::uint64_t n) {
    n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9u;
    return static_cast<float>((n ^ n >> 32) >> 40) * 0x1p-24f;
}

/// A thread an object.
__global__ void make_scores_kernel(kind of, std::uint32_t objects, std::uint64_t list, float* scores,
                                   std::uint32_t* ids) {
    const std::uint32_t o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= objects) return;
    const float own = unit_of(o + 1), unit = unit_of((list + 1) << 40 | o);
    float score = unit;
    if (of == kind::correlated) score = own + 0.1f * unit;
    if (of == kind::heavy_tailed) score = powf(1 - unit, -0.7f);
    if (of == kind::anti_correlated) score = list % 2 == 0 ? own : 1 - own;
    scores[o] = score;
    ids[o] = o;
}

/// Lists like real input: in host memory, sorted.
struct host_lists {
    std::vector<std::vector<float>> scores;
    std::vector<std::vector<std::uint32_t>> ids;

    host_lists(cuda_place& place, kind of, std::uint32_t objects, unsigned lists) {
        const auto keys = make_array<float>(place, objects);
        const auto numbers = make_array<std::uint32_t>(place, objects);
        for (unsigned i = 0; i < lists; ++i) {
            QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(objects, 256), 256}), make_scores_kernel,
                         of, objects, i, keys.data(), numbers.data());
            primitives::sort_pairs(place, keys.span(), numbers.span(),
                                   {.direction = primitives::order::descending});
            scores.push_back(to_host(place, keys.span()));
            ids.push_back(to_host(place, numbers.span()));
        }
    }
    std::vector<ranked_list_view<float>> views() const {
        std::vector<ranked_list_view<float>> all;
        for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i], scores[i]});
        return all;
    }
};

double median_seconds(int rounds, const std::function<void()>& work) {
    std::vector<double> seconds;
    for (int round = 0; round < rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    if (rounds == 1) return seconds[0];
    std::sort(seconds.begin() + 1, seconds.end());  // the first warms up
    return seconds[1 + (seconds.size() - 1) / 2];
}

class measured_lists {
  public:
    measured_lists(cuda_place& place, kind of, std::uint32_t objects, unsigned lists)
        : kind_(of), objects_(objects), count_(lists) {
        const host_lists host(place, of, objects, lists);
        const auto views = host.views();
        for (const auto& view : views) rules_.push_back({view.weight, view.floor});
        const auto begin = std::chrono::steady_clock::now();
        lists_ = std::make_unique<device_lists<float>>(place, views, objects, true);
        const scoring rule(rules_, {});
        lists_->refuse_faults(&rule);
        taking_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

    bool measure(const char* what, std::uint32_t k, std::initializer_list<std::uint32_t> strides) {
        const scoring rule(rules_, {.k = k});
        const device_result expected = read_everything(*lists_, rule, k);
        bool right = true;
        const auto one = [&](const char* method, std::uint32_t stride, int rounds, const auto& work) {
            device_result raw_result;
            const double seconds = median_seconds(rounds, [&] { raw_result = work(); });
            right = right && raw_result.ids == expected.ids && raw_result.scores == expected.scores;
            double share = 0;
            for (const std::uint64_t depth : raw_result.depths)
                share += static_cast<double>(depth) / (static_cast<double>(objects_) * count_);
            std::printf("%s\t%s\t%u\t%u\t%u\t%s\t%u\t%.4f\t%llu\t%.7f\n", what,
                        kind_names[static_cast<int>(kind_)], objects_, count_, k, method, stride, share,
                        static_cast<unsigned long long>(raw_result.candidates), seconds);
            std::fflush(stdout);
        };
        one("columns kept", 0, 16, [&] { return read_everything(*lists_, rule, k); });
        one("columns made", 0, 16, [&] {
            lists_->columns() = {};
            return read_everything(*lists_, rule, k);
        });
        one("auto", 0, 16, [&] {
            lists_->columns() = {};
            return automatic(*lists_, rule, k);
        });
        one("auto again", 0, 16, [&] { return automatic(*lists_, rule, k); });
        for (const std::uint32_t stride : strides)
            one("segmented", stride, stride < 1000 ? 1 : 4,
                [&] { return segmented(*lists_, rule, k, stride); });
        if (!right)
            std::fprintf(stderr, "%s, %u objects: answers differ\n", kind_names[static_cast<int>(kind_)],
                         objects_);
        return right;
    }

    void run_once(std::uint32_t k) {
        const scoring rule(rules_, {.k = k});
        automatic(*lists_, rule, k);
        read_everything(*lists_, rule, k);
    }

    void print_taking() const {
        std::printf("taken\t%s\t%u\t%u\t0\tcopied and checked\t0\t1\t0\t%.7f\n",
                    kind_names[static_cast<int>(kind_)], objects_, count_, taking_);
    }

  private:
    kind kind_;
    std::uint32_t objects_;
    unsigned count_;
    std::vector<list_rule> rules_;
    std::unique_ptr<device_lists<float>> lists_;
    double taking_ = 0;
};

/// Whether the GPU and one thread of the CPU have the same answers.
bool compare_thread(std::uint32_t objects) {
    constexpr unsigned lists = 4;
    const aggregation_options options{.k = 100, .method = aggregation_method::segmented, .stride = 100};
    cuda_place place(context::cuda());
    const host_lists host(place, kind::uniform, objects, lists);
    const auto views = host.views();
    std::vector<list_rule> rules;
    for (const auto& view : views) rules.push_back({view.weight, view.floor});
    const scoring rule(rules, options);
    device_lists<float> loaded(place, views, objects, true);
    loaded.refuse_faults(&rule);
    const std::uint64_t used = place.memory().used(), peak = place.memory().peak();
    device_result of_gpu;
    const double on_gpu =
        median_seconds(4, [&] { of_gpu = segmented(loaded, rule, options.k, options.stride); });
    aggregation_result of_thread;
    const double on_thread = median_seconds(4, [&] {
        of_thread =
            top_k<float>(std::span<const ranked_list_view<float>>(views), objects, options, context::cpu(1));
    });
    double share = 0;
    for (const std::uint64_t depth : of_gpu.depths)
        share += static_cast<double>(depth) / (static_cast<double>(objects) * lists);
    const auto print = [&](const char* where, double seconds) {
        std::printf("thread\tuniform\t%u\t%u\t%u\t%s\t%u\t%.4f\t%llu\t%.7f\n", objects, lists, options.k,
                    where, options.stride, share, static_cast<unsigned long long>(of_gpu.candidates),
                    seconds);
    };
    print("one thread", on_thread);
    print("GPU", on_gpu);
    const std::uint64_t higher = place.memory().peak();
    std::printf("memory\t%u\t%u\t%llu\t%llu\n", objects, lists,
                static_cast<unsigned long long>(of_gpu.candidates),
                static_cast<unsigned long long>(higher > peak ? higher - used : 0));
    std::fflush(stdout);
    if (of_gpu.ids == of_thread.ids && of_gpu.scores == of_thread.scores) return true;
    std::fprintf(stderr, "%u objects: GPU and CPU differ\n", objects);
    return false;
}

/// Whether one GPU and all of them have the same answers.
bool compare_several(cuda_place& place, std::uint32_t objects, unsigned lists) {
    const host_lists host(place, kind::uniform, objects, lists);
    const auto views = host.views();
    aggregation_result expected;
    std::vector<double> of_one;
    for (const int ordinals : {device_choice::any_ordinal, device_choice::all_ordinals}) {
        context ctx = context::cuda();
        ctx.device.ordinal = ordinals;
        std::unique_ptr<ranked_list_set> set;
        aggregation_result found;
        std::vector<double> seconds;
        seconds.push_back(median_seconds(1, [&] {
            set = std::make_unique<ranked_list_set>(std::span<const ranked_list_view<float>>(views), objects,
                                                    ctx);
        }));
        const auto call = [&] { found = set->top_k({.k = 100}); };
        seconds.push_back(median_seconds(1, call));
        seconds.push_back(median_seconds(16, call));
        std::printf("several\t%s\t%u\t%u\tload %.1f ms\tfirst call %.3f ms\tlater calls %.3f ms\n",
                    found.place.c_str(), objects, lists, seconds[0] * 1e3, seconds[1] * 1e3,
                    seconds[2] * 1e3);
        if (ordinals == device_choice::any_ordinal) {
            expected = found;
            of_one = seconds;
            continue;
        }
        std::printf("ratio\t\t\t\t%.2f\t%.2f\t%.2f\n", of_one[0] / seconds[0], of_one[1] / seconds[1],
                    of_one[2] / seconds[2]);
        if (found.ids != expected.ids || found.scores != expected.scores) {
            std::fprintf(stderr, "one GPU and all of them: answers differ\n");
            return false;
        }
    }
    return true;
}

bool run(int count, char** arguments) {
    const auto requested = [&](std::string_view name) {
        return count == 1 || std::find(arguments + 1, arguments + count, name) != arguments + count;
    };
    cuda_place place(context::cuda());
    bool right = true;
    if (requested("paper")) {
        for (const std::uint32_t millions : {1u, 2u, 4u, 6u, 8u, 10u}) {
            const std::uint32_t objects = millions * 1'000'000;
            right &=
                measured_lists(place, kind::uniform, objects, 4).measure("paper", 100, {100, objects / 100});
        }
    }
    if (count == 2 && requested("once")) {
        measured_lists lists(place, kind::uniform, 10'000'000, 4);
        lists.run_once(100);
    }
    if (count > 1 && requested("thread"))
        for (const std::uint32_t millions : {1u, 2u, 5u, 10u}) right &= compare_thread(millions * 1'000'000);
    if (count > 1 && requested("several")) right &= compare_several(place, 100'000'000, 8);
    if (requested("kinds")) {
        for (const kind of : {kind::uniform, kind::correlated, kind::heavy_tailed, kind::anti_correlated}) {
            measured_lists lists(place, of, 10'000'000, 4);
            lists.print_taking();
            for (const std::uint32_t k : {10u, 100u, 10'000u}) right &= lists.measure("kinds", k, {});
        }
    }
    if (requested("large")) {
        measured_lists lists(place, kind::uniform, 100'000'000, 8);
        lists.print_taking();
        right &= lists.measure("large", 100, {});
    }
    return right;
}

}  // namespace
}  // namespace quern

int main(int count, char** arguments) {
    try {
        return quern::run(count, arguments) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ranked_lists_cuda_bench: %s\n", error.what());
        return 1;
    }
}
