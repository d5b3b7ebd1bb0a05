// SPDX-License-Identifier: Apache-2.0
// From a document's id to its number, over the ids that an opened store maps: an open-addressed table of numbers alone,
// 1.5 places a document, so 6 bytes each. A place is chosen by the id's hash; that the id is the one asked for is read
// in the store itself.
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
    std::size_t place_of(std::string_view id) const;
    std::size_t after(std::size_t place) const { return place + 1 == table_.size() ? 0 : place + 1; }

    const opened_store* store_;
    std::vector<std::uint32_t> table_;
};

}  // namespace quern
