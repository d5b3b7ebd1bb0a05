// SPDX-License-Identifier: Apache-2.0
// Search over the shards of a sharded store. Each shard plans the query over its own lists; the counts of each term are summed
// over the shards; with the sums each shard ranks its own documents, and the rankings are merged. Scores are sums of integers
// that depend on a document and these counts alone, so they are those of one store of all documents
// (docs/decisions/0027-shards-exchange-counts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "tasks/search/engine_state.hpp"

namespace quern {

struct search_engine::sharded : std::enable_shared_from_this<search_engine::sharded> {
    /// Opens the shards. `memory`: of a query, in all of them.
    sharded(const std::filesystem::path& store, std::uint64_t memory, const context& ctx);

    static usage_error not_with_shards(std::string_view what);
    /// Throws usage_error for options that need one store.
    void check(const search_options& options) const;
    /// With up to ctx.thread_count() threads, one for each shard.
    search_result result(std::string_view query, const search_options& options, const prepared& lists,
                         const context& ctx) const;
    std::optional<std::uint32_t> find(std::string_view id) const;
    /// The place in `shards` of the one with a document; of an invalid number the last one.
    std::size_t shard_of(std::uint32_t document) const;
    /// The shard with a document, whose number becomes that in the shard.
    const state& shard_with(std::uint32_t& document) const;
    void warm_up() const;

    std::vector<std::shared_ptr<const state>> shards;
    std::vector<std::uint32_t> first;  ///< of each shard: the number of its first document
    store_info info;                   ///< search_engine::store()

  private:
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
