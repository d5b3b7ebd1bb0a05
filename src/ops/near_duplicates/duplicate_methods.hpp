// SPDX-License-Identifier: Apache-2.0
// One function for each named method, called by the entry point (near_duplicates.cpp). Options are checked there, numbers
// of texts and units fit 32 bits, results ascend by (a, b).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern::near_duplicates_detail {

/// Methods of the edit rate, on texts as lists of units: bytes, or code points if the user requested them.
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

/// A possible pair.
struct candidate {
    std::uint32_t a, b;  ///< a < b
};

/// The unit that a type represents.
template <class Unit>
inline constexpr edit_unit unit_of = sizeof(Unit) == 1 ? edit_unit::byte : edit_unit::character;

/// Takes texts instead of lists of units, because it reads few of the old ones. `known` as in near_duplicates().
template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cpu_place& place, const text_list& texts,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts);
template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cuda_place& place, const text_list& texts,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts);

/// When and how places share a join, in pairs that lengths allow. An H200 compares 3 · 10^11 pairs a second.
struct join_sharing {
    std::uint64_t least = 10'000'000'000;         ///< for fewer pairs, the first place alone
    std::uint64_t unit = 3'000'000'000;           ///< of a unit, at least: 10 ms
    std::uint64_t largest_unit = 30'000'000'000;  ///< at most, about: a launch
    std::size_t units_of_place = 64;              ///< wanted
    std::uint64_t early = 16'000'000;             ///< bytes of texts: more are copied by a thread of its own
};
/// The same on several devices: all of `chosen`, or the first for too few pairs. `where`: the used places, for records.
/// Several CPU places, in tests, are compared by the counts of units alone, as the slow version of the devices' join.
template <class Unit>
std::vector<duplicate_pair> find_by_sketches(const chosen_device& chosen, const text_list& texts,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, const join_sharing& sharing,
                                             const context& ctx, duplicate_counts& counts,
                                             std::string& where);

/// Candidates by signatures, for either unit: ascending (a, b). `method`: signature, shared_memory, global_memory; the
/// latter two compare only the signatures at B, as the thesis does.
template <class Place>
std::vector<candidate> signature_candidates(Place& place, const text_list& texts,
                                            const duplicate_options& options, const duplicate_scope& scope,
                                            duplicate_counts& counts);

/// Fewer texts are compared by their signatures on one device: 28 ms on an H200.
inline constexpr std::size_t min_shared_signatures = 1'000'000;
/// The method `signature` on all devices of `chosen`. `units`: the texts. `where`: the devices, for records.
template <class Unit>
std::vector<duplicate_pair> find_by_signatures(const chosen_device& chosen, const text_list& texts,
                                               const unit_list<Unit>& units, const duplicate_options& options,
                                               const duplicate_scope& scope, const context& ctx,
                                               duplicate_counts& counts, std::string& where);

/// Methods of words; on a GPU only the first.
std::vector<duplicate_pair> find_by_shingles(cpu_place& place, const word_list& documents,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             duplicate_counts& counts);
std::vector<duplicate_pair> find_by_shingles(cuda_place& place, const word_list& documents,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             duplicate_counts& counts);
std::vector<duplicate_pair> find_by_simhash(cpu_place& place, const word_list& documents,
                                            std::uint32_t vocabulary, const duplicate_options& options,
                                            const duplicate_scope& scope, duplicate_counts& counts);
std::vector<duplicate_pair> find_by_i_match(cpu_place& place, const word_list& documents,
                                            std::uint32_t vocabulary, const duplicate_options& options,
                                            const duplicate_scope& scope, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
