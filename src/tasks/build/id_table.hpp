// SPDX-License-Identifier: Apache-2.0
// Document ids -> document numbers while a collection is read: finds repeated ids, and resolves links at the
// end. Holds 128-bit hashes, not the ids, so that memory is 24 bytes a slot whatever the ids' lengths.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace quern {

class id_table {
  public:
    id_table() : slots_(1 << 10) {}

    /// Enters `id` for `document`; false (and nothing changed) where it is there already.
    bool insert(std::string_view id, std::uint32_t document) { return insert(hash128(id), document); }
    bool insert(hash128_value id, std::uint32_t document);
    std::optional<std::uint32_t> find(hash128_value id) const;

    std::uint64_t size() const { return size_; }
    std::uint64_t memory_bytes() const { return slots_.capacity() * sizeof(slot); }
    /// What the next doubling would hold, old and new table together.
    std::uint64_t memory_bytes_while_growing() const { return 3 * memory_bytes(); }

  private:
    struct slot {
        hash128_value id;
        std::uint32_t document_plus_one = 0;
    };
    std::size_t place_of(const hash128_value& id) const;
    void grow();

    std::vector<slot> slots_;
    std::uint64_t size_ = 0;
};

}  // namespace quern
