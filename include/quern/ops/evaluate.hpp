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

evaluation evaluate(const relevance_judgements& judgements, const retrieval_run& run);

}  // namespace quern
