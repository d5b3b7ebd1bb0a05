// SPDX-License-Identifier: Apache-2.0
// The likelihood that a document generates each of its n-grams, for every n up to an order (Ponte and Croft
// 1998; on GPUs DEIM 2018):
//
//     ngram_result found = ngram_likelihood({.words = ids, .documents = offsets, .vocabulary = v}, {.order = 3}, run);
//     for (const ngram_table& of_n : found.tables) …        // a row for every n-gram and document that contains it
//
// Contract class: exact. Counts are integers, and one formula with a fixed order of operations makes the
// weights from them (docs/ngram_likelihood.md): the same bits for every method and device and any number of
// threads and memory budget.
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
/// Concatenated documents as word ids. Ids are the ranks of the words in byte order, so sorting n-grams by ids
/// sorts them by words.
struct ngram_collection {
    std::span<const std::uint32_t> words;  ///< each below `vocabulary`, or `vocabulary` itself: unknown
    /// Start of each document among the words, and the end; empty: no documents.
    std::span<const std::uint64_t> documents;
    std::uint32_t vocabulary = 0;  ///< at most 2^32 - 2

    /// Only for the method `strings`, which uses no ids (`words` may be empty then, and no word is unknown):
    /// word i is text[starts[i], starts[i] + lengths[i]).
    std::string_view text{};
    std::span<const std::uint64_t> starts{};
    std::span<const std::uint32_t> lengths{};
};

inline constexpr unsigned max_ngram_order = 32;

enum class ngram_measure {
    likelihood,  ///< P(last word | the words before it; document), smoothed by the collection
    /// The n-gram as a term: Okapi BM25 without the factor k1 + 1, with
    /// idf = ln(1 + (N - df + .5) / (df + .5)).
    bm25,
};
inline constexpr std::string_view ngram_measure_names[] = {"likelihood", "bm25"};

/// With counts f of the n-gram and h of its history, in the document (d) and in the collection (C), and
/// pC = f(C) / h(C):
enum class ngram_smoothing {
    jelinek_mercer,  ///< lambda · f(d) / h(d) + (1 - lambda) · pC
    dirichlet,       ///< (f(d) + mu · pC) / (h(d) + mu)
    /// max(f(d) - delta, 0) / h(d) + delta · u / h(d) · pC, u the distinct words after the history in d.
    absolute,
    /// Modified Kneser-Ney (Chen and Goodman 1998), for models of a collection; not for rows.
    kneser_ney,
};
inline constexpr std::string_view ngram_smoothing_names[] = {"jm", "dirichlet", "absolute", "kneser-ney"};

enum class ngram_method {
    automatic,   ///< ours: words packed into keys, one sort, rows made while a piece is in the cache
    strings,     ///< positions sorted by string comparison of words (PP, DEIM 2018)
    dictionary,  ///< prefix doubling over ids with segmented sorts (PPD)
    /// Map-reduce: suffixes grouped by first word, in reverse order, one stack (MRP; Berberich, Bedathur 2013).
    suffix_sigma,
};
inline constexpr std::string_view ngram_method_names[] = {"auto", "strings", "dictionary", "suffix-sigma"};

struct ngram_options {
    unsigned order = 3;  ///< maximum n, 1 to 32
    bool only = false;   ///< only n = order
    ngram_measure measure = ngram_measure::likelihood;
    ngram_smoothing smoothing = ngram_smoothing::jelinek_mercer;
    double lambda = 0.5;       ///< Jelinek-Mercer, 0 to 1: weight of the document
    double mu = 1000;          ///< Dirichlet, 0 to 2^64
    double delta = 0.7;        ///< absolute discounting, 0 to 1
    double k1 = 0.9, b = 0.4;  ///< BM25, 0 <= k1 <= 2^64, 0 <= b <= 1
    /// Minimum count in the collection, at least 1.
    std::uint64_t min_count = 1;
    bool history_counts = false;  ///< whether rows contain the counts of the history
    ngram_method method = ngram_method::automatic;
};

/// Throws usage_error if an option is out of range (quern/ops/ngram_option_table.hpp). Rows also refuse Kneser-Ney
/// smoothing, unless BM25 weights are requested.
void validate(const ngram_options& options);

/// Rows of one length n, by n-gram, then document; columns of equal size. The counts of a history include only
/// occurrences that a word of the same document follows, so that the likelihoods after it sum to 1; for n = 1
/// they are numbers of words.
struct ngram_rows {
    unsigned n = 0;
    std::span<const std::uint32_t> documents;
    /// Position in the document at which the first occurrence begins, in words from 0.
    std::span<const std::uint32_t> firsts;
    std::span<const std::uint32_t> in_document;          ///< f(d)
    std::span<const std::uint64_t> in_collection;        ///< f(C)
    std::span<const double> weights;                     ///< the likelihood, or the BM25 weight
    std::span<const std::uint32_t> history_in_document;  ///< empty unless requested, like the next
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

