// SPDX-License-Identifier: Apache-2.0
// The plan of a query, and what it finds: the best documents, all of them, their number.
#include <algorithm>

#include "base/ascii.hpp"
#include "ops/search/search_impl.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/feedback.hpp"

namespace quern {

collection_view search_engine::state::collection(const planned_query& of) const {
    collection_view view = store.collection();
    if (of.statistics != nullptr) view.whole = of.statistics->collection();
    return view;
}

std::vector<scored_document> search_engine::state::ranked(const planned_query& of,
                                                          const search_options& options,
                                                          const prepared& lists, std::size_t k,
                                                          const context& ctx) const {
    if (of.finds_all) return all_documents(of, lists, k, ctx);
    if (lists.fields) return search_fields(collection(of), of.whole, *lists.fields, k);
    const auto required = of.planned.required_terms();
    if (required.empty()) return quern::search(collection(of), of.whole, options.ranking, k);
    return search_detail::search_requiring(collection(of), of.whole, required, options.ranking, k);
}

void search_engine::state::add_feedback(planned_query& of, const search_options& options,
                                        const prepared& lists, const context& ctx) const {
    const auto best = ranked(of, options, lists, options.feedback_documents, ctx);
    of.planned.add_feedback(feedback_words(store, best, options, ctx), options);
    of.whole.terms = of.planned.view().terms;
}

std::unique_ptr<search_engine::planned_query> search_engine::state::plan(
    std::string_view query, const search_options& options, const prepared& lists, const context& ctx,
    bool by_terms, const whole_statistics* whole) const {
    auto analysed_parts = analysed(finds_all(query, options) ? std::string_view() : query, options.syntax,
                                   options.phrases, options.prefix_last);
    const folded_words* const folded_of_store = folded(options);
    if (folded_of_store != nullptr)
        fold_accents(analysed_parts, [&](std::string_view word) {
            return whole != nullptr ? whole->has_others(word, lists.folded)
                                    : folded_of_store->has_others(word);
        });
    auto made = std::make_unique<planned_query>(
        store, whole, lists.thesaurus, std::move(analysed_parts), options, query_memory, ctx,
        [this](std::string_view text, text::token_list& words) { words_of(text, words); }, folded_of_store,
        lists.folded, near, lists.fields ? &*lists.fields : nullptr, by_terms);
    made->finds_all = finds_all(query, options);
    made->statistics = whole;
    if (whole == nullptr) point_at_plan(*made, options, lists);
    return made;
}

void search_engine::state::point_at_plan(planned_query& of, const search_options& options,
                                         const prepared& lists) {
    of.whole = of.planned.view();
    of.whole.passing = lists.passing();
    if (lists.ranks != nullptr) of.whole.prior = lists.ranks->with_weight(options.prior);
    if (lists.like) {
        of.whole.boosts = lists.like->parts();
        of.whole.excluded = lists.like->document();
    }
}

bool search_engine::state::finds_all(std::string_view query, const search_options& options) const {
    if (options.like) return false;
    const std::string_view typed = trimmed(query);
    if (typed.empty())
        return !options.filter.empty() || !trimmed(options.sort).empty() || !trimmed(options.facets).empty();
    return typed == query_for_all && !store.info().verbatim;
}

std::vector<scored_document> search_engine::state::all_documents(const planned_query& of,
                                                                 const prepared& lists, std::size_t k,
                                                                 const context& ctx) const {
    constexpr std::uint32_t between_checks = 65'536;
    search_detail::best_documents best(std::max<std::size_t>(k, 1));
    const auto documents = static_cast<std::uint32_t>(store.info().documents);
    for (std::uint32_t d = 0; d < documents; ++d) {
        if (d % between_checks == 0) ctx.check_stop();
        if (lists.filter && !lists.filter->contains(d)) continue;
        // Without a prior the first ones are the best.
        if (!of.whole.prior && best.threshold() == 0) break;
        best.add(d, of.whole.prior ? prior_part(*of.whole.prior, d) : 0);
        best.settle();
    }
    return k == 0 ? std::vector<scored_document>() : best.take();
}

std::uint64_t search_engine::state::count_found(const planned_query& of, const prepared& lists) const {
    if (of.finds_all) return lists.filter ? lists.filter->count() : store.info().documents;
    return of.planned.count(of.whole.boosts, of.whole.excluded, lists.filter.get());
}

std::vector<std::uint32_t> search_engine::state::matching(const planned_query& of,
                                                          const prepared& lists) const {
    if (!of.finds_all) return of.planned.matching(of.whole.boosts, of.whole.excluded, lists.filter.get());
    std::vector<std::uint32_t> all;
    for (std::uint32_t d = 0; d < store.info().documents; ++d)
        if (!lists.filter || lists.filter->contains(d)) all.push_back(d);
    return all;
}

}  // namespace quern
