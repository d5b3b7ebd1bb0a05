// SPDX-License-Identifier: Apache-2.0
// Words used alike: meetings within a window are counted, weighed by mutual information, and rows of weights compared
// (Lin 1998; Kolb 2008). Three stages, each usable alone:
//
//     context_counter counter(words, relations, counting, run);     // 1. words in order → how often they meet
//     counter.push(text); …
//     context_matrix matrix = counter.weigh(weighing);              // 2. → mutual information, positive only
//     neighbour_lists found = similar_words(matrix, options, run);  // 3. → the most similar words of every word
//
// Contract class: exact. The same bits on every place, thread count and tile size.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/decimal.hpp"

namespace quern {

// ---- 1. Counting ----

/// In place of a word's id: a word outside the vocabulary, which keeps its place; and the end of a passage, which no
/// window crosses.
inline constexpr std::uint32_t unknown_word = 0xffffffff, passage_end = 0xfffffffe;

enum class word_relation {
    none,      ///< one relation for all places in the window
    position,  ///< one for each signed distance: -window … -1, +1 … +window
};
inline constexpr std::string_view word_relation_names[] = {"none", "position"};

struct counting_options {
    unsigned window = 3;  ///< words on either side, 1 to 100
    word_relation relation = word_relation::none;
    bool count_self = false;  ///< whether a word's meetings with itself count, in cells and marginals
};

/// A triple (word, relation, other word) and how often it occurs, from a parser of the user's.
struct word_triple {
    std::uint32_t word, relation, other;
    std::uint64_t count;
};

// ---- 2. Mutual information ----

enum class information_kind {
    conditional,  ///< log( |w,r,w'| |*,r,*| / (|w,r,*| |*,r,w'|) ), thesis formula 3.7
    independent,  ///< log( |w,r,w'| |*,*,*|² / (|w,*,*| |*,r,*| |*,*,w'|) ), formula 3.1
};
inline constexpr std::string_view information_names[] = {"conditional", "independent"};

struct weighing_options {
    decimal discount{95, 100};  ///< taken from a triple's count in the numerator, 0 <= discount < 1
    information_kind information = information_kind::conditional;
    double min_weight = 0;  ///< weights above this are kept; 0 and more
};

/// N words by R·N contexts; context r·N + w' is word w' in relation r. Row w holds the contexts with a weight above
/// the minimum, columns rising. Positional relations: r = 0 … window-1 stand for -window … -1, then +1 … +window.
struct context_matrix_view {
    std::uint32_t words = 0, relations = 0;
    std::span<const std::uint64_t> offsets;  ///< words + 1, from 0; empty: no words
    std::span<const std::uint32_t> columns;
    std::span<const float>
        weights;  ///< natural logarithms, finite, > 0; as rounded from one canonical double
    std::span<const std::uint64_t> column_counts;  ///< words · relations: meetings of each context, |*,r,w'|
};
struct context_matrix {
    std::uint32_t words = 0, relations = 0;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> columns;
    std::vector<float> weights;
    std::vector<std::uint64_t> column_counts;

    context_matrix_view view() const { return {words, relations, offsets, columns, weights, column_counts}; }
};

/// What counting did, for the record.
struct counting_record {
    std::uint64_t words_read = 0, meetings = 0, triples = 0;  ///< triples: distinct, before weighing
    std::uint64_t runs_spilled = 0, bytes_spilled = 0;
    std::string place;
};

/// Counts meetings, in any number of pushes; within the run's memory, spilling sorted runs to its scratch folder.
class context_counter {
  public:
    /// `relations`: how many the triples pushed have; ignored where words are pushed (then it follows from the
    /// options). Throws usage_error for options out of range and for words · relations of 2^32 - 2 or more.
    context_counter(std::uint32_t words, std::uint32_t relations, const counting_options& options,
                    const context& run);
    ~context_counter();
    context_counter(context_counter&&) noexcept;
    context_counter& operator=(context_counter&&) noexcept;

    /// Words in order, ids below `words` or one of the two marks. A window sees across two pushes; put passage_end where
    /// it must not. May be called while earlier pushes are still being counted.
    void push(std::span<const std::uint32_t> text);
    void push(std::span<const word_triple> triples);

