// SPDX-License-Identifier: Apache-2.0
// The stages of a build that need the whole store so far: what links say of its documents, a thesaurus of its words, and
// vectors of its documents. Each reads a store and adds to its folder; the manifest says so once it is told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// What a stage wrote into the store's folder, which the manifest does not list yet. Empty where the store lacks what
/// the stage needs.
struct stage_outcome {
    std::vector<store_section> sections;
    std::map<std::string, std::uint64_t> counts;  ///< for statistics
    std::optional<store_section> thesaurus;       ///< store_info::thesaurus
    vector_form vectors;                          ///< store_info::vectors
    std::string nothing;                          ///< where the stage made nothing: why, for the log
};

/// Enters the outcome in what a store says of itself; sections of the same names give way.
void add_outcome(store_info& info, const stage_outcome& outcome);

/// Writes the section `link_ranks`: PageRank of the documents as rank_links has it by default, in units of 2^-62. The
/// same bits for any threads, memory and device. A store without links: nothing. Throws as page_rank.
stage_outcome make_link_ranks(const opened_store& store, const context& run);

/// Writes the folder `thesaurus`: a space of words (quern/tasks/words.hpp) of the store's texts by the store's text
/// options, with vectors. The same bytes for any threads, memory and device (its stats.json excepted). A store with fewer
/// than two words that are frequent enough, or whose words never meet: nothing. Throws as words(), and damaged_store.
stage_outcome make_thesaurus(const opened_store& store, const context& run);

/// Writes the section `document_vectors`: each document as the direction of its words' vectors in the thesaurus, weighted by
/// ln(documents / documents with the word). The same bits for any threads and device. A store without a thesaurus, or
/// where no word tells documents apart: nothing. Throws damaged_store, out_of_memory, io_error, interrupted.
/// Cost: one pass over the words in order, `dimensions` additions for each word of each document; the table of words'
/// vectors in memory.
stage_outcome make_document_vectors(const opened_store& store, const context& run);

}  // namespace quern
