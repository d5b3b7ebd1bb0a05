// SPDX-License-Identifier: Apache-2.0
// The map-reduce baseline.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "device/cpu/place.hpp"
#include "ops/ngram_likelihood/documents.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// Rows as rows_from_order gives them.
std::vector<ngram_totals> suffix_sigma(cpu_place& place, const ngram_collection& collection,
                                       const document_table& documents, const ngram_options& options,
                                       const std::function<void(const ngram_rows&)>& take);

}  // namespace quern::ngram_detail
