// SPDX-License-Identifier: Apache-2.0
// The fuzzy-hash signatures of a corpus.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/tasks/corpus_input.hpp"

namespace quern {

struct signature_options : corpus_input {
    unsigned length = 100;  ///< maximum number of letters
};

struct signature_result {
    reading_counts counts;
    std::vector<input_issue> issues;  ///< the first 100
    std::uint64_t input_bytes = 0;
};

/// Calls `sink` for every document in order, one at a time, from any thread. Throws as `dedup` does.
signature_result signatures(const signature_options& options, const context& ctx,
                            const std::function<void(std::string_view id, const fuzzy_signature&)>& sink);

}  // namespace quern
