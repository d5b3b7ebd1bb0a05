// SPDX-License-Identifier: Apache-2.0
// Search in a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/base/error.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/fusion.hpp"
#include "quern/ops/nearest.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/collection.hpp"
#include "quern/tasks/given_vectors.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// Default of `ranking_options::title_weight` for interactive search; use 0 for runs of the published models.
inline constexpr double interactive_title_weight = 0.25;

/// Default of `search_options::suggestions` for interactive search.
inline constexpr std::size_t interactive_suggestions = 3;

class word_space;

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

enum class explained_list { text, prior, like };
inline constexpr std::string_view explained_list_names[] = {"text", "prior", "like"};

/// The contribution of one term of the query, or of another component, to a hit's score, multiplied by its
/// count. Scores are multiples of 2^-32: the contributions add up exactly to the hit's score.
struct explained_term {
    explained_list list = explained_list::text;
    /// A word; a phrase in quotes; `word | history`; for the list like, the document's id.
    std::string term;
    /// Below 1 for similar words, words of feedback and with a dependence model; for prior and like that of the options.
    double weight = 1;
    /// For a similar word: the words of the query that it is similar to, separated by blanks.
    std::string similar_to;
    std::optional<double> value;  ///< for prior N · rank; for like the cosine
    std::uint32_t count = 1;      ///< occurrences in the query; a word with a history counts there
    std::uint32_t in_document = 0;
    std::uint64_t documents = 0, in_collection = 0;  ///< that contain it; its occurrences
    /// For words with a history: occurrences of the history that are followed by a word.
    std::optional<std::uint64_t> history_in_document, history_in_collection;
    double part = 0;        ///< contribution of its occurrences in the document
    double background = 0;  ///< score of documents that lack it
    double length = 0;      ///< contribution of the document's length to that
    double title = 0;       ///< contribution of the title
    double score = 0;       ///< the sum of the four
};

/// A near-duplicate of a document, which the build excluded.
struct duplicate_hit {
    std::string_view id, title;  ///< valid like those of search_hit
    std::uint32_t distance = 0;  ///< edit distance of the texts, in bytes
};

inline constexpr std::size_t max_hit_duplicates = 10;

struct search_hit {
    std::uint32_t rank = 0;  ///< from 1
    std::uint32_t document = 0;
    double score = 0;
    /// Valid as long as a copy of the search_result.
    std::string_view id, title;
    std::string snippet;
    std::uint32_t words = 0;  ///< in the document, including the title
    std::vector<explained_term> explanation;
    /// Those with the most words of the query in their titles first, then in the order of the corpus; at most
    /// max_hit_duplicates.
    std::vector<duplicate_hit> duplicates;
    std::uint64_t duplicate_count = 0;  ///< number of all near-duplicates
    std::string fields;  ///< the kept fields, a JSON object; empty if the document has none, or on request
};

/// A hit's explanation as a JSON list, one object per term: term, count, f, df, cf, history_f, history_cf,
/// length (the document's words), part, background, length_part, title_part, list, weight, similar_to, value,
/// score.
std::string explanation_json(const search_hit& hit);
/// A hit's `duplicates` as a JSON list, one object per near-duplicate: id, title, distance.
std::string duplicates_json(const search_hit& hit);

/// A word by which the query was expanded.
struct similar_word {
    std::string word;
    std::string similar_to;  ///< as in explained_term; empty for a word of feedback
    double weight = 0;
};

/// A word that no document contains, with suggestions from the store: at most 2 edits away (insertion,
/// deletion, replacement or swap of two adjacent characters), or 1 for fewer than six characters. The likeliest
/// first, by the kinds of edits and the number of documents (docs/search.md), then by bytes. Words are in
/// analysed form: stems if the store stems.
struct suggested_words {
    struct known {
        std::string word;
        std::uint32_t distance = 0;
        std::uint64_t documents = 0;  ///< that contain it
    };
    std::string unknown;
    std::vector<known> words;  ///< at least one
};

/// Words that stand for a word of the query because of typos (search_options::typos, word~1): the nearest first, then those
/// in most documents, then by bytes.
struct found_variants {
    std::string word;
    std::vector<suggested_words::known> words;  ///< at least one
};