    void append(const ngram_rows& rows);  ///< adds rows of the same n at the end
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

/// The distinct n-grams of one length n of a collection, in order; columns of equal size.
struct collection_ngrams {
    unsigned n = 0;
    /// Position in the collection, in words, at which one of its occurrences begins.
    std::span<const std::uint64_t> positions;
    std::span<const std::uint64_t> counts;          ///< f(C)
    std::span<const std::uint64_t> history_counts;  ///< h(C); empty unless requested
};

/// Totals of one length.
struct ngram_totals {
    unsigned n = 0;
    std::uint64_t occurrences = 0, with_unknown = 0;  ///< in the collection; those with an unknown word
    std::uint64_t distinct = 0, rows = 0;             ///< n-grams and rows in the output
    bool operator==(const ngram_totals&) const = default;
};
struct ngram_record {
    std::vector<ngram_totals> totals;  ///< n ascending, as in the output
    std::uint64_t bytes_spilled = 0;
    /// Ranges of first words counted apart: several if memory was too small for all at once, or several GPUs count.
    std::uint64_t pieces = 1;
    std::string place;  ///< the device, with the reason
};
struct ngram_result {
    std::vector<ngram_table> tables;  ///< n ascending
    ngram_record record;
};

/// Passes the rows to `sink` in blocks: the blocks of one n are in order, those of different n in any order.
/// One thread at a time calls `sink`, which must read the block before it returns.
/// Beyond the run's memory, `automatic` spills sorted runs to its scratch folder; the other methods throw
/// out_of_memory. On a GPU the other methods accept fewer than 2^32 words, and `strings` texts of less than 4
/// GiB.
/// Throws usage_error for options out of range, inconsistent columns and 2^32 documents or words in one
/// document; invalid_value for offsets that do not ascend from 0 to the number of words and for a word beyond
/// `vocabulary`; out_of_memory, io_error, interrupted, and what `sink` throws.
ngram_record ngram_likelihood(const ngram_collection& collection, const ngram_options& options,
                              const context& ctx, const std::function<void(const ngram_rows&)>& sink);
/// The same as tables, whose memory is additional to the run's.
ngram_result ngram_likelihood(const ngram_collection& collection, const ngram_options& options,
                              const context& ctx);

/// Only the n-grams of the whole collection, which is faster than the rows of its documents: it computes no
/// counts of documents and ignores smoothing and measure. Blocks as above; the record has no rows. Throws the
/// same. On a GPU, and with the methods `dictionary` and `suffix-sigma`, it derives them from the rows.
ngram_record count_collection_ngrams(const ngram_collection& collection, const ngram_options& options,
                                     const context& ctx,
                                     const std::function<void(const collection_ngrams&)>& sink);

/// Documents as bytes: words are runs of [a-z0-9] after lower-casing A-Z (without `digits`: of [a-z]); every
/// other byte separates words.
struct ngram_text {
    std::string_view text;
    /// Start of each document among the bytes, and the end; empty: no documents.
    std::span<const std::uint64_t> documents;
    bool digits = true;
};

/// Counts the n-grams of texts and tokenizes them on the same device: on a GPU a text crosses the bus once. If
/// a text is larger than the device tokenizes at once (a sixteenth of its memory, and 4 GiB), its words return
/// to the host in between.
class ngram_text_counter {
  public:
    /// `words`: ascending in byte order; other words of a text are unknown. They are copied to the run's device
    /// once. Throws usage_error if they do not ascend, out_of_memory, device_error.
    ngram_text_counter(std::span<const std::string_view> words, const context& ctx);
    ~ngram_text_counter();
    ngram_text_counter(ngram_text_counter&&) noexcept;
    ngram_text_counter& operator=(ngram_text_counter&&) noexcept;

    /// As ngram_likelihood() for the same words; `suffix-sigma` only if the words are on the CPU. The method
    /// `strings` compares characters without the dictionary, so no word is unknown. Throws as it does, and
    /// usage_error for a document of 4 GiB.
    ngram_record count(const ngram_text& text, const ngram_options& options,
                       const std::function<void(const ngram_rows&)>& sink);
    std::uint64_t dictionary_bytes() const;  ///< size of the words on the device

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// The counts of any n-gram for a document, which need not contain it.
struct ngram_counts {
    std::uint64_t in_document = 0, history_in_document = 0;  ///< f(d), h(d)
    std::uint64_t in_collection = 0, history_in_collection = 0;
    /// Distinct words after the history in the document; for absolute discounting.
    std::uint64_t followers = 0;
};
/// Their likelihood, with the same bits as in rows; pC if the document lacks the history, 0 if all documents
/// do.
double likelihood_of(const ngram_counts& counts, const ngram_options& options);

}  // namespace quern
