// SPDX-License-Identifier: Apache-2.0
// The state of an opened engine, and the steps of every result before and after the ranking.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/search/document_similarity.hpp"
#include "quern/ops/field_search.hpp"
#include "quern/tasks/search.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/search/collection_cache.hpp"
#include "tasks/search/field_filter.hpp"
#include "tasks/search/field_order.hpp"
#include "tasks/search/folded_words.hpp"
#include "tasks/search/hybrid.hpp"
#include "tasks/search/known_words.hpp"
#include "tasks/search/passing_lists.hpp"
#include "tasks/search/query_plan.hpp"
#include "tasks/search/score_components.hpp"
#include "tasks/search/shard_exchange.hpp"
#include "tasks/search/text_cache.hpp"
#include "tasks/search/whole_statistics.hpp"
#include "tasks/search/word_variants.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/query_words.hpp"
#include "tasks/store/vectors_of_documents.hpp"

namespace quern {

/// A query after analysis, with its score components.
struct search_engine::planned_query {
    template <typename... Arguments>
    explicit planned_query(Arguments&&... arguments) : planned(std::forward<Arguments>(arguments)...) {}

    query_plan planned;
    search_query whole;                            ///< points into `planned` and into prepared data
    const whole_statistics* statistics = nullptr;  ///< of all shards; null: the store is the whole
    bool finds_all = false;                        ///< every document that passes the filter, without words
};

struct search_engine::state : std::enable_shared_from_this<search_engine::state> {
    /// Opens everything that is ever read from the path: the store may be replaced or removed later.
    state(const std::filesystem::path& path, std::uint64_t memory, const given_vectors& given,
          const context& ctx);

    /// Of a shard: the plan is to be finished, then point_at_plan called.
    std::unique_ptr<planned_query> plan(std::string_view query, const search_options& options,
                                        const prepared& lists, const context& ctx, bool by_terms) const {
        return plan(query, options, lists, ctx, by_terms, statistics.get());
    }
    std::unique_ptr<planned_query> plan(std::string_view query, const search_options& options,
                                        const prepared& lists, const context& ctx, bool by_terms,
                                        const whole_statistics* whole) const;
    // shard_answers.cpp
    std::uint64_t checksum() const;  ///< of the manifest
    /// The answer to a step of a query over shards. `lists`: prepared with its options. Throws usage_error for counts that
    /// cannot be, and for explanations of more terms than `max_explained`, together.
    shard_exchange::answer answered(const shard_exchange::request& sent, const prepared& lists,
                                    const context& ctx, std::size_t max_explained) const;
    query_vocabulary vocabulary_here(const query_vocabulary& requested, const search_options& options,
                                     const context& ctx) const;
    void add_ranking(shard_exchange::answer& made, const planned_query& planned,
                     const search_options& options, const prepared& lists, const context& ctx) const;
    void add_hits(shard_exchange::answer& made, const planned_query& planned,
                  const shard_exchange::request& sent, const prepared& lists, const context& ctx,
                  std::size_t max_explained) const;

    /// Sets the query that is searched from its plan.
    static void point_at_plan(planned_query& of, const search_options& options, const prepared& lists);
    /// The displayed form of a ranking.
    search_result result(const planned_query& of, std::span<const scored_document> ranking,
                         const search_options& options, const prepared& lists, const context& ctx,
                         const std::vector<std::uint32_t>* found = nullptr) const;
    /// One hit of it, with what the options ask for.
    search_hit shown_hit(const planned_query& of, const scored_document& scored, std::uint32_t rank,
                         const search_options& options, const prepared& lists, const context& ctx) const;
    /// Throws out_of_memory if the explanations of so many hits do not fit.
    void check_explanations(std::size_t hits, const planned_query& of) const;
    /// A query with a vector: its ranking by words, and what restricts both rankings.
    struct hybrid_query {
        std::unique_ptr<planned_query> planned;
        std::span<const float> vector;
        std::vector<std::uint64_t> allowed;  // as search_query::passing
        bool has_words = false;
        scored_list by_words, by_vectors;
    };
    hybrid_query hybrid_parts(std::string_view query, std::span<const float> vector,
                              const search_options& options, const prepared& lists, const context& ctx) const;
    /// Sets by_vectors.
    void rank_vectors(std::span<hybrid_query> queries, const search_options& options,
                      const context& ctx) const;
    search_result hybrid_result(hybrid_query query, const search_options& options, const prepared& lists,
                                const context& ctx) const;
    /// search_each for topics that all have a vector.
    void search_with_vectors(std::span<const search_topic> topics, const search_options& options,
                             const prepared& lists, const context& ctx, const result_text& text,
                             const result_sink& sink) const;
    /// Throws usage_error for a vector that does not fit the store's, or the other options.
    void check_vector(std::span<const float> vector, const search_options& options) const;

    /// The result of a query that is only words, if their lists are kept; else nothing.
    std::optional<search_result> plain_result(std::string_view query, const search_options& options,
                                              const prepared& lists, const context& ctx) const;
    /// Of a query that is one phrase in quotes.
    std::optional<search_result> plain_phrase(std::string_view query, const search_options& options,
                                              const prepared& lists, const context& ctx) const;
    /// The ranking of a query that is only words, with or without signs.
    struct plain_ranking {
        std::vector<scored_document> ranking;
        std::vector<std::string> unknown;
        std::optional<std::uint64_t> total;
        query_syntax syntax = query_syntax::words;
    };
    /// Nothing if it is more than that, or if its lists are not kept.
    std::optional<plain_ranking> rank_plain(std::string_view query, const search_options& options,
                                            const prepared& lists, const context& ctx) const;
    search_result plain_hits(std::span<const scored_document> ranking, const search_options& options) const;

