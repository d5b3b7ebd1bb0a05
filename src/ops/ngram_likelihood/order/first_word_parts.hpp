// SPDX-License-Identifier: Apache-2.0
// Positions partitioned by their first words, in order within each part. Parts are sorted one after another, in memory for
// one of them, which stays cached.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"

namespace quern::ngram_detail {

class first_word_parts {
  public:
    first_word_parts(cpu_place& place, std::span<const std::uint32_t> words, std::uint32_t vocabulary)
        : words_(words),
          shift_(std::max(group_bits, static_cast<unsigned>(std::bit_width(vocabulary))) - group_bits),
          counts_(pieces_for(place, words.size(), std::size_t{1} << 16)) {
        for_each_piece(place, counts_.size(), [&](std::size_t p) {
            place.ctx().check_stop();
            counts_[p].assign(std::size_t{1} << group_bits, 0);
            const auto [first, last] = piece_of(words_.size(), counts_.size(), p);
            in_checked_parts(place.ctx(), first, last, neighbouring_values,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 for (std::size_t i = begin; i < end; ++i) ++counts_[p][words_[i] >> shift_];
                             });
        });
        cut();
    }

    /// The start of each part, and the end.
    std::span<const std::uint64_t> begins() const { return begins_; }
    std::uint64_t largest() const {
        std::uint64_t max = 0;
        for (std::size_t p = 1; p < begins_.size(); ++p) max = std::max(max, begins_[p] - begins_[p - 1]);
        return max;
    }

    template <class Position>
    void partition(cpu_place& place, std::span<Position> positions) const {
        std::vector<std::vector<std::uint64_t>> next(counts_.size(), begins_);  // of each piece and part
        for (std::size_t p = 1; p < counts_.size(); ++p) {
            next[p] = next[p - 1];
            for (std::size_t group = 0; group < part_of_.size(); ++group)
                next[p][part_of_[group]] += counts_[p - 1][group];
        }
        for_each_piece(place, counts_.size(), [&](std::size_t p) {
            place.ctx().check_stop();
            const auto [first, last] = piece_of(words_.size(), counts_.size(), p);
            paced_checks checks(place.ctx(), neighbouring_values);
            for (std::size_t i = first; i < last; ++i) {
                checks.after(1);
                positions[next[p][part_of_[words_[i] >> shift_]]++] = static_cast<Position>(i);
            }
        });
    }

  private:
    static constexpr unsigned group_bits = 12;
    static constexpr std::uint64_t part_positions = std::uint64_t{1} << 21, max_parts = 64;

    /// Groups of consecutive words become parts of about equal size.
    void cut() {
        const std::uint64_t parts = std::clamp<std::uint64_t>(words_.size() / part_positions, 1, max_parts);
        begins_.push_back(0);
        std::uint64_t before = 0;
        for (std::size_t group = 0; group < std::size_t{1} << group_bits; ++group) {
            if (begins_.size() < parts && before >= words_.size() / parts * begins_.size() &&
                before < words_.size())
                begins_.push_back(before);
            part_of_.push_back(static_cast<std::uint8_t>(begins_.size() - 1));
            for (const std::vector<std::uint64_t>& of_piece : counts_) before += of_piece[group];
        }
        begins_.push_back(before);
    }

    std::span<const std::uint32_t> words_;
    unsigned shift_;
    std::vector<std::vector<std::uint64_t>> counts_;  ///< per piece of the words: of each group
    std::vector<std::uint8_t> part_of_;               ///< of each group
    std::vector<std::uint64_t> begins_;
};

}  // namespace quern::ngram_detail
