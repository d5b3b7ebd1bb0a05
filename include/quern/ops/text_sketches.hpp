// SPDX-License-Identifier: Apache-2.0
// An 80-byte sketch of a text, to compare it with later texts without reading it again. Old texts with sketches
// cost near_duplicates() a pass over the sketches; it reads the bytes of a text only if the sketches leave it
// as a candidate. docs/near_duplicates.md explains why no pair is lost.
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

/// Plain data, the same on every machine: may be written to files as it is in memory.
struct text_sketch {
    static constexpr std::uint32_t not_known = 0xffffffff;

    std::uint64_t hash = 0;    ///< XXH3 of the bytes
    std::uint32_t length = 0;  ///< in units
    /// The position of the first equal text of the list; its own position if there is no earlier one.
    std::uint32_t first_equal = not_known;
    std::array<std::uint8_t, 64> counts{};  ///< occurrences of units of 64 kinds, at most 255
};

/// Sketches of the first texts of a list, made with the same unit as the search; views only.
struct text_sketches {
    std::vector<std::span<const text_sketch>> chunks;  ///< consecutive
    /// Called before bytes of an old text are read, by any thread, possibly more than once; may throw, which
    /// ends the search. Useful, for example, to verify data lazily. May be empty.
    std::function<void(std::uint32_t text)> before_reading;

    std::size_t size() const {
        std::size_t all = 0;
        for (const auto& chunk : chunks) all += chunk.size();
        return all;
    }
};

/// Leaves first_equal unknown. Throws usage_error for a text of 2^31 units or more. Thread-safe. Cost: O(text).
text_sketch sketch_text(std::string_view text, edit_unit unit);
/// Sketches the texts from `first` on, with all threads. Throws as sketch_text(), interrupted.
std::vector<text_sketch> sketch_texts(const text_list& texts, std::uint32_t first, edit_unit unit,
                                      const context& ctx);
/// Fills in first_equal of `sketches`, those of the texts from `first` on. `pairs`: all pairs of one of them
/// with an earlier text, or links, found by an edit-rate method (a distance of 0 is an equal text).
void link_equal_texts(std::span<text_sketch> sketches, std::uint32_t first,
                      std::span<const duplicate_pair> pairs);

/// Equal texts have the same pairs, so it suffices to keep those of the first one of each kind. Removes all
/// others from the pairs, or links, of the linked texts `known`.
void keep_first_equals(const text_sketches& known, std::vector<duplicate_pair>& pairs);
/// The inverse: from all pairs kept this way, all pairs whose later text is `wanted` (one flag per text),
/// ascending; or links, as in duplicate_scope. `count`: the number of pairs. Throws out_of_memory, interrupted.
/// Cost: O(texts + pairs), with a flag and 4 bytes per text.
std::vector<duplicate_pair> pairs_of_equals(const text_sketches& known, std::span<const duplicate_pair> pairs,
                                            const std::vector<bool>& wanted, bool links_only,
                                            std::uint64_t& count, const context& ctx);

/// The same pairs as near_duplicates() without sketches; method `automatic` uses the sketches. They have an
/// effect only if all old texts have one, with first_equal known; new texts without one are sketched. Cost: 80
/// bytes read per old text and 64 compared per pair that the lengths allow; the bytes of a few old texts. CUDA:
/// the same, unless reading the old texts once is less work; then it does that.
duplicate_result near_duplicates(const text_list& texts, const text_sketches& known,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 const context& ctx);

}  // namespace quern
