// SPDX-License-Identifier: Apache-2.0
// Counts memory that no array of a place counts: lists of the standard library, results of other modules.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/memory_budget.hpp"

namespace quern {

/// A part of a budget, held while this object lives. Throws out_of_memory if less is left.
class budget_share {
  public:
    budget_share(memory_budget& whole, std::uint64_t bytes, std::string_view what_for)
        : whole_(whole), bytes_(bytes) {
        whole_.take(bytes, what_for);
    }
    budget_share(const budget_share&) = delete;  // released once
    budget_share& operator=(const budget_share&) = delete;
    ~budget_share() { whole_.give_back(bytes_); }

  private:
    memory_budget& whole_;
    std::uint64_t bytes_;
};

}  // namespace quern
