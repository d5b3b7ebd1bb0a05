// SPDX-License-Identifier: Apache-2.0
// Sorts positions that share all words of their keys by the following words.
#pragma once

#include "device/cpu/cpu_place.hpp"
#include "ops/ngram_likelihood/order/ngram_order.hpp"
#include "ops/ngram_likelihood/order/packed_keys.hpp"

namespace quern::ngram_detail {

/// The order is by the first words of keys, and shared[i] is at most their number; afterwards both cover whole n-grams.
template <class Position>
void sort_ties(cpu_place& place, const packed_keys& keys, const ngram_order<Position>& order);

}  // namespace quern::ngram_detail
