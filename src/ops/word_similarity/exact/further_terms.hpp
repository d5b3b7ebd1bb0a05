// SPDX-License-Identifier: Apache-2.0
// The terms of all measures on the CPU: terms.hpp has those of lin and cosine, further_addends.hpp the arithmetic of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/files/spilled_array.hpp"
#include "device/paced_checks.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "ops/word_similarity/exact/further_addends.hpp"
#include "ops/word_similarity/exact/terms.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {

/// The values of all entries for a further measure.
template <class Addends>
class further_terms {
  public:
    using value = typename Addends::value;
    using sum = typename Addends::sum;

    further_terms(cpu_place& place, const fixed_rows& rows)
        : sums_(rows.sums),
          values_(place, rows.weights.size(), "values of weights", place.memory().limit() / 4) {
        const std::vector<double> units = Addends::units(place, rows);
        const std::size_t pieces = pieces_for(place, rows.words, 64);
        for_each_piece(place, pieces, [&](std::size_t piece) {
            const item_range part = piece_of(rows.words, pieces, piece);
            paced_checks checks(place.ctx(), neighbouring_values);
            for (std::size_t w = part.begin; w < part.end; ++w) {
                const std::uint64_t begin = rows.offsets[w], end = rows.offsets[w + 1];
                checks.after(end - begin);
                for (std::uint64_t i = begin; i < end; ++i)
                    values_.data()[i] = Addends::value_of(rows.weights[i], units[w]);
            }
        });
    }

    /// Of every entry, in the order of the rows.
    std::span<const value> values() const { return values_.span(); }
    static sum term(const value& a, const value& b) { return Addends::term(a, b); }
    double score(const sum& shared, std::size_t a, std::size_t b) const {
        return Addends::score(shared, sums_[a], sums_[b]);
    }

  private:
    std::span<const std::uint64_t> sums_;
    spilled_array<value> values_;
};

/// work(terms), with those of the measure.
template <class Work>
auto with_all_terms(cpu_place& place, const fixed_rows& rows, similarity_measure measure, const Work& work) {
    if (!is_further_measure(measure)) return with_terms(place, rows, measure, work);
    return with_addends(measure,
                        [&](auto addends) { return work(further_terms<decltype(addends)>(place, rows)); });
}

}  // namespace quern::word_similarity_detail
