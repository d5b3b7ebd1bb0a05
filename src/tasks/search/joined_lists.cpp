// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/joined_lists.hpp"

#include <algorithm>

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

bool empty(std::span<const std::int16_t> row) {
    return std::ranges::all_of(row, [](std::int16_t x) { return x == 0; });
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
    : vectors_(vectors_of(store)),
      unit_(static_cast<double>(store.info().vectors.unit)),
      document_(document),
      weight_(weight) {
    if (document >= vectors_.rows) throw usage_error("there is no document " + std::to_string(document));
    parts_.assign(vectors_.rows, not_listed);
    if (empty(row(document))) return;
    for (std::uint32_t d = 0; d < parts_.size(); ++d)
        if (!empty(row(d))) parts_[d] = search_detail::to_fixed(weight_ * cosine(d));
}

std::span<const std::int16_t> like_list::row(std::uint32_t document) const {
    const std::byte* const begin = vectors_.values.data() + document * vectors_.stride;
    return {reinterpret_cast<const std::int16_t*>(begin), vectors_.dimensions};
}

double like_list::cosine(std::uint32_t other) const {
    return static_cast<double>(product(row(document_), row(other))) / (unit_ * unit_);
}

}  // namespace quern
