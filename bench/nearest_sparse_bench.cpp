// SPDX-License-Identifier: Apache-2.0
// nearest_sparse_bench cpu|cuda THREADS SHAPE [METRIC…]: rank keys of sparse rows for 1, 16 and 128 queries.
// Shapes: splade (30,522 dimensions, rows of about 120 entries, queries of 40: a learnt sparse encoder), ids (394,548
// dimensions, 76 and 76), sets (the same, but all values are 1), dense (1,000 dimensions, 200 and 200), hashed
// (2^32 − 1 dimensions, 76 and 76).
// 100,000 rows; on CUDA 1,000,000. Lower columns are more likely, like frequent words.
// A line a measurement, tab-separated: shape, metric, queries, median seconds of all keys, pairs a second, bytes of the
// rows a second if read once a query; last, the rate at which the place copies memory, reads and writes counted. On the CPU
// with one thread seconds are processor time, which a busy machine changes little.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "device/place.hpp"
#include "ops/nearest/index/tile.hpp"

namespace {

using namespace quern;
namespace detail = nearest_detail;

struct shape {
    const char* name;
    std::uint32_t dimensions, entries, query_entries;
    bool ones = false;
};
constexpr shape shapes[] = {{"splade", 30'522, 120, 40},
                            {"ids", 394'548, 76, 76},
                            {"sets", 394'548, 76, 76, true},
                            {"dense", 1'000, 200, 200},
                            {"hashed", 0xffffffff, 76, 76}};

struct rows {
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> columns;
    std::vector<float> values;
};

std::uint32_t column_of(double u, std::uint32_t dimensions) {
    return static_cast<std::uint32_t>(u * u * (u * u) * dimensions);
}

rows made_of(std::uint32_t count, const shape& like, std::uint32_t entries, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto unit = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    rows made;
    std::vector<std::uint32_t> own;
    for (std::uint32_t i = 0; i < count; ++i) {
        own.clear();
        const auto wanted = static_cast<std::uint32_t>(entries * (0.5 + unit()));
        for (std::uint32_t e = 0; e < wanted; ++e) own.push_back(column_of(unit(), like.dimensions));
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
        for (const std::uint32_t column : own) {
            made.columns.push_back(column);
            made.values.push_back(like.ones ? 1.0f : static_cast<float>(0.1 + unit()));
        }
        made.offsets.push_back(made.columns.size());
    }
    return made;
}

template <class Place>
struct placed {
    placed(Place& place, const rows& from, std::uint32_t dimensions)
        : offsets(array_from(place, std::span<const std::uint64_t>(from.offsets))),
          columns(array_from(place, std::span<const std::uint32_t>(from.columns))),
          values(array_from(place, std::span<const float>(from.values))),
          squares(place, from.offsets.size() - 1) {
        tile = {static_cast<std::uint32_t>(squares.size()),
                dimensions,
                offsets.span(),
                columns.span(),
                values.span(),
                squares.span()};
        detail::stats_of(place, tile, squares.span());
    }
    array_on<Place, std::uint64_t> offsets;
    array_on<Place, std::uint32_t> columns;
    array_on<Place, float> values;
    array_on<Place, double> squares;
    detail::sparse_tile<Place> tile;
};

/// Seconds by the clock that is meant.
template <class Place>
double now(Place& place) {
    if constexpr (std::is_same_v<Place, cpu_place>)
        if (place.threads() == 1) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Median seconds of `times` consecutive runs between two waits.
template <class Place>
double median_seconds(Place& place, const std::function<void()>& work) {
    std::vector<double> seconds;
    unsigned times = 1;
    for (int round = 0; round < 8; ++round) {
        const double begin = now(place);
        for (unsigned t = 0; t < times; ++t) work();
        place.synchronise();
        const double took = (now(place) - begin) / times;
        if (round == 0)
            times = static_cast<unsigned>(std::clamp(2e-3 / took, 1.0, 100.0));
        else
            seconds.push_back(took);
    }
    std::nth_element(seconds.begin(), seconds.begin() + 3, seconds.end());
    return seconds[3];
}

template <class Place>
double copy_rate(Place& place) {
    constexpr std::size_t bytes = std::size_t{1} << 29;
    const auto from = make_array<std::byte>(place, bytes), to = make_array<std::byte>(place, bytes);
    const double seconds = median_seconds(place, [&] {
        if constexpr (std::is_same_v<Place, cpu_place>) {
            for_each_piece(place, 64, [&](std::size_t p) {
                std::memcpy(to.data() + p * (bytes / 64), from.data() + p * (bytes / 64), bytes / 64);
            });
        } else {
            place.copy_within(to.data(), from.data(), bytes);
        }
    });
    return 2 * static_cast<double>(bytes) / seconds;
}

template <class Place>
void measure(Place& place, const shape& like, const std::vector<std::string>& wanted) {
    const std::uint32_t count = std::is_same_v<Place, cpu_place> ? 100'000 : 1'000'000;
    const rows all = made_of(count, like, like.entries, 1);
    const placed<Place> set(place, all, like.dimensions);
    const auto bytes = static_cast<double>(all.columns.size() * 8 + all.offsets.size() * 8);
    for (const std::uint32_t queries : {1u, 16u, 128u}) {
        const placed<Place> requested(place, made_of(queries, like, like.query_entries, 2), like.dimensions);
        const auto keys = make_array<std::uint32_t>(place, std::size_t{count} * queries);
        for (std::size_t m = 0; m < std::size(vector_metric_names); ++m) {
            if (std::find(wanted.begin(), wanted.end(), vector_metric_names[m]) == wanted.end()) continue;
            const double seconds = median_seconds(place, [&] {
                detail::distance_keys<std::uint32_t>(place, set.tile, requested.tile,
                                                     static_cast<vector_metric>(m), {}, keys.span());
            });
            std::printf("%s\t%s\t%u\t%.6f\t%.3g\t%.3g\n", like.name, vector_metric_names[m].data(), queries,
                        seconds, queries * static_cast<double>(count) / seconds, queries * bytes / seconds);
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count < 4) throw std::runtime_error("nearest_sparse_bench cpu|cuda THREADS SHAPE [METRIC…]");
        const std::string device = arguments[1], wanted_shape = arguments[3];
        std::vector<std::string> metrics(arguments + 4, arguments + count);
        if (metrics.empty()) metrics = {"sql2", "ip", "cosine", "linf"};
        const context ctx = device == "cuda" ? context::cuda()
                                             : context::cpu(static_cast<unsigned>(std::stoul(arguments[2])));
        at_place(ctx, "sparse distances", [&](auto& place) {
            for (const shape& like : shapes)
                if (like.name == wanted_shape) measure(place, like, metrics);
            std::printf("%.3g\n", copy_rate(place));
        });
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
