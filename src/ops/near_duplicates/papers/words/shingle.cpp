// SPDX-License-Identifier: Apache-2.0
// Shingling (Broder, Glassman, Manasse and Zweig, "Syntactic clustering of the web", 1997) without its sampling. Shingles
// are numbered exactly, documents with the same set become a class, and the classes' sets are joined by prefixes. All
// comparisons are in integers.
#include "ops/near_duplicates/papers/words/shingle.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/papers/words/word_sets.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// The documents' sets. A document's shingles that occur once in the collection are counted separately.
struct document_sets {
    number_sets sets;  ///< ends with occurs_once if the document has such a shingle
    std::uint32_t end = 0;
    std::vector<std::uint64_t> once;

    /// The number of different shingles of a document.
    std::uint64_t size_of(std::uint32_t d) const {
        return sets.view()[d].size() + (once[d] == 0 ? 0 : once[d] - 1);
    }
};

document_sets shingles_of(cpu_place& place, const word_list& documents, unsigned width) {
    document_sets result;
    const shingle_numbers shingles = number_shingles(place, documents, width);
    result.end = shingles.end;
    result.once.resize(documents.size());
    const word_list lists = shingles.view();
    for_each_document(
        place, lists.offsets, document_pieces(place, lists.offsets), [&](std::size_t, std::uint32_t d) {
            result.once[d] =
                static_cast<std::uint64_t>(std::ranges::count(lists[d], shingle_numbers::occurs_once));
        });
    result.sets = sets_of(place, lists);
    return result;
}

}  // namespace

std::vector<duplicate_pair> find_by_shingles(cpu_place& place, const word_list& documents,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             duplicate_counts& counts) {
    const auto size = static_cast<std::uint32_t>(documents.size());
    counts.compared += pairs_in_scope(size, scope);
    if (size < 2) return {};
    place.ctx().report({"shingles", 0, 0, "documents"});
    document_sets all = shingles_of(place, documents, options.shingle);
    std::vector<std::uint8_t> alone(size);
    for (std::uint32_t d = 0; d < size; ++d) alone[d] = all.once[d] == 0 ? 0 : 1;
    const document_classes classes = equal_lists(place, all.sets.view(), alone);

    shingle_sets sets;
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
        firsts.push_back(classes.first(c));
        sets.sizes.push_back(all.size_of(firsts.back()));
        sets.ages.push_back(age_of(classes[c], scope));
    }
    const std::vector<std::uint64_t> sizes = sets.sizes;
    sets.end = all.end;
    sets.shared = selected(place, all.sets.view(), firsts,
                           [](std::uint32_t shingle) { return shingle != shingle_numbers::occurs_once; });
    all = {};
    const auto joined = join_by_similarity(place, std::move(sets), options.similarity, scope, counts);
    return document_pairs(place, classes, sizes, joined, requested_by(scope, size), counts);
}

}  // namespace quern::near_duplicates_detail
