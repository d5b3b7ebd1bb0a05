// SPDX-License-Identifier: Apache-2.0
// Ids of documents and objects: how they compare, and numbers for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace quern {

/// Whether an id compares as a number: decimal digits without leading zeros.
inline bool is_number(std::string_view id) {
    return !id.empty() && std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; }) &&
           (id.size() == 1 || id[0] != '0');
}
/// The order of ids, which settles ties: where all are numbers (`numeric`) by number, else by bytes.
inline bool id_precedes(std::string_view a, std::string_view b, bool numeric) {
    return numeric && a.size() != b.size() ? a.size() < b.size() : a < b;
}

/// Numbers for ids, in the order they come. The texts must outlive it.
class id_numbers {
  public:
    std::uint32_t operator()(std::string_view id) {
        if (2 * (ids_.size() + 1) > slots_.size()) grow();
        const std::uint64_t hash = hash64(id);
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

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct slot {
        std::uint64_t hash = 0;
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
