// SPDX-License-Identifier: Apache-2.0
// Steps over many items, written once for all places: a step is a struct whose constexpr operator()(i) processes item i.
//
//     for_each_item(place, keys.size(), flag_changes{keys.data(), flags.data()});
//
// CUDA's overload is in item_loops.cuh. An item of a step never writes what another item of that step reads or writes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cpu/parallel.hpp"

namespace quern::ngram_detail {

template <class Step>
void for_each_item(cpu_place& place, std::uint64_t items, const Step& step) {
    const std::size_t pieces = pieces_for(place, items, std::size_t{1} << 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(items, pieces, p);
        for (std::uint64_t i = begin; i < end; ++i) step(i);
    });
}

}  // namespace quern::ngram_detail
