// SPDX-License-Identifier: Apache-2.0
// A shuffle that is computed instead of stored: a keyed one-to-one map of 0 … size-1, so that any thread finds the
// position of any item. A Feistel network of four rounds (Luby and Rackoff 1988) over the next even number of bits;
// results beyond `size` are mapped again until they are within it (cycle walking), less than four times on average.
#pragma once

#include <bit>
#include <cstdint>

#include "generator/random_numbers.hpp"

namespace quern::generator {

class permutation {
  public:
    permutation(std::uint64_t size, std::uint64_t seed) : size_(size) {
        const unsigned bits = size < 2 ? 2 : static_cast<unsigned>(std::bit_width(size - 1));
        half_ = (bits + 1) / 2;
        mask_ = (std::uint64_t{1} << half_) - 1;
        random_numbers chance = numbers_of(seed, size);
        for (std::uint64_t& key : keys_) key = chance.next();
    }
    std::uint64_t operator()(std::uint64_t item) const {
        do item = once(item);
        while (item >= size_);
        return item;
    }

  private:
    std::uint64_t once(std::uint64_t item) const {
        std::uint64_t left = item >> half_, right = item & mask_;
        for (const std::uint64_t key : keys_) {
            std::uint64_t mixed = (right ^ key) * 0xbf58476d1ce4e5b9;
            mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111eb;
            const std::uint64_t next = left ^ ((mixed >> 32) & mask_);
            left = right;
            right = next;
        }
        return left << half_ | right;
    }
    std::uint64_t size_, mask_ = 0, keys_[4] = {};
    unsigned half_ = 1;
};

}  // namespace quern::generator
