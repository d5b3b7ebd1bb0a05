// SPDX-License-Identifier: Apache-2.0
// The entry point of searching with many queries: rejects what `search` rejects, and gives each query to the place that
// accepts it.
#include "quern/ops/resident_index.hpp"

#include <algorithm>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/resident_set.hpp"
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

/// Into how many units a batch is cut: four a place, so that a faster place takes more of them, if they are not too small.
std::size_t units_of(std::size_t queries, std::uint64_t documents, std::size_t places,
                     std::uint64_t documents_a_unit) {
    constexpr std::size_t units_a_place = 4;
    if (places == 1 || queries == 0) return std::min<std::size_t>(queries, 1);
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(queries * documents / documents_a_unit, 1,
                                                              std::min(queries, units_a_place * places)));
}

}  // namespace
}  // namespace search_detail

struct resident_index::state {
    state(const collection_view& searched, const context& ctx, const chosen_device& chosen,
          std::uint64_t unit)
        : collection(searched),
          documents_a_unit(unit),
          held(ctx, chosen, searched),
          host(ctx),
          on_cpu(host, host, searched),
          record{.place = held.where()} {}

    collection_view collection;
    std::uint64_t documents_a_unit;
    resident_set<search_detail::held_collection> held;
    cpu_place host;
    search_detail::held_collection<cpu_place> on_cpu;  // of queries that the device does not accept
    resident_record record;
};

resident_index::resident_index(const collection_view& collection, const context& ctx)
    : resident_index(collection, ctx, choose_device(ctx, "search of topics", offered_places::several_gpus)) {}

resident_index::resident_index(const collection_view& collection, const context& ctx,
                               const chosen_device& chosen, std::uint64_t documents_a_unit)
    : state_(new state(collection, ctx, chosen, documents_a_unit)) {}
resident_index::~resident_index() = default;
resident_index::resident_index(resident_index&&) noexcept = default;
resident_index& resident_index::operator=(resident_index&&) noexcept = default;

std::vector<std::vector<scored_document>> resident_index::search(std::span<const search_query> queries,
                                                                 const ranking_options& options,
                                                                 std::size_t k) {
    for (const search_query& query : queries) search_detail::check_query(state_->collection, query, options);
    std::vector<search_detail::ranking> results(queries.size());
    if (k == 0) return results;
    // The queries that the place accepts, and the others; their results in the same order.
    std::vector<const search_query*> taken, others;
    std::vector<std::size_t> of_taken, of_others;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const bool taken_by_device =
            state_->held.visit(0, [&](const auto& held) { return held.takes(queries[i], options.model); });
        (taken_by_device ? taken : others).push_back(&queries[i]);
        (taken_by_device ? of_taken : of_others).push_back(i);
    }
    using search_detail::ranking;
    std::vector<ranking> rankings(taken.size()), other_rankings(others.size());
    const auto of_unit = [&](auto all, std::size_t unit, std::size_t units) {
        const auto [begin, end] = piece_of(taken.size(), units, unit);
        return all.subspan(begin, end - begin);
    };
    const std::size_t units =
        search_detail::units_of(taken.size(), state_->collection.document_lengths.size(), state_->held.size(),
                                state_->documents_a_unit);
    state_->held.for_each_unit(units, [&](auto& held, std::size_t unit) {
        held.search(of_unit(std::span<const search_query* const>(taken), unit, units), options, k,
                    of_unit(std::span<ranking>(rankings), unit, units));
    });
    state_->on_cpu.search(others, options, k, other_rankings);
    for (std::size_t i = 0; i < taken.size(); ++i) results[of_taken[i]] = std::move(rankings[i]);
    for (std::size_t i = 0; i < others.size(); ++i) results[of_others[i]] = std::move(other_rankings[i]);
    state_->record.queries += queries.size();
    state_->record.queries_on_cpu += others.size();
    state_->record.bytes_brought = 0;
    for (std::size_t place = 0; place < state_->held.size(); ++place)
        state_->record.bytes_brought +=
            state_->held.visit(place, [](const auto& held) { return held.bytes_brought(); });
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
