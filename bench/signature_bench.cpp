// SPDX-License-Identifier: Apache-2.0
// Fuzzy-hash signatures and their join on the CPU.
//
//     signature_bench TEXTS OFFSETS FOLDER
//     signature_bench --thesis TEXTS OFFSETS SECONDS
//
// TEXTS, OFFSETS: concatenated texts, and their offsets (uint64; one more than texts). Writes the signatures of the first 20,000 texts to FOLDER
// for the peers: signatures.100 and signatures.64, lines "B:letters:letters at 2B" of at most 100 and 64 letters.
// One line a measurement, tab-separated: what, texts, threads, seconds (the median of 5), result.
// --thesis: its table 5.2 on one thread, all pairs of signatures at B, none that would take more than SECONDS: what, texts, pairs
// compared, processor seconds, or a hyphen if not run; wall-clock seconds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/papers/signatures/signature_join.hpp"
#include "ops/near_duplicates/papers/signatures/thesis_kernels.hpp"
#include "primitives/edit_distance/edit_distance.hpp"

namespace quern::near_duplicates_detail {
namespace {

template <class T>
std::vector<T> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<T> values(static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0)) / sizeof(T));
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(T))))
        throw std::runtime_error("cannot read " + path);
    return values;
}

template <class Timed>
void measure(const char* what, std::size_t texts, unsigned threads, int rounds, const Timed& timed) {
    std::vector<double> seconds;
    std::uint64_t result = 0;
    for (int r = 0; r < rounds; ++r) {
        const auto begin = std::chrono::steady_clock::now();
        result = timed();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf("%s\t%zu\t%u\t%.4f\t%llu\n", what, texts, threads, seconds[seconds.size() / 2],
                static_cast<unsigned long long>(result));
    std::fflush(stdout);
}

/// Candidates whose texts have an edit rate below the threshold.
std::uint64_t verified(cpu_place& place, const text_list& texts, const std::vector<candidate>& candidates,
                       const decimal& threshold) {
    std::vector<primitives::bounded_pair> pairs;
    for (const candidate& c : candidates) {
        const std::uint64_t a = texts.length(c.a), b = texts.length(c.b);
        if (lengths_allow(threshold, std::min(a, b), std::max(a, b)))
            pairs.push_back({c.a, c.b, largest_distance(threshold, a + b)});
    }
    std::vector<std::uint32_t> distances(pairs.size());
    primitives::edit_distances<std::uint8_t>(
        place, {reinterpret_cast<const std::uint8_t*>(texts.bytes.data()), texts.bytes.size()}, texts.offsets,
        pairs, distances);
    return static_cast<std::uint64_t>(std::count_if(
        distances.begin(), distances.end(), [](std::uint32_t d) { return d != primitives::beyond_bound; }));
}

void write_signatures(const text_list& texts, unsigned length, const std::string& path) {
    std::ofstream file(path);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const fuzzy_signature s = signature_of(texts[i], length);
        file << s.block_size << ':' << s.letters << ':' << s.letters_at_double << '\n';
    }
    if (!file) throw std::runtime_error("cannot write " + path);
}

void run(const std::vector<char>& bytes, const std::vector<std::uint64_t>& offsets,
         const std::string& folder) {
    const duplicate_options options;
    const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
    const auto first = [&](std::size_t count) {
        return text_list{bytes, std::span(offsets).first(std::min(count + 1, offsets.size()))};
    };
    const text_list all = first(offsets.size() - 1), some = first(20'000);
    write_signatures(some, 100, folder + "/signatures.100");
    write_signatures(some, 64, folder + "/signatures.64");
    for (const unsigned threads : {1u, 2u}) {
        cpu_place place(context::cpu(threads));
        measure("sign", all.size(), threads, 5,
                [&] { return signature_list(place, all, options.signature_length).view().letters.size(); });
        for (const text_list& texts : {some, all}) {
            const signature_list signatures(place, texts, options.signature_length);
            std::vector<candidate> found;
            duplicate_counts counts;
            measure("join", texts.size(), threads, 5, [&] {
                found = join_signatures(place, signatures.view(), bounds, {}, counts);
                return found.size();
            });
            measure("verify", texts.size(), threads, 1,
                    [&] { return verified(place, texts, found, options.threshold); });
        }
    }
    cpu_place place(context::cpu());
    const text_list few = first(1000);
    const signature_list signatures(place, few, options.signature_length);
    duplicate_counts counts;
    measure("thesis", few.size(), place.threads(), 1,
            [&] { return thesis_candidates(place, signatures.view(), bounds, {}, counts).size(); });
}

void run_thesis(const std::vector<char>& bytes, const std::vector<std::uint64_t>& offsets, double limit) {
    const duplicate_options options;
    const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
    cpu_place place(context::cpu(1));
    double rate = 0;  // pairs a second
    for (const std::size_t count : {1000u, 2000u, 5000u, 10'000u, 20'000u}) {
        const text_list texts{bytes, std::span(offsets).first(std::min(count + 1, offsets.size()))};
        const double pairs = static_cast<double>(texts.size()) * static_cast<double>(texts.size() - 1) / 2;
        std::printf("signatures\t%zu\t%.0f\t", texts.size(), pairs);
        if (rate > 0 && pairs / rate > limit) {
            std::puts("-\t-");
            continue;
        }
        const signature_list signatures(place, texts, options.signature_length);
        duplicate_counts counts;
        const auto begin = std::chrono::steady_clock::now();
        const std::clock_t used = std::clock();
        thesis_candidates(place, signatures.view(), bounds, {}, counts);
        const double seconds = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
        rate = pairs / seconds;
        std::printf("%.3f\t%.3f\n", seconds,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        std::fflush(stdout);
    }
}

}  // namespace
}  // namespace quern::near_duplicates_detail

int main(int count, char** arguments) {
    using namespace quern::near_duplicates_detail;
    try {
        if (count == 5 && std::string_view(arguments[1]) == "--thesis") {
            run_thesis(read_file<char>(arguments[2]), read_file<std::uint64_t>(arguments[3]),
                       std::stod(arguments[4]));
            return 0;
        }
        if (count != 4) throw std::runtime_error("usage: signature_bench TEXTS OFFSETS FOLDER");
        run(read_file<char>(arguments[1]), read_file<std::uint64_t>(arguments[2]), arguments[3]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "signature_bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
