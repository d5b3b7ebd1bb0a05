// SPDX-License-Identifier: Apache-2.0
// A sorted run in the scratch file: blocks of equal size, each with its keys and then its values, so that one read loads
// both. In memory a run keeps the first key of every block. These give the order in which the merge will need the blocks of
// all runs (Knuth's forecasting, exact here), and how far the loaded blocks can be merged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "device/array.hpp"
#include "device/cpu/huge_pages.hpp"
#include "primitives/external_sort/run_file.hpp"
#include "primitives/keys.hpp"

namespace quern::primitives {

/// The layout of a run's pairs in its blocks.
template <class Key, class Value>
struct block_layout {
    /// That many pairs fill whole disk units.
    static constexpr std::size_t unit = 1024;
    static constexpr std::size_t pair_bytes = sizeof(Key) + sizeof(Value);

    std::size_t pairs;  ///< of a full block; a multiple of `unit`

    std::size_t bytes() const { return pairs * pair_bytes; }
    std::size_t blocks_of(std::uint64_t count) const { return (count + pairs - 1) / pairs; }
    static std::size_t key_bytes(std::size_t count) { return rounded_up(count * sizeof(Key)); }
    static std::size_t value_bytes(std::size_t count) { return rounded_up(count * sizeof(Value)); }
};

template <class Key>
struct sorted_run {
    std::uint64_t offset = 0, pairs = 0;
    cpu_array<key_bits_t<Key>> first_keys;  ///< ordered bits, block by block
};

/// Memory of pairs for transfers: aligned, and rounded up to whole units.
template <class Key, class Value>
class pair_buffer {
  public:
    pair_buffer() = default;
    pair_buffer(cpu_place& host, std::size_t capacity, std::string_view what_for)
        : capacity_(capacity), memory_(host, bytes_for(capacity), what_for) {
        const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
        keys_ = memory_.data() + (rounded_up(at) - at);
        wish_for_huge_pages(memory_.data(), memory_.size());
    }
    static std::size_t bytes_for(std::size_t capacity) {
        return rounded_up(capacity * sizeof(Key)) + rounded_up(capacity * sizeof(Value)) + disk_alignment;
    }

    std::size_t capacity() const { return capacity_; }
    std::span<Key> keys() const { return {reinterpret_cast<Key*>(keys_), capacity_}; }
    std::span<Value> values() const {
        return {reinterpret_cast<Value*>(keys_ + rounded_up(capacity_ * sizeof(Key))), capacity_};
    }

  private:
    std::size_t capacity_ = 0;
    cpu_array<std::byte> memory_;
    std::byte* keys_ = nullptr;
};

/// Writes the first `count` pairs of a buffer, sorted, as blocks first_block, first_block + 1, … of a run whose space in
/// the file is reserved and whose first_keys are allocated. All blocks but the run's last must be full.
template <class Key, class Value>
void write_blocks(const context& stop, run_file& file, const block_layout<Key, Value>& layout,
                  sorted_run<Key>& run, std::size_t first_block, const pair_buffer<Key, Value>& from,
                  std::size_t count, order direction) {
    const std::size_t blocks = layout.blocks_of(count);
    // The padding of a last block is written too: unused memory.
    const std::size_t padded = std::min(rounded_up(count, layout.unit), from.capacity());
    std::fill(from.keys().begin() + static_cast<std::ptrdiff_t>(count),
              from.keys().begin() + static_cast<std::ptrdiff_t>(padded), Key());
    std::fill(from.values().begin() + static_cast<std::ptrdiff_t>(count),
              from.values().begin() + static_cast<std::ptrdiff_t>(padded), Value());
    transfer_all(stop, blocks, [&](std::size_t b) {
        const std::size_t begin = b * layout.pairs, pairs = std::min(layout.pairs, count - begin);
        const auto keys = std::as_bytes(std::span<const Key>(from.keys())).data() + begin * sizeof(Key);
        const auto values =
            std::as_bytes(std::span<const Value>(from.values())).data() + begin * sizeof(Value);
        run.first_keys.data()[first_block + b] = ordered_bits(from.keys()[begin], direction);
        file.write_at(run.offset + (first_block + b) * layout.bytes(),
                      std::span(keys, layout.key_bytes(pairs)), std::span(values, layout.value_bytes(pairs)));
    });
}

}  // namespace quern::primitives
