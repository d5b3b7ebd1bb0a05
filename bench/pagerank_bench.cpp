// SPDX-License-Identifier: Apache-2.0
// PageRank of a graph in memory: pagerank_bench GRAPH THREADS TRIALS STORAGE... (a file, or a name
// of generator/named_input.hpp; "auto", "csr" …). For each trial and storage, in turns, one line: storage, the seconds
// of a call of 10 iterations, of one of 30, of one up to a change of 1e-5, and its iterations. The difference between
// the first two is 20 iterations without the one-time work of a call.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "generator/named_input.hpp"
#include "quern/ops/link_rank.hpp"

namespace {

using namespace quern;

struct timed_ranks {
    double seconds = 0;
    link_ranks found;
};

timed_ranks timed(const link_graph& graph, const page_rank_options& options, const context& ctx) {
    const auto begin = std::chrono::steady_clock::now();
    link_ranks found = page_rank(graph.view(), options, ctx);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return {taken.count(), std::move(found)};
}

rank_storage storage_called(const std::string& name) {
    for (std::size_t i = 0; i < std::size(rank_storage_names); ++i)
        if (rank_storage_names[i] == name) return static_cast<rank_storage>(i);
    throw std::invalid_argument("unknown storage " + name);
}

void measure(const std::vector<std::string>& words) {
    const context ctx = context::cpu(static_cast<unsigned>(std::stoul(words[1])));
    const generator::graph made = generator::graph_called(words[0], ctx);
    const link_graph graph = make_link_graph(made.nodes, made.links, {}, ctx);
    std::fprintf(stderr, "%s: %u nodes, %zu links\n", words[0].c_str(), made.nodes, made.links.size());
    for (unsigned long trial = 0; trial < std::stoul(words[2]); ++trial) {
        for (std::size_t i = 3; i < words.size(); ++i) {
            page_rank_options options;
            options.storage = storage_called(words[i]);
            const timed_ranks whole = timed(graph, options, ctx);
            options.tolerance = 1e-300;  // never reached
            options.max_iterations = 10;
            const timed_ranks few = timed(graph, options, ctx);
            options.max_iterations = 30;
            const timed_ranks more = timed(graph, options, ctx);
            if (few.found.iterations != 10 || more.found.iterations != 30)
                throw std::runtime_error("the iterations ended early");
            std::printf("%s\t%.6f\t%.6f\t%.6f\t%u\n", words[i].c_str(), few.seconds, more.seconds,
                        whole.seconds, whole.found.iterations);
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.size() < 4) {
        std::fputs("usage: pagerank_bench GRAPH THREADS TRIALS STORAGE...\n", stderr);
        return 2;
    }
    try {
        measure(words);
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "pagerank_bench: %s\n", wrong.what());
        return 1;
    }
    return 0;
}
