// SPDX-License-Identifier: Apache-2.0
// What an opened engine holds, and the two halves of every answer: before its ranking and after it.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/tasks/search.hpp"
#include "tasks/search/asked_query.hpp"
#include "tasks/search/joined_lists.hpp"
#include "tasks/store/document_finder.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/query_words.hpp"
#include "text/analyzer.hpp"

namespace quern {

/// A query after analysis, with what is joined to it.
struct search_engine::question {
    template <typename... Arguments>
    explicit question(Arguments&&... arguments) : asked(std::forward<Arguments>(arguments)...) {}

    asked_query asked;
    search_query whole;  ///< looks into `asked` and into what was prepared
};

struct search_engine::state {
    /// Opens all that is ever read by the path: the store may be replaced later, or go.
    state(const std::filesystem::path& path, std::uint64_t memory);

    std::unique_ptr<question> ask(std::string_view query, const search_options& options,
                                  const prepared& lists, const context& run) const;
    /// What is shown of a ranking.
    search_answer answer(const question& of, std::span<const scored_document> ranking,
                         const search_options& options, const prepared& lists, const context& run) const;

    void words_of(std::string_view text, text::token_list& words) const;
    void query_words_of(std::string_view text, between_words separators, text::token_list& words) const;
    std::vector<query_part> parts_of(std::string_view query, bool phrases) const;
    search_hit hit(const scored_document& scored, std::uint32_t rank) const;
    std::string snippet_of(std::uint32_t document, const asked_query& asked, const context& run) const;
    void add_copies(search_hit& hit, const asked_query& asked) const;
    /// Throws usage_error for options out of range, without a look at the lists they need.
    void check(const search_options& options) const;
    const document_finder& finder() const;
    const prior_ranks& ranks() const;
    const vector_squares& squares(const context& run) const;
    /// Throws usage_error where the store has none.
    const word_space& needed_thesaurus() const;

    opened_store store;
    std::uint64_t query_memory;  // of each one
    mutable tbb::enumerable_thread_specific<text::analyzer> analyzers;
    mutable tbb::enumerable_thread_specific<text::token_list>
        token_lists;  // keep their memory from text to text
    mutable std::once_flag finder_asked;
    mutable std::optional<document_finder> made_finder;
    std::optional<word_space> thesaurus;
    mutable std::once_flag ranks_asked, squares_asked;
    mutable std::optional<prior_ranks> made_ranks;
    mutable std::optional<vector_squares> made_squares;
};

/// What is the same for all queries with the same options.
struct search_engine::prepared {
    /// Throws usage_error for options that are refused, `interrupted` where the run's stop flag is raised.
    prepared(const state& of, const search_options& options, const context& run);

    const prior_ranks* ranks = nullptr;
    const word_space* thesaurus = nullptr;
    std::optional<like_list> like;
};

}  // namespace quern
