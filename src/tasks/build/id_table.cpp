// SPDX-License-Identifier: Apache-2.0
#include "tasks/build/id_table.hpp"

#include <utility>

namespace quern {

/// The slot that holds `id`, or the empty one where it would go.
std::size_t id_table::place_of(const hash128_value& id) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = id.low & mask;
    while (slots_[at].document_plus_one != 0 && slots_[at].id != id) at = (at + 1) & mask;
    return at;
}

bool id_table::insert(hash128_value id, std::uint32_t document) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    slot& place = slots_[place_of(id)];
    if (place.document_plus_one != 0) return false;
    place = {id, document + 1};
    ++size_;
    return true;
}

std::optional<std::uint32_t> id_table::find(hash128_value id) const {
    const slot& place = slots_[place_of(id)];
    if (place.document_plus_one == 0) return std::nullopt;
    return place.document_plus_one - 1;
}

void id_table::grow() {
    std::vector<slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const slot& s : old) {
        if (s.document_plus_one != 0) slots_[place_of(s.id)] = s;
    }
}

}  // namespace quern
