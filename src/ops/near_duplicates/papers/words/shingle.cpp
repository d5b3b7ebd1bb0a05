// SPDX-License-Identifier: Apache-2.0
// Shingling (Broder, Glassman, Manasse and Zweig, "Syntactic clustering of the web", 1997) without its sampling. Documents
// with the same set become a class, and the classes' sets are joined by prefixes. Sets are made from the words whenever they
// are needed, so memory holds a few bytes a document. Hashes only choose what is compared: words decide.
#include "ops/near_duplicates/papers/words/shingle.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <array>
#include <utility>

#include "device/progress_meter.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// The sets of two documents, each made once while it stays the first or the second of a comparison.
class two_sets {
  public:
    two_sets(const word_list& documents, const shingle_rule& rule, const shingle_counts* counts)
        : documents_(documents), held_{held{shingle_set(rule, counts)}, held{shingle_set(rule, counts)}} {}

    const shingle_set& first(std::uint32_t d) { return made(held_[0], d); }
    const shingle_set& second(std::uint32_t d) { return made(held_[1], d); }

  private:
    struct held {
        shingle_set set;
        std::uint64_t document = ~std::uint64_t{0};
    };
    const shingle_set& made(held& one, std::uint32_t d) {
        if (one.document != d) one.set.make(documents_[d]);
        one.document = d;
        return one.set;
    }

    const word_list& documents_;
    std::array<held, 2> held_;
};

}  // namespace

set_measures measure_sets(cpu_place& place, const word_list& documents, const shingle_rule& rule,
                          const shingle_counts& counts_of) {
    const auto size = static_cast<std::uint32_t>(documents.size());
    set_measures measures{make_array<std::uint64_t>(place, size, "sets of shingles"),
                          make_array<std::uint64_t>(place, size, "sets of shingles")};
    tbb::enumerable_thread_specific<shingle_set> scratch([&] { return shingle_set(rule, &counts_of); });
    progress_meter meter(place.ctx(), "sets", size, "documents");
    for_each_document(place, documents.offsets, document_pieces(place, documents.offsets),
                      [&](std::size_t, std::uint32_t d) {
                          shingle_set& set = scratch.local();
                          set.make(documents[d]);
                          measures.sizes.data()[d] = set.size();
                          measures.hashes.data()[d] = set.hash();
                          meter.add(1);
                      });
    meter.finish();
    return measures;
}

document_classes classes_of_sets(cpu_place& place, const word_list& documents, const shingle_rule& rule,
                                 const shingle_counts* counts_of, set_measures& measures) {
    tbb::enumerable_thread_specific<two_sets> scratch([&] { return two_sets(documents, rule, counts_of); });
    document_classes classes = equal_documents(
        place, measures.hashes.span(),
        [&](std::uint32_t a, std::uint32_t b) {
            place.ctx().check_stop();
            if (std::ranges::equal(documents[a], documents[b])) return true;  // most copies
            two_sets& sets = scratch.local();
            return shingle_set::same(sets.first(a), sets.second(b));
        },
        [&](std::uint32_t a, std::uint32_t b) {
            two_sets& sets = scratch.local();
            return shingle_set::before(sets.first(a), sets.second(b));
        });
    measures.hashes = {};
    return classes;
}

shingle_sets sets_of_classes(const word_list& documents, const shingle_rule& rule,
                             const shingle_counts* counts_of, const document_classes& classes,
                             const duplicate_scope& scope, set_measures& measures) {
    shingle_sets sets{documents, counts_of, rule, {}, {}, {}};
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
        sets.firsts.push_back(classes.first(c));
        sets.sizes.push_back(measures.sizes.data()[classes.first(c)]);
        sets.ages.push_back(age_of(classes[c], scope));
    }
    measures.sizes = {};
    return sets;
}

std::vector<duplicate_pair> pairs_by_sets(
    cpu_place& place, const word_list& documents, const shingle_rule& rule, const shingle_counts* counts_of,
    set_measures measures, const duplicate_scope& scope, duplicate_counts& counts,
    const std::function<std::vector<class_pair>(const shingle_sets&)>& join) {
    const document_classes classes = classes_of_sets(place, documents, rule, counts_of, measures);
    const shingle_sets sets = sets_of_classes(documents, rule, counts_of, classes, scope, measures);
    const auto joined = join(sets);
    const auto size = static_cast<std::uint32_t>(documents.size());
    return document_pairs(place, classes, sets.sizes, joined, requested_by(scope, size), counts);
}

std::vector<duplicate_pair> find_by_shingles(cpu_place& place, const word_list& documents,
                                             const shingle_rule& rule, const decimal& similarity,
                                             const duplicate_scope& scope, duplicate_counts& counts) {
    const auto size = static_cast<std::uint32_t>(documents.size());
    counts.compared += pairs_in_scope(size, scope);
    if (size < 2) return {};
    const shingle_counts counts_of(place, documents, rule);
    return pairs_by_sets(
        place, documents, rule, &counts_of, measure_sets(place, documents, rule, counts_of), scope, counts,
        [&](const shingle_sets& sets) { return join_by_similarity(place, sets, similarity, scope, counts); });
}

std::vector<duplicate_pair> find_by_shingles(cpu_place& place, const word_list& documents,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             duplicate_counts& counts) {
    return find_by_shingles(place, documents, {options.shingle}, options.similarity, scope, counts);
}

}  // namespace quern::near_duplicates_detail
