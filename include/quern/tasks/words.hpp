// SPDX-License-Identifier: Apache-2.0
// A thesaurus of a corpus: which words are used alike, as a space that can be asked (quern/tasks/similar.hpp).
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
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// The version of the format of spaces that this program writes and reads.
inline constexpr unsigned space_format_version = 1;

/// What words are compared by: rows of weights, or vectors of fewer dimensions (latent semantic analysis).
enum class word_measure { lin, cosine, lsa };
inline constexpr std::string_view word_measure_names[] = {"lin", "cosine", "lsa"};

/// Stop words and words that are too short: the others close up, or their place stays empty.
enum class gap_policy { close, keep };
inline constexpr std::string_view gap_policy_names[] = {"close", "keep"};

/// What no window crosses; documents never.
enum class window_limit { paragraph, sentence };
inline constexpr std::string_view window_limit_names[] = {"paragraph", "sentence"};

/// What is reduced to vectors: words by contexts, or words by documents.
enum class reduced_matrix { mi, documents };
inline constexpr std::string_view reduced_matrix_names[] = {"mi", "documents"};
inline constexpr std::string_view vector_measure_names[] = {"cosine", "pearson"};

inline constexpr std::uint32_t all_words = 0xffffffff;

/// What the numbers of a space depend on, beside the corpus and its text options.
struct space_question {
    gap_policy gaps = gap_policy::close;
    window_limit window_end = window_limit::paragraph;
    counting_options counting;
    weighing_options weighing;
    std::uint64_t min_count = 5;         ///< of a word of the vocabulary
    std::uint32_t vocabulary = 100'000;  ///< words at most: the most frequent ones

    word_measure measure = word_measure::lin;
    std::uint32_t columns = all_columns;  ///< similarity_options::columns
    std::uint32_t top = 20;    ///< neighbours of a word that are stored; 0: none, nothing is compared
    bool full_matrix = false;  ///< the similarities of all pairs as well, 8 bytes each
    unsigned dimensions = 0;   ///< of vectors; 0: none, or with lsa 300
    reduced_matrix lsa_of = reduced_matrix::mi;
    /// Of documents: those evenly spread that hold about so many words together; all_words: every one.
    std::uint32_t lsa_words = all_words;
    vector_measure lsa_measure = vector_measure::cosine;
    std::uint64_t seed = 0;  ///< of the vectors
};

struct words_options {
    /// "-" is standard input. A store alone: its texts, by the text options given here.
    std::vector<std::filesystem::path> inputs;
    std::filesystem::path space;
    /// Empty: told from the content; else a corpus form's name, or "triples": lines `word TAB relation TAB other word
    /// [TAB count]` from a parser of the user's, whose relations stand for the window's.
    std::string input_format;
    error_limit max_errors;  ///< with triples: of lines
    text_options text;       ///< not used for word lines and triples
    space_question question;
    similarity_method method = similarity_method::automatic;
    bool force = false;  ///< replace an existing space, atomically
};

struct words_result {
    reading_counts counts;
    std::uint64_t occurrences = 0;  ///< of words, those outside the vocabulary included
    std::uint64_t distinct = 0;     ///< words met
    std::uint32_t vocabulary = 0;   ///< of these, words of the space
    std::uint64_t meetings = 0;     ///< within windows
    std::uint64_t entries = 0;      ///< pairs of a word and a context with a weight above the minimum
    unsigned dimensions = 0;
    std::uint64_t space_bytes = 0;
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;
};

/// Reads the inputs once and writes the space, a folder: under its final name there is a whole one or what was there
/// before. The same inputs, text options and question give the same bytes, whatever the threads, the memory, the
/// device and the method (stats.json excepted).
/// Throws usage_error (missing inputs, an existing space without `force`, options out of range, an unknown language),
/// invalid_input (errors beyond the limit; fewer than two words in the vocabulary; no two words meet), io_error,
/// out_of_memory, device_error, interrupted.
/// Cost: one pass over the input; 4 bytes a word in memory, beyond a quarter of it in `run.scratch`; then counting.
words_result words(const words_options& options, const context& run);

/// Whether `path` is a space that words() made (of any version, damaged or not).
bool is_word_space(const std::filesystem::path& path);

struct word_space_info {
    unsigned format_version = 0;
    std::string unicode_version;
    std::map<std::string, std::string> asked;  ///< text options and question, by the names of the options
    bool verbatim = false;                     ///< word lines or triples: words are as they came
    std::uint64_t documents = 0, occurrences = 0, distinct = 0;
    std::uint32_t vocabulary = 0, relations = 0, dimensions = 0;
    std::uint64_t meetings = 0, triples = 0;    ///< distinct triples, before weighing
    std::uint64_t entries = 0, neighbours = 0;  ///< pairs (word, context), pairs (word, neighbour)
    std::uint64_t matrix_bytes = 0;             ///< of similarities.npy; 0: there is none
    std::vector<store_section> sections;
};
/// Reads the manifest only. Throws usage_error where there is no space, damaged_store, also for another version.
word_space_info read_word_space_info(const std::filesystem::path& space);
/// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store naming the section.
std::uint64_t verify_word_space(const std::filesystem::path& space, const context& run);

/// One HTML page about a space: what it was made of, what took how long, and the most frequent words with their
/// neighbours. `made`: what words() returned.
void write_word_report(const std::filesystem::path& space, const words_result& made,
                       const std::function<void(std::string_view)>& out, const context& run);

}  // namespace quern
