// SPDX-License-Identifier: Apache-2.0
// The k best of n by key, sorted, of one list or of every row of a matrix. Contract class: exact, one total order: the best
// key first, and among equal keys the lowest id. Any k. Deterministic, including ties.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// Which keys are best: scores (greatest) or distances (least).
enum class best { greatest, least };

/// best_keys[j], best_ids[j]: the j-th best key and its position in `keys`. k = best_keys.size() = best_ids.size() ≤
/// keys.size() < 2³² (usage_error otherwise).
/// - −0 = +0 and NaN is rejected, as in sort_pairs; the bits of the keys are kept; for k = 0 no key is read.
/// - Cost: one pass over the keys and sorting k pairs if k is small relative to n; never more than sorting all.
/// - Memory: a few times k pairs, n if all are sorted.
/// - CUDA: does not synchronise; a NaN is thrown when the place is next synchronised.
template <sortable_key Key>
void top_k(cpu_place& place, std::span<const Key> keys, std::span<Key> best_keys,
           std::span<std::uint32_t> best_ids, best which = best::greatest);
template <sortable_key Key>
void top_k(cuda_place& place, device_span<const Key> keys, device_span<Key> best_keys,
           device_span<std::uint32_t> best_ids, best which = best::greatest);

/// The same with the caller's ids, one per key and all different: ties by the lowest of these. ids[] below 2³².
template <sortable_key Key>
void top_k(cpu_place& place, std::span<const Key> keys, std::span<const std::uint32_t> ids,
           std::span<Key> best_keys, std::span<std::uint32_t> best_ids, best which = best::greatest);
template <sortable_key Key>
void top_k(cuda_place& place, device_span<const Key> keys, device_span<const std::uint32_t> ids,
           device_span<Key> best_keys, device_span<std::uint32_t> best_ids, best which = best::greatest);

/// For each row of a row-major matrix of `columns` columns: the k best of the row; ids are columns. Row r of the results
/// begins at r · k. keys.size() must be rows · columns, and the results rows · k (usage_error otherwise). A NaN's position
/// is that in the matrix. CUDA: synchronises once if k is too large for a block's memory and rows are many, because all
/// rows are then sorted; otherwise as top_k.
template <sortable_key Key>
void batched_top_k(cpu_place& place, std::span<const Key> keys, std::uint64_t columns, std::uint64_t k,
                   std::span<Key> best_keys, std::span<std::uint32_t> best_ids, best which = best::greatest);
template <sortable_key Key>
void batched_top_k(cuda_place& place, device_span<const Key> keys, std::uint64_t columns, std::uint64_t k,
                   device_span<Key> best_keys, device_span<std::uint32_t> best_ids,
                   best which = best::greatest);

}  // namespace quern::primitives
