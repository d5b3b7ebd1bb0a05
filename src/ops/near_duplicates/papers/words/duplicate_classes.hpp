// SPDX-License-Identifier: Apache-2.0
// Shared by the methods of words. Documents that are the same to a method form a class; classes are joined instead of
// documents; the pairs of classes become pairs of documents at the end. A thousand copies of a template page are one class:
// they cost a method as much as one page, and their half million pairs only cost their output.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// Documents by class. Classes are numbered by their first members; members ascend.
struct document_classes {
    std::vector<std::uint32_t> class_of;  ///< of every document
    std::vector<std::uint64_t> offsets;   ///< class c: members[offsets[c] .. offsets[c + 1])
    std::vector<std::uint32_t> members;

    std::uint32_t size() const { return static_cast<std::uint32_t>(offsets.size() - 1); }
    std::span<const std::uint32_t> operator[](std::uint32_t c) const {
        return std::span(members).subspan(offsets[c], offsets[c + 1] - offsets[c]);
    }
    std::uint32_t first(std::uint32_t c) const { return members[offsets[c]]; }
};

/// XXH3 of a list's memory. It differs between machine types, so use it only to find equal lists, never to store.
std::uint64_t hash_of_list(std::span<const std::uint32_t> list);

/// Groups equal lists, compared word for word, so that hash collisions do not matter. A document with its `alone` flag set
/// (one each) equals no other.
document_classes equal_lists(cpu_place& place, const word_list& lists, std::span<const std::uint8_t> alone,
                             std::uint64_t (*hash)(std::span<const std::uint32_t>) = hash_of_list);
/// Groups documents that are the same, by keys that are equal if they are. same(a, b), before(a, b): an order in which equal
/// ones are neighbours; any thread may call them.
document_classes equal_documents(cpu_place& place, std::span<const std::uint64_t> keys,
                                 const std::function<bool(std::uint32_t, std::uint32_t)>& same,
                                 const std::function<bool(std::uint32_t, std::uint32_t)>& before);
/// leader[d]: the first document of d's class.
document_classes classes_of(const std::vector<std::uint32_t>& leader);
/// Groups equal keys.
document_classes equal_keys(cpu_place& place, std::span<const std::uint64_t> keys);

/// The pairs that the scope requests, seen from classes. Two classes with only old documents are never compared.
enum class class_age : std::uint8_t { old_only, old_and_new, new_only };
inline constexpr std::size_t class_ages = 3;
class_age age_of(std::span<const std::uint32_t> members, const duplicate_scope& scope);
/// Whether some pair of members of the two classes is requested.
constexpr bool may_pair(class_age a, class_age b, const duplicate_scope& scope) {
    const auto has_old = [](class_age age) { return age != class_age::new_only; };
    const auto has_new = [](class_age age) { return age != class_age::old_only; };
    if (scope.within_new) return has_new(a) || has_new(b);
    return (has_old(a) && has_new(b)) || (has_new(a) && has_old(b));
}

/// The number of pairs of `documents` that the scope requests.
std::uint64_t pairs_in_scope(std::uint32_t documents, const duplicate_scope& scope);

/// Two different classes whose documents are pairs, with the numbers of each pair.
struct class_pair {
    std::uint32_t a, b;
    std::uint64_t distance, of;
};

/// The requested pairs of documents: the later one is `wanted`, the earlier one lies before `earlier_end`. All unwanted
/// documents lie before it.
struct requested_pairs {
    std::vector<bool> wanted;  ///< per document
    std::uint32_t earlier_end = 0;
    bool links_only = false;  ///< as in duplicate_scope
};
requested_pairs requested_by(const duplicate_scope& scope, std::uint32_t documents);

/// All requested pairs of documents, within the classes and between those of `joined` (without repeats), ascending; or
/// links.
/// - counts.pairs grows by the number of all pairs.
/// - `of[c]` is the result for a pair within class c, at distance 0.
/// - Two classes are linked by their first members where these make a requested pair.
/// - Throws out_of_memory before it lists anything.
/// - Cost: O(documents + pairs found + members of joined classes · classes they are joined to). At most three links per
///   joined class and one per document.
std::vector<duplicate_pair> document_pairs(cpu_place& place, const document_classes& classes,
                                           std::span<const std::uint64_t> of,
                                           std::span<const class_pair> joined,
                                           const requested_pairs& requested, duplicate_counts& counts);

/// Calls work(piece, d) for every document d; pieces run in parallel. A piece has about the same number of items; `offsets`
/// gives the start of each document's items.
template <class Work>
void for_each_document(cpu_place& place, std::span<const std::uint64_t> offsets, std::size_t pieces,
                       const Work& work) {
    if (offsets.size() < 2) return;
    const std::uint32_t documents = static_cast<std::uint32_t>(offsets.size() - 1);
    // A document's weight is its items plus one, so that empty ones are spread too.
    const std::uint64_t weight = offsets.back() - offsets.front() + documents;
    const auto first_of = [&](std::size_t p) {
        const std::uint64_t begin = piece_of(weight, pieces, p).begin;
        std::uint32_t low = 0, high = documents;
        while (low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (offsets[middle] - offsets.front() + middle < begin)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    };
    for_each_piece(place, pieces, [&](std::size_t p) {
        const std::uint32_t end = p + 1 == pieces ? documents : first_of(p + 1);
        for (std::uint32_t d = first_of(p); d < end; ++d) {
            if (d % 64 == 0) place.ctx().check_stop();
            work(p, d);
        }
    });
}
/// The number of pieces for that many documents with that many items.
inline std::size_t document_pieces(const cpu_place& place, std::span<const std::uint64_t> offsets) {
    return offsets.size() < 2 ? 0
                              : pieces_for(place, offsets.back() - offsets.front() + offsets.size() - 1,
                                           std::size_t{1} << 14, 16);
}

}  // namespace quern::near_duplicates_detail
