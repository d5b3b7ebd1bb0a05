// SPDX-License-Identifier: Apache-2.0
// Crowded cells are cut into powers of two; neighbouring cells with few keys are joined.
#include "primitives/sort/radix_map.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quern::primitives::radix {
namespace {

/// False if there would be too many buckets. `weight`: sampled keys per bucket.
template <class Bits>
bool drawn(std::span<const Bits> sample, std::size_t weight, bucket_map<Bits>& map) {
    const auto last_cell = static_cast<std::size_t>((map.greatest - map.least) >> map.cell_shift);
    std::size_t bucket = 0, held = 0;
    bool open = false;  // `bucket` has cells already, with `held` sampled keys, and accepts more
    auto next = sample.begin();
    for (std::size_t c = 0; c <= last_cell; ++c) {
        const auto end = std::find_if(next, sample.end(), [&](Bits position) {
            return static_cast<std::size_t>((position - map.least) >> map.cell_shift) > c;
        });
        const auto here = static_cast<std::size_t>(end - next);
        next = end;
        const bool crowded = here > weight + weight / 2;
        if (open && (crowded || held + here > weight)) {
            ++bucket;
            open = false;
        }
        if (crowded) {
            const auto halvings = static_cast<unsigned>(
                std::lround(std::log2(static_cast<double>(here) / static_cast<double>(weight))));
            const unsigned bits = std::min(map.cell_shift, halvings);
            map.cells[c] = static_cast<Bits>(bucket << 8 | (map.cell_shift - bits));
            bucket += std::size_t{1} << bits;
        } else {
            if (!open) held = 0;
            open = true;
            held += here;
            map.cells[c] = static_cast<Bits>(bucket << 8 | map.cell_shift);
        }
        if (bucket >= bucket_map<Bits>::max_buckets) return false;
    }
    map.buckets = bucket + (open ? 1 : 0);
    return true;
}

}  // namespace

template <class Bits>
void draw_buckets(std::span<const Bits> sample, std::size_t wanted, bucket_map<Bits>& map) {
    // One more place on each side, so that keys outside the sample do not join its ends if it is narrow.
    map.least = sample.front() - (sample.front() != 0 ? 1 : 0);
    map.greatest = sample.back() + (sample.back() != static_cast<Bits>(~Bits{0}) ? 1 : 0);
    const auto range_bits = static_cast<unsigned>(std::bit_width(map.greatest - map.least));
    map.cell_shift = range_bits > map.cell_bits ? range_bits - map.cell_bits : 0;
    std::size_t weight = std::max<std::size_t>(1, sample.size() / wanted);
    while (!drawn(sample, weight, map)) weight *= 2;
}

template void draw_buckets(std::span<const std::uint32_t>, std::size_t, bucket_map<std::uint32_t>&);
template void draw_buckets(std::span<const std::uint64_t>, std::size_t, bucket_map<std::uint64_t>&);

}  // namespace quern::primitives::radix
