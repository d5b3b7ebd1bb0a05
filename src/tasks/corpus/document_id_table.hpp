// SPDX-License-Identifier: Apache-2.0
// Document ids -> document numbers while a collection is read: finds repeated ids, and resolves links at the end. Holds
// 128-bit hashes instead of ids, so that memory is 20 bytes a slot for any length of ids. Consists of many small tables
// that grow one by one, so that growing never duplicates much. Beyond a memory limit they are mapped scratch files.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "device/files/scratch_array.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"

namespace quern {

class id_table {
  public:
    /// All in memory.
    id_table() = default;
    /// In `memory_bytes` of memory and, beyond, in scratch files of `ctx`, which must outlive it. Insertions beyond throw
    /// io_error where the disk is full; call context::check_stop() after every scattered_values of them
    /// (device/paced_checks.hpp).
    id_table(const context& ctx, std::uint64_t memory_bytes) : ctx_(&ctx), memory_limit_(memory_bytes) {}

    /// Inserts `id` for `document`; false (and no change) if it exists already.
    bool insert(std::string_view id, std::uint32_t document) { return insert(hash128(id), document); }
    bool insert(const hash128_value& id, std::uint32_t document);
    std::optional<std::uint32_t> find(const hash128_value& id) const;

    std::uint64_t size() const { return size_; }
    std::uint64_t memory_bytes() const { return memory_bytes_; }  ///< without scratch files

  private:
    /// 32-bit words, so that a slot takes 20 bytes instead of 24.
    struct slot {
        std::array<std::uint32_t, 4> id;
        std::uint32_t document_plus_one;  ///< 0: empty
    };
    /// Zeroed; in memory or in a scratch file.
    class slot_array {
      public:
        slot_array() = default;
        explicit slot_array(std::size_t size) : memory_(size), slots_(memory_) {}
        slot_array(scratch_folder& folder, std::size_t size);

        std::span<slot> slots() const { return slots_; }
        std::uint64_t memory_bytes() const { return memory_.size() * sizeof(slot); }

      private:
        std::vector<slot> memory_;
        std::unique_ptr<scratch_array<slot>> file_;
        std::span<slot> slots_;
    };
    struct part {
        slot_array array;
        std::uint32_t used = 0;
    };
    static std::size_t slot_of(std::span<const slot> slots, const std::array<std::uint32_t, 4>& id);
    void grow(part& p);
    slot_array zeroed(std::size_t size);

    const context* ctx_ = nullptr;
    std::uint64_t memory_limit_ = ~std::uint64_t{0};
    std::unique_ptr<scratch_folder> folder_;  ///< once it is needed
    std::array<part, 256> parts_;
    std::uint64_t size_ = 0, memory_bytes_ = 0;
};

}  // namespace quern
