// SPDX-License-Identifier: Apache-2.0
// All pairs of fuzzy-hash signatures on a GPU, from device memory to pairs on the host; and the thesis's two kernels.
// signature_cuda_bench joins|table|maps [SIGNATURES]: our joins, the thesis's table, its heat maps; also for the signatures
// in the given file ("B:letters:letters at 2B", the format of signature_bench). One line a measurement, tab-separated: what,
// texts, blocks, threads, seconds, candidates. Joins: the median of 9, warm; the thesis's kernels: one run.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "ops/near_duplicates/papers/signatures/signature_join.hpp"
#include "ops/near_duplicates/papers/signatures/thesis_kernels.hpp"

namespace quern::near_duplicates_detail {
namespace {

std::uint64_t drawn(std::uint64_t& state) {  // splitmix64
    std::uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

struct signatures {
    std::vector<std::uint8_t> letters, levels;
    std::vector<std::uint64_t> offsets{0};

    void add_string(const std::vector<std::uint8_t>& string) {
        letters.insert(letters.end(), string.begin(), string.end());
        offsets.push_back(letters.size());
    }
    signature_view first(std::size_t count) const {
        return {std::span(letters).first(offsets[2 * count]), std::span(offsets).first(2 * count + 1),
                std::span(levels).first(count)};
    }
    signature_view all() const { return first(levels.size()); }
};

/// 51 to 100 letters at B and about half as many at 2B, B from 4 to 1024: like texts of varied lengths. One in
/// a hundred is a copy of an earlier one with up to five letters replaced, in both strings.
signatures generated(std::size_t count, std::uint64_t seed) {
    signatures made;
    const auto random_string = [&](std::size_t length) {
        std::vector<std::uint8_t> string(length);
        for (std::uint8_t& letter : string)
            letter = static_cast<std::uint8_t>(drawn(seed) % signature_letters);
        return string;
    };
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0 && drawn(seed) % 100 == 0) {
            const std::size_t from = drawn(seed) % i;
            for (std::size_t s = 2 * from; s < 2 * from + 2; ++s) {
                std::vector<std::uint8_t> copy(
                    made.letters.begin() + static_cast<std::ptrdiff_t>(made.offsets[s]),
                    made.letters.begin() + static_cast<std::ptrdiff_t>(made.offsets[s + 1]));
                for (auto edits = drawn(seed) % 6; edits > 0; --edits)
                    copy[drawn(seed) % copy.size()] =
                        static_cast<std::uint8_t>(drawn(seed) % signature_letters);
                made.add_string(copy);
            }
            made.levels.push_back(made.levels[from]);
            continue;
        }
        const std::size_t length = 51 + drawn(seed) % 50;
        made.add_string(random_string(length));
        made.add_string(random_string(length / 2 + drawn(seed) % 8));
        made.levels.push_back(static_cast<std::uint8_t>(2 + drawn(seed) % 9));
    }
    return made;
}

signatures read_signatures(const char* path) {
    signatures made;
    std::ifstream file(path);
    const std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        made.levels.push_back(
            static_cast<std::uint8_t>(std::bit_width(std::stoull(line.substr(0, first))) - 1));
        for (const std::string& part :
             {line.substr(first + 1, second - first - 1), line.substr(second + 1)}) {
            std::vector<std::uint8_t> string;
            for (const char c : part) string.push_back(static_cast<std::uint8_t>(alphabet.find(c)));
            made.add_string(string);
        }
    }
    return made;
}

/// The same signatures in device memory, for as long as this lives.
class on_device {
  public:
    on_device(cuda_place& place, const signature_view& view)
        : letters_(array_from(place, view.letters)),
          offsets_(array_from(place, view.offsets)),
          levels_(array_from(place, view.levels)) {}
    device_signatures view() const { return {letters_.span(), offsets_.span(), levels_.span()}; }

  private:
    cuda_array<std::uint8_t> letters_;
    cuda_array<std::uint64_t> offsets_;
    cuda_array<std::uint8_t> levels_;
};

