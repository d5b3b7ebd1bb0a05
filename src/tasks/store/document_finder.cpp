// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/document_finder.hpp"

#include "base/hash.hpp"

namespace quern {
namespace {

__extension__ using wide_number = unsigned __int128;

}  // namespace

document_finder::document_finder(const opened_store& store)
    : store_(&store), table_(store.info().documents + store.info().documents / 2 + 1, nobody) {
    for (std::uint32_t document = 0; document < store.info().documents; ++document) {
        std::size_t slot = slot_of(store.id(document));
        while (table_[slot] != nobody) slot = after(slot);
        table_[slot] = document;
    }
}

/// The high half of hash · slots: every slot is equally likely, without a division.
std::size_t document_finder::slot_of(std::string_view id) const {
    return static_cast<std::size_t>((static_cast<wide_number>(hash64(id)) * table_.size()) >> 64);
}

std::optional<std::uint32_t> document_finder::find(std::string_view id) const {
    for (std::size_t slot = slot_of(id); table_[slot] != nobody; slot = after(slot)) {
        if (store_->id(table_[slot]) == id) return table_[slot];
    }
    return {};
}

}  // namespace quern
