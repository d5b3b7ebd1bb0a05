// SPDX-License-Identifier: Apache-2.0
// operator_bench STORE QUERIES PASSES: times queries with operators through search_engine on one thread, BM25 with k1 = 1.2
// and b = 0.75, without snippets. A line of QUERIES is a collection mode, a tab and a query, perhaps a tab and a filter by
// kept fields: TOP_10, TOP_100, COUNT or TOP_100_COUNT. Prints JSON: the median seconds of each query over PASSES passes, those of a first
// pass before them, its number of documents (0 if the mode does not count) and its ten best documents. Run by
// bench/run-benchmark-game and bench/run-filters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "quern/tasks/search.hpp"

namespace {

struct timed_query {
    std::string text;
    quern::search_options options;
};

timed_query query_of(const std::string& line) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) throw std::runtime_error("a query needs a mode and a tab: " + line);
    const std::string mode = line.substr(0, tab);
    const std::size_t end = line.find('\t', tab + 1);
    timed_query made{line.substr(tab + 1, end - tab - 1), {}};
    if (end != std::string::npos) made.options.filter = line.substr(end + 1);
    made.options.ranking.k1 = 1.2;
    made.options.ranking.b = 0.75;
    made.options.syntax = quern::query_syntax::operators;
    made.options.snippets = made.options.duplicates = made.options.fields = false;
    made.options.count = mode == "COUNT";
    made.options.total = mode == "TOP_100_COUNT";
    made.options.k = mode == "TOP_10" ? 10 : 100;
    return made;
}

void measure(char** arguments) {
    quern::context ctx;
    ctx.threads = 1;
    const auto engine = quern::search_engine::open(arguments[1], ctx);
    std::vector<timed_query> queries;
    std::ifstream file(arguments[2]);
    for (std::string line; std::getline(file, line);) queries.push_back(query_of(line));
    const int passes = std::atoi(arguments[3]);

    std::vector<std::vector<double>> seconds(queries.size());
    std::vector<double> first;
    std::vector<std::vector<std::uint32_t>> top(queries.size());
    std::vector<std::uint64_t> counts(queries.size());
    for (int pass = 0; pass <= passes; ++pass) {
        for (std::size_t q = 0; q < queries.size(); ++q) {
            const auto begin = std::chrono::steady_clock::now();
            const quern::search_result result = engine.search(queries[q].text, queries[q].options);
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            if (pass > 0) {
                seconds[q].push_back(taken.count());
                continue;
            }
            first.push_back(taken.count());
            counts[q] = result.total.value_or(0);
            for (std::size_t i = 0; i < std::min<std::size_t>(10, result.hits.size()); ++i)
                top[q].push_back(result.hits[i].document);
        }
    }
    std::vector<double> medians;
    for (auto& one : seconds) {
        std::ranges::sort(one);
        medians.push_back(one[one.size() / 2]);
    }
    fmt::print("{{\"seconds\":[{:.9f}],\"first\":[{:.9f}],\"counts\":{},\"top\":{}}}\n",
               fmt::join(medians, ","), fmt::join(first, ","), counts, top);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        fmt::print(stderr, "usage: operator_bench STORE QUERIES PASSES\n");
        return 2;
    }
    try {
        measure(arguments);
    } catch (const std::exception& problem) {
        fmt::print(stderr, "operator_bench: {}\n", problem.what());
        return 1;
    }
}
