// SPDX-License-Identifier: Apache-2.0
// Document ids -> document numbers while a collection is read: finds repeated ids, and resolves links at the end. Holds
// 128-bit hashes instead of ids, so that memory is 20 bytes a slot for any length of ids. Consists of many small tables
// that grow one by one, so that growing never duplicates much.
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
    /// Inserts `id` for `document`; false (and no change) if it exists already.
    bool insert(std::string_view id, std::uint32_t document) { return insert(hash128(id), document); }
    bool insert(const hash128_value& id, std::uint32_t document);
    std::optional<std::uint32_t> find(const hash128_value& id) const;

    std::uint64_t size() const { return size_; }
    std::uint64_t memory_bytes() const { return memory_bytes_; }

  private:
    /// 32-bit words, so that a slot takes 20 bytes instead of 24.
    struct slot {
        std::array<std::uint32_t, 4> id;
        std::uint32_t document_plus_one;  ///< 0: empty
    };
    struct part {
        std::vector<slot> slots;
        std::uint32_t used = 0;
    };
    static std::size_t slot_of(const std::vector<slot>& slots, const std::array<std::uint32_t, 4>& id);
    void grow(part& p);

    std::array<part, 256> parts_;
    std::uint64_t size_ = 0, memory_bytes_ = 0;
};

}  // namespace quern
