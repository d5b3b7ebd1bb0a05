// SPDX-License-Identifier: Apache-2.0
// Retrieval effectiveness as trec_eval computes it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quern/base/retrieval.hpp"

namespace quern {

struct effectiveness {
    double map = 0, ndcg_cut_10 = 0, P_10 = 0, recall_1000 = 0, recip_rank = 0;
};

struct evaluation {
    std::map<std::string, effectiveness> topics;  ///< those with judgements and retrieved documents
    effectiveness mean;                           ///< over `topics`
    std::vector<std::string>
        missing_topics;  ///< judged, but not in the run: left out of the mean, as trec_eval does
};

/// As trec_eval without options: documents by falling score, then by falling id in bytes; unjudged documents are
/// not relevant; a document is relevant from grade 1. `ndcg_cut_10` takes the grade as gain and log2(rank + 1) as
/// discount. Means are over the topics that have judgements and are in the run (trec_eval -c would count the
/// missing ones as 0); a topic without any relevant document counts with zeros. Documents must not repeat within
/// a topic. Cost: a sort of each topic's documents. Nothing is thrown but out of memory.
evaluation evaluate(const relevance_judgements& judgements, const retrieval_run& run);

}  // namespace quern
