// SPDX-License-Identifier: Apache-2.0
// Ranges of words for several places, and their neighbours on the CPU.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/word_similarity/exact/further_terms.hpp"
#include "ops/word_similarity/exact/row_by_row.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {
namespace {

class cpu_range_search : public range_search {
  public:
    cpu_range_search(cpu_place& place, const fixed_rows& rows, const similarity_options& options)
        : place_(place), rows_(rows), options_(options) {}

    neighbour_lists find(word_range words) override {
        neighbour_lists found = with_all_terms(place_, rows_, options_.measure, [&](const auto& terms) {
            return find_row_by_row(place_, rows_, terms, options_.top, nullptr, {}, words);
        });
        const auto first = found.offsets.begin() + words.first;
        found.offsets = {first, first + words.count + 1};  // the lists before are empty
        return found;
    }

  private:
    cpu_place& place_;
    const fixed_rows& rows_;
    const similarity_options& options_;
};

}  // namespace

std::unique_ptr<range_search> open_range_search(cpu_place& place, const fixed_rows& rows,
                                                const similarity_options& options) {
    return std::make_unique<cpu_range_search>(place, rows, options);
}

std::vector<word_range> shares_of_words(const fixed_rows& rows, std::size_t places) {
    // A word costs its entries, and about as many steps as a word has entries on average: the look at its sums.
    const std::uint64_t entries = rows.columns.size(), average = entries / std::max(rows.words, 1U) + 1;
    const auto work_before = [&](std::uint32_t word) { return rows.offsets[word] + word * average; };
    const std::uint64_t all = entries + rows.words * average, least = all / (12 * places) + 1;
    std::vector<word_range> shares;
    for (std::uint32_t first = 0; first < rows.words;) {
        const std::uint64_t begin = work_before(first), work = std::max((all - begin) / (2 * places), least);
        std::uint32_t end = first + 1;
        while (end < rows.words && work_before(end + 1) - begin <= work) ++end;
        shares.push_back({first, end - first});
        first = end;
    }
    return shares;
}

}  // namespace quern::word_similarity_detail
