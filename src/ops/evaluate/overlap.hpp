// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "quern/base/retrieval.hpp"

namespace quern::evaluate_detail {

/// Explains, from the ids alone, why judgements and a run share no judged document. Cost: a table of both id sets.
std::string differing_ids(const relevance_judgements& judgements, const retrieval_run& run);

}  // namespace quern::evaluate_detail
