// SPDX-License-Identifier: Apache-2.0
// Judgements and runs of retrieval experiments as plain values: read by io, evaluated by ops.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quern {

/// Judgements: topic -> document -> grade (relevant from 1; 0 and below are judged not relevant).
using relevance_judgements = std::map<std::string, std::map<std::string, int>>;

struct retrieved_document {
    std::string id;
    double score = 0;  ///< measures of trec_eval read it as float32
};
/// A run: topic -> retrieved documents in any order.
using retrieval_run = std::map<std::string, std::vector<retrieved_document>>;

}  // namespace quern
