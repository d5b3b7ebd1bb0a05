// SPDX-License-Identifier: Apache-2.0
#include "primitives/top_k/top_k_checks.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "primitives/argument_checks.hpp"
#include "primitives/top_k/composite.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives::top_k_detail {
namespace {

std::string counted(std::uint64_t count, const char* what) {
    return std::to_string(count).append(what);
}

}  // namespace

void check_top_k(std::size_t keys, std::int64_t ids, std::size_t best_keys, std::size_t best_ids) {
    if (ids >= 0) check_same_size("top_k", "ids", static_cast<std::size_t>(ids), "keys", keys);
    check_same_size("top_k", "best_ids", best_ids, "best_keys", best_keys);
    check_capacity("top_k", "keys", keys, best_keys);
    check_32_bits("top_k", keys, "keys", "ids");
}

std::uint64_t check_batched_top_k(std::size_t keys, std::uint64_t columns, std::uint64_t k,
                                  std::size_t best_keys, std::size_t best_ids) {
    if (columns == 0 ? keys != 0 : keys % columns != 0)
        throw usage_error(counted(keys, " keys").insert(0, "batched_top_k: ") + " are no rows of " +
                          counted(columns, " columns"));
    if (k > columns)
        throw usage_error("batched_top_k: the best " + std::to_string(k) + " of " +
                          counted(columns, " columns are requested"));
    check_32_bits("batched_top_k", columns, "columns", "ids");
    const std::uint64_t rows = columns == 0 ? 0 : keys / columns;
    if (best_keys != rows * k)
        throw usage_error(counted(best_keys, " entries").insert(0, "batched_top_k: best_keys has ") +
                          ", but " + counted(rows, " rows of ") + counted(k, " are requested"));
    check_same_size("batched_top_k", "best_ids", best_ids, "best_keys", best_keys);
    return rows;
}

std::uint64_t sample_rank(std::uint64_t n, std::uint64_t k, std::uint64_t sample) {
    const double expected = static_cast<double>(k) * static_cast<double>(sample) / static_cast<double>(n);
    if (expected > 64) return static_cast<std::uint64_t>(expected + 5 * std::sqrt(expected)) + 1;
    constexpr double missed = 1e-6;  // a second pass over the keys is negligible if it is that rare
    double term = std::exp(-expected), below = term;
    std::uint64_t rank = 1;
    for (; 1 - below > missed; ++rank) {
        term *= expected / static_cast<double>(rank);
        below += term;
    }
    return rank;
}

sampling sampling_for(std::uint64_t n, std::uint64_t k, unsigned threads, unsigned groups,
                      unsigned max_rounds) {
    const auto rounds =
        static_cast<unsigned>(std::clamp<std::uint64_t>(n / (std::uint64_t{4} * threads), 1, max_rounds));
    const std::uint64_t sample = std::uint64_t{rounds} * threads;
    const auto rank = static_cast<double>(sample_rank(n, k, sample));
    if (rank > 1.2 * groups || rank > 0.7 * static_cast<double>(sample)) return {rounds, 0, 0};
    // The number of different groups that the `rank` best of the sample fall into.
    const auto least = static_cast<unsigned>(std::ceil(groups * (1 - std::exp(-rank / groups))));
    const double expected = rank * static_cast<double>(n) / static_cast<double>(sample);
    const auto max = static_cast<std::uint64_t>(expected * (1 + 5 / std::sqrt(rank)));
    return {rounds, least, std::max(k, max)};
}

}  // namespace quern::primitives::top_k_detail
