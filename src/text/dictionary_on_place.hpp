// SPDX-License-Identifier: Apache-2.0
// A dictionary's arrays put on a place once, for look-ups of many words there.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/dictionary/dictionary.hpp"
#include "text/dictionary.hpp"

namespace quern::text {

/// Holds the memory and the list over it; the place must outlive it, the dictionary need not.
template <class Place>
class dictionary_on_place {
  public:
    dictionary_on_place(Place& place, const dictionary_view& from)
        : dictionary_on_place(place, from.list()) {}

    const primitives::word_list<Place>& list() const { return list_; }

  private:
    dictionary_on_place(Place& place, const primitives::word_list<cpu_place>& from)
        : keys_(array_from(place, from.keys, "a dictionary")),
          offsets_(array_from(place, from.offsets, "a dictionary")),
          wide_offsets_(array_from(place, from.wide_offsets, "a dictionary")),
          blocks_(array_from(place, from.blocks, "a dictionary")),
          list_{keys_.span(), offsets_.span(), wide_offsets_.span(), blocks_.span(), from.size} {}

    array_on<Place, std::uint64_t> keys_;
    array_on<Place, std::uint32_t> offsets_;
    array_on<Place, std::uint64_t> wide_offsets_;
    array_on<Place, std::uint8_t> blocks_;
    primitives::word_list<Place> list_;
};

}  // namespace quern::text
