// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/document_id_table.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
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
std::size_t id_table::slot_of(std::span<const slot> slots, const std::array<std::uint32_t, 4>& id) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = id[0] & mask;
    while (slots[at].document_plus_one != 0 && slots[at].id != id) at = (at + 1) & mask;
    return at;
}

bool id_table::insert(const hash128_value& id, std::uint32_t document) {
    part& p = parts_[part_of(id)];
    if ((p.used + 1) * std::uint64_t{4} > p.array.slots().size() * 3) grow(p);
    const std::span<slot> slots = p.array.slots();
    slot& entry = slots[slot_of(slots, words_of(id))];
    if (entry.document_plus_one != 0) return false;
    entry = {words_of(id), document + 1};
    ++p.used;
    ++size_;
    return true;
}

std::optional<std::uint32_t> id_table::find(const hash128_value& id) const {
    const std::span<const slot> slots = parts_[part_of(id)].array.slots();
    if (slots.empty()) return std::nullopt;
    const slot& entry = slots[slot_of(slots, words_of(id))];
    if (entry.document_plus_one == 0) return std::nullopt;
    return entry.document_plus_one - 1;
}

void id_table::grow(part& p) {
    const std::span<const slot> old = p.array.slots();
    slot_array wider = zeroed(std::max(first_slots, 2 * old.size()));
    for (const slot& s : old) {
        if (s.document_plus_one != 0) wider.slots()[slot_of(wider.slots(), s.id)] = s;
    }
    memory_bytes_ += wider.memory_bytes();
    memory_bytes_ -= p.array.memory_bytes();
    p.array = std::move(wider);
}

id_table::slot_array id_table::zeroed(std::size_t size) {
    if (memory_bytes_ + size * sizeof(slot) <= memory_limit_) return slot_array(size);
    if (!folder_) folder_ = std::make_unique<scratch_folder>(*ctx_);
    return {*folder_, size};
}

id_table::slot_array::slot_array(scratch_folder& folder, std::size_t size)
    : file_(std::make_unique<scratch_array<slot>>(folder, "document_ids", size)), slots_(file_->span()) {
    // Unlinked at once: the disk space is freed with the array, and the next one can have the name.
    std::filesystem::remove(folder.file("document_ids"));
    folder.give_back(size * sizeof(slot));
}

}  // namespace quern
