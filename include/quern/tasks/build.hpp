// SPDX-License-Identifier: Apache-2.0
// The main job: a raw collection becomes a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// How many rejected or cut documents a run forgives: a share of all documents, or a number. Mended ones do not
/// count. An input that is not whole costs nobody knows how many: it is forgiven only where that was asked for, and
/// then counts as one.
struct error_limit {
    double share = 0.01;
    std::uint64_t count = 0;
    bool is_share = true;
    bool forgives_incomplete = false;
    bool exceeded(std::uint64_t lost, std::uint64_t documents) const;
};

/// What a build does beside the index, in this order; each can be skipped. docs/build.md says what each makes.
enum class build_stage {
    duplicates,  ///< near-duplicates go out before the index is made; what they were is kept
    ranks,       ///< PageRank of the links between documents
    thesaurus,   ///< words that are used alike, as a word space within the store
    vectors,     ///< a vector of every document, from those of its words
};
/// As on the command line, in the order of the values.
inline constexpr std::string_view build_stage_names[] = {"duplicates", "ranks", "thesaurus", "vectors"};
inline const std::set<build_stage> all_build_stages = {build_stage::duplicates, build_stage::ranks,
                                                       build_stage::thesaurus, build_stage::vectors};

struct build_options {
    std::vector<std::filesystem::path> inputs;  ///< "-" is standard input
    std::filesystem::path store;
    std::string input_format;  ///< empty: told from the content; else a corpus form's name
    text_options text;
    error_limit max_errors;
    std::set<build_stage> skip;  ///< stages left out; empty: all run
    /// Adds the inputs to the store that is there, as if its documents were read first; with its text options and its
    /// stages: `text` and `skip` are not looked at. docs/build.md says where the result differs from a store of all inputs.
    bool update = false;
    bool force = false;  ///< replace an existing store, atomically
};

struct build_result {
    reading_counts counts;             ///< of the corpus
    std::uint64_t documents = 0;       ///< of the store
    std::uint64_t copies = 0;          ///< near-duplicates of these, left out
    std::uint64_t words = 0;           ///< occurrences
    std::uint64_t vocabulary = 0;      ///< distinct words
    std::uint64_t postings = 0;        ///< (word, document) pairs
    std::uint64_t links = 0;           ///< links between documents of the store, repeats counted
    std::uint64_t dangling_links = 0;  ///< links to documents the collection does not hold
    std::uint64_t store_bytes = 0;
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;
};

/// Reads the inputs and writes the store folder, stage by stage; under its name lies a whole store or what was there before.
/// The same inputs, text options, stages (`skip`) and `run.seed` give the same bytes, whatever the threads, the memory and
/// the device (stats.json excepted), also where what a build left that was killed, or failed after a stage, is gone on
/// with. With `update`, a document that the store holds already, with the same text, is passed over.
/// Throws usage_error (missing input, existing store without `force`, store in an input, one being built), invalid_input (errors
/// beyond the limit, an id missing or repeated), io_error, out_of_memory, device_error, damaged_store (to update), interrupted.
/// Cost: one pass over the input; sorted runs in `run.scratch` beyond the memory budget, one merge; then each stage's own.
build_result build(const build_options& options, const context& run);

/// The store that `build` made with these options as one HTML page, which needs nothing from elsewhere: its name, its inputs and
/// the date, what was read, rejected and left
/// out, seconds and bytes, copies, words, link ranks. Parts that the store lacks are left out. Throws damaged_store.
/// Cost: a pass over lengths, frequencies, copies, ranks and all links; 4 bytes a document and 8 a group of copies held.
void write_build_report(const build_options& options, const build_result& made,
                        const std::function<void(std::string_view)>& out, const context& run);

}  // namespace quern
