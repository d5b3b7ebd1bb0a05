// SPDX-License-Identifier: Apache-2.0
// How likely a document generates each of its n-grams, for every n up to an order (Ponte and Croft 1998; on GPUs DEIM 2018):
//
//     ngram_result found = ngram_likelihood({.words = ids, .documents = offsets, .vocabulary = v}, {.order = 3}, run);
//     for (const ngram_table& of_n : found.tables) …        // a row for every n-gram and document that holds it
//
// Contract class: exact. Counts are integers, weights are made of them by one formula in a fixed order of operations
// (docs/ngram_likelihood.md): the same bits by every method, on every place, for any threads and memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {
namespace ngram_detail {
class text_counting;
}

/// Documents as words, one behind the other. Ids are ranks of the words by their bytes, so that n-grams in the order of their
/// ids are in the order of their words.
struct ngram_collection {
    std::span<const std::uint32_t> words;  ///< each below `vocabulary`, or `vocabulary` itself: unknown
    std::span<const std::uint64_t>
        documents;                 ///< where each begins among the words, and the end; empty: no documents
    std::uint32_t vocabulary = 0;  ///< at most 2^32 - 2

    /// For the method `strings` alone, which looks at no ids (`words` may be empty then, and no word is unknown): word i is
    /// text[starts[i], starts[i] + lengths[i]).
    std::string_view text{};
    std::span<const std::uint64_t> starts{};
    std::span<const std::uint32_t> lengths{};
};

inline constexpr unsigned most_ngram_order = 32;

enum class ngram_measure {
    likelihood,  ///< P(last word | the words before it; document), smoothed by the collection
    bm25,  ///< the n-gram as a term: Okapi BM25 with idf = ln(1 + (N - df + .5) / (df + .5)), without the factor k1 + 1
};
inline constexpr std::string_view ngram_measure_names[] = {"likelihood", "bm25"};

/// With f of the n-gram and h of its history, in the document (d) and in the collection (C), and pC = f(C) / h(C):
enum class ngram_smoothing {
    jelinek_mercer,  ///< lambda · f(d) / h(d) + (1 - lambda) · pC
    dirichlet,       ///< (f(d) + mu · pC) / (h(d) + mu)
    absolute,  ///< max(f(d) - delta, 0) / h(d) + delta · u / h(d) · pC, u the distinct words after the history in d
};
inline constexpr std::string_view ngram_smoothing_names[] = {"jm", "dirichlet", "absolute"};

enum class ngram_method {
    automatic,   ///< ours: words packed into keys, one sort, rows while a piece is in the cache
    strings,     ///< positions sorted by comparing words as strings (the paper's PP)
    dictionary,  ///< prefix doubling over ids with segmented sorts (PPD)
    suffix_sigma,  ///< map-reduce: suffixes grouped by first word, in reverse order, one stack (MRP; Berberich, Bedathur 2013)
};
inline constexpr std::string_view ngram_method_names[] = {"auto", "strings", "dictionary", "suffix-sigma"};

struct ngram_options {
    unsigned order = 3;  ///< the longest n, 1 to 32
    bool only = false;   ///< n = order alone
    ngram_measure measure = ngram_measure::likelihood;
    ngram_smoothing smoothing = ngram_smoothing::jelinek_mercer;
    double lambda = 0.5;       ///< of Jelinek-Mercer, 0 to 1: the document's share
    double mu = 1000;          ///< of Dirichlet, 0 to 2^64
    double delta = 0.7;        ///< of absolute discounting, 0 to 1
    double k1 = 0.9, b = 0.4;  ///< of BM25, 0 <= k1 <= 2^64, 0 <= b <= 1
    std::uint64_t min_count =
        1;  ///< n-grams that occur less often in the collection are left out; 1 and more
    bool history_counts = false;  ///< whether rows have the counts of the history
    ngram_method method = ngram_method::automatic;
};

/// Rows of one length n, by n-gram, then document; columns of equal size. A history's counts are of its occurrences followed by
/// a word of the same document, so that the likelihoods after it sum to 1; for n = 1 they are numbers of words.
struct ngram_rows {
    unsigned n = 0;
    std::span<const std::uint32_t> documents;
    std::span<const std::uint32_t>
        firsts;  ///< which word of the document the first occurrence begins at, from 0
    std::span<const std::uint32_t> in_document;          ///< f(d)
    std::span<const std::uint64_t> in_collection;        ///< f(C)
    std::span<const double> weights;                     ///< the likelihood, or BM25's weight
    std::span<const std::uint32_t> history_in_document;  ///< empty unless asked for, as the next
    std::span<const std::uint64_t> history_in_collection;
};
/// All rows of one length.
struct ngram_table {
    unsigned n = 0;
    std::vector<std::uint32_t> documents, firsts, in_document;
    std::vector<std::uint64_t> in_collection;
    std::vector<double> weights;
    std::vector<std::uint32_t> history_in_document;
    std::vector<std::uint64_t> history_in_collection;

