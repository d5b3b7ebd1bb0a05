// SPDX-License-Identifier: Apache-2.0
// The documents of many positions in rising order, without sorting: a counter for each document, and a set of bits that says
// which were met, with a summary of 64 times fewer bits above it.
#pragma once

#include <bit>
#include <cstdint>

#include "device/array.hpp"

namespace quern::ngram_detail {

class document_tally {
  public:
    static std::uint64_t bytes_for(std::uint64_t documents) {
        return documents * sizeof(met) + documents / 4 + 64;
    }

    document_tally(cpu_place& place, std::size_t documents)
        : met_(place, documents, "counters of documents"),
          bits_(place, documents / 64 + 1, "counters of documents"),
          summary_(place, documents / 4096 + 1, "counters of documents") {
        for (std::uint64_t& word : bits_.span()) word = 0;
        for (std::uint64_t& word : summary_.span()) word = 0;
    }

    /// The word `at` of a document begins an occurrence.
    void meet(std::uint32_t document, std::uint32_t at) {
        std::uint64_t& word = bits_.data()[document / 64];
        const std::uint64_t bit = std::uint64_t{1} << document % 64;
        met& counted = met_.data()[document];
        if ((word & bit) == 0) {
            summary_.data()[document / 4096] |= std::uint64_t{1} << document / 64 % 64;
            word |= bit;
            counted = {1, at};
            return;
        }
        ++counted.count;
        if (at < counted.first) counted.first = at;
    }

    /// take(document, first, count) for those met, rising; forgets them.
    template <class Take>
    void take_all(const Take& take) {
        for (std::size_t s = 0; s < summary_.size(); ++s) {
            std::uint64_t& words = summary_.data()[s];
            for (; words != 0; words &= words - 1) {
                const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(words));
                std::uint64_t& bits = bits_.data()[w];
                for (; bits != 0; bits &= bits - 1) {
                    const auto document =
                        static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
                    take(document, met_.data()[document].first, met_.data()[document].count);
                }
            }
        }
    }

  private:
    struct met {
        std::uint32_t count, first;
    };
    cpu_array<met> met_;
    cpu_array<std::uint64_t> bits_, summary_;
};

}  // namespace quern::ngram_detail