template <class Timed>
void measure(const char* what, std::size_t texts, unsigned blocks, unsigned threads, int rounds,
             const Timed& timed) {
    std::vector<double> seconds;
    std::size_t found = 0;
    if (rounds > 1) timed();  // warm
    for (int r = 0; r < rounds; ++r) {
        const auto begin = std::chrono::steady_clock::now();
        found = timed();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf("%s\t%zu\t%u\t%u\t%.6f\t%zu\n", what, texts, blocks, threads, seconds[seconds.size() / 2],
                found);
    std::fflush(stdout);
}

void measure_join(cuda_place& place, const char* what, const signature_view& view,
                  const signature_bounds& bounds) {
    const on_device device(place, view);
    segments_choice choice;
    if (const char* const parts = std::getenv("QUERN_SEGMENT_PARTS"))
        choice.parts = static_cast<unsigned>(std::atoi(parts));
    if (const char* const use = std::getenv("QUERN_SEGMENTS_USE"))
        choice.use = static_cast<segments_use>(std::atoi(use));
    measure(what, view.texts(), 0, 0, 9, [&] {
        duplicate_counts counts;
        return join_signatures(place, device.view(), bounds, {}, counts, choice).size();
    });
}

void measure_thesis(cuda_place& place, const char* what, const thesis_launch& launch,
                    const signature_view& view, const signature_bounds& bounds) {
    const on_device device(place, view);
    measure(what, view.texts(), launch.blocks, launch.threads, 1, [&] {
        duplicate_counts counts;
        return thesis_candidates(place, launch, view, device.view(), bounds, {}, counts).size();
    });
}

constexpr thesis_kernel kernels[] = {thesis_kernel::rows_in_shared, thesis_kernel::rows_in_global};

void measure_joins(cuda_place& place, const signatures& real, const signature_bounds& bounds) {
    if (!real.levels.empty()) measure_join(place, "join, real", real.all(), bounds);
    const signatures many = generated(1'000'000, 1);
    for (const std::size_t count : {20'000u, 100'000u, 300'000u, 1'000'000u})
        measure_join(place, "join, generated", many.first(count), bounds);
}

void measure_table(cuda_place& place, const signatures& some, const signature_bounds& bounds) {
    const char* const names[] = {"rows in shared memory", "rows in global memory"};
    for (int k = 0; k < 2; ++k) {
        measure_thesis(place, "warm-up", {kernels[k]}, some.first(1000), bounds);
        for (const std::size_t count : {1000u, 2000u, 5000u, 10'000u, 20'000u})
            measure_thesis(place, names[k], {kernels[k]}, some.first(count), bounds);
    }
}

/// The ranges of its figures 5.6 and 5.4.
void measure_maps(cuda_place& place, const signatures& some, const signature_bounds& bounds) {
    constexpr std::size_t count = 1000;
    for (unsigned blocks = 32; blocks <= 412; blocks += 20)
        for (unsigned threads = 16; threads <= 96; threads += 16)
            measure_thesis(place, "map, shared", {kernels[0], blocks, threads}, some.first(count), bounds);
    for (unsigned blocks = 32; blocks <= 320; blocks += 32)
        for (unsigned threads = 32; threads <= 320; threads += 32)
            measure_thesis(place, "map, global", {kernels[1], blocks, threads}, some.first(count), bounds);
}

void run(std::string_view part, const char* path) {
    cuda_place place(context::cuda());
    const duplicate_options options;
    const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
    const signatures real = path != nullptr ? read_signatures(path) : signatures();
    const signatures some = real.levels.size() >= 20'000 ? real : generated(20'000, 1);
    if (part == "joins")
        measure_joins(place, real, bounds);
    else if (part == "table")
        measure_table(place, some, bounds);
    else if (part == "maps")
        measure_maps(place, some, bounds);
    else
        throw usage_error("unknown part (expected joins, table or maps)");
}

}  // namespace
}  // namespace quern::near_duplicates_detail

int main(int count, char** arguments) {
    try {
        quern::near_duplicates_detail::run(count > 1 ? arguments[1] : "", count > 2 ? arguments[2] : nullptr);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "signature_cuda_bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
