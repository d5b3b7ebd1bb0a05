// SPDX-License-Identifier: Apache-2.0
// Numbers for the objects of several lists, in the order of their ids, so that ties of numbers are ties of ids.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

/// Ids that are all numbers (base/id_order.hpp) below 32 times their count get their numbers from a bitmap of those that occur;
/// all others from a table of texts. The ids' texts must outlive it.
class ordered_objects {
  public:
    /// An id may occur in several lists, and several times in one. The lists are read on the context's threads. Cost: for numbers
    /// two passes over the ids and a cache miss or less for each; else a look-up for each, and the order of the different ones.
    /// Throws interrupted.
    ordered_objects(std::span<const std::span<const std::string_view>> lists, const context& ctx);

    /// The objects of a list's ids, in its order.
    std::span<const std::uint32_t> of_list(std::size_t list) const { return numbers_[list]; }
    std::string id(std::uint32_t number) const;
    std::uint32_t size() const { return size_; }

  private:
    using id_lists = std::span<const std::span<const std::string_view>>;

    void number_by_value(id_lists lists, std::uint64_t max, const context& ctx);
    void number_by_text(id_lists lists, bool numeric, const context& ctx);

    std::vector<std::vector<std::uint32_t>> numbers_;
    std::uint32_t size_ = 0;
    std::vector<std::uint64_t> occurs_;  ///< a bit for each number that is an id; empty if ids are texts
    std::vector<std::uint32_t> before_;  ///< bits before each of its words
    std::vector<std::string_view> texts_;
};

}  // namespace quern