/// How often the values of a kept field occur in the documents that a query finds.
struct search_facet {
    struct value_count {
        /// Text; a number or true, false as in JSON; a date as 2024-05-01, or 2024-05-01T12:30:00Z if not at midnight UTC.
        std::string value;
        std::uint64_t documents = 0;
    };
    std::string field;
    field_type type = field_type::text;
    std::uint64_t documents = 0;  ///< found, that have the field
    std::uint64_t distinct = 0;   ///< values
    std::vector<value_count>
        values;  ///< most documents first, then by value; at most search_options::facet_values
    /// Of integers, numbers and dates: the least and the greatest value; empty if there is none.
    std::string min, max;
};

/// The facets of a result as a JSON object, a member for each field: type, documents, distinct, values (a list of value
/// and documents) and, of integers, numbers and dates, min and max.
std::string facets_json(const std::vector<search_facet>& facets);

struct search_result {
    std::vector<search_hit> hits;
    /// Of the query, in analysed form; phrases that no document contains, in quotes.
    std::vector<std::string> unknown_words;
    bool empty_query = false;                   ///< no word remains after analysis
    query_syntax syntax = query_syntax::words;  ///< how the query was read: words or operators
    /// Of an automatic syntax: what was read as words though it looks like an operator, and why (an operator that cannot be
    /// read; a kept field before a colon, which a filter reads); else empty.
    std::string syntax_note;
    /// With search_options::total or count: the number of documents that the query finds.
    std::optional<std::uint64_t> total;
    std::vector<search_facet> facets;          ///< with search_options::facets; in that order
    std::vector<similar_word> similar_words;   ///< with search_options::expand; in byte order
    std::vector<suggested_words> suggestions;  ///< with search_options::suggestions; in byte order
    std::vector<found_variants> variants;      ///< in byte order
    /// The words of `variants`, and with search_options::prefix_last those that begin with the last word, in byte order.
    std::vector<std::string> variant_words;
    /// Keeps the opened store, in whose memory ids and titles are, also after the engine is gone.
    std::shared_ptr<const void> opened;
};

struct completion_options {
    std::size_t k = 10;
    /// Whether words with typos complete a beginning with which no word begins; `one` allows one edit.
    typo_tolerance typos = typo_tolerance::automatic;
};

/// A word of the store that completes what is typed.
struct completed_word {
    std::string word;             ///< in the store's form: a stem if the store stems
    std::uint64_t documents = 0;  ///< that contain it
    std::uint64_t occurrences = 0;
    std::uint32_t distance = 0;  ///< edits between what is typed and the nearest beginning of the word
};

struct completion_result {
    std::string before;     ///< what is typed before the last word
    std::string beginning;  ///< the last word as the store spells it; empty if a blank or the like follows it
    std::uint64_t total = 0;            ///< words that complete it
    std::vector<completed_word> words;  ///< the k best of these: by distance, documents (most first), bytes
};

/// A document of the store.
struct stored_document {
    std::string id, title;
    std::string text;
    std::uint32_t words = 0;  ///< its length, including the title
    std::string fields = {};  ///< the kept fields, a JSON object; empty if it has none
};

/// A range of bytes that is a word of a query.
struct text_match {
    std::size_t begin = 0, end = 0;
    friend bool operator==(const text_match&, const text_match&) = default;
};

struct search_topic {
    std::string id, query;
    std::vector<float> vector = {};  ///< not empty: instead of search_options::vector
    std::string weights = {};        ///< of words, in a store of weights instead of the query
};

/// A store opened for search; cheap to keep, thread-safe.
class search_engine {
  public:
    /// Opens a snapshot: later replacement or deletion of the store on disk does not affect this engine. A sharded store
    /// (quern/tasks/shards.hpp) is searched as the store of all its documents would be: the same hits, scores, order and
    /// ties; documents are numbered through its shards. What needs one store is refused (usage_error): check() and `vectors`
    /// say so.
    /// `ask`: sends steps to the servers of shards on other machines; needed if there are any.
    /// Throws usage_error for a folder without a store, and for a shard that is missing or has changed; damaged_store with
    /// the section. Warns through `ctx.on_log` if the store was made with another version of the Unicode data. Ignores the
    /// device of `ctx`: single queries run on the CPU. `vectors`: of the documents, for hybrid search, instead of those in the store; throws as `build` for them.
    static search_engine open(const std::filesystem::path& store, const context& ctx,
                              const given_vectors& vectors = {}, const ask_shards& ask = {});
    ~search_engine();
    search_engine(search_engine&&) noexcept;
    search_engine& operator=(search_engine&&) noexcept;

