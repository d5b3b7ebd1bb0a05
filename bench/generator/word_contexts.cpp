// SPDX-License-Identifier: Apache-2.0
#include "generator/word_contexts.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "generator/random_numbers.hpp"

namespace quern::generator {
namespace {

template <class Work>
void on_all_cores(const Work& work) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < cores; ++t) threads.emplace_back([&, t] { work(t, cores); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

context_matrix word_contexts(std::uint32_t words) {
    context_matrix made;
    made.words = words;
    made.relations = 6;
    const std::uint32_t columns = words * made.relations;
    std::vector<double> shares(columns);  // running sums
    double all = 0;
    for (std::uint32_t c = 0; c < columns; ++c) shares[c] = all += std::pow(c + 2500.0, -1.4);
    std::vector<std::vector<std::uint32_t>> rows(words);
    on_all_cores([&](unsigned first, unsigned step) {
        std::vector<bool> has(columns);
        for (std::uint32_t w = first; w < words; w += step) {
            random_numbers chance(w);
            const double length = std::min(1.5e8 * std::pow(w + 269.0, -1.3), columns / 4.0);
            while (static_cast<double>(rows[w].size()) < length) {
                const double share = chance.uniform() * all;
                const auto rank = std::upper_bound(shares.begin(), shares.end() - 1, share) - shares.begin();
                // Ranks go round the relations: the contexts of one word are equally frequent.
                const auto column = static_cast<std::uint32_t>(rank % 6 * words + rank / 6);
                if (has[column]) continue;
                has[column] = true;
                rows[w].push_back(column);
            }
            std::sort(rows[w].begin(), rows[w].end());
            for (const std::uint32_t column : rows[w]) has[column] = false;
        }
    });
    made.offsets.push_back(0);
    for (const auto& row : rows) made.offsets.push_back(made.offsets.back() + row.size());
    made.columns.resize(made.offsets.back());
    made.weights.resize(made.offsets.back());
    on_all_cores([&](unsigned first, unsigned step) {
        for (std::uint32_t w = first; w < words; w += step) {
            random_numbers chance(~std::uint64_t{w});
            for (std::size_t i = 0; i < rows[w].size(); ++i) {
                made.columns[made.offsets[w] + i] = rows[w][i];
                made.weights[made.offsets[w] + i] =
                    static_cast<float>(std::min(0.01 - 1.5 * std::log(1 - chance.uniform()), 14.0));
            }
        }
    });
    made.column_counts.resize(columns);
    for (const std::uint32_t column : made.columns) ++made.column_counts[column];
    return made;
}

context_matrix first_words(const context_matrix& whole, std::uint32_t words, double share) {
    std::uint64_t among = 0;
    random_numbers chance(1);
    for (std::uint64_t i = 0; i < whole.offsets[words]; ++i)
        among += whole.columns[i] % whole.words < words ? 1 : 0;
    const double kept = share * static_cast<double>(whole.columns.size()) / static_cast<double>(among);
    context_matrix made;
    made.words = words;
    made.relations = whole.relations;
    made.offsets.push_back(0);
    for (std::uint32_t w = 0; w < words; ++w) {
        for (std::uint64_t i = whole.offsets[w]; i < whole.offsets[w + 1]; ++i) {
            const std::uint32_t relation = whole.columns[i] / whole.words,
                                other = whole.columns[i] % whole.words;
            if (other >= words || chance.uniform() >= kept) continue;
            made.columns.push_back(relation * words + other);
            made.weights.push_back(whole.weights[i]);
        }
        made.offsets.push_back(made.columns.size());
    }
    for (std::uint32_t r = 0; r < whole.relations; ++r)
        for (std::uint32_t w = 0; w < words; ++w)
            made.column_counts.push_back(whole.column_counts[std::size_t{r} * whole.words + w]);
    return made;
}

}  // namespace quern::generator
