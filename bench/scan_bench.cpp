// SPDX-License-Identifier: Apache-2.0
// Scan, reduce, select, histogram and load balancing on the CPU, compared with the usual C++ alternatives on
// the same data: scan_bench [ITEMS [FILTER]], for run-scan. Every contender runs once in each round, in turn; medians
// are printed as billions of items a second and, for ours, as a share of the bandwidth of a plain copy of a large
// array with as many threads, if every byte were read and written once.
#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_scan.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <execution>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "primitives/histogram/histogram.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/reduce/reduce.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/select/select.hpp"

namespace {

using namespace quern;
using clock_type = std::chrono::steady_clock;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct contender {
    std::string name;
    std::function<void()> run;
};

std::vector<double> median_seconds(const std::vector<contender>& contenders, int rounds = 5) {
    std::vector<std::vector<double>> times(contenders.size());
    for (int round = 0; round <= rounds; ++round) {
        for (std::size_t c = 0; c < contenders.size(); ++c) {
            const auto begin = clock_type::now();
            contenders[c].run();
            if (round > 0)  // the first warms up
                times[c].push_back(std::chrono::duration<double>(clock_type::now() - begin).count());
        }
    }
    std::vector<double> medians;
    for (auto& each : times) {
        std::nth_element(each.begin(), each.begin() + rounds / 2, each.end());
        medians.push_back(each[static_cast<std::size_t>(rounds) / 2]);
    }
    return medians;
}

/// The inputs and outputs of every task. Sizes are those of ITEMS; all memory is touched before anything is timed.
struct data {
    explicit data(std::size_t items)
        : words(items), floats(items), half(items), few(items), words_out(items), wide_out(items + 1) {
        std::mt19937_64 random(7);
        for (std::size_t i = 0; i < items; ++i) {
            const u64 bits = random();
            words[i] = static_cast<u32>(bits);
            floats[i] = static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * 0x1p-20F;
            half[i] = static_cast<std::uint8_t>(bits >> 40 & 1);
            few[i] = (bits >> 41) % 100 == 0;
        }
        for (u64 at = 0; at < items; at += random() % 100) offsets.push_back(at);
        offsets.push_back(items);
        segment_out.resize(offsets.size() - 1);
    }
    std::vector<u32> words_below(u64 bins) const {
        std::vector<u32> below(words.size());
        for (std::size_t i = 0; i < words.size(); ++i) below[i] = static_cast<u32>(words[i] * bins >> 32);
        return below;
    }

    std::vector<u32> words;
    std::vector<float> floats;
    std::vector<std::uint8_t> half, few;
    std::vector<u64> offsets;  // segments of 0 to 99 items
    std::vector<u32> words_out;
    std::vector<u64> wide_out;
    std::vector<double> segment_out;
    double keep = 0;  // keeps unused results from being optimised away
};

class table {
  public:
    table(cpu_place& place, std::size_t items, std::string filter)
        : place_(place), items_(items), filter_(std::move(filter)) {
        std::vector<u32> from(100'000'000, 1), to(100'000'000, 2);
        copy_ =
            2.0 * static_cast<double>(from.size()) * 4 /
            median_seconds({{"", [&] {
                                 for_each_piece(place, place.threads(), [&](std::size_t p) {
                                     const auto [begin, end] = piece_of(from.size(), place.threads(), p);
                                     std::memcpy(to.data() + begin, from.data() + begin, (end - begin) * 4);
                                 });
                             }}})[0];
        fmt::print("\n{} thread{}; a copy moves {:.1f} GB/s (read and written).\n\n", place.threads(),
                   place.threads() == 1 ? "" : "s", copy_ / 1e9);
        fmt::print(
            "| task | ours G/s | share of copy | peers: G/s (ours is faster by) |\n| --- | ---: | ---: | --- "
            "|\n");
    }

    /// `bytes`: the traffic of an item if everything is read and written once.
    void row(const std::string& task, double bytes, std::function<void()> ours,
             std::vector<contender> peers) {
        if (task.find(filter_) == std::string::npos) return;
        peers.insert(peers.begin(), {"", std::move(ours)});
        const auto seconds = median_seconds(peers);
        const double items = static_cast<double>(items_);
        fmt::print("| {} | {:.2f} | {:.0f} % |", task, items / seconds[0] / 1e9,
                   100 * bytes * items / seconds[0] / copy_);
        for (std::size_t p = 1; p < peers.size(); ++p)
            fmt::print("{} {} {:.2f} ({:.2f})", p == 1 ? "" : ",", peers[p].name, items / seconds[p] / 1e9,
                       seconds[p] / seconds[0]);
        fmt::print(" |\n");
        (void)std::fflush(stdout);
    }

    cpu_place& place() { return place_; }

