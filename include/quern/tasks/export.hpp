// SPDX-License-Identifier: Apache-2.0
// Exports a store to the formats of other tools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern {

struct export_options {
    bool gzip = false;  ///< compress, as expected of a file name that ends in .gz
};

/// Counts of what was written.
struct ciff_counts {
    std::uint64_t lists = 0, postings = 0, documents = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Writes the store's words, postings and documents to `out` in the Common Index File Format, sequentially:
/// words in byte order, documents numbered as in the collection, their lengths as in `search` (title and text).
/// The bytes depend only on the store.
/// Before writing, throws usage_error if there is no store, and invalid_input if the format cannot represent
/// it: more than 2^31 - 1 words or documents. While writing, throws invalid_input for a word whose documents
/// take more than 2 GiB and for a document of more than 2^31 - 1 words, damaged_store, interrupted, and what
/// `out` throws.
/// Memory: one word and, with gzip, about 1 MiB per thread, for any store.
ciff_counts export_ciff(const std::filesystem::path& store, const std::function<void(std::string_view)>& out,
                        const export_options& options, const context& ctx);

struct arpa_counts {
    std::uint64_t ngrams = 0;  ///< in the file
    std::uint64_t documents = 0, words = 0;
    std::uint64_t excluded_words = 0;  ///< distinct words that the format cannot represent
    std::uint64_t spilled_bytes = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Writes a back-off model of the store's word sequence (a document's title precedes its text) to `out` in the
/// ARPA format, for every n up to `model.order`, with its `min_count`, `smoothing`, `lambda`, `mu`, `delta` and
/// `method`. The bytes are those that `ngrams` writes for a corpus of the store's documents and titles, for any
/// number of threads and memory budget. Words that the format cannot represent (docs/ngrams.md) are excluded,
/// with a warning.
/// Throws usage_error (no store, options out of range, `only`, the method strings), damaged_store, io_error,
/// out_of_memory, interrupted, and what `out` throws.
/// Cost: 4 bytes per word, and that of ngram_likelihood; beyond the memory, sorted runs in `ctx.scratch`.
arpa_counts export_arpa(const std::filesystem::path& store, const std::function<void(std::string_view)>& out,
                        const ngram_options& model, const export_options& options, const context& ctx);

struct graph_counts {
    std::uint64_t links = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Writes the links between the store's documents to `out`, one line `id TAB id` per link, by document, then in
/// its order: an edge list as read by rank_links. Documents without links do not appear. Throws usage_error if
/// there is no store, invalid_input for an id that such a line cannot represent (docs/export.md),
/// damaged_store, interrupted, and what `out` throws.
graph_counts export_graph(const std::filesystem::path& store,
                          const std::function<void(std::string_view)>& out, const export_options& options,
                          const context& ctx);

struct vector_counts {
    std::uint64_t rows = 0;
    std::uint32_t dimensions = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Writes the documents' vectors to `out` as a NumPy array of float32, one row per document in the order of the
/// collection: rows of length 1, up to the rounding in the store, and rows of zeros for documents without words
/// of the thesaurus. Throws usage_error if there is no store or it has no vectors, damaged_store, interrupted,
/// and what `out` throws.
vector_counts export_vectors(const std::filesystem::path& store,
                             const std::function<void(std::string_view)>& out, const export_options& options,
                             const context& ctx);

struct document_counts {
    std::uint64_t documents = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Writes rows of id, title and length in words to `out` as TSV, in the order of the collection, which is that
/// of the vectors' rows and of the document numbers in CIFF. Throws usage_error if there is no store,
/// damaged_store, interrupted, and what `out` throws.
document_counts export_documents(const std::filesystem::path& store,
                                 const std::function<void(std::string_view)>& out,
                                 const export_options& options, const context& ctx);

}  // namespace quern
