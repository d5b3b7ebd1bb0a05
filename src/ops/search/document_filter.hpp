// SPDX-License-Identifier: Apache-2.0
// The documents that match a condition on posting lists: all of them, any of them, none of others. Without scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// A condition on a document. Lists and documents must outlive it.
struct condition {
    enum class kind {
        list,       ///< it is in `list`
        documents,  ///< it is one of `documents`
        bits,       ///< its bit of `bits` is set
        all,        ///< it matches all of `members`, of which there is at least one, and none of `excluded`
        any,        ///< it matches one of `members`; without members, no document does
    };
    kind what = kind::any;
    posting_list list = {};
    std::span<const std::uint32_t> documents = {};  ///< strictly ascending
    std::vector<condition> members = {}, excluded = {};
    std::span<const std::uint64_t> bits =
        {};  ///< one for each document of the collection, as search_query::passing
    std::uint64_t bits_set = 0;
};
inline condition one_of(const posting_list& list) {
    return {condition::kind::list, list};
}
inline condition one_of(std::span<const std::uint32_t> documents) {
    return {condition::kind::documents, {}, documents};
}

/// The documents that match the condition, ascending; or only their number.
/// - Throws damaged_store if the bytes of a list were not written by postings_writer, `interrupted` if the stop flag of
///   `ctx` is set.
/// - Contract class: exact.
/// - Cost: of a conjunction the postings of its shortest list, each looked up in the others by blocks, or the postings of
///   the others where that is less; of the others their postings. A word for each 64 documents that are considered.
std::vector<std::uint32_t> matching_documents(const collection_view& collection, const condition& where,
                                              const context* ctx = nullptr);
std::uint64_t count_matching(const collection_view& collection, const condition& where,
                             const context* ctx = nullptr);

}  // namespace quern::search_detail
