// SPDX-License-Identifier: Apache-2.0
// The door of searching with many queries: refuses what `search` refuses, and gives each query to the place that takes it.
#include "quern/ops/resident_collection.hpp"

#include <algorithm>
#include <utility>

#include "device/cpu/pipeline.hpp"
#include "device/place.hpp"
#include "ops/search/device_collection.hpp"
#include "ops/search/search_impl.hpp"

namespace quern {
namespace search_detail {
namespace {

using ranking = std::vector<scored_document>;

class held_collection {
  public:
    virtual ~held_collection() = default;
    virtual bool takes(const search_query& query) const = 0;
    virtual void search(std::span<const search_query* const> queries, const ranking_options& options,
                        std::size_t k, std::span<ranking> results) = 0;
    virtual std::uint64_t bytes_brought() const { return 0; }
};

class collection_on_cpu final : public held_collection {
  public:
    collection_on_cpu(const collection_view& collection, context run)
        : collection_(collection), run_(std::move(run)) {}
    bool takes(const search_query&) const override { return true; }
    void search(std::span<const search_query* const> queries, const ranking_options& options, std::size_t k,
                std::span<ranking> results) override {
        for_each_index(run_, queries.size(), [&](std::uint64_t i) {
            run_.check_stop();
            results[i] = rank_cpu(collection_, *queries[i], options, k);
        });
    }

  private:
    collection_view collection_;
    context run_;
};

/// `Place` is cuda_place: a program without it never makes one.
template <class Place>
class collection_on_device final : public held_collection {
  public:
    collection_on_device(const collection_view& collection, const context& run, int ordinal)
        : place_(run, ordinal), collection_(place_, collection) {}
    bool takes(const search_query& query) const override {
        const auto plain = [](const query_term& term) {
            return term.continued == 0 && term.weight == whole_weight;
        };
        return query.continuations.empty() && !query.allowed && !query.prior && !query.listed &&
               !query.left_out && 2 * query.terms.size() <= most_lists_there &&
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
std::unique_ptr<held_collection> on_device(const collection_view& collection, const context& run,
                                           const chosen_device& chosen) {
    if constexpr (has_cuda)
        return std::make_unique<collection_on_device<Place>>(collection, run, chosen.ordinal);
    else
        return nullptr;  // no device was chosen
}

std::unique_ptr<held_collection> hold(const collection_view& collection, const context& run,
                                      const chosen_device& chosen) {
    if (chosen.cuda) return on_device<cuda_place>(collection, run, chosen);
    return std::make_unique<collection_on_cpu>(collection, run);
}

}  // namespace
}  // namespace search_detail

struct resident_collection::state {
    collection_view collection;
    std::unique_ptr<search_detail::held_collection> held;
    search_detail::collection_on_cpu on_cpu;  // of what the device does not take
    resident_record record;
};

resident_collection::resident_collection(const collection_view& collection, const context& run)
    : resident_collection(collection, run, choose_device(run, "search of topics")) {}

resident_collection::resident_collection(const collection_view& collection, const context& run,
                                         const chosen_device& chosen)
    : state_(new state{collection,
                       search_detail::hold(collection, run, chosen),
                       {collection, run},
                       {.place = chosen.name + ": " + chosen.reason}}) {}
resident_collection::~resident_collection() = default;
resident_collection::resident_collection(resident_collection&&) noexcept = default;
resident_collection& resident_collection::operator=(resident_collection&&) noexcept = default;

std::vector<std::vector<scored_document>> resident_collection::search(std::span<const search_query> queries,
                                                                      const ranking_options& options,
                                                                      std::size_t k) {
    for (const search_query& query : queries) search_detail::check_query(state_->collection, query, options);
    std::vector<std::vector<scored_document>> results(queries.size());
    if (k == 0) return results;
    // Those that the place takes, and the others; their results in the same order.
    std::vector<const search_query*> taken, others;
    std::vector<std::size_t> of_taken, of_others;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const bool there = state_->held->takes(queries[i]);
        (there ? taken : others).push_back(&queries[i]);
        (there ? of_taken : of_others).push_back(i);
    }
    const auto answer = [&](search_detail::held_collection& by, std::span<const search_query* const> asked,
                            std::span<const std::size_t> places) {
        if (asked.empty()) return;
        std::vector<std::vector<scored_document>> found(asked.size());
        by.search(asked, options, k, found);
        for (std::size_t i = 0; i < asked.size(); ++i) results[places[i]] = std::move(found[i]);
    };
    answer(*state_->held, taken, of_taken);
    answer(state_->on_cpu, others, of_others);
    state_->record.queries += queries.size();
    state_->record.queries_on_cpu += others.size();
    state_->record.bytes_brought = state_->held->bytes_brought();
    return results;
}

const resident_record& resident_collection::record() const {
    return state_->record;
}

}  // namespace quern
