// SPDX-License-Identifier: Apache-2.0
// The first half of a build: the corpus goes once through the mill, and documents, texts, links and sorted
// runs come out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "tasks/build/duplicates.hpp"
#include "tasks/build/link_store.hpp"
#include "tasks/build/run_store.hpp"
#include "tasks/build/store_to_update.hpp"
#include "tasks/build/token_store.hpp"
#include "tasks/corpus/id_table.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/store/document_copies.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

/// What the steps of reading took, added up over threads.
struct step_seconds {
    double read = 0, parse = 0, admit = 0, analyse = 0, compress = 0, append = 0;
    step_seconds& operator+=(const step_seconds& other);
};

/// Where the pieces of a collection go while it is read.
struct collection_pieces {
    collection_pieces(const scratch_folder& scratch, std::uint64_t run_memory_bytes)
        : links(scratch.path()),
          words_of_all(scratch.file("runs"), run_memory_bytes),
          words_of_titles(scratch.file("title_runs"), run_memory_bytes / 8),
          tokens(scratch, run_memory_bytes / 2) {}

    id_table ids;
    link_collector links;
    run_store words_of_all;     ///< titles and texts
    run_store words_of_titles;  ///< titles alone, and those of copies
    token_store tokens;         ///< titles and texts, in their order

    std::uint64_t documents = 0, words = 0;
    bool verbatim = false;                        ///< the corpus is word lines: words are taken as they are
    std::vector<std::uint32_t> document_lengths;  ///< in words
    reading_record record;
    step_seconds seconds;
    std::uint64_t input_bytes = 0;
    std::vector<store_section> sections;  ///< written so far
};

/// A corpus, and what of it is left out: links to such a document lead to the one that is kept.
struct index_source {
    std::unique_ptr<io::corpus_reader> corpus;
    std::span<const left_out_document> left_out = {};
    document_copies copies = {};           ///< of the store that is made
    const store_to_update* old = nullptr;  ///< whose documents come first, and whose copies are known
    std::string_view progress = "read";    ///< what the pass is called
};

/// Reads a corpus into `pieces` and the document and text sections of `store`. `text` is as the words are
/// to be made. Throws as `build` does.
void read_collection(const build_options& options, const text_options& text, index_source source,
                     const std::filesystem::path& store, const scratch_folder& scratch,
                     collection_pieces& pieces, const context& run);

}  // namespace quern
