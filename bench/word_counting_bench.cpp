// SPDX-License-Identifier: Apache-2.0
// word_counting_bench FILE|SIZE THREADS ROUNDS [none|position] [cuda|sort|MEMORY]: counts and weights a text of word ids, window
// 3, with the defaults of `quern words`. FILE: 32-bit ids in native byte order, ids below the maximum known one and the
// two marks; SIZE: number of words of a Zipf distribution over 100,000, a passage of 60 words on average. Prints, as medians
// of all rounds, a line of: stage, seconds; then the counts.
//
// MEMORY: the limit in million bytes beyond which counts are spilled.
// sort: also sorts the packed keys of all co-occurrences, the first step of counting by sorting. The last lines compare the
// time with the limit: the bytes that any counting must read and write, divided by the copy rate of the same threads.
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/ops/word_similarity.hpp"

namespace {

using quern::passage_end;
using quern::unknown_word;

std::vector<std::uint32_t> generated(std::size_t size) {
    constexpr double words = 100'000;
    std::vector<std::uint32_t> text(size);
    std::mt19937_64 random(1);
    for (std::uint32_t& id : text) {
        const std::uint64_t bits = random();
        const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
        id = static_cast<std::uint32_t>(std::pow(words, unit)) - 1;
        if (bits % 64 == 0) id = passage_end;
        if (bits % 64 == 1) id = unknown_word;
    }
    return text;
}

std::vector<std::uint32_t> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<std::uint32_t> text(static_cast<std::size_t>(file.tellg()) / sizeof(std::uint32_t));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(text.data()),
              static_cast<std::streamsize>(text.size() * sizeof(std::uint32_t)));
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        std::exit(1);
    }
    return text;
}

double seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Processor time of all threads, in seconds: not affected by other work on the machine.
double processor_seconds(const std::function<void()>& work) {
    const std::clock_t start = std::clock();
    work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
}

/// The packed key of every co-occurrence with a following word, in order of positions.
std::vector<std::uint64_t> forward_keys(const std::vector<std::uint32_t>& text, unsigned window) {
    std::vector<std::uint64_t> keys;
    keys.reserve(text.size() * window);
    for (std::size_t i = 0; i < text.size(); ++i)
        for (std::size_t j = i + 1; j <= std::min(i + window, text.size() - 1) && text[j] != passage_end; ++j)
            if (text[i] < passage_end && text[j] < passage_end && text[i] != text[j])
                keys.push_back(std::uint64_t{std::min(text[i], text[j])} << 32 | std::max(text[i], text[j]));
    return keys;
}

/// Bytes a second that the threads move, reads and writes counted.
double copy_rate(quern::cpu_place& place) {
    constexpr std::size_t bytes = std::size_t{1} << 29;
    const quern::cpu_array<char> from(place, bytes), to(place, bytes);
    std::memset(from.data(), 1, bytes);
    std::memset(to.data(), 2, bytes);
    std::vector<double> taken;
    for (int round = 0; round < 5; ++round)
        taken.push_back(seconds([&] {
            quern::for_each_piece(place, place.threads(), [&](std::size_t p) {
                const auto part = quern::piece_of(bytes, place.threads(), p);
                std::memcpy(to.data() + part.begin, from.data() + part.begin, part.end - part.begin);
            });
        }));
    return 2.0 * bytes / median(taken);
}

}  // namespace

int main(int count, char** given) {
    const std::vector<std::string> arguments(given, given + count);
    if (count < 4) {
        std::fprintf(
            stderr,
            "usage: word_counting_bench FILE|SIZE THREADS ROUNDS [none|position] [cuda|sort|MEMORY]\n");
        return 2;
    }
    const bool is_size = arguments[1].find_first_not_of("0123456789") == std::string::npos;
    const auto text = is_size ? generated(std::stoull(arguments[1])) : read(arguments[1]);
    const auto threads = static_cast<unsigned>(std::stoul(arguments[2]));
    const int rounds = std::stoi(arguments[3]);
    const bool positional = count > 4 && arguments[4] == "position";
    const std::string also = count > 5 ? arguments[5] : "";

    std::uint32_t words = 0;
    for (const std::uint32_t id : text)
        if (id < passage_end) words = std::max(words, id + 1);
    quern::counting_options counting;
    if (positional) counting.relation = quern::word_relation::position;
    quern::context ctx = quern::context::cpu(threads);
    if (!also.empty() && also.find_first_not_of("0123456789") == std::string::npos)
        ctx.memory_bytes = std::stoull(also) * 1'000'000;
    if (also == "cuda") {
        ctx = quern::context::cuda();
        ctx.threads = threads;
    }

    std::vector<double> pushing, pmi, opening, processor;
    quern::counting_record record;
    std::size_t kept = 0;
    std::uint64_t sum = 0;  // over the whole matrix: the same on every place
    for (int round = 0; round < rounds; ++round) {
        std::unique_ptr<quern::context_counter> counter;
        quern::context_matrix matrix;
        opening.push_back(
            seconds([&] { counter = std::make_unique<quern::context_counter>(words, 1, counting, ctx); }));
        pushing.push_back(seconds([&] {
            constexpr std::size_t at_once = std::size_t{1} << 20;
            for (std::size_t at = 0; at < text.size(); at += at_once)
                counter->push(std::span(text).subspan(at, std::min(at_once, text.size() - at)));
        }));
        processor.push_back(
            processor_seconds([&] { pmi.push_back(seconds([&] { matrix = counter->pmi({}); })); }));
        record = counter->record();
        kept = matrix.columns.size();
        sum = kept;
        for (std::size_t i = 0; i < kept; ++i) {
            std::uint32_t bits;
            std::memcpy(&bits, &matrix.weights[i], sizeof bits);
            sum = sum * 31 + matrix.columns[i] * std::uint64_t{7} + bits;
        }
    }
    std::printf("open\t%.3f\npush\t%.3f\nweigh\t%.3f\nweigh, all threads\t%.3f\n", median(opening),
                median(pushing), median(pmi), median(processor));
    std::printf(
        "words\t%zu of %u\nmeetings\t%zu\ntriples\t%zu\nkept\t%zu\nsum\t%016zx\nspilled\t%zu\nplace\t%s\n",
        std::size_t{record.words_read}, words, std::size_t{record.cooccurrences}, std::size_t{record.triples},
        kept, std::size_t{sum}, std::size_t{record.bytes_spilled}, record.place.c_str());

    quern::cpu_place place(quern::context::cpu(threads));
    if (also == "sort") {
        std::vector<double> sorting;
        std::size_t pairs = 0;
        for (int round = 0; round < rounds; ++round) {
            auto keys = forward_keys(text, counting.window);
            pairs = keys.size();
            sorting.push_back(
                seconds([&] { quern::primitives::sort_keys(place, std::span<std::uint64_t>(keys)); }));
        }
        std::printf("sort of %zu pairs\t%.3f\n", pairs, median(sorting));
    }
    const double rate = copy_rate(place);
    const double bytes = 4.0 * static_cast<double>(text.size()) + 8.0 * static_cast<double>(kept);
    std::printf("copy\t%.1f GB/s\nlimit\t%.3f\n", rate / 1e9, bytes / rate);
}
