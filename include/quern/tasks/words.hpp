// SPDX-License-Identifier: Apache-2.0
// Builds a thesaurus of a corpus: words that are used alike, as a word space (queried by
// quern/tasks/similar.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// The version of the space format that this program writes and reads.
inline constexpr unsigned space_format_version = 1;

/// How words are compared: by rows of weights (similarity_measure has the formulas), or by vectors of fewer dimensions
/// (lsa, latent semantic analysis). The CPU alone has those after lsa.
enum class word_measure { lin, cosine, lsa, jaccard, weeds, jensen_shannon, skew };
inline constexpr std::string_view word_measure_names[] = {"lin",   "cosine",         "lsa", "jaccard",
                                                          "weeds", "jensen-shannon", "skew"};

/// Removed stop words and short words: the others become adjacent, or the position stays empty.
enum class gap_policy { close, keep };
inline constexpr std::string_view gap_policy_names[] = {"close", "keep"};

/// The limit of windows; they never cross the end of a document.
enum class window_limit { paragraph, sentence };
inline constexpr std::string_view window_limit_names[] = {"paragraph", "sentence"};

/// The matrix that is reduced to vectors: words by contexts, or words by documents.
enum class reduced_matrix { mi, documents };
inline constexpr std::string_view reduced_matrix_names[] = {"mi", "documents"};
inline constexpr std::string_view vector_measure_names[] = {"cosine", "pearson"};

inline constexpr std::uint32_t all_words = 0xffffffff;

/// The parameters of a space, besides the corpus and its text options.
struct space_params {
    gap_policy gaps = gap_policy::close;
    window_limit window_end = window_limit::paragraph;
    counting_options counting;
    pmi_options pmi;
    std::uint64_t min_count = 5;         ///< minimum count of a word of the vocabulary
    std::uint32_t vocabulary = 100'000;  ///< maximum number of words: the most frequent ones

    word_measure measure = word_measure::lin;
    std::uint32_t columns = all_columns;  ///< similarity_options::columns
    std::uint32_t top = 20;               ///< stored neighbours per word; 0: none, no comparison
    bool full_matrix = false;             ///< also store the similarities of all pairs, 8 bytes each
    unsigned dimensions = 0;              ///< of vectors; 0: none, or 300 with lsa
    reduced_matrix lsa_of = reduced_matrix::mi;
    /// For documents: use an evenly spread sample with about this many words in total; all_words: use all.
    std::uint32_t lsa_words = all_words;
    vector_measure lsa_measure = vector_measure::cosine;
    std::uint64_t seed = 0;  ///< of the vectors
};

/// `inputs` may be a single store: its texts, with the text options given here. `input_format` may be "triples": lines
/// `word TAB relation TAB other word [TAB count]` from a parser of the user, whose relations replace those of the window;
/// `max_errors` then counts lines.
struct words_options : corpus_input {
    std::filesystem::path space;
    text_options text;  ///< not used for word lines and triples
    space_params params;
    similarity_method method = similarity_method::automatic;
    unsigned blocks = 0, block_threads = 0;  ///< similarity_options::blocks, threads
    std::uint64_t tile_bytes = 0;            ///< similarity_options::tile_bytes
    bool force = false;                      ///< replace an existing space, atomically
};

struct words_result {
    reading_counts counts;
    std::uint64_t occurrences = 0;    ///< of words, including those outside the vocabulary
    std::uint64_t distinct = 0;       ///< distinct words
    std::uint32_t vocabulary = 0;     ///< of these, words of the space
    std::uint64_t cooccurrences = 0;  ///< co-occurrences within windows
    std::uint64_t entries = 0;        ///< pairs of a word and a context with a weight above the minimum
    unsigned dimensions = 0;
    std::uint64_t space_bytes = 0;
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;
};

/// Reads the inputs once and writes the space, a folder, which appears complete or not at all; an earlier one
/// stays until then. The same inputs, text options and parameters give the same bytes (except stats.json) for
/// any number of threads, memory budget, device and method.
/// Throws usage_error (missing inputs, an existing space without `force`, options out of range, an unknown
/// language), invalid_input (errors beyond the limit; fewer than two words in the vocabulary; no
/// co-occurrences), io_error, out_of_memory, device_error, interrupted.
/// Cost: one pass over the input; 4 bytes per word in memory, beyond a quarter of it in `ctx.scratch`; then
/// counting.
words_result words(const words_options& options, const context& ctx);

/// Whether `path` is a space that words() made (of any version, damaged or not).
bool is_word_space(const std::filesystem::path& path);

struct word_space_info {
    unsigned format_version = 0;
    std::string unicode_version;
    std::map<std::string, std::string> requested;  ///< text options and parameters, by option name
    bool verbatim = false;                         ///< word lines or triples: words are unchanged
    std::uint64_t documents = 0, occurrences = 0, distinct = 0;
    std::uint32_t vocabulary = 0, relations = 0, dimensions = 0;
    std::uint64_t cooccurrences = 0, triples = 0;  ///< distinct triples, before weighting
    std::uint64_t entries = 0, neighbours = 0;     ///< pairs (word, context), pairs (word, neighbour)
    std::uint64_t matrix_bytes = 0;                ///< of similarities.npy; 0 without that file
    std::vector<store_section> sections;
};
/// Reads only the manifest. Throws usage_error if there is no space, damaged_store (also for another version).
word_space_info read_word_space_info(const std::filesystem::path& space);
/// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store naming the section.
std::uint64_t verify_word_space(const std::filesystem::path& space, const context& ctx);

/// Writes an HTML page about a space: its inputs, times, and the most frequent words with their neighbours.
/// `made`: the result of words().
void write_word_report(const std::filesystem::path& space, const words_result& made,
                       const std::function<void(std::string_view)>& out, const context& ctx);

}  // namespace quern
