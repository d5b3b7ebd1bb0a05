// SPDX-License-Identifier: Apache-2.0
// Brings the user's vectors into the order of a store's documents.
#pragma once

#include <cstdint>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/given_vectors.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// A row for each document of a store.
struct vectors_of_documents {
    std::uint32_t dimensions = 0;
    std::vector<float> values;
    std::uint64_t others = 0;  ///< vectors of ids that the store lacks, or of near-duplicates
    bool rounded = false;      ///< from float64
};

/// As float32, which holds the values of every type but float64; those are rounded. Throws usage_error for sparse vectors and
/// bits; invalid_input, naming the ids, for documents without a vector, ids with two, another number of rows than documents, and
/// components that are not finite; out_of_memory, and as open_vectors.
vectors_of_documents order_vectors(const opened_store& store, const given_vectors& given, const context& ctx);

}  // namespace quern
