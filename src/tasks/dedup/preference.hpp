// SPDX-License-Identifier: Apache-2.0
// Which documents of a corpus to keep rather than others: first by source, then by a policy, then by position.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/document.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/tasks/dedup.hpp"

namespace quern {

/// Throws usage_error for a preferred source that is not an input, is not inside one and contains none.
void check_preferred(const dedup_options& options);

/// The place of a document's file among the preferred sources.
class source_ranks {
  public:
    static constexpr std::uint32_t none = 0xffffffff;

    explicit source_ranks(const std::vector<std::filesystem::path>& prefer);
    bool any() const { return !sources_.empty(); }
    std::uint32_t rank_of(const document& d);

  private:
    std::vector<std::string> sources_;
    std::string last_path_;
    std::uint32_t last_rank_ = none;
    bool is_known_ = false;  ///< last_rank_ is that of last_path_
};

/// A strict order of documents by position: whether `a` is kept rather than `b`.
struct preference {
    keep_policy keep = keep_policy::first;
    std::span<const std::uint64_t> lengths;
    std::span<const std::uint32_t> ranks;  ///< of the sources; empty: all the same

    bool operator()(std::uint32_t a, std::uint32_t b) const;
};

/// A group keeps its most preferred document; if it has documents from before, one of those: they have been published
/// already.
void choose_kept(const preference& preferred, const std::vector<bool>& is_new,
                 std::span<duplicate_group> groups);

/// Groups of one document that stays and all that it removes, in order of their first members.
std::vector<duplicate_group> groups_of(std::span<const removed_duplicate> removed);

}  // namespace quern
