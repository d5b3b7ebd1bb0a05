// SPDX-License-Identifier: Apache-2.0
// The words of a dictionary on a place, for look-ups of many words there.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "device/input_array.hpp"
#include "primitives/dictionary/resident_words.hpp"
#include "text/dictionary.hpp"

namespace quern {

/// For resident (device/resident.hpp).
template <class Place>
class placed_words {
  public:
    placed_words(Place& place, cpu_place& /*host*/, const text::dictionary_view& words)
        : place_(place), words_(place_, [walker = text::dictionary_view::walker(words, 0)]() mutable {
              return walker.next();
          }) {}

    /// As primitives::find_words, of a text in the host's memory.
    void find(std::span<const std::uint8_t> text, std::span<const std::uint32_t> begins,
              std::span<const std::uint32_t> ends, std::span<std::uint32_t> ids) {
        constexpr std::string_view what_for = "words to look up";
        const input_array<Place, std::uint8_t> device_text(place_, text, what_for);
        const input_array<Place, std::uint32_t> device_begins(place_, begins, what_for),
            device_ends(place_, ends, what_for);
        auto found = make_array<std::uint32_t>(place_, ids.size(), "ids");
        words_.find(place_, device_text.span(), device_begins.span(), device_ends.span(), found.span());
        copy_out<std::uint32_t>(place_, found.span(), ids);
        place_.synchronise();
    }

  private:
    Place& place_;
    primitives::resident_words<Place> words_;
};

}  // namespace quern