    /// Throws usage_error if a search would refuse these options: one is out of range
    /// (quern/tasks/search_option_table.hpp), or the store lacks what it requires.
    void check(const search_options& options, const context& ctx) const;
    /// Whether the store is ranked by this model: one of weights by impact alone, others by every other model.
    bool ranks_by(ranking_model model) const;
    /// Throws usage_error unless it is: for a model that a user names. The default in search_options, bm25, stands for
    /// impact in a store of weights.
    void require_model(ranking_model model) const;
    search_result search(std::string_view query, const search_options& options) const;
    /// The same, with one thread, or of a sharded store up to ctx.thread_count(), one for each shard; throws `interrupted` soon after the run's stop flag is set.
    search_result search(std::string_view query, const search_options& options, const context& ctx) const;
    /// One result per topic, in the given order, computed by up to `ctx.thread_count()` threads, or on a GPU.
    /// For many topics or long results use search_each.
    std::vector<search_result> search(std::span<const search_topic> topics, const search_options& options,
                                      const context& ctx) const;
    /// The words of the store that complete the last word of `typed`: complete, exact. Cost: a pass over the numbers of
    /// documents of the words that begin so, of a sharded store over their letters, too; with typos a walk over the vocabulary.
    completion_result complete(std::string_view typed, const completion_options& options,
                               const context& ctx) const;
    // With a `ctx` these throw `interrupted` soon after its stop flag is set: the first call of find() is slow, near_id() is, and
    // shards on other machines may be.
    /// The number of the document with this id. The first call makes a table of 6 bytes per document.
    std::optional<std::uint32_t> find(std::string_view id, const context& ctx = {}) const;
    /// A suggestion for an unknown id: the id of the first document with this text as its title, else of the
    /// first one whose id or title equals this text except for the case of ASCII letters and _ for blanks.
    /// Cost: a pass over ids and titles.
    std::optional<std::string_view> near_id(std::string_view text, const context& ctx = {}) const;
    /// Does the work of first calls in advance: the table of find, the data of the score components, a text
    /// analyzer. Throws damaged_store, and usage_error for unknown text options.
    void warm_up() const;
    /// The source of similar words; valid as long as the engine, also after a move. Null if the store has none.
    const word_space* thesaurus() const;
    /// Without its text; valid as long as a copy of a search_result, or as this engine. Throws usage_error for an
    /// invalid number.
    std::string_view id(std::uint32_t number) const;
    std::string_view title(std::uint32_t number) const;
    /// Throws usage_error for an invalid number. Cost: proportional to its text, at least 64 KiB.
    stored_document document(std::uint32_t number, const context& ctx = {}) const;
    /// The occurrences of query words in `text` (a snippet, a title, a document's text), in order, compared
    /// like the store's words: if the store stems, also other forms of a word.
    std::vector<text_match> matches(std::string_view text, std::string_view query) const;
    /// The same for many texts and one query: `words` are its words_of, or others in the store's form
    /// (suggested_words::unknown, similar_word::word), in byte order.
    std::vector<text_match> matches(std::string_view text, std::span<const std::string> words) const;
    /// The words of a query, quoted and unquoted, in the store's form (stems if it stems), each once, in byte
    /// order. With operators (search_result::syntax): without those that are excluded, and with the words of the store
    /// that have a prefix of the query.
    std::vector<std::string> words_of(std::string_view query,
                                      query_syntax syntax = query_syntax::words) const;
    /// The discriminative ones of these, by which snippets are chosen: without words in more than three
    /// quarters of the documents, if the query has a rarer one.
    std::vector<std::string> discriminative_words_of(std::string_view query,
                                                     query_syntax syntax = query_syntax::words,
                                                     const context& ctx = {}) const;
    /// The query with each unknown word replaced by its first suggestion, otherwise unchanged; empty if no word
    /// has a suggestion.
    std::optional<std::string> corrected(std::string_view query,
                                         std::span<const suggested_words> suggestions) const;

