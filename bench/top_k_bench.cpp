// SPDX-License-Identifier: Apache-2.0
// The k best of n floats on the CPU, compared with the standard library's algorithms. One line a measurement, tab-separated: data,
// rows, columns, k, who, milliseconds (the median of 5; the peers select from prepared pairs, and the copy
// that they destroy is not counted).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "primitives/top_k/top_k.hpp"

namespace {

using quern::cpu_place;
using pair = std::pair<float, std::uint32_t>;

struct better {
    bool operator()(const pair& a, const pair& b) const {
        return a.first > b.first || (a.first == b.first && a.second < b.second);
    }
};

std::vector<float> keys_of(const std::string& kind, std::size_t n) {
    std::vector<float> keys(n);
    std::mt19937_64 random(7);
    for (std::size_t i = 0; i < n; ++i) {
        const float share = static_cast<float>(i) / static_cast<float>(n);
        if (kind == "uniform") keys[i] = static_cast<float>(random() >> 40) * 0x1p-24f;
        if (kind == "all equal") keys[i] = 1;
        if (kind == "rising") keys[i] = share;
        if (kind == "falling") keys[i] = 1 - share;
        if (kind == "16 distinct") keys[i] = static_cast<float>(random() % 16);
    }
    return keys;
}

template <class Before, class Timed>
double milliseconds(const Before& before, const Timed& timed) {
    std::vector<double> each;
    for (int r = 0; r < 5; ++r) {
        before();
        const auto begin = std::chrono::steady_clock::now();
        timed();
        each.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(each.begin(), each.end());
    return each[each.size() / 2];
}

void print(const std::string& kind, std::size_t rows, std::size_t columns, std::size_t k, const char* who,
           double ms) {
    std::printf("%s\t%zu\t%zu\t%zu\t%s\t%.3f\n", kind.c_str(), rows, columns, k, who, ms);
    std::fflush(stdout);
}

void ours(const std::string& kind, const std::vector<float>& keys, std::size_t rows, std::size_t k) {
    std::vector<float> best(rows * k);
    std::vector<std::uint32_t> ids(rows * k);
    for (const unsigned threads : {1u, 2u}) {
        cpu_place place(quern::context::cpu(threads));
        const double ms = milliseconds([] {},
                                       [&] {
                                           if (rows == 1)
                                               quern::primitives::top_k<float>(place, keys, best, ids);
                                           else
                                               quern::primitives::batched_top_k<float>(
                                                   place, keys, keys.size() / rows, k, best, ids);
                                       });
        print(kind, rows, keys.size() / rows, k, threads == 1 ? "Quern, 1 thread" : "Quern, 2 threads", ms);
    }
}

void lists(std::size_t n, const std::string& kind, const std::vector<std::size_t>& ks, bool peers) {
    const auto keys = keys_of(kind, n);
    std::vector<pair> pairs(n), work;
    for (std::size_t i = 0; i < n; ++i) pairs[i] = {keys[i], static_cast<std::uint32_t>(i)};
    const auto copy = [&] { work = pairs; };
    for (const std::size_t k : ks) {
        ours(kind, keys, 1, k);
        if (!peers) continue;
        const auto middle = static_cast<std::ptrdiff_t>(k);
        print(kind, 1, n, k, "partial_sort", milliseconds(copy, [&] {
                  std::partial_sort(work.begin(), work.begin() + middle, work.end(), better());
              }));
        print(kind, 1, n, k, "nth_element, sort", milliseconds(copy, [&] {
                  if (k < n) std::nth_element(work.begin(), work.begin() + middle, work.end(), better());
                  std::sort(work.begin(), work.begin() + middle, better());
              }));
    }
    if (peers)
        print(kind, 1, n, n, "sort",
              milliseconds(copy, [&] { std::sort(work.begin(), work.end(), better()); }));
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const bool quick = count > 1 && std::string(arguments[1]) == "--quick";
        lists(1'000'000, "uniform", {1, 100, 10'000, 100'000, 1'000'000}, true);
        for (const char* kind : {"all equal", "rising", "falling", "16 distinct"})
            lists(1'000'000, kind, {100, 10'000}, true);
        for (const auto& [rows, columns, k] :
             {std::tuple{31'250, 32, 5}, {1000, 1000, 10}, {10, 100'000, 100}})
            ours("uniform",
                 keys_of("uniform", static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)),
                 static_cast<std::size_t>(rows), static_cast<std::size_t>(k));
        if (!quick) lists(100'000'000, "uniform", {100, 10'000, 1'000'000}, false);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "top_k_bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