    void words_of(std::string_view text, text::token_list& words) const;
    void query_words_of(std::string_view text, between_words separators, text::token_list& words) const;
    /// Whether a query has no words, but finds every document: query_for_all, or a blank one with a filter, sort or facets.
    bool finds_all(std::string_view query, const search_options& options) const;
    /// The k best of all documents that pass the filter: by the prior, if any, then in their order.
    std::vector<scored_document> all_documents(const planned_query& of, const prepared& lists, std::size_t k,
                                               const context& ctx) const;
    /// The k best of a query.
    std::vector<scored_document> ranked(const planned_query& of, const search_options& options,
                                        const prepared& lists, std::size_t k, const context& ctx) const;
    /// Searches once, and adds words of the best documents to the query.
    void add_feedback(planned_query& of, const search_options& options, const prepared& lists,
                      const context& ctx) const;
    /// How many documents the query finds.
    std::uint64_t count_found(const planned_query& of, const prepared& lists) const;
    /// All documents that the query finds, ascending.
    std::vector<std::uint32_t> matching(const planned_query& of, const prepared& lists) const;
    /// Throws query_error. `unfinished`: whether the last word is still being typed.
    analysed_query analysed(std::string_view query, query_syntax syntax, bool phrases,
                            bool unfinished = false) const;
    /// The last word of a text that nothing follows.
    std::optional<unfinished_word> unfinished_word_of(std::string_view text, between_words separators) const;
    search_hit hit(const scored_document& scored, std::uint32_t rank) const;
    std::string snippet_of(std::uint32_t document, const query_plan& planned, const context& ctx) const;
    /// Whether words need not be looked for in a whole text (word_places.hpp).
    bool can_recognise_words() const;
    void add_duplicates(search_hit& hit, const query_plan& planned) const;
    /// Throws usage_error for options out of range, without reading the lists they need.
    void check(const search_options& options) const;
    /// Throws usage_error if there is no such document.
    void check_document(std::uint32_t number) const;
    stored_document document(std::uint32_t number) const;
    const document_finder& finder(const context& ctx) const;
    const prior_ranks& ranks() const;
    /// Null if these options or the store make it needless.
    const folded_words* folded(const search_options& options) const;
    const search_detail::vector_squares& squares(const context& ctx) const;
    /// Of titles, then of the indexed fields.
    const std::deque<field_lengths>& lengths_of_fields() const;
    /// Throws usage_error if the store has none.
    const word_space& required_thesaurus() const;

    /// Of a shard: with the counts of the whole.
    collection_view collection(const planned_query& of) const;

    opened_store store;
    std::shared_ptr<const whole_statistics> statistics;  // of all shards, if the store is one; else null
    std::uint64_t query_memory;                          // of each query
    mutable tbb::enumerable_thread_specific<text::analyzer> analyzers, prefix_analyzers;
    mutable tbb::enumerable_thread_specific<text::token_list> token_lists;  // keep their memory between texts
    mutable std::once_flag finder_once;
    mutable std::optional<document_finder> made_finder;
    near_finders near;
    std::optional<word_space> thesaurus;
    vectors_of_documents given;             ///< at opening
    std::optional<hybrid_vectors> vectors;  ///< those given, or of the store
    mutable filter_cache filters;
    mutable text_cache texts;
    mutable known_words_cache known;
    mutable passing_lists_cache of_passing;
    mutable collection_cache collected;
    mutable std::once_flag ranks_once, squares_once, recognise_once, folded_once, lengths_once, checksum_once;
    mutable std::uint64_t made_checksum = 0;
    mutable bool recognises = false;
    mutable std::optional<folded_words> made_folded;
    mutable std::optional<prior_ranks> made_ranks;
    mutable std::optional<search_detail::vector_squares> made_squares;
    mutable std::deque<field_lengths> made_lengths;
};

/// Data shared by all queries with the same options.
struct search_engine::prepared {
    prepared() = default;
    /// Throws usage_error for options that are refused, `interrupted` if the stop flag is raised.
    prepared(const state& of, const search_options& options, const context& ctx);

    /// The documents that pass the filter; empty: all.
    std::span<const std::uint64_t> passing() const {
        return filter ? std::as_const(*filter).words() : std::span<const std::uint64_t>();
    }

    const prior_ranks* ranks = nullptr;
    const word_space* thesaurus = nullptr;
    std::optional<search_detail::similarity_list> like;
    std::optional<field_ranking> fields;          ///< if they have weights
    std::shared_ptr<const document_bits> filter;  // null: none
    std::optional<field_order> order;
    std::optional<facet_counter> facets;
    std::vector<const folded_words*> folded;    // if accents are ignored: of the store, or of all shards
    std::shared_ptr<known_words> known;         // null: the options need more than lists of words
    std::shared_ptr<passing_lists> of_passing;  // if there are both a filter and known words
    std::vector<std::shared_ptr<const prepared>> others;  // of the second shard and those after it
};

}  // namespace quern