    /// Formats a result; called by any thread.
    using result_text = std::function<std::string(const search_topic&, const search_result&)>;
    /// Receives the results one at a time, in the order of the topics, each with its text.
    using result_sink = std::function<void(const search_topic&, const search_result&, std::string_view text)>;
    /// Runs the topics on the device of choose_device, holding a few results at a time; the results are the
    /// same on every device. `text` may be empty. The first exception, also of `text` and `sink`, ends the
    /// search and is rethrown.
    void search_each(std::span<const search_topic> topics, const search_options& options, const context& ctx,
                     const result_text& text, const result_sink& sink) const;
    /// The device for this number of topics, with the reason. `automatic` leaves few topics over few documents
    /// to the CPU. Topics with a prior, similar words, a like document or an order above 1 run on the CPU, with
    /// a warning if CUDA is requested. Throws usage_error for options out of range; logs and throws as
    /// quern::choose_device does.
    chosen_device choose_device(std::size_t topics, const search_options& options, const context& ctx) const;
    std::uint64_t documents() const;
    /// The number of stores that are searched: 1, or those of a sharded store.
    std::size_t shards() const;
    /// Whether some of them are on other machines. Then complete(), summary(), id(), title() and near_id() do not work.
    bool has_remote_shards() const;
    /// The answer to a step of a query (shard_request) for this store as a shard; nothing if the step is for another store.
    /// Any bytes may be sent. Throws usage_error for what is not understood or refused, other_version for a step from one.
    std::optional<std::string> answer_step(std::string_view step, const step_limits& limits,
                                           const context& ctx) const;
    bool is_sharded() const { return sharded_ != nullptr; }
    /// The store as a whole, with up to that many frequent words and documents of high link rank. Cost: passes over the
    /// lengths, the vocabulary's counts and the link ranks at the first call; up to 1,000 words and documents are kept.
    collection_summary summary(std::size_t words, std::size_t documents, const context& ctx) const;
    /// Documents with near-duplicates, those with most of them first, then in their order: `k` after the first `offset`,
    /// each with up to `copies` of its near-duplicates. Cost: the first call passes over all
    /// near-duplicates, and keeps 8 bytes for each document that has some.
    duplicated_documents duplicated(std::size_t offset, std::size_t k, std::size_t copies,
                                    const context& ctx) const;
    /// Whether the store supports search_options: prior, expand, like.
    bool has_link_ranks() const;
    bool has_thesaurus() const;
    bool has_document_vectors() const;
    /// The dimensions of the vectors of documents for hybrid search; 0: there are none.
    std::uint32_t vector_dimensions() const;
    /// Near-duplicates that the build excluded (search_hit::duplicates).
    std::uint64_t duplicates() const;
    std::uint64_t vocabulary() const;
    const text_options& text() const;
    /// As of opening; of a sharded store what the shards have in common, and sums.
    const store_info& store() const;

  private:
    struct state;
    struct prepared;
    struct planned_query;
    struct sharded;
    void search_on_cpu(std::span<const search_topic> topics, const search_options& options,
                       const prepared& lists, const context& ctx, const result_text& text,
                       const result_sink& sink) const;
    void search_on_device(std::span<const search_topic> topics, const search_options& options,
                          const prepared& lists, const context& ctx, const chosen_device& chosen,
                          const result_text& text, const result_sink& sink) const;
    explicit search_engine(std::shared_ptr<const state> s);
    std::shared_ptr<const prepared> prepare(const search_options& options, const context& ctx) const;
    search_result result(std::string_view query, std::span<const float> vector, const search_options& options,
                         const prepared& lists, const context& ctx) const;
    /// Throws usage_error: `what` is not possible with shards.
    void require_one_store(std::string_view what) const;
    std::shared_ptr<const state> state_;  ///< shared with results; of a sharded store that of the first shard
    std::shared_ptr<const sharded> sharded_;  ///< null: one store
};

/// Reads a topics file: `id TAB text`, JSON lines, or TREC topics. `fields`: those of TREC topics that make the query: title,
/// desc, narr, separated by commas. Throws usage_error for other names; invalid_input for a topic without one of them, and for
/// fields other than title of another file.
std::vector<search_topic> read_topics(const std::filesystem::path& path, const context& ctx,
                                      std::string_view fields = "title");

/// Gives each topic its vector from a file in any dense format of docs/vectors.md: by id if it has names, else in order.
/// Throws invalid_input for topics without a vector, another number of vectors, and numbers that are not finite.
void read_topic_vectors(std::vector<search_topic>& topics, const std::filesystem::path& path,
                        const context& ctx);
/// One vector: a JSON list of numbers, or a file with one row. Throws usage_error, and as read_topic_vectors.
std::vector<float> read_query_vector(const std::string& text, const context& ctx);

/// The store of a corpus: built under `cache` at the first call and reused as long as the names, sizes and
/// times of the inputs do not change; otherwise a new store replaces it. Other inputs or options have a
/// separate store. Waits if another search is building it. Throws usage_error for a pipe.
std::filesystem::path cached_store(const build_options& corpus, const std::filesystem::path& cache,
                                   const context& ctx);

}  // namespace quern
