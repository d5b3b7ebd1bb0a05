// SPDX-License-Identifier: Apache-2.0
// A dictionary put on a place once, for look-ups of many words there: find_words(place, on_place.list(), …).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "device/array.hpp"
#include "primitives/dictionary/dictionary.hpp"
#include "primitives/dictionary/front_coder.hpp"
#include "text/dictionary.hpp"

namespace quern::text {

/// The list in the form of the place's look-up, coded again where that is another one than the dictionary's (a tenth of
/// a microsecond a word). The place must outlive it, the dictionary need not.
template <class Place>
class dictionary_on_place {
  public:
    dictionary_on_place(Place& place, const dictionary_view& from)
        : dictionary_on_place(place, from.size(), coded(from)) {}

    const primitives::word_list<Place>& list() const { return list_; }

  private:
    static primitives::front_coded coded(const dictionary_view& from) {
        primitives::front_coder coder;
        dictionary_view::walker words(from, 0);
        while (const auto word = words.next()) coder.append(*word);
        return coder.finish();
    }

    dictionary_on_place(Place& place, std::uint32_t size, const primitives::front_coded& from)
        : keys_(array_from(place, std::span<const std::uint64_t>(from.keys), "a dictionary")),
          offsets_(array_from(place, std::span<const std::uint32_t>(from.offsets), "a dictionary")),
          wide_offsets_(array_from(place, std::span<const std::uint64_t>(from.wide_offsets), "a dictionary")),
          blocks_(array_from(place, std::span<const std::uint8_t>(from.blocks), "a dictionary")),
          list_{keys_.span(), offsets_.span(), wide_offsets_.span(), blocks_.span(), size} {}

    array_on<Place, std::uint64_t> keys_;
    array_on<Place, std::uint32_t> offsets_;
    array_on<Place, std::uint64_t> wide_offsets_;
    array_on<Place, std::uint8_t> blocks_;
    primitives::word_list<Place> list_;
};

/// On the CPU the dictionary itself, which must outlive this.
template <>
class dictionary_on_place<cpu_place> {
  public:
    dictionary_on_place(cpu_place&, const dictionary_view& from) : list_(from.list()) {}

    const primitives::packed_words& list() const { return list_; }

  private:
    primitives::packed_words list_;
};

}  // namespace quern::text
