// SPDX-License-Identifier: Apache-2.0
// The stages of a build that need the complete index: link ranks of its documents, a thesaurus of its words, vectors of
// its documents, and pairs of its words. Each reads a store and adds to its folder; the manifest lists the result after
// add_outcome().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/given_vectors.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store_build/text_passages.hpp"

namespace quern {

/// What a stage wrote into the store's folder, which the manifest does not list yet. Empty if the store lacks the
/// stage's input.
struct stage_outcome {
    std::vector<store_section> sections;
    std::map<std::string, std::uint64_t> counts;  ///< for statistics
    std::optional<store_section> thesaurus;       ///< store_info::thesaurus
    vector_form vectors;                          ///< store_info::vectors
    std::string nothing;                          ///< if the stage made nothing: the reason, for the log
};

/// Adds the outcome to a store's metadata; replaces sections of the same names.
void add_outcome(store_info& info, const stage_outcome& outcome);

/// Writes the section `link_ranks`: PageRank of the documents with the defaults of rank_links, in units of 2^-62. The
/// same bits for any threads, memory and device. Nothing for a store without links. Throws as page_rank.
stage_outcome make_link_ranks(const opened_store& store, const context& ctx);

/// Writes the folder `thesaurus`: a word space (quern/tasks/words.hpp) of the store's texts with the store's text
/// options, including vectors. The same bytes for any threads, memory and device (except its stats.json). Nothing for a
/// store with fewer than two words that are frequent enough, or without co-occurrences. Throws as words(), and
/// damaged_store.
stage_outcome make_thesaurus(const opened_store& store, const context& ctx);
/// The same from the words in order. Takes the passages.
stage_outcome make_thesaurus_of_index(const opened_store& store, text_passages& passages, const context& ctx);

/// Writes the section `document_vectors`: each document as the direction of its words' vectors in the thesaurus,
/// weighted by ln(documents / documents with the word). The same bits for any threads and device. Nothing for a store
/// without a thesaurus, or without discriminative words. Throws damaged_store, out_of_memory, io_error, interrupted.
/// Cost: one pass over the words in order, `dimensions` additions for each word of each document; the table of words'
/// vectors in memory.
stage_outcome make_document_vectors(const opened_store& store, const context& ctx);

/// Writes the sections store_layout::pairs: the pairs of frequent words (tasks/store/ngram_index.hpp) with their documents,
/// as the index has words. The same bytes for any threads and memory. Throws damaged_store, out_of_memory, io_error,
/// interrupted. Cost: a hash look-up for each pair in the words in order; runs in a quarter of the memory, beyond it on disk.
stage_outcome make_ngrams(const opened_store& store, const context& ctx);

/// The name on the command line.
inline std::string_view name_of(build_stage stage) {
    return build_stage_names[static_cast<std::size_t>(stage)];
}

inline std::uint64_t bytes_of(const std::vector<store_section>& sections) {
    std::uint64_t bytes = 0;
    for (const store_section& section : sections) bytes += section.bytes;
    return bytes;
}

/// A stage that adds to an index.
struct added_stage {
    build_stage stage = {};
    stage_outcome (*make)(const opened_store& store, const context& ctx) = nullptr;
    std::optional<build_stage> reads = {};  ///< without this stage it makes nothing
};
inline constexpr added_stage added_stages[] = {
    {build_stage::ranks, make_link_ranks},
    {build_stage::thesaurus, make_thesaurus},
    {build_stage::vectors, make_document_vectors, build_stage::thesaurus},
    {build_stage::ngrams, make_ngrams}};

/// Writes the section `user_vectors`: the vectors given with the documents, in their order. Throws as order_vectors.
stage_outcome keep_user_vectors(const opened_store& store, const given_vectors& given, const context& ctx);

}  // namespace quern
