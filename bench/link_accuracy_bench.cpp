// SPDX-License-Identifier: Apache-2.0
// The experiments on accuracy of the paper on BRCP (Yang et al. 2019, table 3, figures 10 and 11), in every format, on
// the CPU or a GPU (DEVICE: cpu, cuda):
//
//   link_accuracy_bench DEVICE spmv RUNS MATRIX...   the twin of each times a vector of ones, float and double
//   link_accuracy_bench DEVICE rank STEPS GRAPH...   PageRank of each, twins or files, to 1e-5, and after STEPS
//   link_accuracy_bench DEVICE rank-f32 STEPS GRAPH...   the same in floats, the paper's type
//   link_accuracy_bench DEVICE check GRAPH...        PageRank in integers to 1e-12 against long double
//
// Lines, tab-separated. spmv: matrix, type, format, median seconds of a product, seconds to convert, bytes, Σ(x−μ)/μ and
// Σ|x−μ|/|μ|, rows with μ = 0, the share of results that are not the exact sum rounded once (means of RUNS runs), and
// the number of runs whose bits differ from the first's, and the format that was used. rank: graph, storage, iterations to 1e-5, then the
// numbers of correct nodes among the first 100 and the first 10,000; the same three to 1e-13 or STEPS; seconds of an
// iteration: of STEPS with a damping of 0.99 minus the first, divided by the iterations between. check: graph, the number of
// correct nodes among the first 10,000, the number of exact ties among the others, the L1 distance, its promised bound, and
// a fingerprint of the ranks' bits, the same on every place.
//
// μ is summed in pairs of doubles (Knuth's TwoSum): an error below n² 2^-106 times the sum of the magnitudes. The correct
// order is that of the exact integers at a tolerance of 1e-13, which `check` compares with a reference in long double.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "generator/named_input.hpp"
#include "quern/ops/link_rank.hpp"
#include "quern/ops/sparse.hpp"

namespace {

using namespace quern;

/// An unevaluated sum of two doubles.
struct exact_value {
    double high = 0, low = 0;
    void add(double value) {
        const double sum = high + value, part = sum - high;
        low += (high - (sum - part)) + (value - part);
        high = sum;
    }
    /// Rounded once.
    void round_to(double& rounded) const { rounded = high + low; }
    void round_to(float& rounded) const { rounded = static_cast<float>(value()); }
    long double value() const { return static_cast<long double>(high) + low; }
};

template <class Value>
struct square_matrix {
    std::uint32_t rows;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> column;
    std::vector<Value> value;
    sparse_matrix_view<Value> view() const { return {rows, rows, offsets, column, value}; }
};

/// The product with a vector of ones.
template <class Value>
std::vector<exact_value> row_sums(const square_matrix<Value>& matrix) {
    std::vector<exact_value> sums(matrix.rows);
    for (std::uint32_t row = 0; row < matrix.rows; ++row)
        for (std::uint64_t k = matrix.offsets[row]; k < matrix.offsets[row + 1]; ++k)
            sums[row].add(static_cast<double>(matrix.value[k]));
    return sums;
}

struct error_sums {
    long double plain = 0, absolute = 0;
    std::size_t zero_rows = 0, not_rounded = 0;
};
template <class Value>
error_sums compared(const std::vector<Value>& found, const std::vector<exact_value>& exact) {
    error_sums sums;
    for (std::size_t row = 0; row < found.size(); ++row) {
        const long double wanted = exact[row].value();
        Value rounded;
        exact[row].round_to(rounded);
        sums.not_rounded += found[row] == rounded ? 0 : 1;
        if (wanted == 0) {
            ++sums.zero_rows;
            continue;
        }
        const long double error = static_cast<long double>(found[row]) - wanted;
        sums.plain += error / wanted;
        sums.absolute += std::fabs(error) / std::fabs(wanted);
    }
    return sums;
}

template <class Value>
bool same_bits(const std::vector<Value>& a, const std::vector<Value>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Value)) == 0);
}

