// SPDX-License-Identifier: Apache-2.0
// Search over the shards of a sharded store. Each shard plans the query over its own lists; the counts of each term are summed
// over the shards; with the sums each shard ranks its own documents, and the rankings are merged. Scores are sums of integers
// that depend on a document and these counts alone, so they are those of one store of all documents
// (docs/decisions/0027-shards-exchange-counts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "tasks/search/engine_state.hpp"

namespace quern {

struct search_engine::sharded : std::enable_shared_from_this<search_engine::sharded> {
    /// Opens the shards. `memory`: of a query, in all of them.
    sharded(const std::filesystem::path& store, std::uint64_t memory, const ask_shards& ask,
            const context& ctx);

    static usage_error not_with_shards(std::string_view what);
    /// Throws usage_error for options that need one store.
    static void check(const search_options& options);
    static usage_error needs_local_shards(std::string_view what);
    /// With up to ctx.thread_count() threads, one for each shard.
    search_result result(std::string_view query, const search_options& options, const prepared& lists,
                         const context& ctx) const;
    std::optional<std::uint32_t> find(std::string_view id, const context& ctx) const;
    /// The place in `shards` of the one with a document; of an invalid number the last one.
    std::size_t shard_of(std::uint32_t document) const;
    /// The shard with a document, whose number becomes that in the shard.
    const state& shard_with(std::uint32_t& document) const;
    void warm_up() const;

    stored_document document(std::uint32_t number, const context& ctx) const;
    /// What all shards know of the words and beginnings in request.vocabulary, with its options.
    query_vocabulary vocabulary_of(shard_exchange::request request, const prepared& lists,
                                   const context& ctx) const;

    std::vector<std::shared_ptr<const state>> shards;  ///< null: on another machine
    std::vector<shard_info> described;
    std::size_t first_local = 0;  ///< the first shard on this machine
    bool has_remote = false;      ///< whether some are on others
    ask_shards asker;
    std::uint64_t query_memory;        ///< of each query
    std::vector<std::uint32_t> first;  ///< of each shard: the number of its first document
    store_info info;                   ///< search_engine::store()

  private:
    // broker.cpp: if some shards are on other machines
    search_result result_in_steps(std::string_view query, const search_options& options,
                                  const prepared& lists, const context& ctx) const;
    /// A request for each shard, or nothing. The answers are in the same order.
    std::vector<shard_exchange::answer> ask(std::span<std::optional<shard_exchange::request>> requests,
                                            const prepared& lists, const context& ctx) const;
    std::vector<shard_exchange::answer> ask_all(const shard_exchange::request& request, const prepared& lists,
                                                const context& ctx) const;
    /// Those of all shards, for the next step.
    void add_counts(shard_exchange::request& request, const query_plan& planned,
                    const whole_statistics& whole, const prepared& lists, const context& ctx) const;
    void add_bounds(shard_exchange::request& request, query_plan& planned, const prepared& lists,
                    const context& ctx) const;
    /// The k best, as numbered through the shards.
    std::vector<scored_document> best_of(const std::vector<shard_exchange::answer>& answers, std::size_t k,
                                         const prepared& own_lists) const;
    void add_found(const std::vector<shard_exchange::answer>& answers, std::span<const std::string> unknown,
                   const search_options& options, const prepared& own_lists, search_result& result) const;
    std::vector<search_facet> facets_of(const std::vector<std::vector<facet_counts>>& shards_counts,
                                        std::size_t values, const facet_counter& counter) const;
    void add_hits(shard_exchange::request request, std::span<const scored_document> ranking,
                  const prepared& lists, const context& ctx, search_result& result) const;
    std::optional<std::uint32_t> find_in_steps(std::string_view id, const context& ctx) const;
    shard_failed bad_answer(std::size_t shard) const;
    /// Throws it for counts that no term of the shard has.
    void check_counts(std::size_t shard, const whole_counts& of) const;

    /// work(i) for each of them; with one thread in the caller's.
    static void for_each_shard(std::size_t shards, const context& ctx,
                               const std::function<void(std::size_t)>& work);
    /// Of all shards: `of` has those of each one, in the same order.
    static std::vector<found_variants> joined(const std::vector<const std::vector<found_variants>*>& of);

    static const prepared& of_shard(const prepared& lists, std::size_t shard);
    using plans = std::vector<std::unique_ptr<planned_query>>;
    plans plan(std::string_view query, const search_options& options, const prepared& lists,
               const context& ctx) const;
    /// The k best of the shards' rankings, as numbered through them. Each ranking is that of its shard's numbers.
    std::vector<scored_document> merged(std::vector<std::vector<scored_document>> rankings, std::size_t k,
                                        const prepared& lists) const;
    std::vector<search_facet> facets(const plans& planned, const search_options& options,
                                     const prepared& lists, search_result& result, const context& ctx) const;
    /// Of a query that is only words whose lists all shards keep; else nothing.
    std::optional<search_result> plain_result(std::string_view query, const search_options& options,
                                              const prepared& lists, const context& ctx) const;
    std::vector<search_hit> hits(std::span<const scored_document> ranking, const plans& planned,
                                 const search_options& options, const prepared& lists,
                                 const context& ctx) const;
};

}  // namespace quern
