// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/document_id_table.hpp"

#include <algorithm>
#include <utility>

namespace quern {
namespace {

constexpr std::size_t first_slots = 16;

std::array<std::uint32_t, 4> words_of(const hash128_value& id) {
    return {static_cast<std::uint32_t>(id.low), static_cast<std::uint32_t>(id.low >> 32),
            static_cast<std::uint32_t>(id.high), static_cast<std::uint32_t>(id.high >> 32)};
}

std::size_t part_of(const hash128_value& id) {
    return id.high & 0xff;
}

}  // namespace

/// The slot that holds `id`, or the empty one for it. At least one slot is empty.
std::size_t id_table::slot_of(const std::vector<slot>& slots, const std::array<std::uint32_t, 4>& id) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = id[0] & mask;
    while (slots[at].document_plus_one != 0 && slots[at].id != id) at = (at + 1) & mask;
    return at;
}

bool id_table::insert(const hash128_value& id, std::uint32_t document) {
    part& p = parts_[part_of(id)];
    if ((p.used + 1) * std::uint64_t{4} > p.slots.size() * 3) grow(p);
    slot& entry = p.slots[slot_of(p.slots, words_of(id))];
    if (entry.document_plus_one != 0) return false;
    entry = {words_of(id), document + 1};
    ++p.used;
    ++size_;
    return true;
}

std::optional<std::uint32_t> id_table::find(const hash128_value& id) const {
    const part& p = parts_[part_of(id)];
    if (p.slots.empty()) return std::nullopt;
    const slot& entry = p.slots[slot_of(p.slots, words_of(id))];
    if (entry.document_plus_one == 0) return std::nullopt;
    return entry.document_plus_one - 1;
}

void id_table::grow(part& p) {
    std::vector<slot> wider(std::max(first_slots, 2 * p.slots.size()));
    for (const slot& s : p.slots) {
        if (s.document_plus_one != 0) wider[slot_of(wider, s.id)] = s;
    }
    memory_bytes_ += (wider.size() - p.slots.size()) * sizeof(slot);
    p.slots = std::move(wider);
}

}  // namespace quern
