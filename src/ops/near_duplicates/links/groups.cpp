// SPDX-License-Identifier: Apache-2.0
// Groups: connected components of pairs.
#include "ops/near_duplicates/links/disjoint_sets.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern {

bool is_rather_kept(keep_policy keep, std::uint64_t length, std::uint64_t length_of_earlier) {
    switch (keep) {
        case keep_policy::first:
            return false;
        case keep_policy::last:
            return true;
        case keep_policy::longest:
            return length > length_of_earlier;
        case keep_policy::shortest:
            return length < length_of_earlier;
    }
    return false;
}

std::vector<duplicate_group> duplicate_groups(std::span<const duplicate_pair> pairs,
                                              std::span<const std::uint64_t> lengths, keep_policy keep) {
    near_duplicates_detail::disjoint_sets sets(lengths.size());
    std::vector<bool> paired(lengths.size());
    for (const duplicate_pair& pair : pairs) {
        if (pair.a >= lengths.size() || pair.b >= lengths.size())
            throw usage_error("duplicate_groups: a pair has a document without a length");
        sets.unite(pair.a, pair.b);
        paired[pair.a] = paired[pair.b] = true;
    }
    constexpr std::uint32_t none = 0xffffffff;
    std::vector<std::uint32_t> group_of(lengths.size(), none);
    std::vector<duplicate_group> groups;
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
        if (!paired[i]) continue;
        std::uint32_t& number = group_of[sets.find(i)];
        if (number == none) {
            number = static_cast<std::uint32_t>(groups.size());
            groups.push_back({{}, i});
        }
        duplicate_group& group = groups[number];
        group.members.push_back(i);
        if (group.kept != i && is_rather_kept(keep, lengths[i], lengths[group.kept])) group.kept = i;
    }
    return groups;
}

}  // namespace quern
