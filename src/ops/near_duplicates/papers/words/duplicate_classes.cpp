// SPDX-License-Identifier: Apache-2.0
// Finds classes by sorting: first by hash, with our radix sort; then, where a list differs from the first one with its
// hash, by the lists themselves. So the hash affects speed, never the contents of a class.
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"

#include <numeric>

#include "base/hash.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::size_t min_piece = std::size_t{1} << 12;

/// Sets leader[d] to the first document that equals d according to `same`, for the documents of one run of equal keys,
/// ascending. `before` is an order of documents in which equal ones are neighbours.
template <class Same, class Before>
void lead_run(std::span<std::uint32_t> run, std::span<std::uint32_t> leader, const Same& same,
              const Before& before) {
    const bool all_same =
        std::all_of(run.begin(), run.end(), [&](std::uint32_t d) { return same(run[0], d); });
    if (!all_same) {
        std::sort(run.begin(), run.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return same(a, b) ? a < b : before(a, b); });
    }
    std::uint32_t first = run[0];
    for (const std::uint32_t d : run) {
        if (!all_same && !same(first, d)) first = d;
        leader[d] = first;
    }
}

/// `keys[i]` belongs to `documents[i]`, which ascend; both are reordered. Other documents lead themselves.
template <class Same, class Before>
std::vector<std::uint32_t> find_leaders(cpu_place& place, std::span<std::uint64_t> keys,
                                        std::span<std::uint32_t> documents, std::uint32_t all,
                                        const Same& same, const Before& before) {
    std::vector<std::uint32_t> leader(all);
    std::iota(leader.begin(), leader.end(), 0u);
    primitives::sort_pairs(place, keys, documents);
    const std::size_t size = keys.size(), pieces = pieces_for(place, size, min_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {  // each handles the runs that begin in it
        const auto [begin, end] = piece_of(size, pieces, p);
        std::size_t i = begin;
        while (i < end && i > 0 && keys[i] == keys[i - 1]) ++i;
        while (i < end) {
            place.ctx().check_stop();
            std::size_t past_end = i + 1;
            while (past_end < size && keys[past_end] == keys[i]) ++past_end;
            if (past_end - i > 1) lead_run(documents.subspan(i, past_end - i), leader, same, before);
            i = past_end;
        }
    });
    return leader;
}

}  // namespace

std::uint64_t hash_of_list(std::span<const std::uint32_t> list) {
    return XXH3_64bits(list.data(), list.size_bytes());
}

document_classes classes_of(const std::vector<std::uint32_t>& leader) {
    document_classes result;
    result.class_of.resize(leader.size());
    result.members.resize(leader.size());
    result.offsets.push_back(0);
    for (std::uint32_t d = 0; d < leader.size(); ++d) {
        if (leader[d] == d) {
            result.class_of[d] = result.size();
            result.offsets.push_back(0);
        }
        const std::uint32_t c = result.class_of[d] = result.class_of[leader[d]];
        ++result.offsets[c + 1];
    }
    std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
    std::vector<std::uint64_t> next(result.offsets.begin(), result.offsets.end() - 1);
    for (std::uint32_t d = 0; d < leader.size(); ++d) result.members[next[result.class_of[d]]++] = d;
    return result;
}

document_classes equal_lists(cpu_place& place, const word_list& lists, std::span<const std::uint8_t> alone,
                             std::uint64_t (*hash)(std::span<const std::uint32_t>)) {
    const auto all = static_cast<std::uint32_t>(lists.size());
    auto documents = make_array<std::uint32_t>(place, all, "classes of documents");
    std::uint32_t size = 0;
    for (std::uint32_t d = 0; d < all; ++d)
        if (alone[d] == 0) documents.data()[size++] = d;
    auto hashes = make_array<std::uint64_t>(place, size, "classes of documents");
    const std::size_t pieces = pieces_for(place, size, 256, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(size, pieces, p);
        for (std::size_t i = begin; i < end; ++i) hashes.data()[i] = hash(lists[documents.data()[i]]);
    });
    const auto same = [&](std::uint32_t a, std::uint32_t b) {
        return std::ranges::equal(lists[a], lists[b]);
    };
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return std::ranges::lexicographical_compare(lists[a], lists[b]);
    };
    return classes_of(find_leaders(place, hashes.span(), documents.span().first(size), all, same, before));
}

document_classes equal_documents(cpu_place& place, std::span<const std::uint64_t> keys,
                                 const std::function<bool(std::uint32_t, std::uint32_t)>& same,
                                 const std::function<bool(std::uint32_t, std::uint32_t)>& before) {
    const auto all = static_cast<std::uint32_t>(keys.size());
    auto sorted = array_from(place, keys, "classes of documents");
    auto documents = make_array<std::uint32_t>(place, all, "classes of documents");
    std::iota(documents.span().begin(), documents.span().end(), 0u);
    return classes_of(find_leaders(place, sorted.span(), documents.span(), all, same, before));
}

document_classes equal_keys(cpu_place& place, std::span<const std::uint64_t> keys) {
    return equal_documents(
        place, keys, [](std::uint32_t, std::uint32_t) { return true; }, std::less<>());
}

class_age age_of(std::span<const std::uint32_t> members, const duplicate_scope& scope) {
    if (members.front() >= scope.first_new) return class_age::new_only;
    return members.back() < scope.first_new ? class_age::old_only : class_age::old_and_new;
}

std::uint64_t pairs_in_scope(std::uint32_t documents, const duplicate_scope& scope) {
    const std::uint64_t earlier = std::min(scope.first_new, documents), later = documents - earlier;
    const std::uint64_t within = later == 0 ? 0 : later * (later - 1) / 2;
    return earlier * later + (scope.within_new ? within : 0);
}

}  // namespace quern::near_duplicates_detail
