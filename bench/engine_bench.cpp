// SPDX-License-Identifier: Apache-2.0
// engine_bench STORE QUERIES K1 B K PASSES: times each query (a line of QUERIES) through search_engine on one
// thread, BM25, without snippets. Prints JSON: the median seconds of each query over PASSES passes, and its
// ten best documents. A pass before them warms the caches. Run by bench/run-search with the peers, whose
// programs print the same.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "quern/tasks/search.hpp"

namespace {

std::vector<std::string> read_lines(const char* path) {
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

void measure(char** arguments) {
    quern::context ctx;
    ctx.threads = 1;
    const auto engine = quern::search_engine::open(arguments[1], ctx);
    const std::vector<std::string> queries = read_lines(arguments[2]);
    quern::search_options options;
    options.ranking.k1 = std::atof(arguments[3]);
    options.ranking.b = std::atof(arguments[4]);
    options.k = static_cast<std::size_t>(std::atoll(arguments[5]));
    options.snippets = false;
    const int passes = std::atoi(arguments[6]);

    std::vector<std::vector<double>> seconds(queries.size());
    std::vector<std::vector<std::uint32_t>> top(queries.size());
    for (int pass = 0; pass <= passes; ++pass) {
        for (std::size_t q = 0; q < queries.size(); ++q) {
            const auto begin = std::chrono::steady_clock::now();
            const quern::search_result result = engine.search(queries[q], options);
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            if (pass > 0) {
                seconds[q].push_back(taken.count());
                continue;
            }
            for (std::size_t i = 0; i < std::min<std::size_t>(10, result.hits.size()); ++i) {
                top[q].push_back(result.hits[i].document);
            }
        }
    }
    std::vector<double> medians;
    for (auto& one : seconds) {
        std::ranges::sort(one);
        medians.push_back(one[one.size() / 2]);
    }
    fmt::print("{{\"seconds\":[{:.9f}],\"top\":{}}}\n", fmt::join(medians, ","), top);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 7) {
        fmt::print(stderr, "usage: engine_bench STORE QUERIES K1 B K PASSES\n");
        return 2;
    }
    try {
        measure(arguments);
    } catch (const std::exception& problem) {
        fmt::print(stderr, "engine_bench: {}\n", problem.what());
        return 1;
    }
}
