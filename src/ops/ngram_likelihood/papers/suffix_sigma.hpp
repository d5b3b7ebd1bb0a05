// SPDX-License-Identifier: Apache-2.0
// The map-reduce baseline.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// The same rows as rows_from_order.
std::vector<ngram_totals> suffix_sigma(cpu_place& place, const ngram_collection& collection,
                                       const document_table& documents, const ngram_options& options,
                                       const std::function<void(const ngram_rows&)>& sink);

}  // namespace quern::ngram_detail
