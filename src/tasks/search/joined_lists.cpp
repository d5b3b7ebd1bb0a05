// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/joined_lists.hpp"

#include <cmath>

#include "ops/search/scoring.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

std::span<const std::uint64_t> ranks_of(const opened_store& store) {
    if (const auto ranks = store.link_ranks()) return *ranks;
    throw usage_error(
        store.path().string() +
        " has no link ranks, which a prior needs: the stage ranks of quern build makes them for "
        "documents with links");
}

vectors_view vectors_of(const opened_store& store) {
    if (const auto vectors = store.document_vectors()) return *vectors;
    throw usage_error(store.path().string() +
                      " has no document vectors, by which documents are alike: the stage vectors of quern "
                      "build makes them from the thesaurus");
}

std::int64_t product(std::span<const std::int16_t> a, std::span<const std::int16_t> b) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::int32_t{a[i]} * std::int32_t{b[i]};
    return sum;
}

}  // namespace

prior_ranks::prior_ranks(const opened_store& store)
    : ranks_(ranks_of(store)),
      most_(most_ranks(ranks_)),
      unit_(static_cast<double>(ranks_.size()) / store_layout::link_rank_units) {}

double prior_ranks::over_average(std::uint32_t document) const {
    return static_cast<double>(ranks_[document]) * unit_;
}

like_list::like_list(const opened_store& store, std::uint32_t document, double weight)
    : vectors_(vectors_of(store)), document_(document), weight_(weight) {
    if (document >= vectors_.rows) throw usage_error("there is no document " + std::to_string(document));
    square_ = product(row(document), row(document));
    parts_.assign(vectors_.rows, not_listed);
    for (std::uint32_t d = 0; d < parts_.size(); ++d)
        if (const auto alike = cosine(d)) parts_[d] = search_detail::to_fixed(weight_ * *alike);
}

std::span<const std::int16_t> like_list::row(std::uint32_t document) const {
    const std::byte* const begin = vectors_.values.data() + document * vectors_.stride;
    return {reinterpret_cast<const std::int16_t*>(begin), vectors_.dimensions};
}

std::optional<double> like_list::cosine(std::uint32_t other) const {
    const std::int64_t square = product(row(other), row(other));
    if (square == 0 || square_ == 0) return std::nullopt;
    // Squares below 2^53: both factors are exact, and product, root and quotient are rounded once each, the same everywhere.
    const double lengths = std::sqrt(static_cast<double>(square_) * static_cast<double>(square));
    return static_cast<double>(product(row(document_), row(other))) / lengths;
}

}  // namespace quern
