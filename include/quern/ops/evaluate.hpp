// SPDX-License-Identifier: Apache-2.0
// Retrieval effectiveness as trec_eval computes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace quern {

/// Judgements: topic -> document -> grade (relevant from 1; 0 and below are judged not relevant).
using relevance_judgements = std::map<std::string, std::map<std::string, int>>;

struct retrieved_document {
    std::string id;
    float score = 0;  ///< trec_eval reads scores as float32; ties by id in bytes, both falling
};
/// A run: topic -> retrieved documents in any order.
using retrieval_run = std::map<std::string, std::vector<retrieved_document>>;

struct effectiveness {
    double map = 0, ndcg_cut_10 = 0, P_10 = 0, recall_1000 = 0, recip_rank = 0;
};

struct evaluation {
    std::map<std::string, effectiveness> topics;  ///< those with judgements and retrieved documents
    effectiveness mean;                           ///< over `topics`
    std::vector<std::string> missing_topics;      ///< judged, but not in the run: left out of the mean, as trec_eval does
};

evaluation evaluate(const relevance_judgements& judgements, const retrieval_run& run);

}  // namespace quern
