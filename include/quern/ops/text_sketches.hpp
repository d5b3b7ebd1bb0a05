// SPDX-License-Identifier: Apache-2.0
// What is kept of a text so that it can be compared with texts to come without being read again: 80 bytes. Old texts
// that come with their sketches cost near_duplicates() a pass over these; of their bytes only those are read that the
// sketches leave as candidates. docs/near_duplicates.md says why no pair is lost.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern {

/// Plain data, the same on every machine: may be kept in files as it lies in memory.
struct text_sketch {
    static constexpr std::uint32_t not_known = 0xffffffff;

    std::uint64_t hash = 0;    ///< XXH3 of the bytes
    std::uint32_t length = 0;  ///< in units
    /// The position of the first text of the list that is equal to this one, its own where there is none before.
    std::uint32_t first_equal = not_known;
    std::array<std::uint8_t, 64> counts{};  ///< how often units of 64 kinds occur, 255 at most
};

/// Sketches of the first texts of a list, made with the unit that is asked with; views only.
struct text_sketches {
    std::vector<std::span<const text_sketch>> stretches;  ///< one behind the other
    /// Called before bytes of an old text are read, by any thread, perhaps more than once; may throw, which ends the
    /// search. Checks what is read lazily, for one. May be empty.
    std::function<void(std::uint32_t text)> before_reading;

    std::size_t size() const {
        std::size_t all = 0;
        for (const auto& stretch : stretches) all += stretch.size();
        return all;
    }
};

/// first_equal is not known then. Throws usage_error for a text of 2^31 units or more. Any thread. Cost: O(text).
text_sketch sketch_text(std::string_view text, edit_unit unit);
/// Of the texts from `first` on, with all threads. Throws as sketch_text(), interrupted.
std::vector<text_sketch> sketch_texts(const text_list& texts, std::uint32_t first, edit_unit unit,
                                      const context& run);
/// Fills in first_equal of `sketches`, those of the texts from `first` on: from all pairs of one of them with an
/// earlier text, or links, as found by a method of the edit rate (a distance of 0 is an equal text).
void link_equal_texts(std::span<text_sketch> sketches, std::uint32_t first,
                      std::span<const duplicate_pair> pairs);

/// Equal texts have the same pairs, so it is enough to keep those of the first ones of each kind. Leaves these of pairs, or
/// links, of texts that `known` are, linked.
void keep_first_equals(const text_sketches& known, std::vector<duplicate_pair>& pairs);
/// The way back: from all pairs that were kept so, all whose later text is `wanted` (one flag a text), rising; or links,
/// as duplicate_scope says. `count`: how many pairs there are. Throws out_of_memory, interrupted.
/// Cost: O(texts + pairs), with a flag and 4 bytes a text.
std::vector<duplicate_pair> pairs_of_equals(const text_sketches& known, std::span<const duplicate_pair> pairs,
                                            const std::vector<bool>& wanted, bool links_only,
                                            std::uint64_t& count, const context& run);

/// As near_duplicates() without sketches, the same pairs; they serve method `automatic`. Of all old texts there must be
/// sketches, with first_equal known, or there may as well be none; new texts without are sketched.
/// Cost: 80 bytes read for each old text and 64 compared for each pair that lengths allow; the bytes of a few old texts.
/// CUDA: the same while that is less work than reading the old texts once, which it does otherwise.
duplicate_result near_duplicates(const text_list& texts, const text_sketches& known,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 const context& run);

}  // namespace quern
