// SPDX-License-Identifier: Apache-2.0
// The main task: builds a store from a raw collection.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/given_vectors.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// Stages of a build besides the index, in this order; each can be skipped. docs/build.md describes their
/// results.
enum class build_stage {
    duplicates,  ///< excludes near-duplicates from the index, but records them
    ranks,       ///< PageRank of the links between documents
    thesaurus,   ///< words that are used alike, as a word space in the store
    vectors,     ///< a vector for each document, from those of its words
    ngrams,      ///< posting lists of pairs of frequent words, for searches with an order; only if requested
};
/// Names as on the command line, in the order of the values.
inline constexpr std::string_view build_stage_names[] = {"duplicates", "ranks", "thesaurus", "vectors",
                                                         "ngrams"};
inline const std::set<build_stage> all_build_stages = {build_stage::duplicates, build_stage::ranks,
                                                       build_stage::thesaurus, build_stage::vectors,
                                                       build_stage::ngrams};

/// A build from a source is not resumed, because its documents may be others the next time.
struct build_options : corpus_input {
    std::filesystem::path store;
    text_options text;
    std::set<build_stage> skip;  ///< stages to skip, besides `ngrams`; empty: all others run
    bool ngrams = false;         ///< whether the stage `ngrams` runs, whatever `skip` says of it
    /// Adds the inputs to the existing store, as if its documents were read first, with its text options and
    /// stages, and the fields that it keeps and indexes: `text`, `skip`, `fields.kept` and `indexed_fields` are ignored.
    /// docs/build.md says how the result differs from a store of all inputs.
    bool update = false;
    /// With the inputs: an update in which a document with the id of one in the store replaces it. The new one comes
    /// last, with the other new ones.
    bool replace = false;
    /// An update that first deletes the documents and near-duplicates with these ids; there may be no inputs. Ids that
    /// the store lacks are reported. A near-duplicate of a deleted document, or of one that is replaced, must be named,
    /// too: its text is not in the store, so that it would be lost.
    std::vector<std::string> deleted_ids;
    /// Makes the store that of the inputs as they are now: of an existing store, the text options, stages and fields are
    /// used again, and nothing is done if no input changed since it was built. Without a store, an ordinary build.
    bool sync = false;
    bool force = false;  ///< replace an existing store, atomically
    /// Members of the records whose strings, numbers and booleans are searched, too, alone or in lists: their words come
    /// after those of the text, in this order, and each can be named by operators and by search_options::field_weights. At
    /// most 16, not called title, text or body, and none of lists of words (usage_error). They are kept as those of
    /// `fields.kept` are.
    std::vector<std::string> indexed_fields;
    /// A vector for each document, which the store keeps for hybrid search (search_options::vector): as float32. Not with
    /// `update`, `replace`, `deleted_ids` and `sync`, which also refuse a store that has them (usage_error).
    given_vectors vectors;

    bool changes_store() const { return update || replace || !deleted_ids.empty(); }
};

/// What a build changed in the store that existed. Near-duplicates do not count as documents.
struct store_changes {
    std::uint64_t added = 0;                    ///< documents whose id the store lacked
    std::uint64_t changed = 0;                  ///< documents with another title, text or fields than before
    std::uint64_t removed = 0;                  ///< documents whose id is no more
    std::uint64_t unknown_ids = 0;              ///< ids to delete that the store lacks
    std::vector<std::string> some_unknown_ids;  ///< the first 5 of them
    bool up_to_date = false;  ///< no input has changed since the store was built; nothing was done
};

struct build_result {
    reading_counts counts;             ///< of the corpus
    std::uint64_t documents = 0;       ///< of the store
    std::uint64_t duplicates = 0;      ///< excluded near-duplicates of these
    std::uint64_t words = 0;           ///< occurrences
    std::uint64_t vocabulary = 0;      ///< distinct words
    std::uint64_t postings = 0;        ///< (word, document) pairs
    std::uint64_t links = 0;           ///< links between documents of the store, including repeats
    std::uint64_t dangling_links = 0;  ///< links to documents that are not in the collection
    std::uint64_t store_bytes = 0;
    std::vector<input_issue> issues;  ///< the first 100
    std::optional<store_changes>
        changes;  ///< of an existing store by `update`, `replace`, `deleted_ids` or `sync`
    run_statistics statistics;
};

/// Reads the inputs and writes the store folder, stage by stage. The store appears complete or not at all; an
/// earlier one stays until then. The same inputs, text options, stages (`skip`) and `ctx.seed` give the same
/// bytes (except stats.json) for any number of threads, memory budget and device, also when it resumes a build
/// that was killed or failed after a stage. With `update`, a document that is already in the store with the
/// same text is skipped. `replace` and `deleted_ids` give the store of one build over the old inputs without these
/// documents, then the new ones; `sync` gives the store of a build from nothing.
/// Throws usage_error (missing input, existing store without `force`, store in an input, a store being built),
/// invalid_input (errors beyond the limit, a missing or repeated id), io_error, out_of_memory, device_error,
/// damaged_store (to update), interrupted.
/// Cost: one pass over the input; beyond the memory budget, sorted runs in `ctx.scratch` and one merge; then
/// the cost of each stage.
build_result build(const build_options& options, const context& ctx);

/// Adds the indexed fields to those that are kept, as `build` does.
void keep_indexed(build_options& options);

/// The text options as a store records them: those of two builds differ where they would make other words. Reads the file
/// of stop words, if there is one; throws usage_error if that cannot be read.
text_options recorded_text_options(const text_options& text);

/// Writes a self-contained HTML page about the store that `build` made with these options: name, inputs and
/// date, what was read, rejected and excluded, seconds and bytes, near-duplicates, words, link ranks. Omits
/// parts that the store lacks. Throws damaged_store. Cost: a pass over lengths, frequencies, near-duplicates,
/// ranks and all links; memory of 4 bytes per document and 8 per group of near-duplicates.
void write_build_report(const build_options& options, const build_result& made,
                        const std::function<void(std::string_view)>& out, const context& ctx);

}  // namespace quern
