// SPDX-License-Identifier: Apache-2.0
// The named methods, one function each, as the door (near_duplicates.cpp) calls them: options are checked, numbers of
// texts and units fit 32 bits, results rise by (a, b).
#pragma once

#include <cstdint>

#include "device/cpu/place.hpp"
#include "device/cuda/place.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern::near_duplicates_detail {

/// Methods of the edit rate, on the texts as lists of units: bytes, or code points where the user asked for them.
template <class Unit>
struct unit_list {
    std::span<const Unit> units;
    std::span<const std::uint64_t> offsets;

    std::uint32_t size() const {
        return static_cast<std::uint32_t>(offsets.empty() ? 0 : offsets.size() - 1);
    }
    std::uint32_t length(std::uint32_t i) const {
        return static_cast<std::uint32_t>(offsets[i + 1] - offsets[i]);
    }
};

/// A pair that may be wanted.
struct candidate {
    std::uint32_t a, b;  ///< a < b
};

/// The unit that a type stands for.
template <class Unit>
inline constexpr edit_unit unit_of = sizeof(Unit) == 1 ? edit_unit::byte : edit_unit::character;

/// Texts and not lists of units: of old ones, few are read. `known` as near_duplicates() takes them.
template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cpu_place& place, const text_list& texts,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts);
template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cuda_place& place, const text_list& texts,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts);

/// Candidates by signatures, whatever the unit: rising (a, b). `method`: signature, shared_memory, global_memory; the
/// latter two compare the signatures at B only, as the thesis does.
template <class Place>
std::vector<candidate> signature_candidates(Place& place, const text_list& texts,
                                            const duplicate_options& options, const duplicate_scope& scope,
                                            duplicate_counts& counts);

/// Methods of words, on the CPU.
std::vector<duplicate_pair> find_by_shingles(cpu_place& place, const word_list& documents,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             duplicate_counts& counts);
std::vector<duplicate_pair> find_by_simhash(cpu_place& place, const word_list& documents,
                                            std::uint32_t vocabulary, const duplicate_options& options,
                                            const duplicate_scope& scope, duplicate_counts& counts);
std::vector<duplicate_pair> find_by_i_match(cpu_place& place, const word_list& documents,
                                            std::uint32_t vocabulary, const duplicate_options& options,
                                            const duplicate_scope& scope, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