template <class Value>
void measure_product(const char* name, const char* type, const generator::matrix& made, std::uint32_t runs,
                     const context& ctx) {
    square_matrix<Value> matrix{made.rows, made.offsets, made.column, {made.value.begin(), made.value.end()}};
    const std::vector<exact_value> exact = row_sums(matrix);
    const std::vector<Value> ones(matrix.rows, Value{1});
    for (std::size_t s = 0; s < std::size(sparse_storage_names); ++s) {  // also what `automatic` takes
        multiply_options options;
        options.storage = static_cast<sparse_storage>(s);
        options.repeat = 20;  // for the time
        try {
            product<Value> first = multiply(matrix.view(), std::span<const Value>(ones), options, ctx);
            error_sums sums = compared(first.y, exact);
            std::uint32_t counted = 1, differing = 0;
            for (options.repeat = 1; counted < runs; ++counted) {
                const product<Value> again =
                    multiply(matrix.view(), std::span<const Value>(ones), options, ctx);
                const error_sums more = compared(again.y, exact);
                sums.plain += more.plain;
                sums.absolute += more.absolute;
                sums.not_rounded += more.not_rounded;
                differing += same_bits(first.y, again.y) ? 0 : 1;
            }
            std::ranges::sort(first.seconds);
            std::printf("%s\t%s\t%s\t%.9f\t%.6f\t%llu\t%.6Lg\t%.6Lg\t%zu\t%.6g\t%u\t%s\n", name, type,
                        sparse_storage_names[s].data(), first.seconds[first.seconds.size() / 2],
                        first.conversion_seconds, static_cast<unsigned long long>(first.bytes),
                        sums.plain / counted, sums.absolute / counted, sums.zero_rows,
                        static_cast<double>(sums.not_rounded) / counted / matrix.rows, differing,
                        sparse_storage_names[static_cast<std::size_t>(first.storage)].data());
        } catch (const std::exception& wrong) {  // ell, where padding would be most of it
            std::fprintf(stderr, "%s %s: %s\n", name, sparse_storage_names[s].data(), wrong.what());
        }
        std::fflush(stdout);
    }
}

std::size_t same_places(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b,
                        std::size_t first) {
    std::size_t same = 0;
    for (std::size_t i = 0; i < std::min({first, a.size(), b.size()}); ++i) same += a[i] == b[i] ? 1 : 0;
    return same;
}

