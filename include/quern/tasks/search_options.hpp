// SPDX-License-Identifier: Apache-2.0
// What a search in a store may be asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/fusion.hpp"
#include "quern/ops/nearest.hpp"
#include "quern/ops/search.hpp"

namespace quern {

/// Default of `ranking_options::title_weight` for interactive search; use 0 for runs of the published models.
inline constexpr double interactive_title_weight = 0.25;

/// Default of `search_options::suggestions` for interactive search.
inline constexpr std::size_t interactive_suggestions = 3;

/// What the characters of a query mean (docs/search.md has the grammar).
enum class query_syntax {
    words,      ///< words, and phrases in quotes
    operators,  ///< signs, phrases, prefixes, fields, AND, OR, NOT and parentheses; query_error for anything else
    automatic,  ///< operators if the query has one and can be read so; else words
};
inline constexpr std::string_view query_syntax_names[] = {"words", "operators", "auto"};

/// Whether words of a query also find words that differ by a few edits (insertion, deletion, replacement or swap of two
/// adjacent characters): none for words below four characters, one below eight, else two (docs/search.md).
enum class typo_tolerance {
    never,
    automatic,  ///< for words that no document contains
    one,        ///< for all words outside of quotes and prefixes, at most one edit
    two,        ///< the same with at most two
};
inline constexpr std::string_view typo_tolerance_names[] = {"never", "auto", "1", "2"};

/// A query with operators is not understood. `what()` names the place.
class query_error : public usage_error {
  public:
    /// `byte`: where in the query. `what` is it, for the message.
    query_error(std::string_view query, std::size_t byte, std::string_view reason,
                std::string_view what = "query");
    /// In characters from 0.
    std::size_t position() const noexcept { return position_; }
    /// The query around the place, and below it a caret: two lines without line ends, for a terminal.
    const std::string& excerpt() const noexcept { return excerpt_; }
    const std::string& caret() const noexcept { return caret_; }

  private:
    std::size_t position_;
    std::string excerpt_, caret_;
};

/// An expression of search_options::filter is not understood, or does not fit the kept fields of the store.
class filter_error : public query_error {
  public:
    filter_error(std::string_view filter, std::size_t byte, std::string_view reason)
        : query_error(filter, byte, reason, "filter") {}
};

/// A query that finds every document, unless the store is of verbatim words. Without a filter, scores are 0 or the
/// prior.
inline constexpr std::string_view query_for_all = "*";

/// Pseudo-relevance feedback: a second search, with words of the best documents of the first.
enum class feedback_method { none, rm3, bo1 };
inline constexpr std::string_view feedback_method_names[] = {"none", "rm3", "bo1"};

/// Whether the model's scores are logarithms of probabilities, so that search_options::order holds.
constexpr bool is_likelihood(ranking_model model) {
    return model >= ranking_model::ql && model <= ranking_model::two_stage;
}

/// What a word's likelihood given the words before it is made of, with search_options::order above 1.
enum class order_model {
    /// The likelihoods of the word and of the n-grams that end with it, each smoothed by the collection, as a product of
    /// powers: log-linear interpolation (Klakow 1998). docs/search.md has the formula.
    interpolated,
    /// The likelihood of the word after the longest history that the collection has (query_continuation); only with
    /// ranking_model::ql.
    history,
};
inline constexpr std::string_view order_model_names[] = {"interpolated", "history"};
inline constexpr std::string_view default_order_weights = "0.1 0.05";

/// Whether neighbouring words of the query also count as pairs.
enum class dependence_model { none, sdm };
inline constexpr std::string_view dependence_model_names[] = {"none", "sdm"};

struct search_options {
    ranking_options ranking;
    std::size_t k = 10;
    /// How many of the k best to skip: their ids and snippets are not looked up.
    std::size_t offset = 0;
    bool snippets = true;
    bool fields = true;      ///< whether hits have the kept fields of their documents
    bool duplicates = true;  ///< whether hits list their near-duplicates, max_hit_duplicates of each
    /// Text in double quotes is a phrase: it must occur in every hit and scores as one term.
    bool phrases = true;
    query_syntax syntax = query_syntax::words;  ///< others require `phrases`, or automatic means words
    /// Words with typos weigh less than the word itself in any document: docs/search.md has the weights.
    typo_tolerance typos = typo_tolerance::never;
    /// Whether the last word of the query is still being typed, if nothing follows it: words that begin with it stand for
    /// it, too, as words with typos do.
    bool prefix_last = false;
    /// In a store built without folding: words, prefixes and phrases also find what differs from them by accents alone, and
    /// count with it as one. No effect on a store that was built with it.
    folding fold = folding::none;
    /// Whether to count all documents that the query finds, for any k (search_result::total).
    bool total = false;
    /// Whether to only count them: without ranking, hits and suggestions are empty.
    bool count = false;
    /// Only documents whose kept fields satisfy this: "lang = de AND price < 10" (docs/search.md has the grammar). Blank: all.
    /// Scores are those without a filter. filter_error for an expression that is not understood.
    std::string filter;
    /// Kept fields, separated by commas, each with a - before it if large values come first: hits are in this order instead
    /// of that of their scores, documents without a value last; equal ones by score, then by document. Blank: by score.
    std::string sort;
    /// Kept fields, separated by commas, whose values are counted over all documents that the query finds, for any k
    /// (search_result::facets). Blank: none.
    std::string facets;
    std::size_t facet_values = 10;  ///< of each facet, the most frequent ones
    /// BM25F (quern/ops/field_search.hpp): what an occurrence in the title and in the text counts, "title=3,text=1"; a field
    /// that is not named counts 1. Blank, with field_b: scores by `ranking` alone. Needs ranking_model::bm25, whose k1 holds;
    /// its title_weight does not. usage_error for what is not understood, values out of range and `order` above 1.
    std::string field_weights;
    /// BM25F: length normalisation by field, "title=0.2,text=0.75"; of others it is `ranking.b`.
    std::string field_b;
    /// With a likelihood model (ql, dirichlet, two_stage): the order of the n-gram model, 1 to max_query_order. A word's
    /// likelihood depends on the order - 1 query words before it.
    unsigned order = 1;
    order_model ngrams = order_model::interpolated;
    /// Of order_model::interpolated: the exponents of pairs, of three words …, of single words 1, separated by blanks; the
    /// last one holds for all longer ones. Each above 0, to 1.
    std::string order_weights{default_order_weights};
    /// Whether hits explain their scores; out_of_memory beyond a quarter of the run's memory.
    bool explain = false;

