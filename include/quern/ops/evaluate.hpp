// SPDX-License-Identifier: Apache-2.0
// Retrieval effectiveness, as in trec_eval.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quern/base/retrieval.hpp"

namespace quern {

struct effectiveness {
    double map = 0, ndcg_cut_10 = 0, P_10 = 0, recall_1000 = 0, recip_rank = 0;
};

/// The overlap of judgements and run.
struct run_overlap {
    /// Topics in the judgements, in the run, in both.
    std::uint64_t judged_topics = 0, run_topics = 0, shared_topics = 0;
    /// Documents of the shared topics: judged, retrieved, both.
    std::uint64_t judged = 0, retrieved = 0, shared = 0;

    /// No topic is in both, or no retrieved document is judged: every measure is 0.
    bool none() const { return shared == 0; }
    /// So small that the two may use different ids: they share less than half of the topics of the smaller one,
    /// or less than a twentieth of the documents of the smaller one.
    bool little() const;
};

struct evaluation {
    std::map<std::string, effectiveness> topics;  ///< topics with judgements and retrieved documents
    effectiveness mean;                           ///< over `topics`
    /// Judged but not in the run: excluded from the mean, as in trec_eval.
    std::vector<std::string> missing_topics;
    run_overlap overlap;
    /// If overlap.none(): ids of both files and their apparent difference (a file ending, a folder, capital
    /// letters; zeros or letters around the number of a topic), as one sentence.
    std::string mismatch;
};

/// As trec_eval without options: documents in descending order of score, then of id in bytes. A document is
/// relevant from grade 1; unjudged documents are not relevant. `ndcg_cut_10` uses the grade as gain and
/// log2(rank + 1) as discount. Means are over the topics that have judgements and are in the run (trec_eval -c
/// would count the missing ones as 0); a topic without relevant documents counts as zero. Documents must not
/// repeat within a topic. Cost: a sort of each topic's documents. Throws only out of memory.
evaluation evaluate(const relevance_judgements& judgements, const retrieval_run& run);

}  // namespace quern
