// SPDX-License-Identifier: Apache-2.0
// What the methods of words share: documents that are the same to a method form a class; classes are joined, not
// documents; and the pairs of classes become pairs of documents at the end. A thousand copies of a template page are
// one class, so that they cost a method what one page costs, and their half million pairs only their writing down.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// Documents by class. Classes are numbered by their first members, members rise.
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

/// XXH3 of a list's memory: of one machine only, so for finding what is equal, never for what is kept.
std::uint64_t hash_of_list(std::span<const std::uint32_t> list);

/// Equal lists in a class, word for word, whatever the hash that finds them. A document that stands `alone` (one flag
/// each) equals no other.
document_classes equal_lists(cpu_place& place, const word_list& lists, std::span<const std::uint8_t> alone,
                             std::uint64_t (*hash)(std::span<const std::uint32_t>) = hash_of_list);
/// leader[d]: the first document of d's class.
document_classes classes_of(const std::vector<std::uint32_t>& leader);
/// Equal keys in a class.
document_classes equal_keys(cpu_place& place, std::span<const std::uint64_t> keys);

/// Which pairs the scope asks for, seen from classes. A class of documents that are all old is never compared with
/// another such class.
enum class class_age : std::uint8_t { old_only, old_and_new, new_only };
inline constexpr std::size_t class_ages = 3;
class_age age_of(std::span<const std::uint32_t> members, const duplicate_scope& scope);
/// Whether some pair of members of two classes is asked for.
constexpr bool may_pair(class_age a, class_age b, const duplicate_scope& scope) {
    const auto has_old = [](class_age age) { return age != class_age::new_only; };
    const auto has_new = [](class_age age) { return age != class_age::old_only; };
    if (scope.within_new) return has_new(a) || has_new(b);
    return (has_old(a) && has_new(b)) || (has_new(a) && has_old(b));
}

/// How many pairs of `documents` the scope asks for.
std::uint64_t pairs_in_scope(std::uint32_t documents, const duplicate_scope& scope);

/// Two different classes whose documents are pairs, and the numbers of each.
struct class_pair {
    std::uint32_t a, b;
    std::uint64_t distance, of;
};

/// The pairs of documents that are asked for: the later one is `wanted`, the earlier one lies before `earlier_end`, as
/// all do that are not wanted.
struct asked_pairs {
    std::vector<bool> wanted;  ///< of every document
    std::uint32_t earlier_end = 0;
    bool links_only = false;  ///< as in duplicate_scope
};
asked_pairs asked_by(const duplicate_scope& scope, std::uint32_t documents);

/// All pairs of documents that are asked for, within the classes and between those of `joined` (no two alike), rising,
/// or links; counts.pairs grows by the number of all. `of[c]` is what a pair within class c has, at distance 0. Two
/// classes are linked by their first members where these make a pair that is asked for. Throws out_of_memory before
/// anything is listed.
/// Cost: O(documents + pairs found + members of joined classes · classes they are joined to); at most three links a
/// class joined and one a document.
std::vector<duplicate_pair> document_pairs(cpu_place& place, const document_classes& classes,
                                           std::span<const std::uint64_t> of,
                                           std::span<const class_pair> joined, const asked_pairs& asked,
                                           duplicate_counts& counts);

/// Calls work(piece, d) for every document d, whole pieces at once; a piece has about the same number of items,
/// `offsets` being where a document's begin.
template <class Work>
void for_each_document(cpu_place& place, std::span<const std::uint64_t> offsets, std::size_t pieces,
                       const Work& work) {
    if (offsets.size() < 2) return;
    const std::uint32_t documents = static_cast<std::uint32_t>(offsets.size() - 1);
    // A document weighs its items and one more, so that empty ones are spread too.
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
            if (d % 64 == 0) place.run().check_stop();
            work(p, d);
        }
    });
}
/// How many pieces to cut that many documents with that many items into.
inline std::size_t document_pieces(const cpu_place& place, std::span<const std::uint64_t> offsets) {
    return offsets.size() < 2 ? 0
                              : pieces_for(place, offsets.back() - offsets.front() + offsets.size() - 1,
                                           std::size_t{1} << 14, 16);
}

}  // namespace quern::near_duplicates_detail
