// SPDX-License-Identifier: Apache-2.0
#include "ops/search/document_similarity.hpp"

#include <cmath>
#include <cstddef>
#include <string>

#include "ops/search/scoring.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

std::int64_t product(std::span<const std::int16_t> a, std::span<const std::int16_t> b) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::int32_t{a[i]} * std::int32_t{b[i]};
    return sum;
}

std::span<const std::int16_t> row_of(const vectors_view& vectors, std::uint32_t document) {
    const std::byte* const begin = vectors.values.data() + document * vectors.stride;
    return {reinterpret_cast<const std::int16_t*>(begin), vectors.dimensions};
}

template <class Sink>
void for_each_row(const vectors_view& vectors, const context& ctx, const Sink& sink) {
    constexpr std::uint32_t rows_between_looks = 4096;
    for (std::uint32_t d = 0; d < vectors.rows; ++d) {
        if (d % rows_between_looks == 0) ctx.check_stop();
        sink(d, row_of(vectors, d));
    }
}

}  // namespace

vector_squares::vector_squares(const vectors_view& vectors, const context& ctx) {
    squares_.resize(vectors.rows);
    for_each_row(vectors, ctx, [&](std::uint32_t d, std::span<const std::int16_t> row) {
        squares_[d] = product(row, row);
    });
}

similarity_list::similarity_list(const vectors_view& vectors, const vector_squares& squares,
                                 std::uint32_t document, double weight, const context& ctx)
    : vectors_(vectors), squares_(squares), document_(document), weight_(weight) {
    if (document >= vectors_.rows) throw usage_error("there is no document " + std::to_string(document));
    parts_.assign(vectors_.rows, no_boost);
    for_each_row(vectors_, ctx, [&](std::uint32_t d, std::span<const std::int16_t>) {
        if (const auto alike = cosine(d)) parts_[d] = to_fixed(weight_ * *alike);
    });
}

std::optional<double> similarity_list::cosine(std::uint32_t other) const {
    const std::int64_t own = squares_[document_], square = squares_[other];
    if (square == 0 || own == 0) return std::nullopt;
    // Squares below 2^53: both factors are exact, and product, root and quotient are rounded once each, the same
    // everywhere.
    const double lengths = std::sqrt(static_cast<double>(own) * static_cast<double>(square));
    return static_cast<double>(product(row_of(vectors_, document_), row_of(vectors_, other))) / lengths;
}

}  // namespace quern::search_detail
