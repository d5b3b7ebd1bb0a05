// SPDX-License-Identifier: Apache-2.0
// Positions that begin alike with all the words of their keys, sorted by the words behind.
#pragma once

#include "device/cpu/place.hpp"
#include "ops/ngram_likelihood/orders.hpp"
#include "ops/ngram_likelihood/packed_keys.hpp"

namespace quern::ngram_detail {

/// The order is by the first words of keys, and shared[i] at most their number; afterwards both are of whole n-grams.
template <class Position>
void sort_ties(cpu_place& place, const packed_keys& keys, const ngram_order<Position>& order);

}  // namespace quern::ngram_detail
