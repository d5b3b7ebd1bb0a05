// SPDX-License-Identifier: Apache-2.0
// Several stores as one: the store that a build of all their documents makes, without reading or tokenising them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

struct merge_options {
    std::vector<std::filesystem::path> stores;  ///< at least one; their documents in this order
    std::filesystem::path store;  ///< the folder to write; with `force` it may be one of `stores`
    /// Stages to skip, as in build_options: those of the result, whatever stages the stores have.
    std::set<build_stage> skip;
    bool ngrams = false;  ///< whether the stage `ngrams` runs, whatever `skip` says of it
    bool force = false;   ///< replace an existing store, atomically
};

struct merge_result {
    std::uint64_t documents = 0;       ///< of the store
    std::uint64_t duplicates = 0;      ///< excluded near-duplicates
    std::uint64_t words = 0;           ///< occurrences
    std::uint64_t vocabulary = 0;      ///< distinct words
    std::uint64_t postings = 0;        ///< (word, document) pairs
    std::uint64_t links = 0;           ///< links between documents of the store, including repeats
    std::uint64_t dangling_links = 0;  ///< links to documents that are not in the store
    std::uint64_t store_bytes = 0;
    run_statistics statistics;
};

/// Writes the store that `build` makes from the corpora of the stores, in their order, with their text options and these
/// stages: the same bytes (except stats.json) for any number of threads, memory budget and device. Dictionaries, posting
/// lists, words in order, texts, fields, titles and links come from the stores; nothing is tokenised but the titles of
/// near-duplicates. The stages run on the result, as in a build. The store appears complete or not at all; an earlier one
/// stays until then.
/// Throws usage_error: a missing or existing store; stores with other text options, kept fields, kinds of documents, vectors
/// or Unicode data; ids that two stores have; a store, other than the first, that excluded near-duplicates, because their
/// texts, which the result may need, are in no store; a first one that did, if that stage is skipped. io_error,
/// out_of_memory, device_error, damaged_store, interrupted.
/// Cost: each posting and each word in order is decoded and coded once, most blocks of texts are copied; then the cost of
/// each stage. Memory that grows with the stores: 4 bytes a document, the table of ids (27 to 54 bytes a document), and the
/// dictionary (about 6 bytes a word).
merge_result merge(const merge_options& options, const context& ctx);

}  // namespace quern
