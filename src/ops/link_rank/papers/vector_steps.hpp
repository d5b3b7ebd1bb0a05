// SPDX-License-Identifier: Apache-2.0
// The work of PageRank in floating point on each node besides the product (storage.hpp): one pass, so that a step reads
// and writes every vector once. primitives::reduce sums its results in canonical order.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"

namespace quern::link_rank_detail {

/// The constants of a step, computed on the host, so that every place has the same bits.
struct rank_step {
    double follow = 0;  ///< times the product: α
    double each = 0;    ///< to every node
    double prefer = 0;  ///< times the preference
};

/// For every node v, in the type of the ranks, each operation rounded, none contracted (the constants first):
///     next        = follow·products[v] + each, and + prefer·preference[v] where `preference` is not empty
///     changes[v]  = |next − ranks[v]|
///     lost[v]     = dangling[v] ? next : +0
///     ranks[v]    = next
/// `preference` is empty or has a value a node; all others have one a node and do not overlap. CPU: on the threads of
/// the place. CUDA: does not synchronise.
void take_rank_step(cpu_place& place, const rank_step& step, std::span<const double> products,
                    std::span<const double> preference, std::span<const std::uint8_t> dangling,
                    std::span<double> ranks, std::span<double> changes, std::span<double> dangling_mass);
void take_rank_step(cpu_place& place, const rank_step& step, std::span<const float> products,
                    std::span<const float> preference, std::span<const std::uint8_t> dangling,
                    std::span<float> ranks, std::span<float> changes, std::span<float> dangling_mass);
void take_rank_step(cuda_place& place, const rank_step& step, device_span<const double> products,
                    device_span<const double> preference, device_span<const std::uint8_t> dangling,
                    device_span<double> ranks, device_span<double> changes,
                    device_span<double> dangling_mass);
void take_rank_step(cuda_place& place, const rank_step& step, device_span<const float> products,
                    device_span<const float> preference, device_span<const std::uint8_t> dangling,
                    device_span<float> ranks, device_span<float> changes, device_span<float> dangling_mass);

}  // namespace quern::link_rank_detail
