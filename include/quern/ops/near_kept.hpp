// SPDX-License-Identifier: Apache-2.0
// Which near-duplicates to remove so that each removed document is near one that stays. A chain of pairs (a near
// b, b near c) never removes a document that is unlike all that stay.
//
// Documents are considered one by one, in the order of preference: a document stays unless it is near one that
// already stays. Contract class: exact; the result depends only on the texts, the options and the order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern {

/// Which documents of a corpus with near-duplicates stay.
enum class removal_rule {
    near_kept,  ///< a document is removed if it is near one that stays
    connected,  ///< one document of each connected group stays
};
inline constexpr std::string_view removal_rule_names[] = {"near-kept", "connected"};

/// The documents to consider, each at most once; others take no part. The first `staying`, by ascending number,
/// stay whatever they are near, and remove only documents with higher numbers.
struct kept_order {
    std::span<const std::uint32_t> documents;  ///< the most preferred first
    std::size_t staying = 0;
};

/// A removed document, and one that stays and that it is near: an equal one if there is one, else the most
/// preferred. The numbers are those of this pair, as in duplicate_pair.
struct removed_duplicate {
    std::uint32_t document = 0, kept = 0;
    std::uint64_t distance = 0, of = 0;

    double rate() const { return of == 0 ? 0 : static_cast<double>(distance) / static_cast<double>(of); }
    friend bool operator==(const removed_duplicate&, const removed_duplicate&) = default;
};

/// The removed documents, ascending, from all pairs of the documents 0 .. documents - 1. Documents at distance
/// 0 must have the same pairs, as with every method; then it suffices that each is listed with one of its
/// equals, and one of them with the others' pairs. So links of the methods of words suffice (duplicate_scope).
/// Throws usage_error (a number out of range), out_of_memory, interrupted. Memory, with the given pairs: 40 bytes per
/// pair, and at most 100 per document. Cost: O(documents + pairs).
std::vector<removed_duplicate> near_kept(std::span<const duplicate_pair> pairs, std::size_t documents,
                                         const kept_order& order, const context& ctx);

/// The same from texts and the links of method `automatic` (duplicate_scope::links_only). Only documents of one
/// group are compared, and only with those that stay: n near-duplicates of one text cost n edit distances.
/// `before_reading(text)` is called before the bytes of a text are read; may be empty. On the CPU. Throws as
/// above. Memory: 8 bytes per document, 24 per link, at most 160 per document of a group. Cost: O(bytes of groups), and for
/// each group a comparison of each document with each that stays, until it is removed.
std::vector<removed_duplicate> near_kept(const text_list& texts, const duplicate_options& options,
                                         std::span<const duplicate_pair> links, const kept_order& order,
                                         const std::function<void(std::uint32_t text)>& before_reading,
                                         const context& ctx);

}  // namespace quern
