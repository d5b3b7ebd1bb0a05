// SPDX-License-Identifier: Apache-2.0
// A query after analysis, in the form that the operation takes: words and phrases as terms, words with histories, and
// the documents that contain every quoted text.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/query_lists.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/search/snippet.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Words that belong together in a query: quoted, or not.
struct query_part {
    std::vector<std::string> words;
    bool quoted = false;
};

/// The query words worth showing in texts: without those that nearly all documents have, if there are rarer ones.
std::vector<std::string> discriminative_words(const opened_store& store,
                                              const std::vector<std::string>& words);

class query_plan {
  public:
    /// The words of a text, by the rules of the store's documents.
    using words_of_text = std::function<void(std::string_view text, text::token_list& words)>;

    /// The store and the context must outlive it. Throws out_of_memory if histories need more than `memory` bytes,
    /// `interrupted` if the stop flag is raised. Uses `thesaurus` if options.expand is not 0.
    query_plan(const opened_store& store, const word_space* thesaurus, std::span<const query_part> parts,
               const search_options& options, std::uint64_t memory, const context& ctx,
               const words_of_text& words_of);
    query_plan(const query_plan&) = delete;  // lists point into it
    query_plan& operator=(const query_plan&) = delete;

    search_query view() const;
    bool empty() const { return empty_; }
    /// Memory of the lists made for its phrases.
    std::uint64_t bytes_made() const;
    /// Words, and phrases in quotes, that no document has; sorted.
    const std::vector<std::string>& unknown() const { return unknown_; }
    const std::vector<std::string>& unknown_words() const { return unknown_words_; }  ///< of these, the words
    const std::vector<similar_word>& similar() const { return similar_; }             ///< sorted

    /// Words outside of phrases that the store has, sorted.
    const std::vector<std::string>& words() const { return words_; }
    /// For snippets, with search_options::snippets: the discriminative words outside of phrases, those similar to them,
    /// and the phrases.
    sought_terms sought() const { return {shown_words_, phrases_, shown_weights_}; }

    /// Maximum number of terms of an explanation.
    std::size_t max_explained() const { return terms_.size() + continuations_.size(); }
    /// The contributions to a hit's score, term by term.
    std::vector<explained_term> explain(const ranking_options& ranking, std::uint32_t document) const;

  private:
    void add_words(std::span<const query_part> parts);
    void add_phrases(std::span<const query_part> parts, const search_options& options,
                     const words_of_text& words_of);
    void add_phrase(const std::vector<std::string>& words, std::uint32_t count, bool with_titles,
                    const words_of_text& words_of);
    void add_similar(const word_space& thesaurus, std::span<const query_part> parts,
                     const search_options& options);
    void add_histories(std::span<const query_part> parts, unsigned order, std::uint64_t memory);
    void add_shown(std::span<const query_part> parts);
    void require(std::span<const std::uint32_t> documents);

    const opened_store& store_;
    const context& ctx_;
    collection_view collection_;
    std::optional<search_detail::token_stream> tokens_;  // if there is a phrase or a history
    std::vector<query_term> terms_;
    std::vector<std::string> names_;              // of the terms
    std::deque<search_detail::made_list> lists_;  // of the phrases
    std::optional<search_detail::history_finder> histories_;
    std::vector<query_continuation> continuations_;
    std::optional<std::vector<std::uint32_t>> allowed_;
    std::vector<similar_word> similar_;  // the last terms
    std::vector<std::string> words_, shown_words_, unknown_, unknown_words_;
    std::vector<std::uint32_t> shown_weights_;  // of shown_words_, then of phrases_
    std::vector<std::vector<std::string>> phrases_;
    bool empty_ = true;
};

}  // namespace quern