void measure_ranks(const std::string& name, const link_graph& graph, value_precision precision,
                   std::uint32_t steps, const context& ctx) {
    page_rank_options options;
    options.tolerance = 1e-13;
    const std::vector<std::uint32_t> right = page_rank(graph.view(), options, ctx).order;
    options.precision = precision;
    const std::size_t first_storage = precision == value_precision::f64 ? 0 : 1;  // auto counts in integers
    for (std::size_t s = first_storage; s < std::size(rank_storage_names); ++s) {
        options.storage = static_cast<rank_storage>(s);
        std::string line = name + '\t' + std::string(rank_storage_names[s]);
        const auto ranked = [&](double damping, double tolerance, std::uint32_t max) {
            options.damping = damping;
            options.tolerance = tolerance;
            options.max_iterations = max;
            const auto begin = std::chrono::steady_clock::now();
            link_ranks found = page_rank(graph.view(), options, ctx);
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            return std::pair(std::move(found), taken.count());
        };
        try {
            const auto [found, seconds] = ranked(0.85, 1e-5, 1000);
            const link_ranks after_many = ranked(0.85, 1e-13, steps).first;
            for (const link_ranks& each : {found, after_many}) {
                line += '\t' + std::to_string(each.iterations);
                for (const std::size_t first : {100, 10'000})
                    line += '\t' + std::to_string(same_places(right, each.order, first));
            }
            // With more damping the change reaches zero later.
            const auto [last, longer] = ranked(0.99, 1e-300, steps);
            std::printf("%s\t%.9f\n", line.c_str(),
                        (longer - seconds) / (last.iterations - 1.0 * found.iterations));
        } catch (const std::exception& wrong) {  // ell, where padding would be most of it
            std::fprintf(stderr, "%s: %s\n", line.c_str(), wrong.what());
        }
        std::fflush(stdout);
    }
}

/// One step of PageRank from its definition; each node's sum in the order of its links.
std::vector<long double> step(const link_graph& graph, const std::vector<long double>& ranks) {
    const long double alpha = page_rank_options().damping, n = graph.nodes;
    long double dangling_mass = 0;
    std::vector<long double> contributions(graph.nodes), next(graph.nodes);
    for (std::uint32_t u = 0; u < graph.nodes; ++u) {
        if (graph.out_degrees[u] == 0) {
            dangling_mass += ranks[u];
        } else {
            contributions[u] = ranks[u] / static_cast<long double>(graph.out_degrees[u]);
        }
    }
    tbb::parallel_for(tbb::blocked_range<std::uint32_t>(0, graph.nodes), [&](const auto& some) {
        for (std::uint32_t v = some.begin(); v < some.end(); ++v) {
            long double sum = 0;
            for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
                sum += contributions[graph.sources[e]];
            next[v] = alpha * (sum + dangling_mass / n) + (1 - alpha) / n;
        }
    });
    return next;
}

void check_ranks(const std::string& name, const link_graph& graph, const context& ctx) {
    std::vector<long double> ranks(graph.nodes, 1.0L / graph.nodes);
    for (long double change = 1; change > 1e-16L;) {
        std::vector<long double> next = step(graph, ranks);
        change = 0;
        for (std::uint32_t v = 0; v < graph.nodes; ++v) change += std::fabs(next[v] - ranks[v]);
        ranks = std::move(next);
    }
    std::vector<std::uint32_t> right(graph.nodes);
    std::iota(right.begin(), right.end(), 0U);
    std::ranges::stable_sort(right, [&](std::uint32_t a, std::uint32_t b) { return ranks[a] > ranks[b]; });
    page_rank_options options;
    options.tolerance = 1e-12;
    const link_ranks found = page_rank(graph.view(), options, ctx);
    long double distance = 0;
    for (std::uint32_t v = 0; v < graph.nodes; ++v) distance += std::fabs(found.ranks[v] - ranks[v]);
    // If two ranks differ by less than the error, neither order is wrong: such positions are counted separately.
    std::size_t ties = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(10'000, right.size()); ++i)
        ties +=
            found.order[i] != right[i] && std::fabs(ranks[found.order[i]] - ranks[right[i]]) < 1e-17L ? 1 : 0;
    const std::string_view bytes(reinterpret_cast<const char*>(found.ranks.data()),
                                 found.ranks.size() * sizeof(double));
    std::printf("%s\t%zu\t%zu\t%.3Lg\t%.3g\t%016llx\n", name.c_str(), same_places(right, found.order, 10'000),
                ties, distance, found.error_bound, static_cast<unsigned long long>(hash64(bytes)));
    std::fflush(stdout);
}

link_graph graph_called(const std::string& name, const context& ctx) {
    const generator::graph made = generator::graph_called(name, ctx);
    return make_link_graph(made.nodes, made.links, {}, ctx);
}

void measure(const std::vector<std::string>& words) {
    const context ctx = words[0] == "cuda" ? context::cuda() : context::cpu();
    const auto count = static_cast<std::uint32_t>(words[1] == "check" ? 0 : std::stoul(words[2]));
    for (std::size_t i = words[1] == "check" ? 2 : 3; i < words.size(); ++i) {
        const std::string& name = words[i];
        if (words[1] == "spmv") {
            const generator::matrix made = generator::make_paper_matrix(name);
            measure_product<float>(name.c_str(), "f32", made, count, ctx);
            measure_product<double>(name.c_str(), "f64", made, count, ctx);
        } else if (words[1] == "rank" || words[1] == "rank-f32") {
            const auto precision = words[1] == "rank" ? value_precision::f64 : value_precision::f32;
            measure_ranks(name, graph_called(name, ctx), precision, count, ctx);
        } else if (words[1] == "check") {
            check_ranks(name, graph_called(name, ctx), ctx);
        } else {
            throw std::invalid_argument("unknown command " + words[1] +
                                        " (expected spmv, rank, rank-f32 or check)");
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.size() < 3 || (words[0] != "cpu" && words[0] != "cuda")) {
        std::fputs(
            "usage: link_accuracy_bench cpu|cuda (spmv RUNS | rank STEPS | rank-f32 STEPS | check) NAME...\n",
            stderr);
        return 2;
    }
    try {
        measure(words);
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "link_accuracy_bench: %s\n", wrong.what());
        return 1;
    }
    return 0;
}
