// SPDX-License-Identifier: Apache-2.0
// Document ids -> document numbers while a collection is read: finds repeated ids, and resolves links at the end.
// Holds 128-bit hashes, not the ids, so that memory is 20 bytes a slot whatever the ids' lengths; and is made of
// many small tables that grow one by one, so that growing never holds much twice.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace quern {

class id_table {
  public:
    /// Enters `id` for `document`; false (and nothing changed) where it is there already.
    bool insert(std::string_view id, std::uint32_t document) { return insert(hash128(id), document); }
    bool insert(const hash128_value& id, std::uint32_t document);
    std::optional<std::uint32_t> find(const hash128_value& id) const;

    std::uint64_t size() const { return size_; }
    std::uint64_t memory_bytes() const { return memory_bytes_; }

  private:
    /// Words of 32 bits, so that a slot takes 20 bytes and not 24.
    struct slot {
        std::array<std::uint32_t, 4> id;
        std::uint32_t document_plus_one;  ///< 0: empty
    };
    struct part {
        std::vector<slot> slots;
        std::uint32_t used = 0;
    };
    static std::size_t place_of(const std::vector<slot>& slots, const std::array<std::uint32_t, 4>& id);
    void grow(part& p);

    std::array<part, 256> parts_;
    std::uint64_t size_ = 0, memory_bytes_ = 0;
};

}  // namespace quern
