// SPDX-License-Identifier: Apache-2.0
// Lists of any source, read from the top down, entry by entry; each entry is checked when it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/rank_aggregation/lists.hpp"

namespace quern::rank_aggregation_detail {

/// One list, from the top. Throws list_fault for a score that rises, is not finite or is below the floor, and for an id out
/// of range.
class list_cursor {
  public:
    list_cursor(const scoring& rule, std::size_t list, std::uint32_t objects)
        : rule_(rule), list_(list), objects_(objects), bound_(rule.floor_value(list)) {}
    virtual ~list_cursor() = default;
    list_cursor(const list_cursor&) = delete;  // single owner
    list_cursor& operator=(const list_cursor&) = delete;

    /// Goes to the next entry; false at the end.
    bool advance() {
        if (at_ == ids_.size() && !refill()) return false;
        read_entry();
        return true;
    }
    std::uint32_t id() const { return id_; }
    double value() const { return bound_; }
    /// The maximum that an object not yet seen in the list counts: the last value read; after the end, the floor's.
    double bound() const { return bound_; }
    bool ended() const { return ended_; }
    std::uint64_t depth() const { return depth_; }

  protected:
    /// The next entries, valid while they are in use; none: the list has ended.
    virtual void fill(std::span<const std::uint32_t>& ids, std::span<const double>& scores) = 0;

  private:
    bool refill();
    void read_entry();

    const scoring& rule_;
    std::size_t list_;
    std::uint32_t objects_, id_ = 0;
    double bound_, last_score_ = 0;
    std::span<const std::uint32_t> ids_;
    std::span<const double> scores_;
    std::size_t at_ = 0;
    std::uint64_t depth_ = 0;
    bool ended_ = false;
};

using list_cursors = std::vector<std::unique_ptr<list_cursor>>;

template <class Score>
list_cursors cursors_of(const scoring& rule, std::span<const ranked_list_view<Score>> lists,
                        std::uint32_t objects);
list_cursors cursors_of(const scoring& rule, std::span<const pulled_list> lists, std::uint32_t objects);

}  // namespace quern::rank_aggregation_detail
