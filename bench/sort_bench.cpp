// SPDX-License-Identifier: Apache-2.0
// sort_bench SIZE THREADS ROUNDS [uniform|skewed|few|unit] [ours]: sorts SIZE pairs of (float, 32-bit id) with Quern and
// with its peers, which take turns on the same data, and prints for each a line of: name, median seconds. The last line is
// the rate at which the same threads copy memory, reads and writes counted, in bytes a second.
//
// Peers sort an array of structs by the key alone; ours sorts two arrays and is stable, unlike the peers without
// "stable" in their name. Every result is compared with the first.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <boost/sort/sort.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execution>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "primitives/sort/sort.hpp"

namespace {

struct pair {
    float key;
    std::uint32_t id;
};
constexpr auto before = [](const pair& a, const pair& b) { return a.key < b.key; };
struct bits_above {
    int operator()(const pair& p, const unsigned offset) const {
        return boost::sort::spreadsort::float_mem_cast<float, int>(p.key) >> offset;
    }
};

std::vector<float> keys_of(const std::string& kind, std::size_t size) {
    std::vector<float> keys(size);
    constexpr std::size_t chunk = 1 << 20;
    tbb::parallel_for(std::size_t{0}, (size + chunk - 1) / chunk, [&](std::size_t s) {
        std::mt19937_64 random(s);
        for (std::size_t i = s * chunk; i < std::min(size, (s + 1) * chunk); ++i) {
            const std::uint64_t bits = random();
            const auto unit = static_cast<float>(bits >> 40) * 0x1p-24f;
            if (kind == "unit") {
                keys[i] = unit;
            } else if (kind == "skewed") {
                keys[i] = std::exp2(60 * unit - 30);
            } else if (kind == "few") {
                keys[i] = static_cast<float>(bits % 100);
            } else {  // uniform over the bit patterns of finite floats: every sign and exponent
                auto pattern = static_cast<std::uint32_t>(bits >> 32);
                if ((pattern & 0x7f800000u) == 0x7f800000u) pattern ^= 0x40000000u;
                std::memcpy(&keys[i], &pattern, sizeof pattern);
            }
        }
    });
    return keys;
}

double seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
}

struct engine {
    std::string name;
    std::function<void(std::vector<pair>&)> sort;
    std::vector<double> taken;
};

double copy_rate(std::size_t bytes, unsigned threads) {
    std::vector<char> from(bytes, 1), to(bytes, 2);
    std::vector<double> taken;
    for (int round = 0; round < 5; ++round) {
        taken.push_back(seconds([&] {
            tbb::parallel_for(0u, threads, [&](unsigned t) {
                const std::size_t begin = bytes / threads * t;
                std::memcpy(to.data() + begin, from.data() + begin, bytes / threads);
            });
        }));
    }
    return 2 * static_cast<double>(bytes) / median(taken);
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 4) {
        std::fputs("sort_bench SIZE THREADS ROUNDS [uniform|skewed|few|unit] [ours]\n", stderr);
        return 2;
    }
    const std::size_t size = std::strtoull(arguments[1], nullptr, 10);
    const auto threads = static_cast<unsigned>(std::atoi(arguments[2]));
    const int rounds = std::atoi(arguments[3]);
    const std::string kind = count > 4 ? arguments[4] : "uniform";
    const bool ours_alone = count > 5;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    const std::vector<float> keys = keys_of(kind, size);

    std::vector<engine> peers;
    if (!ours_alone && threads == 1) {
        peers.push_back({"std::sort", [](auto& p) { std::sort(p.begin(), p.end(), before); }, {}});
        peers.push_back(
            {"std::stable_sort", [](auto& p) { std::stable_sort(p.begin(), p.end(), before); }, {}});
        peers.push_back(
            {"boost spreadsort float_sort",
             [](auto& p) { boost::sort::spreadsort::float_sort(p.begin(), p.end(), bits_above(), before); },
             {}});
        peers.push_back(
            {"boost pdqsort", [](auto& p) { boost::sort::pdqsort(p.begin(), p.end(), before); }, {}});
    } else if (!ours_alone) {
        peers.push_back({"std::sort(par_unseq)",
                         [](auto& p) { std::sort(std::execution::par_unseq, p.begin(), p.end(), before); },
                         {}});
        peers.push_back(
            {"std::stable_sort(par_unseq)",
             [](auto& p) { std::stable_sort(std::execution::par_unseq, p.begin(), p.end(), before); },
             {}});
        peers.push_back(
            {"tbb::parallel_sort", [](auto& p) { tbb::parallel_sort(p.begin(), p.end(), before); }, {}});
        peers.push_back(
            {"boost block_indirect_sort",
             [=](auto& p) { boost::sort::block_indirect_sort(p.begin(), p.end(), before, threads); },
             {}});
        peers.push_back(
            {"boost parallel_stable_sort",
             [=](auto& p) { boost::sort::parallel_stable_sort(p.begin(), p.end(), before, threads); },
             {}});
    }

    quern::cpu_place place(quern::context::cpu(threads));
    std::vector<double> ours;
    std::vector<float> sorted;
    std::vector<std::uint32_t> ids(size);
    std::vector<pair> pairs(ours_alone ? 0 : size);
    for (int round = 0; round < rounds; ++round) {
        sorted = keys;
        std::iota(ids.begin(), ids.end(), 0u);
        ours.push_back(
            seconds([&] { quern::primitives::sort_pairs(place, std::span<float>(sorted), std::span(ids)); }));
        for (engine& peer : peers) {
            for (std::size_t i = 0; i < size; ++i) pairs[i] = {keys[i], static_cast<std::uint32_t>(i)};
            peer.taken.push_back(seconds([&] { peer.sort(pairs); }));
            for (std::size_t i = 0; i < size; ++i) {
                if (pairs[i].key == sorted[i]) continue;
                std::fprintf(stderr, "sort_bench: %s and Quern differ at %zu\n", peer.name.c_str(), i);
                return 1;
            }
        }
    }
    std::printf("quern\t%.6f\n", median(ours));
    for (const engine& peer : peers) std::printf("%s\t%.6f\n", peer.name.c_str(), median(peer.taken));
    std::vector<pair>().swap(pairs);
    std::printf("copy\t%.0f\n", copy_rate(std::size_t{1} << 29, threads));
}
