// SPDX-License-Identifier: Apache-2.0
// several_places_bench [SCALE]: sorting pairs in host memory, joining signatures and one call over ranked lists, with the first GPU
// and with all of them. A line for each: what, the places, the median of three calls in seconds, and after two places the
// ratio. Places are open before the clock starts, except for ranked lists. Results of one and of all are compared; with one that
// differs the program ends with code 1.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "device/place_set.hpp"
#include "ops/near_duplicates/papers/signatures/signature_join.hpp"
#include "ops/rank_aggregation/list_set.hpp"
#include "primitives/sort/sort_on_places.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

chosen_device all_gpus() {
    context ctx = context::cuda();
    ctx.device.ordinal = device_choice::all_ordinals;
    return choose_device(ctx, "this benchmark", offered_places::several_gpus);
}

/// The median seconds of three calls of `timed`, each after `prepare`; the first call warms up.
double seconds_of(const std::function<void()>& prepare, const std::function<void()>& timed) {
    std::vector<double> seconds;
    for (int round = 0; round < 4; ++round) {
        prepare();
        const auto begin = std::chrono::steady_clock::now();
        timed();
        if (round != 0)
            seconds.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::ranges::sort(seconds);
    return seconds[1];
}

/// measure(chosen) returns the seconds; equal() says whether the result is that of the call before.
void compare(const std::string& what, const std::function<double(const chosen_device&)>& measure,
             const std::function<bool()>& equal) {
    const chosen_device all = all_gpus();
    chosen_device one = all;
    one.more.clear();
    one.name = "cuda:" + std::to_string(one.ordinal);
    const double of_one = measure(one);
    std::printf("%s\t%s\t%.4f\n", what.c_str(), one.name.c_str(), of_one);
    const double of_all = measure(all);
    std::printf("%s\t%s\t%.4f\t%.2f\n", what.c_str(), all.name.c_str(), of_all, of_one / of_all);
    std::fflush(stdout);
    if (!equal()) throw error(what + ": the results differ");
}

void compare_sorting(std::size_t size) {
    std::vector<std::uint64_t> keys(size), sorted_keys, expected_keys;
    std::vector<std::uint32_t> values(size), sorted_values, expected_values;
    for (std::size_t i = 0; i < size; ++i) keys[i] = mixed(i);
    std::iota(values.begin(), values.end(), 0u);
    compare(
        "sorting " + std::to_string(size) + " pairs",
        [&](const chosen_device& chosen) {
            place_set places(context::cuda(), chosen);
            expected_keys = sorted_keys;
            expected_values = sorted_values;
            return seconds_of(
                [&] {
                    sorted_keys = keys;
                    sorted_values = values;
                },
                [&] {
                    primitives::sort_pairs<std::uint64_t, std::uint32_t>(places, sorted_keys, sorted_values);
                });
        },
        [&] { return sorted_keys == expected_keys && sorted_values == expected_values; });
}

void compare_signatures(std::size_t texts) {
    using namespace near_duplicates_detail;
    std::vector<std::uint8_t> letters, levels;
    std::vector<std::uint64_t> offsets{0};
    for (std::uint64_t i = 0; i < texts; ++i) {
        const std::uint64_t like = mixed(i) % 100 == 0 && i > 100 ? i - 100 : i;  // a copy of an earlier one
        levels.push_back(static_cast<std::uint8_t>(2 + mixed(3 * like) % 8));
        for (const std::uint64_t half : {0u, 1u}) {
            const std::uint64_t length = (51 + mixed(5 * like) % 50) / (1 + half);
            for (std::uint64_t at = 0; at < length; ++at)
                letters.push_back(static_cast<std::uint8_t>(mixed((like << 8 | at) * 2 + half) % 64));
            offsets.push_back(letters.size());
        }
    }
    const duplicate_options options;
    const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
    std::vector<candidate> found, expected;
    compare(
        "joining " + std::to_string(texts) + " signatures",
        [&](const chosen_device& chosen) {
            place_set places(context::cuda(), chosen);
            expected = found;
            return seconds_of(
                [] {},
                [&] {
                    duplicate_counts counts;
                    found = join_signatures(places, {letters, offsets, levels}, bounds, {}, counts);
                });
        },
        [&] {
            return std::ranges::equal(found, expected, [](const candidate& x, const candidate& y) {
                return x.a == y.a && x.b == y.b;
            });
        });
}

void compare_lists(std::uint32_t objects) {
    constexpr std::size_t count = 8;
    constexpr std::uint64_t steps[] = {1'000'003,  7'368'787,  15'485'863, 32'452'843,
                                       49'979'687, 67'867'967, 86'028'121, 104'395'301};  // primes
    std::vector<std::vector<std::uint32_t>> ids(count);
    std::vector<float> scores(objects);
    for (std::uint32_t at = 0; at < objects; ++at) scores[at] = static_cast<float>(objects - at);
    std::vector<ranked_list_view<float>> lists;
    for (std::size_t i = 0; i < count; ++i) {
        ids[i].resize(objects);
        for (std::uint64_t at = 0; at < objects; ++at)
            ids[i][at] = static_cast<std::uint32_t>(at * steps[i] % objects);
        lists.push_back({ids[i], scores});
    }
    aggregation_result found, expected;
    compare(
        "one call of top-k, " + std::to_string(objects) + " objects in 8 lists",
        [&](const chosen_device& chosen) {
            expected = found;
            return seconds_of([] {},
                              [&] {
                                  found = rank_aggregation_detail::top_k_of_gathered<float>(
                                      lists, objects, {.k = 100}, context::cuda(), chosen);
                              });
        },
        [&] { return found.ids == expected.ids && found.scores == expected.scores; });
}

}  // namespace
}  // namespace quern

int main(int count, char** arguments) {
    try {
        const double scale = count > 1 ? std::atof(arguments[1]) : 1;
        quern::compare_sorting(static_cast<std::size_t>(1e8 * scale));
        quern::compare_signatures(static_cast<std::size_t>(2e6 * scale));
        quern::compare_lists(static_cast<std::uint32_t>(4e7 * scale));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "several_places_bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
