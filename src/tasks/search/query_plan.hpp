// SPDX-License-Identifier: Apache-2.0
// A query after analysis, in the form that the operation takes: words and phrases as terms, words with histories, and
// the documents that contain every quoted text.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/search/document_filter.hpp"
#include "ops/search/part_bounds.hpp"
#include "ops/search/query_lists.hpp"
#include "quern/ops/field_search.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/search/analysed_query.hpp"
#include "tasks/search/feedback.hpp"
#include "tasks/search/field_filter.hpp"
#include "tasks/search/part_lists.hpp"
#include "tasks/search/snippet.hpp"
#include "tasks/search/whole_statistics.hpp"
#include "tasks/search/word_variants.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// The query words worth showing in texts: without those that nearly all documents have, if there are rarer ones. `whole`:
/// null, or the counts of all shards, of which the store is one.
std::vector<std::string> discriminative_words(const opened_store& store, const whole_statistics* whole,
                                              const std::vector<std::string>& words);

/// The order of found_variants::words.
void sort_variants(std::vector<suggested_words::known>& words);

class query_plan {
  public:
    /// The store and the context must outlive it. Throws out_of_memory if histories need more than `memory` bytes,
    /// `interrupted` if the stop flag is raised. Uses `thesaurus` if options.expand is not 0. `by_terms`: whether the ranking may
    /// find what the query requires; else view() says it also for counts. `fields`: if they have
    /// weights; then the terms are those of search_fields. `whole`: null, or the counts of all shards, of which the store is one:
    /// the plan is then to be finished by set_whole_counts and finish. `all_folded`: of all shards, if `folded` is not null.
    query_plan(const opened_store& store, const whole_statistics* whole, const word_space* thesaurus,
               analysed_query query, const search_options& options, std::uint64_t memory, const context& ctx,
               const words_of_text& words_of, const folded_words* folded,
               std::span<const folded_words* const> all_folded, const near_finders& near,
               const field_ranking* fields, bool by_terms);
    query_plan(const query_plan&) = delete;  // lists point into it
    query_plan& operator=(const query_plan&) = delete;

    /// Of a shard: the documents and occurrences of each term here. The plans of all shards have the same terms in the same order.
    std::vector<whole_counts> counts() const;
    /// Of a shard: the sums of these over all shards.
    void set_whole_counts(std::span<const whole_counts> counts);
    /// Of a shard, after that: what decides the weights of words with typos and unfinished ones, in the same order in all shards.
    std::vector<search_detail::shard_bounds> bounds(const ranking_options& ranking);
    /// Finishes the plan. `bounds`: those of all shards together.
    void finish(std::span<const search_detail::shard_bounds> bounds, const search_options& options,
                bool by_terms);

    search_query view() const;
    /// For search_requiring: which terms of view() every result must have; empty if the view says all. Only with `by_terms`.
    std::span<const std::uint8_t> required_terms() const { return required_terms_; }
    bool empty() const { return empty_; }
    /// Of a shard, before it has the counts of the whole: whether the terms are words(), in this order.
    bool has_only_words() const { return terms_.size() == words_.size(); }
    query_syntax syntax() const { return query_.syntax; }
    const std::string& syntax_note() const { return query_.note; }
    /// The number of documents that a search of view() finds; with `boosts`, also those that are listed there. `besides`:
    /// a document that does not count. `filter`: the documents that may count; null: all.
    std::uint64_t count(std::optional<std::span<const std::int64_t>> boosts,
                        std::optional<std::uint32_t> besides, const document_bits* filter) const;
    /// These documents, ascending.
    std::vector<std::uint32_t> matching(std::optional<std::span<const std::int64_t>> boosts,
                                        std::optional<std::uint32_t> besides,
                                        const document_bits* filter) const;
    /// Memory of the lists made for its phrases.
    std::uint64_t bytes_made() const;
    /// Words, and phrases in quotes, that no document has; sorted.
    const std::vector<std::string>& unknown() const { return unknown_; }
    const std::vector<std::string>& unknown_words() const { return unknown_words_; }  ///< of these, the words
    const std::vector<similar_word>& similar() const { return similar_; }             ///< sorted
    /// What stands for words of the query, by these. Of a shard: in the same order in all shards, also if it has none.
    const std::vector<found_variants>& variants() const { return shown_variants_; }
    /// All of these words, each once, in byte order.
    const std::vector<std::string>& variant_words() const { return variant_words_; }

    /// Weights the terms by options.original_weight and adds words of feedback, which then are in view() and similar().
    void add_feedback(std::span<const feedback_word> words, const search_options& options);

    /// Words outside of phrases that the store has, sorted.
    const std::vector<std::string>& words() const { return words_; }
    /// For snippets, with search_options::snippets: the discriminative words outside of phrases, those similar to them,
    /// and the phrases.
    sought_terms sought() const { return {shown_words_, phrases_, shown_weights_}; }

    /// Maximum number of terms of an explanation.
    std::size_t max_explained() const {
        return terms_.size() * (in_fields() ? 1 + fields_->others.size() : 1) + continuations_.size();
    }
    /// The contributions to a hit's score, term by term.
    std::vector<explained_term> explain(const ranking_options& ranking, std::uint32_t document) const;

  private:
    void add_fields_of(const query_term& term, const field_score_parts& parts,
                       std::vector<explained_term>& explained) const;

    /// A part that is not loose, by what it searches for.
    using part_key = std::tuple<bool, query_field, std::uint32_t, std::vector<std::string>>;
    struct made_part {
        posting_list list, titles;
        std::span<const posting_list> fields;  ///< as query_term::fields
        std::span<const std::uint32_t> documents;
        std::optional<std::size_t> term;  ///< if it is scored
    };

