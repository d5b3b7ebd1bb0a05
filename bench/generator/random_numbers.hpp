// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace quern::generator {

/// SplitMix64 (Steele, Lea, Flood 2014).
class random_numbers {
  public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// In [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>(uniform() * static_cast<double>(bound));
    }
    /// Rank 0 … bound-1 with a probability of about 1 / (rank + 1).
    std::uint64_t ranked(std::uint64_t bound) {
        const double rank = std::exp(uniform() * std::log(static_cast<double>(bound) + 1));
        return std::min(static_cast<std::uint64_t>(rank) - 1, bound - 1);
    }
    double normal() {
        return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
    }

  private:
    std::uint64_t state_;
};

/// The random numbers of item `number`, independent for different pairs: items can be made in any order, by any number of
/// threads.
inline random_numbers numbers_of(std::uint64_t seed, std::uint64_t number) {
    random_numbers of_seed(seed);
    return random_numbers(random_numbers(of_seed.next() ^ number).next());
}

}  // namespace quern::generator