  private:
    cpu_place& place_;
    std::size_t items_;
    std::string filter_;
    double copy_ = 0;
};

template <class T>
std::span<const T> view(const std::vector<T>& values) {
    return values;
}

void scans(table& all, data& on) {
    cpu_place& place = all.place();
    const auto in = view(on.words);
    const std::span<u32> out = on.words_out;
    const std::span<u64> wide = on.wide_out;
    const auto parallel = std::execution::par_unseq;
    all.row("inclusive sum, u32", 8, [&] { primitives::inclusive_scan(place, in, out); },
            {{"std::inclusive_scan", [&] { std::inclusive_scan(in.begin(), in.end(), out.begin()); }},
             {"par_unseq", [&] { std::inclusive_scan(parallel, in.begin(), in.end(), out.begin()); }},
             {"tbb::parallel_scan", [&] {
                  tbb::parallel_scan(
                      tbb::blocked_range<std::size_t>(0, in.size(), 1 << 16), u32{0},
                      [&](const auto& range, u32 sum, bool final) {
                          for (std::size_t i = range.begin(); i < range.end(); ++i) {
                              sum += in[i];
                              if (final) out[i] = sum;
                          }
                          return sum;
                      },
                      std::plus<>());
              }}});
    all.row(
        "exclusive sum with total, u32 to u64", 12, [&] { primitives::exclusive_scan(place, in, wide); },
        {{"std::exclusive_scan", [&] { std::exclusive_scan(in.begin(), in.end(), wide.begin(), u64{0}); }},
         {"par_unseq", [&] { std::exclusive_scan(parallel, in.begin(), in.end(), wide.begin(), u64{0}); }}});
    const auto max = [](u32 a, u32 b) { return std::max(a, b); };
    all.row("inclusive maximum, u32", 8,
            [&] { primitives::inclusive_scan(place, in, out, primitives::scan_operation::maximum); },
            {{"std::inclusive_scan", [&] { std::inclusive_scan(in.begin(), in.end(), out.begin(), max); }},
             {"par_unseq", [&] { std::inclusive_scan(parallel, in.begin(), in.end(), out.begin(), max); }}});
    all.row("segmented inclusive sum, u32, 50 a segment", 8.16,
            [&] { primitives::segmented_inclusive_scan(place, in, view(on.offsets), out); },
            {{"std::inclusive_scan of each", [&] {
                  for (std::size_t s = 0; s + 1 < on.offsets.size(); ++s)
                      std::inclusive_scan(in.data() + on.offsets[s], in.data() + on.offsets[s + 1],
                                          out.data() + on.offsets[s]);
              }}});
}

void reductions(table& all, data& on) {
    cpu_place& place = all.place();
    const auto words = view(on.words);
    const auto floats = view(on.floats);
    const auto parallel = std::execution::par_unseq;
    all.row("sum, u32 to u64", 4, [&] { on.keep += static_cast<double>(primitives::reduce(place, words)); },
            {{"std::reduce",
              [&] { on.keep += static_cast<double>(std::reduce(words.begin(), words.end(), u64{0})); }},
             {"par_unseq", [&] {
                  on.keep += static_cast<double>(std::reduce(parallel, words.begin(), words.end(), u64{0}));
              }}});
    all.row("canonical sum, float to double", 4, [&] { on.keep += primitives::reduce(place, floats); },
            {{"std::accumulate", [&] { on.keep += std::accumulate(floats.begin(), floats.end(), 0.0); }},
             {"std::reduce", [&] { on.keep += std::reduce(floats.begin(), floats.end(), 0.0); }},
             {"par_unseq (order varies)",
              [&] { on.keep += std::reduce(parallel, floats.begin(), floats.end(), 0.0); }}});
    all.row("maximum, float, NaN refused", 4,
            [&] { on.keep += primitives::reduce(place, floats, primitives::reduce_operation::maximum); },
            {{"std::max_element", [&] { on.keep += *std::max_element(floats.begin(), floats.end()); }},
             {"par_unseq", [&] { on.keep += *std::max_element(parallel, floats.begin(), floats.end()); }}});
    all.row(
        "segmented canonical sum, float, 50 a segment", 4.32,
        [&] {
            primitives::segmented_reduce(place, floats, view(on.offsets), std::span<double>(on.segment_out));
        },
        {{"std::accumulate of each", [&] {
              for (std::size_t s = 0; s + 1 < on.offsets.size(); ++s)
                  on.segment_out[s] =
                      std::accumulate(floats.data() + on.offsets[s], floats.data() + on.offsets[s + 1], 0.0);
          }}});
}

void selections(table& all, data& on) {
    cpu_place& place = all.place();
    const auto words = view(on.words);
    const std::span<u32> out = on.words_out;
    for (const auto* flags : {&on.half, &on.few}) {
        const bool half = flags == &on.half;
        // copy_if gets references into the array: their position determines their flag.
        const auto flagged = [&words, flags](const u32& value) {
            return (*flags)[&value - words.data()] != 0;
        };
        all.row(half ? "compact, u32, half" : "compact, u32, 1 %", half ? 7 : 5.04,
                [&] { primitives::compact(place, words, view(*flags), out); },
                {{"std::copy_if", [&] { std::copy_if(words.begin(), words.end(), out.begin(), flagged); }},
                 {"par_unseq", [&] {
                      std::copy_if(std::execution::par_unseq, words.begin(), words.end(), out.begin(),
                                   flagged);
                  }}});
        all.row(half ? "positions, u32, half" : "positions, u32, 1 %", half ? 3 : 1.04,
                [&] { primitives::compact_positions(place, view(*flags), out); },
                {{"loop without branches", [&] {
                      std::size_t kept = 0;
                      for (std::size_t i = 0; i < flags->size(); ++i) {
                          out[kept] = static_cast<u32>(i);
                          kept += (*flags)[i] != 0;
                      }
                  }}});
    }
    std::vector<u32> runs(words.size());
    for (std::size_t i = 1; i < runs.size(); ++i) runs[i] = runs[i - 1] + (words[i] % 5 == 0);
    all.row("run-length encode, u32, 5 a run", 4 + 12 / 5.0,
            [&] { primitives::run_length_encode(place, view(runs), out, std::span<u64>(on.wide_out)); },
            {{"loop", [&] {
                  std::size_t r = 0;
                  for (std::size_t begin = 0, end = 0; begin < runs.size(); begin = end, ++r) {
                      while (end < runs.size() && runs[end] == runs[begin]) ++end;
                      out[r] = runs[begin];
                      on.wide_out[r] = end - begin;
                  }
              }}});
}

/// The row of a histogram, next to a plain loop.
template <class Sample>
void count(table& all, const std::string& name, const std::vector<Sample>& samples, u64 bins) {
    std::vector<u64> counts(bins);
    all.row(name, sizeof(Sample),
            [&] { primitives::histogram(all.place(), view(samples), std::span<u64>(counts)); },
            {{"loop", [&] {
                  std::fill(counts.begin(), counts.end(), 0);
                  for (const Sample sample : samples) ++counts[sample];
              }}});
}

void counting(table& all, data& on) {
    for (const u64 bins : {256u, 1000u, 100'000u, 10'000'000u})
        count(all, fmt::format("histogram, u32, {} bins", bins), on.words_below(bins), bins);
    {  // the frequency of a bin falls with its rank, as that of words does
        constexpr u64 bins = 10'000'000;
        std::vector<u32> samples(on.words.size());
        for (std::size_t i = 0; i < samples.size(); ++i)
            samples[i] = static_cast<u32>(std::pow(static_cast<double>(bins), on.words[i] * 0x1p-32)) - 1;
        count(all, fmt::format("histogram, like words, {} bins", bins), samples, bins);
    }
    const std::vector<u32> equal(on.words.size(), 77);
    for (const u64 bins : {256u, 10'000'000u})
        count(all, fmt::format("histogram, all equal, {} bins", bins), equal, bins);
    count(all, "histogram, u8, 256 bins", std::vector<std::uint8_t>(on.words.begin(), on.words.end()), 256);
}

void balancing(table& all, data& on) {
    cpu_place& place = all.place();
    const std::span<u32> out = on.words_out;
    all.row("load-balancing search, 50 a segment", 4.16,
            [&] { primitives::load_balancing_search(place, view(on.offsets), out); },
            {{"std::fill of each", [&] {
                  for (std::size_t s = 0; s + 1 < on.offsets.size(); ++s)
                      std::fill(out.data() + on.offsets[s], out.data() + on.offsets[s + 1],
                                static_cast<u32>(s));
              }}});
}

}  // namespace

int main(int count, char** arguments) {
    const std::size_t items = count > 1 ? std::stoull(arguments[1]) : 100'000'000;
    data on(items);
    fmt::print(
        "## Scan, reduce, select, histogram, load balancing on the CPU\n\n"
        "{} million items; billions of items a second, medians of 5 rounds, contenders in turn.\n",
        items / 1'000'000);
    for (const unsigned threads : {1u, 2u}) {
        const tbb::global_control peers(tbb::global_control::max_allowed_parallelism, threads);
        cpu_place place(context::cpu(threads));
        table all(place, items, count > 2 ? arguments[2] : "");
        scans(all, on);
        reductions(all, on);
        selections(all, on);
        counting(all, on);
        balancing(all, on);
    }
    return on.keep == 0.5 ? 1 : 0;
}
