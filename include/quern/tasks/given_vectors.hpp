// SPDX-License-Identifier: Apache-2.0
// Vectors of documents that the user brings: embeddings.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/vectors.hpp"

namespace quern {

/// One vector for each document: by the ids of documents if there are any, else in the order of the documents.
struct given_vectors {
    /// In any dense format of docs/vectors.md; those with names (JSON lines, word2vec, GloVe) go by id. Empty: `rows`.
    std::filesystem::path file;
    /// In memory, which must outlive the call. No rows: none are given.
    vectors_view rows;
    std::vector<std::string> ids;  ///< of `rows`; empty: in order

    bool empty() const { return file.empty() && rows.rows == 0; }
};

}  // namespace quern
