// SPDX-License-Identifier: Apache-2.0
// The similarity stage on the CPU, on matrices like those of texts. Prints: matrix, words, entries, multiply-adds, measure,
// method, threads, milliseconds.
//
//     word_similarity_bench [PREFIX] [THREADS] [METHOD…]
//     word_similarity_bench --thesis METHOD SECONDS
//
// --thesis: the thesis's table 5.1 on one thread, from rows in fixed point to lists, for 1,000, 2,000 and then its vocabularies,
// none that would take more than SECONDS: method, words, entries, steps (comparisons of columns; of column-reduced: pairs
// times columns), processor seconds, or a hyphen if not run; wall-clock seconds.
// PREFIX: files PREFIX.offsets (uint64), .columns (uint32), .weights (float32), .counts (uint64), as
// `--write PREFIX` writes those of the generated matrix. Without one, or "-": the generated matrix.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "generator/word_contexts.hpp"
#include "ops/word_similarity/similarity_methods.hpp"
#include "quern/ops/word_similarity.hpp"

namespace {

using namespace quern;

template <class T>
std::vector<T> read_all(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
    file.seekg(0).read(reinterpret_cast<char*>(values.data()),
                       static_cast<std::streamsize>(values.size() * sizeof(T)));
    return values;
}

template <class T>
void write_all(const std::string& path, const std::vector<T>& values) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
}

/// Zipf's law for words and contexts, as in texts: word w has about L / (1 + w / 400) contexts, drawn with a
/// probability that decreases likewise; weights are lower in frequent contexts.
context_matrix generated(std::uint32_t words) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(0, 1);
    context_matrix made;
    made.words = words;
    made.relations = 1;
    made.column_counts.resize(words);
    made.offsets.push_back(0);
    std::vector<std::uint8_t> met(words);
    const double span = std::log(1 + words / 400.0);
    for (std::uint32_t w = 0; w < words; ++w) {
        std::vector<std::uint32_t> row;
        const auto length = static_cast<int>(20 + 6000 / (1 + w / 400.0));
        for (int i = 0; i < length; ++i) {
            const auto column =
                std::min(words - 1, static_cast<std::uint32_t>(400 * (std::exp(uniform(random) * span) - 1)));
            if (std::exchange(met[column], 1) == 0) row.push_back(column);
        }
        std::sort(row.begin(), row.end());
        for (const std::uint32_t c : row) {
            met[c] = 0;
            ++made.column_counts[c];
            made.columns.push_back(c);
            made.weights.push_back(
                static_cast<float>(0.01 + uniform(random) * uniform(random) * (2 + std::log1p(c / 400.0))));
        }
        made.offsets.push_back(made.columns.size());
    }
    return made;
}

double multiply_adds(const context_matrix& matrix) {
    std::vector<double> entries(matrix.column_counts.size());
    for (const std::uint32_t c : matrix.columns) ++entries[c];
    double sum = 0;
    for (const double n : entries) sum += n * n;
    return sum;
}

void measure(const std::string& name, const context_matrix& matrix, unsigned threads,
             similarity_method method) {
    for (const similarity_measure measure : {similarity_measure::lin, similarity_measure::cosine}) {
        similarity_options options;
        options.method = method;
        options.measure = measure;
        if (method == similarity_method::column_reduced) options.columns = 5000;
        std::vector<double> times;
        const std::size_t rounds = method == similarity_method::automatic ? 3 : 1;
        while (times.size() < rounds) {
            const auto start = std::chrono::steady_clock::now();
            (void)similar_words(matrix.view(), options, context::cpu(threads));
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
        }
        std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(rounds / 2), times.end());
        std::printf("%s\t%u\t%zu\t%.4g\t%s\t%s\t%u\t%.1f\n", name.c_str(), matrix.words,
                    matrix.columns.size(), multiply_adds(matrix),
                    measure == similarity_measure::lin ? "lin" : "cosine",
                    std::string(similarity_method_names[static_cast<int>(method)]).c_str(), threads,
                    times[rounds / 2]);
        std::fflush(stdout);
    }
}

/// The matrices are those of word_similarity_cuda_bench.
void measure_thesis(const std::string& name, double limit) {
    namespace detail = word_similarity_detail;
    const bool reduced = name == "column-reduced";
    const context_matrix whole = generator::word_contexts(100'000);
    std::vector<generator::vocabulary> parts(std::begin(generator::thesis_vocabularies),
                                             std::end(generator::thesis_vocabularies));
    parts.insert(parts.begin() + 1, {2'000, 0.07});
    double rate = 0;  // steps a second
    for (const generator::vocabulary& size : parts) {
        cpu_place place(context::cpu(1));
        const context_matrix part = generator::first_words(whole, size.words, size.share);
        detail::owned_rows owned = detail::restrict_columns(place, part.view(), reduced ? 5000 : all_columns);
        detail::fix_sums(place, owned.rows);
        const double words = size.words, entries = static_cast<double>(owned.rows.columns.size());
        const double steps = reduced ? words * (words - 1) / 2 * 5000 : (words - 1) * entries;
        std::printf("%s\t%u\t%.0f\t%.4g\t", name.c_str(), size.words, entries, steps);
        if (rate > 0 && steps / rate > limit) {
            std::puts("-\t-");
            continue;
        }
        const auto start = std::chrono::steady_clock::now();
        const std::clock_t used = std::clock();
        (void)(reduced ? detail::find_column_reduced(place, owned.rows, {})
                       : detail::find_compressed(place, owned.rows, {}));
        const double seconds = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
        rate = steps / seconds;
        std::printf("%.3f\t%.3f\n", seconds,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        std::fflush(stdout);
    }
}

}  // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> given(arguments + 1, arguments + count);
    if (given.size() == 3 && given[0] == "--thesis") {
        measure_thesis(given[1], std::stod(given[2]));
        return 0;
    }
    if (given.size() == 2 && given[0] == "--write") {
        const context_matrix made = generated(30'000);
        write_all(given[1] + ".offsets", made.offsets);
        write_all(given[1] + ".columns", made.columns);
        write_all(given[1] + ".weights", made.weights);
        write_all(given[1] + ".counts", made.column_counts);
        return 0;
    }
    const std::string prefix = given.empty() ? "-" : given[0];
    context_matrix matrix;
    if (prefix == "-") {
        matrix = generated(30'000);
    } else {
        matrix.offsets = read_all<std::uint64_t>(prefix + ".offsets");
        matrix.columns = read_all<std::uint32_t>(prefix + ".columns");
        matrix.weights = read_all<float>(prefix + ".weights");
        matrix.column_counts = read_all<std::uint64_t>(prefix + ".counts");
        matrix.words = static_cast<std::uint32_t>(matrix.offsets.size() - 1);
        matrix.relations =
            matrix.words == 0 ? 1 : static_cast<std::uint32_t>(matrix.column_counts.size() / matrix.words);
    }
    const unsigned threads = given.size() < 2 ? 0 : static_cast<unsigned>(std::stoul(given[1]));
    std::vector<std::string> methods(given.begin() + std::min<std::ptrdiff_t>(2, std::ssize(given)),
                                     given.end());
    if (methods.empty()) methods = {"auto"};
    const std::string name = prefix == "-" ? "generated" : prefix.substr(prefix.rfind('/') + 1);
    for (const std::string& method : methods)
        for (int m = 0; m < 3; ++m)
            if (similarity_method_names[m] == method)
                measure(name, matrix, context::cpu(threads).thread_count(),
                        static_cast<similarity_method>(m));
    return 0;
}