    void append(const ngram_rows& rows);  ///< behind those that are there; of the same n
    ngram_rows rows() const {
        return {n,
                documents,
                firsts,
                in_document,
                in_collection,
                weights,
                history_in_document,
                history_in_collection};
    }
};

/// N-grams of one length n of a whole collection, each once, in order; columns of equal size.
struct collection_ngrams {
    unsigned n = 0;
    std::span<const std::uint64_t>
        positions;                          ///< which word of the collection one of its occurrences begins at
    std::span<const std::uint64_t> counts;  ///< f(C)
    std::span<const std::uint64_t> history_counts;  ///< h(C); empty unless asked for
};

/// What was counted of one length.
struct ngram_totals {
    unsigned n = 0;
    std::uint64_t occurrences = 0, with_unknown = 0;  ///< in the collection; of them, with an unknown word
    std::uint64_t distinct = 0, rows = 0;             ///< n-grams and rows of documents given out
    bool operator==(const ngram_totals&) const = default;
};
struct ngram_record {
    std::vector<ngram_totals> totals;  ///< n rising, those given out
    std::uint64_t bytes_spilled = 0;
    std::uint64_t pieces = 1;  ///< a GPU's memory was too small for more at a time
    std::string place;         ///< where it ran: "cpu", "cuda:0"
};
struct ngram_result {
    std::vector<ngram_table> tables;  ///< n rising
    ngram_record record;
};

/// Gives the rows out in blocks: those of one n in order, blocks of different n in any order of their own. `take` is called by
/// one thread at a time, and reads the block before it returns. Beyond the run's memory `automatic` puts sorted
/// runs into its scratch folder; the named methods throw out_of_memory.
/// On a GPU the named methods take fewer than 2^32 words, and `strings` texts of less than 4 GiB.
/// Throws usage_error for options out of range, columns that do not fit together and 2^32 documents or words in one document;
/// invalid_value for offsets that do not rise from 0 to the number of words and for a word beyond `vocabulary`; out_of_memory,
/// io_error, interrupted, and what `take` throws.
ngram_record ngram_likelihood(const ngram_collection& collection, const ngram_options& options,
                              const context& run, const std::function<void(const ngram_rows&)>& take);
/// The same in tables, whose memory is beside the run's.
ngram_result ngram_likelihood(const ngram_collection& collection, const ngram_options& options,
                              const context& run);

/// The n-grams of the whole collection alone, which is faster than the rows of its documents: no document's counts are made, and
/// the smoothing and the measure do not matter. Blocks as above; the record has no rows. Throws the same. On a GPU, and by the methods
/// `dictionary` and `suffix-sigma`, they are made from the rows.
ngram_record count_collection_ngrams(const ngram_collection& collection, const ngram_options& options,
                                     const context& run,
                                     const std::function<void(const collection_ngrams&)>& take);

/// Documents as bytes: words are runs of [a-z0-9] after A-Z are lower-cased (without `digits`: of [a-z]); every other byte stands
/// between words.
struct ngram_text {
    std::string_view text;
    std::span<const std::uint64_t>
        documents;  ///< where each begins among the bytes, and the end; none: no documents
    bool digits = true;
};

/// Counts the n-grams of texts that become words on the place that counts: on a GPU a text crosses the bus once. Where text is
/// more than the device cuts at once (a sixteenth of its memory, and 4 GiB), its words come back to the host between.
class ngram_text_counter {
  public:
    /// `words`: rising by their bytes; others in a text are unknown. They are put on the run's place once. Throws usage_error where
    /// they do not rise, out_of_memory, device_error.
    ngram_text_counter(std::span<const std::string_view> words, const context& run);
    ~ngram_text_counter();
    ngram_text_counter(ngram_text_counter&&) noexcept;
    ngram_text_counter& operator=(ngram_text_counter&&) noexcept;

    /// As ngram_likelihood() of the same words; `suffix-sigma` only where the words are on the CPU. The method `strings` compares letters and asks no dictionary: to it no word is
    /// unknown. Throws as it does, and usage_error for a document of 4 GiB.
    ngram_record count(const ngram_text& text, const ngram_options& options,
                       const std::function<void(const ngram_rows&)>& take);
    std::uint64_t dictionary_bytes() const;  ///< what the words take on the place

  private:
    std::unique_ptr<ngram_detail::text_counting> counting_;
};

/// The counts of any n-gram and a document, which need not hold it.
struct ngram_counts {
    std::uint64_t in_document = 0, history_in_document = 0;  ///< f(d), h(d)
    std::uint64_t in_collection = 0, history_in_collection = 0;
    std::uint64_t followers =
        0;  ///< distinct words after the history in the document; of absolute discounting
};
/// Their likelihood, by the bits that rows have; pC where the document does not hold the history, 0 where no document does.
double likelihood_of(const ngram_counts& counts, const ngram_options& options);

}  // namespace quern
