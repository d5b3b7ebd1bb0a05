// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/score_components.hpp"

#include "quern/base/error.hpp"

namespace quern {
namespace {

std::span<const std::uint64_t> ranks_of(const opened_store& store) {
    if (const auto ranks = store.link_ranks()) return *ranks;
    throw usage_error(
        store.path().string() +
        " has no link ranks, which a prior needs; the stage ranks of quern build makes them for "
        "documents with links");
}

}  // namespace

prior_ranks::prior_ranks(const opened_store& store)
    : ranks_(ranks_of(store)),
      max_(max_ranks(ranks_)),
      unit_(static_cast<double>(ranks_.size()) / store_layout::link_rank_units) {}

double prior_ranks::over_average(std::uint32_t document) const {
    return static_cast<double>(ranks_[document]) * unit_;
}

vectors_view vectors_for_similarity(const opened_store& store) {
    if (const auto vectors = store.document_vectors()) return *vectors;
    throw usage_error(store.path().string() +
                      " has no document vectors, which similarity needs; the stage vectors of quern "
                      "build makes them from the thesaurus");
}

}  // namespace quern
