// SPDX-License-Identifier: Apache-2.0
// The first half of a build: reads the corpus once and produces documents, texts, links and sorted runs.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/corpus/unit_parser.hpp"
#include "tasks/store/document_duplicates.hpp"
#include "tasks/store/field_values.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store_build/duplicates.hpp"
#include "tasks/store_build/link_store.hpp"
#include "tasks/store_build/run_store.hpp"
#include "tasks/store_build/store_comparison.hpp"
#include "tasks/store_build/store_to_update.hpp"
#include "tasks/store_build/text_passages.hpp"
#include "tasks/store_build/token_store.hpp"
#include "tasks/store_build/weight_range.hpp"

namespace quern {

/// The durations of the reading steps, summed over threads.
struct step_seconds {
    double read = 0, parse = 0, admit = 0, analyse = 0, compress = 0, append = 0;
    step_seconds& operator+=(const step_seconds& other);
};

/// Receives the parts of a collection while it is read.
struct collection_pieces {
    collection_pieces(const scratch_folder& scratch, std::uint64_t run_memory_bytes,
                      std::size_t indexed_fields)
        : links(scratch.path()),
          words_of_all(scratch.file("runs"), run_memory_bytes),
          words_of_titles(scratch.file("title_runs"), run_memory_bytes / 8),
          tokens(scratch, run_memory_bytes / 2) {
        for (std::size_t i = 0; i < indexed_fields; ++i)
            words_of_fields.emplace_back(scratch.file("field_runs_" + std::to_string(i)),
                                         run_memory_bytes / 8 / indexed_fields);
    }

    id_table ids;
    link_collector links;
    run_store words_of_all;                 ///< titles, texts and indexed fields
    run_store words_of_titles;              ///< titles only, including those of near-duplicates
    std::deque<run_store> words_of_fields;  ///< of each indexed field
    token_store tokens;                     ///< titles, texts and indexed fields, in order
    std::optional<text_passages> passages;  ///< of texts, for a thesaurus

    std::uint64_t documents = 0, words = 0;
    bool verbatim = false;  ///< the corpus is word lines: words are used unchanged
    word_listing listed = word_listing::none;
    weight_range weights;
    std::vector<std::uint32_t> document_lengths;  ///< in words
    std::vector<std::uint32_t> words_in_order;    ///< of each document in `tokens`; empty: the lengths
    reading_record record;
    step_seconds seconds;
    std::uint64_t input_bytes = 0;
    std::vector<store_section> sections;  ///< written so far
    field_census fields;                  ///< those kept
    compared_documents compared;          ///< with the store that is replaced
};

/// A corpus, and its excluded documents: links to them lead to the kept ones.
struct index_source {
    std::unique_ptr<io::corpus_reader> corpus;
    std::span<const excluded_document> excluded = {};
    document_duplicates duplicates = {};          ///< of the new store
    std::span<const std::uint32_t> numbers = {};  ///< of its documents in the new store; empty: from 0 on
    const store_to_update* old = nullptr;         ///< whose documents come first, with known near-duplicates
    const store_comparison* before = nullptr;     ///< the store that is replaced, if changes are counted
    std::string_view progress = "read";           ///< name of the progress stage
    bool is_admitted = false;                     ///< its documents have already been admitted
};

/// The memory of indexing for a document: its text three times, its postings, its words while they are numbered, sorted
/// and coded.
inline const work_on_document work_of_index{.a_byte = 3, .a_word = 4, .a_distinct_word = 200};

/// Reads a corpus into `pieces` and the document and text sections of `store`. `text`: the word rules. Throws as
/// `build` does.
void read_collection(const build_options& options, const text_options& text, index_source source,
                     const std::filesystem::path& store, const scratch_folder& scratch,
                     collection_pieces& pieces, const context& ctx);

}  // namespace quern
