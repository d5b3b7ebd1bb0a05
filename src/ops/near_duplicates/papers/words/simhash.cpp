// SPDX-License-Identifier: Apache-2.0
// The 64 sums of a fingerprint are 64 bytes in eight registers. A byte of a hash, looked up, is a register with eight 0s
// and 1s; multiplied by the weight it is added in one step. The sums hold the weights of the words that have a bit; the
// words without it have the rest.
#include "ops/near_duplicates/papers/words/simhash.hpp"

#include <array>

#include "base/hash.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/papers/words/hamming_join.hpp"
#include "ops/near_duplicates/papers/words/word_sets.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// Spreads bit b of a byte to byte b of a word.
constexpr auto spread = [] {
    std::array<std::uint64_t, 256> table{};
    for (std::size_t byte = 0; byte < 256; ++byte)
        for (unsigned b = 0; b < 8; ++b) table[byte] |= std::uint64_t{byte >> b & 1} << 8 * b;
    return table;
}();
constexpr unsigned greatest_weight = 5;
constexpr std::size_t words_together = 255 / greatest_weight;  // no byte overflows

std::uint64_t fingerprint_of(std::span<const std::uint32_t> set, std::span<const std::uint64_t> hashes,
                             std::span<const std::uint8_t> weights, std::int64_t cut) {
    std::array<std::int64_t, 64> having{};
    std::int64_t total = 0;
    while (!set.empty()) {
        const auto together = set.first(std::min(set.size(), words_together));
        set = set.subspan(together.size());
        std::array<std::uint64_t, 8> sums{};
        for (const std::uint32_t word : together) {
            const std::uint64_t hash = hashes[word], weight = weights[word];
            total += static_cast<std::int64_t>(weight);
            for (unsigned byte = 0; byte < 8; ++byte) sums[byte] += spread[hash >> 8 * byte & 255] * weight;
        }
        for (unsigned b = 0; b < 64; ++b)
            having[b] += static_cast<std::int64_t>(sums[b / 8] >> 8 * (b % 8) & 255);
    }
    std::uint64_t fingerprint = 0;
    for (unsigned b = 0; b < 64; ++b)
        if (2 * having[b] - total > cut) fingerprint |= std::uint64_t{1} << b;
    return fingerprint;
}

}  // namespace

std::uint64_t hash_of_word_id(std::uint32_t word) {
    char bytes[4];
    for (unsigned i = 0; i < 4; ++i) bytes[i] = static_cast<char>(word >> 8 * i);
    return hash64({bytes, sizeof bytes});
}

std::vector<std::uint64_t> fingerprints_of(cpu_place& place, const word_list& sets,
                                           std::span<const std::uint64_t> hashes,
                                           std::span<const std::uint8_t> weights, std::int64_t cut) {
    std::vector<std::uint64_t> fingerprints(sets.size());
    for_each_document(place, sets.offsets, document_pieces(place, sets.offsets),
                      [&](std::size_t, std::uint32_t d) {
                          fingerprints[d] = fingerprint_of(sets[d], hashes, weights, cut);
                      });
    return fingerprints;
}

std::vector<duplicate_pair> find_by_simhash(cpu_place& place, const word_list& documents,
                                            std::span<const std::uint64_t> hashes,
                                            const duplicate_options& options, const duplicate_scope& scope,
                                            duplicate_counts& counts) {
    const auto size = static_cast<std::uint32_t>(documents.size());
    counts.compared += pairs_in_scope(size, scope);
    if (size < 2) return {};
    std::vector<std::uint64_t> fingerprints;
    {
        const number_sets sets = sets_of(place, documents);
        const auto vocabulary = static_cast<std::uint32_t>(hashes.size());
        const auto weights = idf_quintiles(document_frequencies(place, sets.view(), vocabulary).span(), size);
        fingerprints = fingerprints_of(place, sets.view(), hashes, weights, options.cut);
    }
    const document_classes classes = equal_keys(place, fingerprints);
    std::array<fingerprint_list, class_ages> by_age;
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
        fingerprint_list& list = by_age[static_cast<std::size_t>(age_of(classes[c], scope))];
        list.fingerprints.push_back(fingerprints[classes.first(c)]);
        list.classes.push_back(c);
    }
    const hamming_plan plan = plan_hamming_join(classes.size(), options.hamming);
    const auto joined =
        join_by_hamming_distance(place, std::move(by_age), options.hamming, plan, scope, counts);
    const std::vector<std::uint64_t> of(classes.size(), 64);
    return document_pairs(place, classes, of, joined, requested_by(scope, size), counts);
}

std::vector<duplicate_pair> find_by_simhash(cpu_place& place, const word_list& documents,
                                            std::uint32_t vocabulary, const duplicate_options& options,
                                            const duplicate_scope& scope, duplicate_counts& counts) {
    if (!documents.hashes.empty())
        return find_by_simhash(place, documents, documents.hashes, options, scope, counts);
    auto hashes = make_array<std::uint64_t>(place, vocabulary, "hashes of words");
    const std::size_t pieces = pieces_for(place, vocabulary, std::size_t{1} << 14);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(vocabulary, pieces, p);
        for (std::size_t w = begin; w < end; ++w)
            hashes.data()[w] = hash_of_word_id(static_cast<std::uint32_t>(w));
    });
    return find_by_simhash(place, documents, hashes.span(), options, scope, counts);
}

}  // namespace quern::near_duplicates_detail
