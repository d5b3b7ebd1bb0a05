// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/counting/pmi.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "quern/base/error.hpp"
#include "quern/ops/word_similarity_option_table.hpp"

namespace quern::word_similarity_detail {
namespace {

double scale_of(const pmi_options& options, const marginals& sums, std::uint64_t row, std::uint64_t whole_row,
                std::uint32_t relation) {
    const auto denominator = static_cast<double>(options.discount.denominator);
    const auto of_relation = static_cast<double>(sums.relations[relation]);
    if (options.information == pmi_kind::conditional)
        return of_relation / (static_cast<double>(row) * denominator);
    const auto total = static_cast<double>(sums.total);
    return total / (static_cast<double>(whole_row) * denominator) * (total / of_relation);
}

/// Writes counts in place of weights, by their bytes: as a float value a count of more than 24 bits would be rounded.
template <class Count>
std::size_t write_counts(std::uint32_t first_context, std::span<const std::uint32_t> columns,
                         const Count* counts, std::uint32_t* out_columns, float* out_weights) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (counts[i] > std::numeric_limits<std::uint32_t>::max())
            throw usage_error("two words co-occur 2^32 times or more");
        const auto count = static_cast<std::uint32_t>(counts[i]);
        out_columns[i] = first_context + columns[i];
        std::memcpy(out_weights + i, &count, sizeof count);
    }
    return columns.size();
}

}  // namespace

std::vector<std::uint32_t> counts_of(std::span<const float> weights) {
    static_assert(sizeof(float) == sizeof(std::uint32_t));
    std::vector<std::uint32_t> counts(weights.size());
    if (!counts.empty()) std::memcpy(counts.data(), weights.data(), weights.size_bytes());
    return counts;
}

pmi_formula::pmi_formula(cpu_place& host, const counting_shape& shape, const marginals& sums,
                         const pmi_options& options)
    : rule_{static_cast<double>(options.discount.numerator),
            static_cast<double>(options.discount.denominator),
            std::max(options.min_weight, rounding_of_zero)},
      words_(shape.words),
      relations_(shape.relations),
      base_stride_(options.information == pmi_kind::conditional ? shape.words : 0),
      scales_(host, std::size_t{shape.words} * shape.relations, "the sums of the words"),
      bases_(host, base_stride_ == 0 ? shape.words : sums.columns.size(), "the sums of the contexts") {
    validate(options);
    for (std::size_t w = 0, at = 0; w < words_; ++w) {
        std::uint64_t whole_row = 0;
        for (std::uint32_t r = 0; r < relations_; ++r) whole_row += sums.rows[at + r];
        for (std::uint32_t r = 0; r < relations_; ++r, ++at)
            scales_.data()[at] = scale_of(options, sums, sums.rows[at], whole_row, r);
    }
    for (std::size_t c = 0; c < bases_.size(); ++c) {
        std::uint64_t base = sums.columns[c];
        if (base_stride_ == 0)
            for (std::uint32_t r = 1; r < relations_; ++r) base += sums.columns[c + r * std::size_t{words_}];
        bases_.data()[c] = static_cast<double>(base);
    }
}

template <class Count>
std::size_t pmi_formula::pmi(std::uint32_t word, std::uint32_t relation,
                             std::span<const std::uint32_t> columns, const Count* counts,
                             std::uint32_t* out_columns, float* out_weights) const {
    if (is_counts_) return write_counts(relation * words_, columns, counts, out_columns, out_weights);
    return pmi_counts(rule_, scales_.data()[std::size_t{word} * relations_ + relation],
                      bases_.data() + relation * base_stride_, relation * words_, columns, counts,
                      out_columns, out_weights);
}
template std::size_t pmi_formula::pmi(std::uint32_t, std::uint32_t, std::span<const std::uint32_t>,
                                      const std::uint32_t*, std::uint32_t*, float*) const;
template std::size_t pmi_formula::pmi(std::uint32_t, std::uint32_t, std::span<const std::uint32_t>,
                                      const std::uint64_t*, std::uint32_t*, float*) const;

}  // namespace quern::word_similarity_detail

namespace quern {

void validate(const counting_options& options) {
    check_ranges(options);
}

void validate(const pmi_options& options) {
    if (options.discount.denominator > 1'000'000'000)
        throw usage_error("the discount has more than nine digits after its point");
    check_ranges(options);
}

}  // namespace quern
