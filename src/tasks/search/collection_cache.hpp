// SPDX-License-Identifier: Apache-2.0
// The results of passes over a whole store, kept for later calls.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "quern/tasks/collection.hpp"
#include "tasks/store/store_summary.hpp"

namespace quern {

struct collection_cache {
    static constexpr std::size_t kept_words = 1000, kept_documents = 1000;

    std::once_flag summary_once, groups_once;
    collection_summary summary;           ///< with that many words and documents
    std::vector<duplicate_group> groups;  ///< those with the most near-duplicates first, then in their order
};

}  // namespace quern
