// SPDX-License-Identifier: Apache-2.0
// phrase_bench STORE PHRASES PASSES: times each phrase (a line of PHRASES) through ngram_counter on one thread: reads and
// looks up its words, finds all documents that contain it, with its count in each. Prints JSON: the median seconds of each
// phrase over PASSES passes, its documents and its occurrences. A pass before them warms the caches. Run by
// bench/run-search.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "quern/tasks/count.hpp"

namespace {

void measure(char** arguments) {
    quern::context ctx;
    ctx.threads = 1;
    const auto counter = quern::ngram_counter::open(arguments[1], ctx);
    std::vector<std::string> phrases;
    std::ifstream file(arguments[2]);
    for (std::string line; std::getline(file, line);) phrases.push_back(line);
    const int passes = std::atoi(arguments[3]);

    std::vector<std::vector<double>> seconds(phrases.size());
    std::vector<std::uint64_t> documents, occurrences;
    for (int pass = 0; pass <= passes; ++pass) {
        for (std::size_t p = 0; p < phrases.size(); ++p) {
            const auto begin = std::chrono::steady_clock::now();
            const quern::ngram_occurrences found = counter.count(phrases[p], ctx);
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            if (pass > 0) {
                seconds[p].push_back(taken.count());
                continue;
            }
            documents.push_back(found.documents.size());
            occurrences.push_back(found.count);
        }
    }
    std::vector<double> medians;
    for (auto& one : seconds) {
        std::ranges::sort(one);
        medians.push_back(one[one.size() / 2]);
    }
    fmt::print("{{\"seconds\":[{:.9f}],\"documents\":{},\"occurrences\":{}}}\n", fmt::join(medians, ","),
               documents, occurrences);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        fmt::print(stderr, "usage: phrase_bench STORE PHRASES PASSES\n");
        return 2;
    }
    try {
        measure(arguments);
    } catch (const std::exception& problem) {
        fmt::print(stderr, "phrase_bench: {}\n", problem.what());
        return 1;
    }
}
