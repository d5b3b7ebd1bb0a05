// SPDX-License-Identifier: Apache-2.0
// The same algorithm on the threads of a CPU: the middle part of Wang's (2015) CTPHBasedHomoDocsDetectCPU.
#include "ops/near_duplicates/papers/signatures/thesis_kernels.hpp"

#include <array>
#include <numeric>

#include "device/cpu/parallel.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// The thesis's EditDistancePlus: rows[0] and rows[1] alternate.
int table_distance(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                   std::array<std::vector<int>, 2>& rows) {
    std::iota(rows[0].begin(), rows[0].end(), 0);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        const std::vector<int>& above = rows[(i - 1) % 2];
        std::vector<int>& row = rows[i % 2];
        row[0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j)
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
    return rows[a.size() % 2][b.size()];
}

}  // namespace

std::vector<candidate> thesis_candidates(cpu_place& place, const signature_view& signatures,
                                         const signature_bounds& bounds, const duplicate_scope& scope,
                                         duplicate_counts& counts) {
    std::vector<std::vector<candidate>> found(signatures.texts());
    for_each_piece(place, signatures.texts(), [&](std::size_t text) {
        place.ctx().check_stop();
        const auto b = static_cast<std::uint32_t>(text);
        const auto string = signatures.string(2 * b);
        std::array<std::vector<int>, 2> rows;
        rows.fill(std::vector<int>(string.size() + 1));
        for (std::uint32_t a = 0; a < scope_end(scope, b); ++a) {
            const auto other = signatures.string(2 * a);
            const int bound = bounds.at(static_cast<unsigned>(string.size() + other.size()));
            if (table_distance(other, string, rows) <= bound) found[b].push_back({a, b});
        }
    });
    std::vector<candidate> all;
    for (std::uint32_t b = 0; b < signatures.texts(); ++b) {
        counts.compared += scope_end(scope, b);
        all.insert(all.end(), found[b].begin(), found[b].end());
    }
    sort_candidates(all);
    counts.candidates += all.size();
    return all;
}

void collect_candidates(cpu_place& place, std::span<const std::uint16_t> distances, std::uint32_t first_row,
                        std::uint32_t rows, const signature_view& signatures, const signature_bounds& bounds,
                        const duplicate_scope& scope, std::vector<candidate>& all) {
    const std::size_t texts = signatures.texts();
    std::vector<std::vector<candidate>> found(rows);
    for_each_piece(place, rows, [&](std::size_t r) {
        const auto b = static_cast<std::uint32_t>(first_row + r);
        const std::uint16_t* const row = distances.data() + r * texts;
        for (std::uint32_t a = 0; a < scope_end(scope, b); ++a)
            if (row[a] <= bounds.at(signatures.length(2 * a) + signatures.length(2 * b)))
                found[r].push_back({a, b});
    });
    for (const std::vector<candidate>& some : found) all.insert(all.end(), some.begin(), some.end());
}

}  // namespace quern::near_duplicates_detail
