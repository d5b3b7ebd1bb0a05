// SPDX-License-Identifier: Apache-2.0
// Positions dealt out to parts by their first words, in order within each: parts are sorted one after the other, in memory for one
// of them, which stays warm.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"

namespace quern::ngram_detail {

class first_word_parts {
  public:
    first_word_parts(cpu_place& place, std::span<const std::uint32_t> words, std::uint32_t vocabulary)
        : words_(words),
          shift_(std::max(group_bits, static_cast<unsigned>(std::bit_width(vocabulary))) - group_bits),
          counts_(pieces_for(place, words.size(), std::size_t{1} << 16)) {
        for_each_piece(place, counts_.size(), [&](std::size_t p) {
            place.run().check_stop();
            counts_[p].assign(std::size_t{1} << group_bits, 0);
            const auto [begin, end] = piece_of(words_.size(), counts_.size(), p);
            for (std::size_t i = begin; i < end; ++i) ++counts_[p][words_[i] >> shift_];
        });
        cut();
    }

    /// Where each part begins, and the end.
    std::span<const std::uint64_t> begins() const { return begins_; }
    std::uint64_t largest() const {
        std::uint64_t most = 0;
        for (std::size_t p = 1; p < begins_.size(); ++p) most = std::max(most, begins_[p] - begins_[p - 1]);
        return most;
    }

    template <class Position>
    void deal(cpu_place& place, std::span<Position> positions) const {
        std::vector<std::vector<std::uint64_t>> next(counts_.size(), begins_);  // of each piece and part
        for (std::size_t p = 1; p < counts_.size(); ++p) {
            next[p] = next[p - 1];
            for (std::size_t group = 0; group < part_of_.size(); ++group)
                next[p][part_of_[group]] += counts_[p - 1][group];
        }
        for_each_piece(place, counts_.size(), [&](std::size_t p) {
            place.run().check_stop();
            const auto [begin, end] = piece_of(words_.size(), counts_.size(), p);
            for (std::size_t i = begin; i < end; ++i)
                positions[next[p][part_of_[words_[i] >> shift_]]++] = static_cast<Position>(i);
        });
    }

  private:
    static constexpr unsigned group_bits = 12;
    static constexpr std::uint64_t part_positions = std::uint64_t{1} << 21, most_parts = 64;

    /// Groups of words that stand together become parts of about equal size.
    void cut() {
        const std::uint64_t parts = std::clamp<std::uint64_t>(words_.size() / part_positions, 1, most_parts);
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
    std::vector<std::vector<std::uint64_t>> counts_;  ///< of each piece of the words: of each group
    std::vector<std::uint8_t> part_of_;               ///< of each group
    std::vector<std::uint64_t> begins_;
};

}  // namespace quern::ngram_detail
