// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "device/array.hpp"
#include "ops/near_duplicates/exact/verify.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "primitives/edit_distance/edit_distance.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// The texts of some candidates, each once, concatenated.
template <class Unit>
struct packed_texts {
    std::vector<Unit> units;
    std::vector<std::uint64_t> offsets{0};
    std::vector<primitives::bounded_pair> pairs;
    std::size_t end = 0;  ///< the first candidate after them
};

/// Takes candidates from `begin` on, as many as fit `max_units`; at least one. `slots`: one number per text, all `none`,
/// before and after the call.
constexpr std::uint32_t none = 0xffffffff;
template <class Unit>
packed_texts<Unit> pack(const unit_list<Unit>& texts, const decimal& threshold,
                        std::span<const candidate> candidates, std::size_t begin, std::uint64_t max_units,
                        std::vector<std::uint32_t>& slots) {
    packed_texts<Unit> packed;
    std::vector<std::uint32_t> used;
    std::uint64_t units = 0;
    const auto slot_of = [&](std::uint32_t text) {
        if (slots[text] == none) {
            slots[text] = static_cast<std::uint32_t>(used.size());
            used.push_back(text);
            units += texts.length(text);
            packed.offsets.push_back(units);
        }
        return slots[text];
    };
    std::size_t i = begin;
    for (; i < candidates.size() && (i == begin || units < max_units); ++i) {
        const auto [a, b] = candidates[i];
        const std::uint32_t d = largest_distance(threshold, std::uint64_t{texts.length(a)} + texts.length(b));
        const std::uint32_t slot_a = slot_of(a), slot_b = slot_of(b);
        packed.pairs.push_back({slot_a, slot_b, d});
    }
    packed.end = i;
    packed.units.reserve(units);
    for (const std::uint32_t text : used) {
        const auto own = texts.units.subspan(texts.offsets[text], texts.length(text));
        packed.units.insert(packed.units.end(), own.begin(), own.end());
        slots[text] = none;
    }
    return packed;
}

}  // namespace

template <class Unit>
std::vector<std::uint32_t> distances_below(cuda_place& place, const unit_list<Unit>& texts,
                                           const decimal& threshold, std::span<const candidate> candidates) {
    std::vector<std::uint32_t> distances(candidates.size());
    std::vector<std::uint32_t> slots(texts.size(), none);
    const std::uint64_t max_units = std::max<std::uint64_t>(1, place.memory().left() / 4 / sizeof(Unit));
    for (std::size_t begin = 0; begin < candidates.size();) {
        place.ctx().check_stop();
        const auto packed = pack(texts, threshold, candidates, begin, max_units, slots);
        const auto units = array_from<cuda_place, Unit>(place, packed.units, "texts to compare");
        const auto offsets = array_from<cuda_place, std::uint64_t>(place, packed.offsets, "texts to compare");
        const auto pairs =
            array_from<cuda_place, primitives::bounded_pair>(place, packed.pairs, "pairs to compare");
        const cuda_array<std::uint32_t> found(place, packed.pairs.size(), "edit distances");
        primitives::edit_distances<Unit>(place, units.span(), offsets.span(), pairs.span(), found.span());
        copy_out<std::uint32_t>(place, found.span(), std::span(distances).subspan(begin, packed.end - begin));
        begin = packed.end;
    }
    return distances;
}

template <class Unit>
std::vector<std::uint32_t> distances_below(cuda_place& place, const device_texts<Unit>& texts,
                                           std::span<const primitives::bounded_pair> pairs) {
    constexpr std::uint64_t bytes_a_pair = 128;  // with those of the primitive
    const std::size_t at_once =
        std::clamp<std::size_t>(place.memory().left() / 2 / bytes_a_pair, 1, std::size_t{1} << 24);
    std::vector<std::uint32_t> distances(pairs.size());
    for (std::size_t begin = 0; begin < pairs.size(); begin += at_once) {
        place.ctx().check_stop();
        const auto some = pairs.subspan(begin, std::min(at_once, pairs.size() - begin));
        const auto on_device =
            array_from<cuda_place, primitives::bounded_pair>(place, some, "pairs to compare");
        const cuda_array<std::uint32_t> found(place, some.size(), "edit distances");
        primitives::edit_distances<Unit>(place, texts.units, texts.offsets, on_device.span(), found.span());
        copy_out<std::uint32_t>(place, found.span(), std::span(distances).subspan(begin, some.size()));
    }
    return distances;
}

template std::vector<std::uint32_t> distances_below(cuda_place&, const device_texts<std::uint8_t>&,
                                                    std::span<const primitives::bounded_pair>);
template std::vector<std::uint32_t> distances_below(cuda_place&, const device_texts<std::uint32_t>&,
                                                    std::span<const primitives::bounded_pair>);
template std::vector<std::uint32_t> distances_below(cuda_place&, const unit_list<std::uint8_t>&,
                                                    const decimal&, std::span<const candidate>);
template std::vector<std::uint32_t> distances_below(cuda_place&, const unit_list<std::uint32_t>&,
                                                    const decimal&, std::span<const candidate>);

}  // namespace quern::near_duplicates_detail
