// SPDX-License-Identifier: Apache-2.0
// I-Match (Chowdhury, Frieder, Grossman and McCabe, "Collection statistics for fast duplicate document detection", 2002).
// Very common and very rare words say little about a document's topic; documents whose other words are the same are
// duplicates. Here the paper's hash only finds them: lists with the same hash are compared, so that no collision makes a
// pair.
#include <numeric>

#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/papers/words/word_sets.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// The quintiles of idf whose words count.
constexpr bool in_band(std::uint8_t quintile) {
    return quintile >= 2 && quintile <= 4;
}

}  // namespace

std::vector<duplicate_pair> find_by_i_match(cpu_place& place, const word_list& documents,
                                            std::uint32_t vocabulary, const duplicate_options& /*options*/,
                                            const duplicate_scope& scope, duplicate_counts& counts) {
    const auto size = static_cast<std::uint32_t>(documents.size());
    counts.compared += pairs_in_scope(size, scope);
    if (size < 2) return {};
    const number_sets sets = sets_of(place, documents);
    const word_list all = sets.view();
    const std::vector<std::uint8_t> quintiles =
        idf_quintiles(document_frequencies(place, all, vocabulary).span(), size);

    std::vector<std::uint32_t> every(size);
    std::iota(every.begin(), every.end(), 0u);
    const number_sets discriminative =
        selected(place, all, every, [&](std::uint32_t word) { return in_band(quintiles[word]); });
    std::vector<std::uint8_t> without(size);
    for (std::uint32_t d = 0; d < size; ++d) without[d] = discriminative.view()[d].empty() ? 1 : 0;

    const document_classes classes = equal_lists(place, discriminative.view(), without);
    const std::vector<std::uint64_t> of(classes.size(), 1);
    auto pairs = document_pairs(place, classes, of, {}, requested_by(scope, size), counts);
    counts.candidates += counts.pairs;
    return pairs;
}

}  // namespace quern::near_duplicates_detail
