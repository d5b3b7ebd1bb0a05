// SPDX-License-Identifier: Apache-2.0
#include "tasks/language_model/model_weights.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"

namespace quern {

std::vector<double> mixture_weights(std::string_view text, std::size_t models) {
    std::vector<double> result;
    const auto refuse = [&] {
        throw usage_error("weights: invalid value '" + std::string(text) + "' (expected " +
                          std::to_string(models) +
                          " numbers of at least 0, one for each model, as in 0.7 0.3)");
    };
    try {
        if (!text.empty()) result = parse_numbers(text);
    } catch (const usage_error&) {
        refuse();
    }
    if (result.empty()) result.assign(models, 1);
    double sum = 0;
    for (const double w : result) sum += w;
    if (result.size() != models || std::ranges::any_of(result, [](double w) { return !(w >= 0); }) ||
        !(sum > 0 && sum < 1e300))
        refuse();
    for (double& w : result) w /= sum;
    return result;
}

std::vector<double> tuned_weights(number_stream<double>& probabilities, std::size_t models,
                                  const context& ctx) {
    constexpr unsigned max_rounds = 1000;
    constexpr double min_change = 1e-6;
    std::vector<double> weights(models, 1 / static_cast<double>(models)), shares(models);
    for (unsigned round = 0; round < max_rounds; ++round) {
        ctx.check_stop();
        std::vector<double> sums(models), word;
        std::uint64_t words = 0;
        probabilities.for_each([&](std::span<const double> part) {
            for (const double p : part) {
                word.push_back(p);
                if (word.size() != models) continue;
                double all = 0;
                for (std::size_t m = 0; m < models; ++m) all += shares[m] = weights[m] * word[m];
                if (all > 0) {
                    for (std::size_t m = 0; m < models; ++m) sums[m] += shares[m] / all;
                    ++words;
                }
                word.clear();
            }
        });
        if (words == 0) return weights;
        double change = 0;
        for (std::size_t m = 0; m < models; ++m) {
            const double next = sums[m] / static_cast<double>(words);
            change = std::max(change, std::abs(next - weights[m]));
            weights[m] = next;
        }
        if (change < min_change) break;
    }
    return weights;
}

}  // namespace quern
