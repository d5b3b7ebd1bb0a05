// SPDX-License-Identifier: Apache-2.0
// A store in the forms that other tools read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern {

struct export_options {
    bool gzip = false;  ///< compressed, as a file whose name ends in .gz is expected to be
};

/// What was written.
struct ciff_counts {
    std::uint64_t lists = 0, postings = 0, documents = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Hands `out` the store's words, postings and documents in the Common Index File Format, front to back: the words in
/// bytewise order, the documents numbered as in the collection, their lengths as `search` counts them (title and text).
/// The bytes depend on the store alone. Before any is written it throws usage_error where there is no store, and
/// invalid_input where the format cannot hold it: more than 2^31 - 1 words or documents. Meanwhile it throws invalid_input
/// for a word whose documents take more than 2 GiB and for a document of more than 2^31 - 1 words, damaged_store,
/// interrupted, and what `out` throws. Memory: a word and, with gzip, about 1 MiB a thread, whatever the store holds.
ciff_counts export_ciff(const std::filesystem::path& store, const std::function<void(std::string_view)>& out,
                        const export_options& options, const context& run);

struct arpa_counts {
    std::uint64_t ngrams = 0;  ///< in the file
    std::uint64_t documents = 0, words = 0;
    std::uint64_t spilled_bytes = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Hands `out` a back-off model of the store's words in their order (a document's title stands before its text) in the
/// ARPA format, for every n up to `model.order`, by its `min_count`, `smoothing`, `lambda`, `mu`, `delta` and `method`. The
/// same bytes as `ngrams` writes of a corpus with the store's documents and their titles, whatever the threads and the
/// memory. Throws usage_error (no store, options out of range, `only`, the method strings), invalid_input for a word that
/// the format cannot hold, damaged_store, io_error, out_of_memory, interrupted, and what `out` throws. Cost: 4 bytes a word,
/// and what ngram_likelihood takes; beyond the memory, sorted runs in `run.scratch`.
arpa_counts export_arpa(const std::filesystem::path& store, const std::function<void(std::string_view)>& out,
                        const ngram_options& model, const export_options& options, const context& run);

struct graph_counts {
    std::uint64_t links = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Hands `out` the links between the store's documents, a line `id TAB id` each, by document, then as they stand in it: an
/// edge list as rank_links reads it. Documents without links are in no line.
/// Throws usage_error where there is no store, invalid_input for an id that such a line cannot hold (docs/export.md),
/// damaged_store, interrupted, and what `out` throws.
graph_counts export_graph(const std::filesystem::path& store,
                          const std::function<void(std::string_view)>& out, const export_options& options,
                          const context& run);

struct vector_counts {
    std::uint64_t rows = 0;
    std::uint32_t dimensions = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Hands `out` the documents' vectors as a NumPy array of float32, a row a document in the order of the collection: rows of
/// length 1, but for the rounding of what the store holds, and rows of zeros of documents without words of the thesaurus.
/// Throws usage_error where there is no store or it has no vectors, damaged_store, interrupted, and what `out` throws.
vector_counts export_vectors(const std::filesystem::path& store,
                             const std::function<void(std::string_view)>& out, const export_options& options,
                             const context& run);

struct document_counts {
    std::uint64_t documents = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Hands `out` rows of id, title and length in words as TSV, in the order of the collection: what the rows of the vectors and the
/// numbers of CIFF stand for. Throws usage_error where there is no store, damaged_store, interrupted, and what `out` throws.
document_counts export_documents(const std::filesystem::path& store,
                                 const std::function<void(std::string_view)>& out,
                                 const export_options& options, const context& run);

}  // namespace quern
