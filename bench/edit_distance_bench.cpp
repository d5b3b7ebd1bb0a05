// SPDX-License-Identifier: Apache-2.0
// Bounded edit distances of the pairs in a folder: units.bin (bytes), offsets.bin (u64), pairs.bin (u32 a, b, bound).
//
//     edit_distance_bench time FOLDER THREADS     the median of 3 runs, wall and processor seconds (which other
//                                                 work on the machine affects less); distances.bin (u32)
//     edit_distance_bench pairs FOLDER PERCENT    makes pairs.bin: those whose lengths and counts of units and of
//                                                 adjacent units allow an edit rate below PERCENT/100
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "primitives/edit_distance/edit_distance.hpp"

namespace {

using quern::primitives::bounded_pair;

template <class T>
std::vector<T> read_all(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::vector<T> values(std::filesystem::file_size(file) / sizeof(T));
    if (!in.read(reinterpret_cast<char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * sizeof(T))))
        throw std::runtime_error("cannot read " + file.string());
    return values;
}
template <class T>
void write_all(const std::filesystem::path& file, const std::vector<T>& values) {
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
    if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

void time_pairs(const std::filesystem::path& folder, unsigned threads) {
    const auto units = read_all<std::uint8_t>(folder / "units.bin");
    const auto offsets = read_all<std::uint64_t>(folder / "offsets.bin");
    const auto pairs = read_all<bounded_pair>(folder / "pairs.bin");
    std::vector<std::uint32_t> distances(pairs.size());
    quern::cpu_place place(quern::context::cpu(threads));
    std::array<double, 3> seconds{}, processors{};
    for (std::size_t r = 0; r < seconds.size(); ++r) {
        const auto begin = std::chrono::steady_clock::now();
        const std::clock_t spent = std::clock();
        quern::primitives::edit_distances<std::uint8_t>(place, units, offsets, pairs, distances);
        processors[r] = static_cast<double>(std::clock() - spent) / CLOCKS_PER_SEC;
        seconds[r] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    std::sort(seconds.begin(), seconds.end());
    std::sort(processors.begin(), processors.end());
    write_all(folder / "distances.bin", distances);
    std::printf("%.6f %.6f\n", seconds[1], processors[1]);
}

constexpr std::size_t buckets = 256;
using counts = std::array<std::uint16_t, buckets>;

/// The number of occurrences of each value of hash(unit, next unit), up to 16 bits. An edit changes the sum of all
/// differences by at most 2 for single units, 4 for adjacent pairs.
template <class Hash>
std::vector<counts> count_all(const std::vector<std::uint8_t>& units,
                              const std::vector<std::uint64_t>& offsets, std::size_t row, const Hash& hash) {
    std::vector<counts> all(offsets.size() - 1);
    for (std::size_t s = 0; s < all.size(); ++s)
        for (std::uint64_t i = offsets[s]; i + row <= offsets[s + 1]; ++i) {
            std::uint16_t& count = all[s][hash(&units[i])];
            if (count != 0xffff) ++count;
        }
    return all;
}
std::uint32_t difference(const counts& a, const counts& b) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < buckets; ++i)
        sum += static_cast<std::uint32_t>(a[i] < b[i] ? b[i] - a[i] : a[i] - b[i]);
    return sum;
}

void make_pairs(const std::filesystem::path& folder, std::uint64_t percent) {
    const auto units = read_all<std::uint8_t>(folder / "units.bin");
    const auto offsets = read_all<std::uint64_t>(folder / "offsets.bin");
    const auto single = count_all(units, offsets, 1, [](const std::uint8_t* u) { return std::size_t{u[0]}; });
    const auto two = count_all(units, offsets, 2, [](const std::uint8_t* u) {
        return (u[0] * 167u + u[1] * 3001u) % 1021u % buckets;
    });
    const auto length = [&](std::uint32_t s) { return offsets[s + 1] - offsets[s]; };
    std::vector<std::uint32_t> by_length(offsets.size() - 1);
    for (std::size_t s = 0; s < by_length.size(); ++s) by_length[s] = static_cast<std::uint32_t>(s);
    std::stable_sort(by_length.begin(), by_length.end(),
                     [&](auto a, auto b) { return length(a) < length(b); });
    std::vector<bounded_pair> pairs;
    for (std::size_t i = 0; i < by_length.size(); ++i) {
        for (std::size_t j = i + 1; j < by_length.size(); ++j) {
            const std::uint32_t a = by_length[i], b = by_length[j];
            const std::uint64_t both = length(a) + length(b),
                                bound = both == 0 ? 0 : (percent * both - 1) / 100;
            if (length(b) - length(a) > bound) break;
            if (difference(single[a], single[b]) > 2 * bound || difference(two[a], two[b]) > 4 * bound)
                continue;
            pairs.push_back({std::min(a, b), std::max(a, b), static_cast<std::uint32_t>(bound)});
        }
    }
    write_all(folder / "pairs.bin", pairs);
    std::printf("%zu\n", pairs.size());
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const std::vector<std::string> words(arguments + 1, arguments + count);
        if (words.size() == 3 && words[0] == "time")
            time_pairs(words[1], static_cast<unsigned>(std::stoul(words[2])));
        else if (words.size() == 3 && words[0] == "pairs")
            make_pairs(words[1], std::stoull(words[2]));
        else
            throw std::invalid_argument(
                "usage: edit_distance_bench time FOLDER THREADS | pairs FOLDER PERCENT");
        return EXIT_SUCCESS;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "edit_distance_bench: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