    /// Documents with variants of a word, without those that have a nearer one or the word itself.
    struct made_tier {
        variant_tier tier;
        posting_list list, titles;
        std::span<const posting_list> fields;
        std::span<const std::uint32_t> documents;
        std::size_t term = 0;      // if the word is scored
        std::uint32_t weight = 0;  // of its term
    };

    /// Whether the collection has a word, if it is not one of titles of near-duplicates alone.
    bool is_known(const std::string& word) const;
    void add_words();
    part_finder finder() const;
    /// A word's list as its term takes it.
    posting_list list_of_term(const posting_list& list, const posting_list& titles, std::string_view word);
    /// A word's lists in the indexed fields, as its term takes them.
    std::span<const posting_list> fields_of_term(std::string_view word);
    std::span<const posting_list> fields_of_term(
        const std::vector<std::vector<search_detail::phrase_posting>>& found);
    bool in_fields() const { return fields_ != nullptr && !fields_->others.empty(); }
    void add_weighted_words();
    /// What stands for a word of a part besides itself.
    variant_request request_of(const query_part& part, const std::string& word) const;
    void add_variants(const part_finder& finder);
    /// Drops the variants that no shard has documents of.
    void set_counts_of_variants();
    void weigh_variants(std::span<const search_detail::shard_bounds> bounds);
    void show_variants();
    /// Of the store, or of any shard.
    bool any_has(const std::string& word) const;
    bool any_begins(const std::string& beginning) const;
    /// Whether edits are those of beginnings of words: there is neither the word nor one that begins with it.
    bool seeks_beginnings(const variant_request& request) const;
    std::vector<made_tier> make_tiers(const part_finder& finder, const variant_request& request);
    void show_variants(const variant_request& request, const std::vector<made_tier>& tiers);
    /// The lists of the word itself.
    query_term lists_of(const variant_request& request);
    const std::vector<made_tier>* tiers_of(const query_part& part, const std::string& word) const;
    std::span<const std::uint32_t> keep_documents(const std::vector<search_detail::phrase_posting>& found);
    void add_made_parts(const part_finder& finder);
    void make_part(const part_finder& finder, const query_part& part, const part_key& key);
    void add_pairs(const search_options& options);
    /// The n-grams of the query, by search_options::order.
    void add_ngrams(const search_options& options);
    void add_pair(std::string name, const std::vector<search_detail::phrase_posting>& found,
                  std::uint32_t count, std::uint32_t weight);
    std::size_t word_place(std::string_view word) const;
    void add_similar(const word_space& thesaurus, const search_options& options);
    void add_histories(unsigned order, std::uint64_t memory);
    /// Of a prefix or folded part: the words of the store for which it stands.
    std::vector<std::string> words_of(const query_part& part) const;
    void add_shown();
    /// What makes the query more than the union of its terms. `by_terms`: whether the ranking may require terms.
    void plan_restriction(bool by_terms);
    bool require_terms(const query_group& whole);
    std::optional<std::size_t> term_of(const query_part& part) const;
    void restrict();
    search_detail::condition word_condition(const std::string& word, bool with_titles) const;
    search_detail::condition part_condition(const query_part& part) const;
    search_detail::condition group_condition(const query_group& group) const;
    /// The documents with a term.
    search_detail::condition any_term() const;
    /// Those that the query finds, without boosts.
    search_detail::condition found(const document_bits* filter) const;

    const opened_store& store_;
    const whole_statistics* const whole_;  // null: the store is the whole collection
    const context& ctx_;
    const analysed_query query_;
    const field_ranking* const fields_;  // null: fields have no weights
    const words_of_text words_of_text_;
    /// Whether titles count, and whether a document's titles can have words that the document lacks.
    const bool with_titles_, has_other_titles_;
    const typo_tolerance typos_;
    const folded_words* const folded_;  // if accents are ignored
    const std::span<const folded_words* const> all_folded_;
    const near_finders& near_;
    collection_view collection_;
    std::optional<search_detail::token_stream> tokens_;  // if there is a phrase or a history
    std::vector<query_term> terms_;
    std::vector<std::string> names_;  // of the terms
    std::size_t first_found_ = 0;  // of the terms: variants, pairs and n-grams, which may be in no document
    std::deque<search_detail::made_list> lists_;        // of the made parts
    std::deque<std::vector<std::uint32_t>> documents_;  // of the made parts
    std::deque<std::vector<posting_list>> lists_of_fields_;
    std::map<part_key, made_part> made_;
    std::map<variant_request, std::vector<made_tier>> variants_;
    std::vector<variant_request> scored_variants_;  // whose tiers are terms, in this order
    std::vector<found_variants> shown_variants_;
    std::vector<std::string> variant_words_;
    std::optional<search_detail::history_finder> histories_;
    std::vector<query_continuation> continuations_;
    std::optional<search_detail::condition> required_;  // of every document that the query finds
    std::optional<search_detail::condition> excluded_;  // of those that it does not find
    /// A flag for each term, if the ranking itself finds those that `required_` describes; else empty.
    std::vector<std::uint8_t> required_terms_;
    std::optional<std::vector<std::uint32_t>> allowed_;
    std::vector<std::uint32_t> forbidden_;
    std::vector<similar_word> similar_;  // the last terms
    std::vector<std::string> words_, shown_words_, unknown_, unknown_words_;
    std::vector<std::uint32_t> shown_weights_;  // of shown_words_, then of phrases_
    std::vector<std::vector<std::string>> phrases_;
    std::vector<std::size_t> terms_of_phrases_;
    bool empty_ = true;
};

}  // namespace quern
