// SPDX-License-Identifier: Apache-2.0
// The entry point of searching with many queries: rejects what `search` rejects, and gives each query to the place that
// accepts it.
#include "quern/ops/resident_index.hpp"

#include <algorithm>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/place.hpp"
#include "ops/search/device_collection.hpp"
#include "ops/search/scoring.hpp"
#include "ops/search/search_impl.hpp"

namespace quern {
namespace search_detail {
namespace {

using ranking = std::vector<scored_document>;

class held_collection {
  public:
    virtual ~held_collection() = default;
    virtual bool takes(const search_query& query, ranking_model model) const = 0;
    virtual void search(std::span<const search_query* const> queries, const ranking_options& options,
                        std::size_t k, std::span<ranking> results) = 0;
    virtual std::uint64_t bytes_brought() const { return 0; }
};

class collection_on_cpu final : public held_collection {
  public:
    collection_on_cpu(const collection_view& collection, context ctx)
        : collection_(collection), ctx_(std::move(ctx)) {}
    bool takes(const search_query&, ranking_model) const override { return true; }
    void search(std::span<const search_query* const> queries, const ranking_options& options, std::size_t k,
                std::span<ranking> results) override {
        for_each_index(ctx_, queries.size(), [&](std::uint64_t i) {
            ctx_.check_stop();
            results[i] = rank_cpu(collection_, *queries[i], options, k);
        });
    }

  private:
    collection_view collection_;
    context ctx_;
};

/// `Place` is cuda_place; a build without CUDA never instantiates one.
template <class Place>
class collection_on_device final : public held_collection {
  public:
    collection_on_device(const collection_view& collection, const context& ctx, int ordinal)
        : place_(ctx, ordinal), collection_(place_, collection) {}
    bool takes(const search_query& query, ranking_model model) const override {
        const auto plain = [](const query_term& term) {
            return term.continued == 0 && term.weight == weight_one;
        };
        return runs_on_device(model) && query.continuations.empty() && !query.allowed &&
               query.forbidden.empty() && query.passing.empty() && !query.prior && !query.boosts &&
               !query.excluded && 2 * query.terms.size() <= max_device_lists &&
               std::ranges::all_of(query.terms, plain);
    }
    void search(std::span<const search_query* const> queries, const ranking_options& options, std::size_t k,
                std::span<ranking> results) override {
        collection_.search(queries, options, k, results);
    }
    std::uint64_t bytes_brought() const override { return collection_.bytes_brought(); }

  private:
    Place place_;
    device_collection collection_;
};

template <class Place>
std::unique_ptr<held_collection> on_device(const collection_view& collection, const context& ctx,
                                           const chosen_device& chosen) {
    if constexpr (has_cuda)
        return std::make_unique<collection_on_device<Place>>(collection, ctx, chosen.ordinal);
    else
        return nullptr;  // no device was chosen
}

std::unique_ptr<held_collection> hold(const collection_view& collection, const context& ctx,
                                      const chosen_device& chosen) {
    if (chosen.cuda) return on_device<cuda_place>(collection, ctx, chosen);
    return std::make_unique<collection_on_cpu>(collection, ctx);
}

}  // namespace
}  // namespace search_detail

struct resident_index::state {
    collection_view collection;
    std::unique_ptr<search_detail::held_collection> held;
    search_detail::collection_on_cpu on_cpu;  // of queries that the device does not accept
    resident_record record;
};

resident_index::resident_index(const collection_view& collection, const context& ctx)
    : resident_index(collection, ctx, choose_device(ctx, "search of topics")) {}

resident_index::resident_index(const collection_view& collection, const context& ctx,
                               const chosen_device& chosen)
    : state_(new state{collection,
                       search_detail::hold(collection, ctx, chosen),
                       {collection, ctx},
                       {.place = chosen.name + ": " + chosen.reason}}) {}
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
        const bool taken_by_device = state_->held->takes(queries[i], options.model);
        (taken_by_device ? taken : others).push_back(&queries[i]);
        (taken_by_device ? of_taken : of_others).push_back(i);
    }
    const auto search_by = [&](search_detail::held_collection& by,
                               std::span<const search_query* const> requested,
                               std::span<const std::size_t> places) {
        if (requested.empty()) return;
        std::vector<std::vector<scored_document>> found(requested.size());
        by.search(requested, options, k, found);
        for (std::size_t i = 0; i < requested.size(); ++i) results[places[i]] = std::move(found[i]);
    };
    search_by(*state_->held, taken, of_taken);
    search_by(state_->on_cpu, others, of_others);
    state_->record.queries += queries.size();
    state_->record.queries_on_cpu += others.size();
    state_->record.bytes_brought = state_->held->bytes_brought();
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
