// SPDX-License-Identifier: Apache-2.0
// From a document's id to its number, over the ids mapped by an opened store: an open-addressed table of numbers only,
// 1.5 slots a document, so 6 bytes each. The id's hash selects a slot; the id itself is compared in the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tasks/store/opened_store.hpp"

namespace quern {

class document_finder {
  public:
    /// Time O(documents): half a second for ten million. The store must outlive it.
    explicit document_finder(const opened_store& store);
    std::optional<std::uint32_t> find(std::string_view id) const;
    std::uint64_t memory_bytes() const { return table_.capacity() * sizeof(std::uint32_t); }

  private:
    static constexpr std::uint32_t nobody = 0xFFFF'FFFF;
    std::size_t slot_of(std::string_view id) const;
    std::size_t after(std::size_t slot) const { return slot + 1 == table_.size() ? 0 : slot + 1; }

    const opened_store* store_;
    std::vector<std::uint32_t> table_;
};

}  // namespace quern
