// SPDX-License-Identifier: Apache-2.0
// Distributional word similarity: counts co-occurrences within a window, weights them by pointwise mutual
// information, and compares the rows of weights (Lin 1998; Kolb 2008). Three stages, each usable alone:
//
//     context_counter counter(words, relations, counting, run);     // 1. words in order → co-occurrence counts
//     counter.push(text); …
//     context_matrix matrix = counter.pmi(weighing);              // 2. → positive pointwise mutual information
//     neighbour_lists found = similar_words(matrix, options, run);  // 3. → the most similar words of each word
//
// Contract class: exact. The same bits on every device and for any number of threads and tile size.
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

/// Instead of a word id: a word outside the vocabulary, which keeps its position; and the end of a passage,
/// which no window crosses.
inline constexpr std::uint32_t unknown_word = 0xffffffff, passage_end = 0xfffffffe;

enum class word_relation {
    none,      ///< one relation for all positions in the window
    position,  ///< one for each signed distance: -window … -1, +1 … +window
};
inline constexpr std::string_view word_relation_names[] = {"none", "position"};

struct counting_options {
    unsigned window = 3;  ///< words on either side, 1 to 100
    word_relation relation = word_relation::none;
    bool count_self = false;  ///< whether co-occurrences of a word with itself count, in cells and marginals
};

/// Throws usage_error if an option is out of range (quern/ops/word_similarity_option_table.hpp).
void validate(const counting_options& options);

/// A triple (word, relation, other word) with its count, from a parser of the user.
struct word_triple {
    std::uint32_t word, relation, other;
    std::uint64_t count;
};

// ---- 2. Mutual information ----

enum class pmi_kind {
    conditional,  ///< log( |w,r,w'| |*,r,*| / (|w,r,*| |*,r,w'|) ), thesis formula 3.7
    independent,  ///< log( |w,r,w'| |*,*,*|² / (|w,*,*| |*,r,*| |*,*,w'|) ), formula 3.1
};
inline constexpr std::string_view pmi_kind_names[] = {"conditional", "independent"};

struct pmi_options {
    decimal discount{95, 100};  ///< subtracted from a triple's count in the numerator, 0 <= discount < 1
    pmi_kind information = pmi_kind::conditional;
    double min_weight = 0;  ///< only weights above this are kept; at least 0
};

/// Throws usage_error if an option is out of range.
void validate(const pmi_options& options);

/// N words by R·N contexts; context r·N + w' is word w' in relation r. Row w has the contexts with a weight
/// above the minimum, columns ascending. Positional relations: r = 0 … window-1 are -window … -1, then +1 …
/// +window.
struct context_matrix_view {
    std::uint32_t words = 0, relations = 0;
    std::span<const std::uint64_t> offsets;  ///< words + 1, from 0; empty: no words
    std::span<const std::uint32_t> columns;
    /// Natural logarithms, finite, > 0; rounded from one canonical double.
    std::span<const float> weights;
    /// words · relations: co-occurrences of each context, |*,r,w'|.
    std::span<const std::uint64_t> column_counts;
};
struct context_matrix {
    std::uint32_t words = 0, relations = 0;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> columns;
    std::vector<float> weights;
    std::vector<std::uint64_t> column_counts;

    context_matrix_view view() const { return {words, relations, offsets, columns, weights, column_counts}; }
};

/// Record of the counting.
struct counting_record {
    std::uint64_t words_read = 0, cooccurrences = 0, triples = 0;  ///< triples: distinct, before weighting
    std::uint64_t runs_spilled = 0, bytes_spilled = 0;
    std::string place;
};

/// Counts co-occurrences, in any number of pushes, within the run's memory; spills sorted runs to its scratch
/// folder.
class context_counter {
  public:
    /// `relations`: the number of relations of pushed triples; ignored for words (then the options determine
    /// it). Throws usage_error for options out of range and for words · relations of 2^32 - 2 or more.
    context_counter(std::uint32_t words, std::uint32_t relations, const counting_options& options,
                    const context& ctx);
    ~context_counter();
    context_counter(context_counter&&) noexcept;
    context_counter& operator=(context_counter&&) noexcept;

