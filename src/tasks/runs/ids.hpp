// SPDX-License-Identifier: Apache-2.0
// Numbers for ids of documents and objects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/id_order.hpp"

namespace quern {

/// Numbers for ids, in order of first occurrence. The texts must outlive it: if they are in a file that is in memory
/// anyway, this takes half the memory of a table that copies them (io/lines/node_id_table.hpp).
class id_numbers {
  public:
    std::uint32_t operator()(std::string_view id) {
        return (*this)(id, static_cast<std::uint32_t>(hash64(id)));
    }
    /// `hash`: the low half of hash64(id).
    std::uint32_t operator()(std::string_view id, std::uint32_t hash) {
        if (2 * (ids_.size() + 1) > slots_.size()) grow();
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            slot& here = slots_[at];
            if (here.number == none) {
                here = {hash, static_cast<std::uint32_t>(ids_.size())};
                ids_.push_back(id);
                return here.number;
            }
            if (here.hash == hash && ids_[here.number] == id) return here.number;
        }
    }
    std::span<const std::string_view> ids() const { return ids_; }
    /// Removes all ids and keeps the memory.
    void clear() {
        ids_.clear();
        std::ranges::fill(slots_, slot{});
    }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct slot {
        std::uint32_t hash = 0;
        std::uint32_t number = none;
    };
    void grow() {
        std::vector<slot> old(std::max<std::size_t>(1024, slots_.size() * 4));
        old.swap(slots_);
        for (const slot& one : old) {
            if (one.number == none) continue;
            std::size_t at = one.hash & (slots_.size() - 1);
            while (slots_[at].number != none) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = one;
        }
    }
    std::vector<slot> slots_;
    std::vector<std::string_view> ids_;
};

}  // namespace quern
