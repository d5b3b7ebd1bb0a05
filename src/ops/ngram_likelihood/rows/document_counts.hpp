// SPDX-License-Identifier: Apache-2.0
// Collects the documents of many positions in ascending order, without sorting: one counter per document, and a bitmap of
// the documents seen, with a summary bitmap 64 times smaller.
#pragma once

#include <bit>
#include <cstdint>

#include "device/array.hpp"

namespace quern::ngram_detail {

class document_counts {
  public:
    static std::uint64_t bytes_for(std::uint64_t documents) {
        return documents * sizeof(seen) + documents / 4 + 64;
    }

    document_counts(cpu_place& place, std::size_t documents)
        : seen_(place, documents, "counters of documents"),
          bits_(place, documents / 64 + 1, "counters of documents"),
          summary_(place, documents / 4096 + 1, "counters of documents") {
        for (std::uint64_t& word : bits_.span()) word = 0;
        for (std::uint64_t& word : summary_.span()) word = 0;
    }

    /// Word `at` of a document begins an occurrence.
    void add_document(std::uint32_t document, std::uint32_t at) {
        std::uint64_t& word = bits_.data()[document / 64];
        const std::uint64_t bit = std::uint64_t{1} << document % 64;
        seen& counted = seen_.data()[document];
        if ((word & bit) == 0) {
            summary_.data()[document / 4096] |= std::uint64_t{1} << document / 64 % 64;
            word |= bit;
            counted = {1, at};
            return;
        }
        ++counted.count;
        if (at < counted.first) counted.first = at;
    }

    /// sink(document, first, count) for the documents seen, ascending; then clears them.
    template <class Sink>
    void take_all(const Sink& sink) {
        for (std::size_t s = 0; s < summary_.size(); ++s) {
            std::uint64_t& words = summary_.data()[s];
            for (; words != 0; words &= words - 1) {
                const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(words));
                std::uint64_t& bits = bits_.data()[w];
                for (; bits != 0; bits &= bits - 1) {
                    const auto document =
                        static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
                    sink(document, seen_.data()[document].first, seen_.data()[document].count);
                }
            }
        }
    }

  private:
    struct seen {
        std::uint32_t count, first;
    };
    cpu_array<seen> seen_;
    cpu_array<std::uint64_t> bits_, summary_;
};

}  // namespace quern::ngram_detail