    // Score components besides the words. usage_error if the store lacks the required part. docs/search.md has
    // the formulas.
    /// W: adds W · ln(N · link rank of the document) to a score; 0 to 100, 0: nothing.
    double prior = 0;
    /// Expands each unquoted word with this number of its most similar words in the store's thesaurus that are
    /// not in the query. Stop words (word_space::is_stop_word) and words in more than half of the documents are
    /// neither expanded nor added. The weight of a similar word is its similarity times expand_weight; a word
    /// of the query has weight 1. At most the number of neighbours that the thesaurus stores per word, 20 if
    /// quern build made it.
    std::uint32_t expand = 0;
    double expand_weight = 0.1;  ///< above 0, to 1
    /// Adds like_weight · the cosine with this document's vector to a score. Then every document with a vector
    /// can be a hit, even without a word of the query, except this one.
    std::optional<std::uint32_t> like;
    double like_weight = 10;  ///< above 0, to 100; with 1 and no query, scores are cosines

    /// Not none: the words of the best documents are added to the query by their weights, and it is searched again. Of the
    /// query's words and of those, the weights are shares: original_weight and 1 - original_weight. Rounded to 2^-16 of the
    /// highest. docs/search.md has the formulas. usage_error with `order` above 1.
    feedback_method feedback = feedback_method::none;
    std::uint32_t feedback_documents = 10;
    std::uint32_t feedback_terms = 10;
    double original_weight = 0.5;  ///< 0 to 1
    /// sdm: the sequential dependence model (Metzler and Croft 2005). Each pair of neighbouring words, outside of quotes,
    /// counts as two terms: where they follow each other, with ordered_weight, and where both are within `window` words, in
    /// any order, with unordered_weight; single words have the rest of 1. usage_error with `order` above 1.
    dependence_model dependence = dependence_model::none;
    double ordered_weight = 0.1, unordered_weight = 0.05;  ///< above 0, together below 1
    std::uint32_t window = 8;                              ///< 2 to 1,000

    // Hybrid search, in a store with vectors of documents (build_options::vectors, or those of `open`): docs/search.md.
    /// Not empty: the documents nearest to it form a second ranking, which is fused with that of the words. What restricts the
    /// words (filter, required and excluded parts) restricts both before they rank; a prior belongs to the words. The query
    /// finds the documents of the fused ranking. Without words, scores are similarities. usage_error for other dimensions,
    /// numbers that are not finite, a store without vectors, and with `like` or `explain`.
    std::vector<float> vector;
    quern::vector_metric similarity = quern::vector_metric::cosine;
    fusion_rule fusion = fusion_rule::rrf;
    /// Of the scores, for rules other than rrf and borda.
    score_normalisation fusion_normalize = score_normalisation::minmax;
    double fusion_constant = 60;
    double vector_weight = 1;  ///< of the vectors' ranking, 0 to 10^6; that of the words has 1
    /// Documents of each ranking that are fused, or k + offset if that is more.
    std::size_t fusion_depth = 1000;

    /// Number of known words to suggest for each of the first 8 unknown words of at most 64 characters
    /// (search_result::suggestions).
    std::size_t suggestions = 0;
    /// The query's text options; if set, they must equal the store's (else usage_error).
    std::optional<text_options> text;

    friend bool operator==(const search_options&, const search_options&) = default;
};

inline constexpr unsigned max_query_order = 32;

/// The options of a search by a person, as on the command line, in the browser and in the web interface: titles count,
/// and unknown words get suggestions. The defaults of search_options are those of the published models.
inline search_options interactive_search() {
    search_options options;
    options.ranking.title_weight = interactive_title_weight;
    options.suggestions = interactive_suggestions;
    options.syntax = query_syntax::automatic;
    options.typos = typo_tolerance::automatic;
    return options;
}

}  // namespace quern
