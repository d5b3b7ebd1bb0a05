// SPDX-License-Identifier: Apache-2.0
// Search over a synthetic collection with word frequencies of natural language (Zipf): microseconds a
// query by model, k, number of words and size, pruned and exhaustive; and nanoseconds a posting of decoding.
#include <benchmark/benchmark.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ops/search/postings.hpp"
#include "ops/search/search_impl.hpp"

namespace {

using namespace quern;
using search_detail::strategy;

struct sample_collection {
    std::vector<std::uint32_t> lengths;
    std::uint64_t words = 0;
    std::string bytes;
    std::vector<std::pair<std::size_t, std::size_t>> positions;
    std::vector<search_detail::postings_writer::totals> totals;

    // Word w is in a document of average length with probability 1 - exp(-shares[w] · length).
    explicit sample_collection(std::uint32_t documents) {
        std::mt19937_64 random(1);
        std::lognormal_distribution<double> length(7.6, 0.9);
        for (std::uint32_t d = 0; d < documents; ++d) {
            lengths.push_back(1 + static_cast<std::uint32_t>(length(random)));
            words += lengths.back();
        }
        search_detail::postings_writer writer(bytes, lengths);
        for (int w = 0; w < 48; ++w) {
            const double share = 0.003 * std::pow(0.8, w);
            const std::size_t begin = bytes.size();
            for (std::uint32_t d = 0; d < documents; ++d) {
                // words come in bursts: half of the documents avoid them
                if (random() % 2 == 0) continue;
                const auto f = std::poisson_distribution<std::uint32_t>(2 * share * lengths[d])(random);
                if (f > 0) writer.add(d, f);
            }
            totals.push_back(writer.finish_list());
            positions.emplace_back(begin, bytes.size() - begin);
        }
    }
    query_term term(std::size_t w) const {
        return {{{bytes.data() + positions[w].first, positions[w].second},
                 totals[w].document_frequency,
                 totals[w].collection_frequency},
                1};
    }
    collection_view view() const { return {lengths, words}; }
};

const sample_collection& collection_of(std::uint32_t documents) {
    static std::map<std::uint32_t, sample_collection> made;
    return made.try_emplace(documents, documents).first->second;
}

// Arguments: documents, model, k, words in the query, pruned.
void run_queries(benchmark::State& state) {
    const auto& collection = collection_of(static_cast<std::uint32_t>(state.range(0)));
    const ranking_options options{.model = static_cast<ranking_model>(state.range(1))};
    std::mt19937_64 random(2);
    std::vector<std::vector<query_term>> queries(64);
    std::uint64_t postings = 0;
    for (auto& query : queries)
        for (int i = 0; i < state.range(3); ++i) {
            query.push_back(collection.term(random() % collection.positions.size()));
            postings += query.back().list.document_frequency;
        }
    std::size_t next = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(search_detail::rank_cpu(
            collection.view(), {queries[next++ % queries.size()]}, options,
            static_cast<std::size_t>(state.range(2)), {strategy::largest_window, state.range(4) != 0}));
    state.counters["postings"] = static_cast<double>(postings) / static_cast<double>(queries.size());
}
BENCHMARK(run_queries)
    ->ArgNames({"documents", "model", "k", "words", "pruned"})
    ->Unit(benchmark::kMicrosecond)
    ->ArgsProduct({{4598, 500'000}, {0, 1, 2, 3}, {10}, {3}, {0, 1}})
    ->ArgsProduct({{4598, 500'000}, {0}, {1000}, {3}, {0, 1}})
    ->ArgsProduct({{500'000}, {0}, {10}, {1, 8}, {0, 1}});

void decode_list(benchmark::State& state) {
    const auto& collection = collection_of(500'000);
    const auto list = collection.term(static_cast<std::size_t>(state.range(0))).list;
    for (auto _ : state)
        for (search_detail::postings_cursor cursor(list, collection.lengths); !cursor.done();
             cursor.next_block()) {
            cursor.decode();
            benchmark::DoNotOptimize(cursor.documents().data());
        }
    state.SetItemsProcessed(state.iterations() * list.document_frequency);
    state.counters["bits_per_posting"] =
        8.0 * static_cast<double>(list.bytes.size()) / list.document_frequency;
}
BENCHMARK(decode_list)->ArgName("word")->Arg(0)->Arg(16)->Arg(32);

}  // namespace

BENCHMARK_MAIN();
