// SPDX-License-Identifier: Apache-2.0
// Finds the document of a position. Positions arrive in the order of n-grams, so every look-up is a random access. A table
// that stays in the cache gives the start, and few comparisons remain for any lengths of documents.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "device/cpu/cpu_place.hpp"
#include "device/paced_checks.hpp"

namespace quern::ngram_detail {

/// For documents whose offsets ascend from 0 to the number of words.
class document_table {
  public:
    document_table(cpu_place& place, std::span<const std::uint64_t> offsets) {
        const std::size_t documents = offsets.empty() ? 0 : offsets.size() - 1;
        std::size_t filled = 0;
        paced_checks checks(place.ctx(), neighbouring_values);
        for (std::size_t d = 0; d < documents; ++d) {
            checks.after(1);
            filled += offsets[d] != offsets[d + 1] ? 1 : 0;
        }
        ends_ = cpu_array<std::uint64_t>(place, filled, "ends of documents");
        ids_ = cpu_array<std::uint32_t>(place, filled, "documents with words");
        filled = 0;
        for (std::size_t d = 0; d < documents; ++d) {
            checks.after(1);
            if (offsets[d] == offsets[d + 1]) continue;
            ends_.data()[filled] = offsets[d + 1];
            ids_.data()[filled++] = static_cast<std::uint32_t>(d);
        }
        const std::uint64_t words = documents == 0 ? 0 : offsets.back();
        while ((words >> shift_) > std::max<std::uint64_t>(2 * filled, min_blocks)) ++shift_;
        first_ = cpu_array<std::uint32_t>(place, (words >> shift_) + 2, "documents by position");
        std::size_t k = 0;
        for (std::size_t block = 0; block < first_.size(); ++block) {
            while (k < filled && ends_.data()[k] <= std::uint64_t{block} << shift_) ++k;
            first_.data()[block] = static_cast<std::uint32_t>(k);
        }
    }

    /// At most, of a table of these documents.
    static std::uint64_t bytes(std::span<const std::uint64_t> offsets) {
        const std::uint64_t documents = offsets.size(), blocks = std::max(min_blocks, 2 * documents) + 2;
        return documents * (sizeof(std::uint64_t) + sizeof(std::uint32_t)) + blocks * sizeof(std::uint32_t);
    }

    struct where {
        std::uint32_t document;
        std::uint64_t begin, end;
    };
    where of(std::uint64_t position) const {
        const std::uint64_t* const ends = ends_.data();
        std::size_t k = first_.data()[position >> shift_];
        const std::size_t last = first_.data()[(position >> shift_) + 1];
        if (last - k > 4)
            k = static_cast<std::size_t>(std::upper_bound(ends + k, ends + last, position) - ends);
        else
            while (ends[k] <= position) ++k;
        return {ids_.data()[k], k == 0 ? 0 : ends[k - 1], ends[k]};
    }

  private:
    static constexpr std::uint64_t min_blocks = std::uint64_t{1} << 16;  ///< a quarter of a megabyte

    unsigned shift_ = 0;
    cpu_array<std::uint64_t> ends_;  ///< of the non-empty documents
    cpu_array<std::uint32_t> ids_;   ///< their numbers
    cpu_array<std::uint32_t>
        first_;  ///< per block of 2^shift_ positions, the first document that ends in it or later
};

}  // namespace quern::ngram_detail