    /// Ends counting: weights of all triples. Throws out_of_memory, interrupted, device_error, io_error. Where a sum of
    /// counts exceeds 2^63, usage_error.
    context_matrix weigh(const weighing_options& options);
    const counting_record& record() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// ---- 3. Similarity ----

enum class similarity_measure {
    lin,     ///< Σ over shared contexts of (a + b) / (Σ a + Σ b), thesis formula 3.8, in [0, 1]
    cosine,  ///< Σ a b / (|a| |b|)
};

enum class similarity_method {
    automatic,
    compressed,      ///< the thesis's first: rows as sorted lists, merged pair by pair
    column_reduced,  ///< its second: the `columns` most frequent contexts as a dense matrix
};
inline constexpr std::string_view similarity_method_names[] = {"auto", "compressed", "column-reduced"};

inline constexpr std::uint32_t all_columns = 0xffffffff;

struct similarity_options {
    similarity_method method = similarity_method::automatic;
    similarity_measure measure = similarity_measure::lin;
    std::uint32_t top = 20;  ///< neighbours of a word at most, 1 and more
    /// Only the most frequent contexts count, in sums as in cells (ties: the lower column). column_reduced needs a number.
    std::uint32_t columns = all_columns;
    /// Thesis kernels on CUDA: blocks × threads of a launch and the bytes that a tile of results may take; 0: ours.
    unsigned blocks = 0, threads = 0;
    std::uint64_t tile_bytes = 0;
};

/// Neighbours of word w: words[offsets[w] … offsets[w + 1]), score falling, then id rising; never w itself, never a
/// score of 0.
struct neighbour_lists {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> words;
    std::vector<double> scores;
    std::string place;  ///< where it ran, and why there
};

/// The `top` most similar words of every word, all pairs compared. Throws usage_error for options out of range and a
/// matrix that is none, out_of_memory, interrupted, device_error. Scores: within 1e-6 relative of the formula in real
/// numbers over the given weights, unless these are tiny beside the heaviest row (exact integer sums; the bounds are in
/// docs/word_similarity.md).
neighbour_lists similar_words(const context_matrix_view& matrix, const similarity_options& options,
                              const context& run);

/// All similarities, row by row: `row(w, scores)` for w rising, scores[v] of every word, 1 for w itself unless its row
/// is empty. Throws what `row` throws.
void all_similarities(const context_matrix_view& matrix, const similarity_options& options,
                      const context& run,
                      const std::function<void(std::uint32_t, std::span<const double>)>& row);

/// The same scores for chosen pairs, on the CPU whatever the place. Cost: the matrix once, for its sums; a pair its two
/// rows, and where pairs with one first word follow each other, the other row alone. Throws usage_error also for a
/// word beyond the last, out_of_memory, interrupted.
std::vector<double> pair_similarities(const context_matrix_view& matrix, const similarity_options& options,
                                      std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                                      const context& run);

// ---- Reduced vectors (latent semantic analysis) ----

struct reduction_options {
    unsigned dimensions = 300;  ///< 1 to 4096; of a matrix with fewer words or contexts, as many as those
    /// Of the block Krylov space, 0 to 64: it has dimensions · (1 + iterations / 2). At 4 the singular values of a real
    /// matrix are within 0.03 % (docs/word_similarity.md).
    unsigned iterations = 4;
    std::uint64_t seed = 0;  ///< of the space it starts from
};

/// One vector a word, U·Σ of the truncated singular value decomposition, words × dimensions by rows. Signs: the
/// largest component (the first of equals) of every column is positive. Computed on the CPU in one canonical order
/// whatever the place: the same bits everywhere. Columns beyond the matrix's rank (singular values below 2^-18 of the
/// first) are 0, as are their singular values.
struct word_vectors {
    std::uint32_t words = 0, dimensions = 0;
    std::vector<float> values;
    std::vector<double> singular_values;  ///< falling
};
/// Of any sparse matrix with `words` rows: contexts, or documents (word × document weights as a context_matrix_view with
/// its own number of columns: `relations` = 1, columns below column_counts.size()).
/// Weights of any sign. Throws usage_error for options out of range and a matrix that is none, out_of_memory,
/// interrupted. Memory: 4 bytes for each word and context in each dimension of the space, the matrix once more.
word_vectors reduce(const context_matrix_view& matrix, const reduction_options& options, const context& run);

enum class vector_measure { cosine, pearson };
/// The `top` words with the most similar vectors; order and ties as in similar_words, scores of 0 and below included.
/// An all-zero vector (pearson: a constant one) has no neighbours and is none.
neighbour_lists similar_vectors(const word_vectors& vectors, vector_measure measure, std::uint32_t top,
                                const context& run);
/// The same scores for chosen pairs; of a word with itself 1, and 0 where one of two has no neighbours for its vector.
std::vector<double> pair_similarities(const word_vectors& vectors, vector_measure measure,
                                      std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                                      const context& run);

}  // namespace quern
