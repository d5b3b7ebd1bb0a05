// SPDX-License-Identifier: Apache-2.0
// The entry point of searching with many queries: rejects what `search` rejects, and gives each query to the place that
// accepts it.
#include "quern/ops/resident_index.hpp"

#include <algorithm>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/resident.hpp"
#include "ops/search/device_collection.hpp"
#include "ops/search/scoring.hpp"
#include "ops/search/search_impl.hpp"

namespace quern {
namespace search_detail {
namespace {

using ranking = std::vector<scored_document>;

/// By the threads of the CPU.
template <class Place>
class held_collection {
  public:
    held_collection(Place& place, cpu_place& /*host*/, const collection_view& collection)
        : place_(place), collection_(collection) {}
    bool takes(const search_query& /*query*/, ranking_model /*model*/) const { return true; }
    void search(std::span<const search_query* const> queries, const ranking_options& options, std::size_t k,
                std::span<ranking> results) const {
        const context& ctx = place_.ctx();
        for_each_index(ctx, queries.size(), [&](std::uint64_t i) {
            ctx.check_stop();
            results[i] = rank_cpu(collection_, *queries[i], options, k);
        });
    }
    std::uint64_t bytes_brought() const { return 0; }

  private:
    Place& place_;
    collection_view collection_;
};

/// Lists in a GPU's memory.
template <>
class held_collection<cuda_place> {
  public:
    held_collection(cuda_place& place, cpu_place& /*host*/, const collection_view& collection)
        : collection_(place, collection) {}
    bool takes(const search_query& query, ranking_model model) const {
        const auto plain = [](const query_term& term) {
            return term.continued == 0 && term.weight == weight_one;
        };
        return runs_on_device(model) && query.continuations.empty() && !query.allowed &&
               query.forbidden.empty() && query.passing.empty() && !query.prior && !query.boosts &&
               !query.excluded && 2 * query.terms.size() <= max_device_lists &&
               std::ranges::all_of(query.terms, plain);
    }
    void search(std::span<const search_query* const> queries, const ranking_options& options, std::size_t k,
                std::span<ranking> results) {
        collection_.search(queries, options, k, results);
    }
    std::uint64_t bytes_brought() const { return collection_.bytes_brought(); }

  private:
    device_collection collection_;
};

}  // namespace
}  // namespace search_detail

struct resident_index::state {
    state(const collection_view& searched, const context& ctx, const chosen_device& chosen)
        : collection(searched),
          held(ctx, chosen, searched),
          host(ctx),
          on_cpu(host, host, searched),
          record{.place = held.where()} {}

    collection_view collection;
    resident<search_detail::held_collection> held;
    cpu_place host;
    search_detail::held_collection<cpu_place> on_cpu;  // of queries that the device does not accept
    resident_record record;
};

resident_index::resident_index(const collection_view& collection, const context& ctx)
    : resident_index(collection, ctx, choose_device(ctx, "search of topics")) {}

resident_index::resident_index(const collection_view& collection, const context& ctx,
                               const chosen_device& chosen)
    : state_(new state(collection, ctx, chosen)) {}
resident_index::~resident_index() = default;
resident_index::resident_index(resident_index&&) noexcept = default;
resident_index& resident_index::operator=(resident_index&&) noexcept = default;

std::vector<std::vector<scored_document>> resident_index::search(std::span<const search_query> queries,
                                                                 const ranking_options& options,
                                                                 std::size_t k) {
    for (const search_query& query : queries) search_detail::check_query(state_->collection, query, options);
    std::vector<std::vector<scored_document>> results(queries.size());
    if (k == 0) return results;
    // The queries that the place accepts, and the others; their results in the same order.
    std::vector<const search_query*> taken, others;
    std::vector<std::size_t> of_taken, of_others;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const bool taken_by_device =
            state_->held.visit([&](const auto& held) { return held.takes(queries[i], options.model); });
        (taken_by_device ? taken : others).push_back(&queries[i]);
        (taken_by_device ? of_taken : of_others).push_back(i);
    }
    const auto search_by = [&](auto& by, std::span<const search_query* const> requested,
                               std::span<const std::size_t> places) {
        if (requested.empty()) return;
        std::vector<std::vector<scored_document>> found(requested.size());
        by.search(requested, options, k, found);
        for (std::size_t i = 0; i < requested.size(); ++i) results[places[i]] = std::move(found[i]);
    };
    state_->held.visit([&](auto& held) { search_by(held, taken, of_taken); });
    search_by(state_->on_cpu, others, of_others);
    state_->record.queries += queries.size();
    state_->record.queries_on_cpu += others.size();
    state_->record.bytes_brought = state_->held.visit([](const auto& held) { return held.bytes_brought(); });
    return results;
}

const resident_record& resident_index::record() const {
    return state_->record;
}

}  // namespace quern

namespace quern::search_detail {

void append_rankings(std::span<const std::int64_t> scores, std::span<const std::uint32_t> ids,
                     std::size_t row, std::uint64_t first,
                     std::span<std::vector<scored_document>* const> rankings, const context& ctx) {
    constexpr std::size_t few = 1 << 14;  // hits, too few to wake a thread
    cpu_place place(ctx);
    const std::size_t least = std::max<std::size_t>(1, few / std::max<std::size_t>(row, 1));
    const std::size_t pieces = pieces_for(place, rankings.size(), least);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(rankings.size(), pieces, p);
        for (std::size_t q = begin; q < end; ++q) {
            if (rankings[q] == nullptr) continue;
            const auto row_scores = scores.subspan(q * row, row);
            const auto hits =
                static_cast<std::size_t>(std::ranges::find(row_scores, no_score) - row_scores.begin());
            rankings[q]->reserve(rankings[q]->size() + hits);
            for (std::size_t i = 0; i < hits; ++i)
                rankings[q]->push_back({static_cast<std::uint32_t>(ids[q * row + i] + first), row_scores[i]});
        }
    });
}

}  // namespace quern::search_detail