    /// Words in order, ids below `words` or one of the two special values. A window extends across pushes;
    /// insert passage_end to prevent that. May be called while earlier pushes are still being counted.
    void push(std::span<const std::uint32_t> text);
    void push(std::span<const word_triple> triples);

    /// Ends counting and returns the weights of all triples. Throws out_of_memory, interrupted, device_error,
    /// io_error, and usage_error if a sum of counts exceeds 2^63.
    context_matrix pmi(const pmi_options& options);
    /// The same, but passes the entries on instead of keeping them: calls sink(columns, weights) with pieces of
    /// them, in the order of the rows, from the calling thread. The result has no columns and weights. Entries
    /// that wait for their turn are in memory, or in the scratch folder if the run's memory is too small.
    using entry_sink = std::function<void(std::span<const std::uint32_t>, std::span<const float>)>;
    context_matrix pmi(const pmi_options& options, const entry_sink& sink);
    /// Ends counting and passes the counts of all triples on, in the same way: calls sink(sums, columns, counts), with
    /// the result in `sums`, which has the offsets and the sums of columns already. Of words, on the CPU only. Throws
    /// as pmi(), and usage_error for triples, another device, and a count of 2^32 or more.
    using count_sink = std::function<void(const context_matrix& sums, std::span<const std::uint32_t> columns,
                                          std::span<const std::uint32_t> counts)>;
    context_matrix counts(const count_sink& sink);
    const counting_record& record() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// ---- 3. Similarity ----

enum class similarity_measure {
    lin,     ///< Σ over shared contexts of (a + b) / (Σ a + Σ b), thesis formula 3.8, in [0, 1]
    cosine,  ///< Σ a b / (|a| |b|)
    // By the method `automatic` only; all in [0, 1].
    jaccard,  ///< Σ min(a, b) / Σ max(a, b) (Grefenstette 1994, with weights)
    /// 2 P R / (P + R), with P = Σ over shared contexts of a / Σ a, R = Σ over shared contexts of b / Σ b (Weeds and Weir
    /// 2003: precision and recall of the additive model by mutual information).
    weeds,
    /// Rows divided by their sums are distributions p and q: 1 minus their Jensen-Shannon divergence in bits (Lin 1991).
    jensen_shannon,
    /// 1 - D(q || α p + (1 - α) q) / ln(1 / (1 - α)) with α = .99, p of the word and q of the other (Lee 1999): how well the
    /// word's contexts cover the other's. Not symmetric.
    skew,
};

enum class similarity_method {
    automatic,
    compressed,      ///< Wang 2015, his first: rows as sorted lists, merged pair by pair
    column_reduced,  ///< its second: the `columns` most frequent contexts as a dense matrix
};
inline constexpr std::string_view similarity_method_names[] = {"auto", "compressed", "column-reduced"};

inline constexpr std::uint32_t all_columns = 0xffffffff;

struct similarity_options {
    similarity_method method = similarity_method::automatic;
    similarity_measure measure = similarity_measure::lin;
    std::uint32_t top = 20;  ///< maximum number of neighbours per word, at least 1
    /// Only the most frequent contexts count, in sums and in cells (ties: the lower column). column_reduced
    /// requires a number.
    std::uint32_t columns = all_columns;
    /// Thesis kernels on CUDA: blocks × threads of a launch and maximum bytes of a tile of results; 0: our
    /// choice.
    unsigned blocks = 0, threads = 0;
    std::uint64_t tile_bytes = 0;
};

/// Throws usage_error if an option is out of range, for a method without the options that it requires, and for one that
/// lacks the measure.
void validate(const similarity_options& options);

/// Neighbours of word w: words[offsets[w] … offsets[w + 1]), by descending score, then ascending id; never w
/// itself, never with a score of 0.
struct neighbour_lists {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> words;
    std::vector<double> scores;
    std::string place;  ///< the device, with the reason
};

/// The `top` most similar words of each word, from all pairs. Throws usage_error for options out of range and
/// an invalid matrix, out_of_memory, interrupted, device_error. Scores are within 1e-6 relative of the formula
/// in real numbers over the given weights, unless these are tiny compared with the heaviest row (exact integer
/// sums; docs/word_similarity.md has the bounds).
neighbour_lists similar_words(const context_matrix_view& matrix, const similarity_options& options,
                              const context& ctx);
/// The same, but passes the neighbours on instead of keeping them: calls sink(words, scores) with pieces of
/// them, in the order of the lists, from the calling thread. The result has no words and scores. On the CPU the
/// lists need no memory beyond the run's: what does not fit is in the scratch folder. Throws what `sink` throws.
using neighbour_sink = std::function<void(std::span<const std::uint32_t>, std::span<const double>)>;
neighbour_lists similar_words(const context_matrix_view& matrix, const similarity_options& options,
                              const context& ctx, const neighbour_sink& sink);

/// All similarities, row by row: calls `row(w, scores)` for ascending w with scores[v] for each word, 1 for w
/// itself unless its row is empty. Throws what `row` throws.
void all_similarities(const context_matrix_view& matrix, const similarity_options& options,
                      const context& ctx,
                      const std::function<void(std::uint32_t, std::span<const double>)>& row);

/// The same scores for chosen pairs, always on the CPU. Cost: the matrix once, for its sums; two rows per pair,
/// or one if consecutive pairs have the same first word. Throws usage_error also for an id beyond the last
/// word, out_of_memory, interrupted.
std::vector<double> pair_similarities(const context_matrix_view& matrix, const similarity_options& options,
                                      std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                                      const context& ctx);

// ---- Reduced vectors (latent semantic analysis) ----

struct svd_options {
    unsigned dimensions = 300;  ///< 1 to 4096; reduced to the number of words or contexts if that is smaller
    /// Of the block Krylov method, at most, 0 to 64: its space has at most dimensions · (1 + iterations / 2), and grows
    /// until the singular values are right to about 10^-6 (docs/word_similarity_vectors.md).
    unsigned iterations = 16;
    std::uint64_t seed = 0;  ///< of the initial space
};

/// One vector per word, U·Σ of the truncated singular value decomposition, words × dimensions by rows. Signs:
/// the largest component (the first of equals) of each column is positive. Always computed on the CPU in one
/// canonical order: the same bits everywhere. Columns beyond the matrix's rank (singular values below 2^-18 of
/// the first) are 0, as are their singular values.
struct word_vectors {
    std::uint32_t words = 0, dimensions = 0;
    std::vector<float> values;
    std::vector<double> singular_values;  ///< descending
};
/// Accepts any sparse matrix with `words` rows: contexts, or documents (word × document weights as a
/// context_matrix_view with its own number of columns: `relations` = 1, columns below column_counts.size()).
/// Weights may have any sign. Throws usage_error for options out of range and an invalid matrix, out_of_memory,
/// interrupted. Memory: 4 bytes per word and context in each dimension of the space, and a copy of the matrix.
word_vectors truncated_svd(const context_matrix_view& matrix, const svd_options& options, const context& ctx);

enum class vector_measure { cosine, pearson };
/// The `top` words with the most similar vectors; order and ties as in similar_words, including scores of 0 and
/// below. An all-zero vector (pearson: a constant one) has no neighbours and is never a neighbour.
neighbour_lists similar_vectors(const word_vectors& vectors, vector_measure measure, std::uint32_t top,
                                const context& ctx);
/// The same scores for chosen pairs; 1 for a word with itself, and 0 if the vector of one of them has no
/// neighbours.
std::vector<double> pair_similarities(const word_vectors& vectors, vector_measure measure,
                                      std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                                      const context& ctx);

}  // namespace quern
