// SPDX-License-Identifier: Apache-2.0
// Checks the options of a search, and prepares what all queries with them share.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/ascii.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/field_weights.hpp"
#include "tasks/search/ngram_terms.hpp"
#include "tasks/search/plain_query.hpp"
#include "tasks/search/sharded.hpp"
#include "tasks/search/word_weights.hpp"

namespace quern {
namespace {

/// Throws usage_error for an n-gram model that does not fit the other options.
void check_order(const search_options& options) {
    if (options.order_weights != default_order_weights)
        (void)fixed_order_weights(options.order_weights, options.order);
    if (options.order <= 1) return;
    if (options.ngrams == order_model::history && options.ranking.model != ranking_model::ql)
        throw usage_error("order above 1 with histories requires the model ql");
    if (!is_likelihood(options.ranking.model))
        throw usage_error("order above 1 requires a likelihood model (ql, dirichlet or two-stage)");
    if (options.dependence != dependence_model::none || options.feedback != feedback_method::none)
        throw usage_error("order above 1 cannot be combined with feedback or a dependence model");
}

}  // namespace

void search_engine::state::check(const search_options& options) const {
    if (options.text && as_recorded(*options.text) != store.info().text)
        throw usage_error(store.path().string() + " was built with other text options than the query's");
    validate(options.ranking);
    check_ranges(options);
    if (weighs_fields(options)) (void)field_ranking_of(options, store.info().indexed_fields);
    check_vector(options.vector, options);
    if (options.ranking.model == ranking_model::impact) quern::require_model(store, options.ranking.model);
    check_order(options);
    const bool has_pairs = options.dependence != dependence_model::none;
    if (has_pairs && options.ordered_weight + options.unordered_weight >= 1)
        throw usage_error("the weights of pairs, ordered and unordered, must be below 1 together");
    if (options.syntax == query_syntax::operators && !options.phrases)
        throw usage_error("the syntax operators has phrases; they cannot be off");
}

search_engine::prepared::prepared(const state& of, const search_options& options, const context& ctx) {
    of.check(options);
    if (weighs_fields(options)) {
        fields = field_ranking_of(options, of.store.info().indexed_fields);
        const std::deque<field_lengths>& lengths = of.lengths_of_fields();
        fields->titles = &lengths.front();
        for (std::size_t i = 0; i < fields->others.size(); ++i) fields->others[i].lengths = &lengths[i + 1];
    }
    if (options.prior != 0) ranks = &of.ranks();
    if (options.expand != 0) {
        thesaurus = &of.required_thesaurus();
        if (const auto max = thesaurus->params().top; options.expand > max)
            throw usage_error(
                fmt::format("at most {} similar words per word: the thesaurus of {} has no more", max,
                            of.store.path().string()));
    }
    if (options.like) {
        like.emplace(vectors_for_similarity(of.store), of.squares(ctx), *options.like, options.like_weight,
                     ctx);
    }
    if (!options.filter.empty()) filter = of.filters.find(of.store, options.filter, of.query_memory, ctx);
    if (!trimmed(options.sort).empty()) order.emplace(of.store, options.sort);
    if (!trimmed(options.facets).empty()) facets.emplace(of.store, options.facets);
    if (const folded_words* const own = of.folded(options)) folded = {own};
    if (finds_plain_words(of.store, options) && (of.statistics == nullptr || options.order <= 1)) {
        std::vector<std::uint32_t> weights;
        if (options.order > 1) weights = fixed_order_weights(options.order_weights, options.order);
        known = of.known.find(of.store, of.statistics.get(), options.ranking, weights);
        if (filter) of_passing = of.of_passing.find(filter, known);
    }
}

void search_engine::check(const search_options& options, const context& ctx) const {
    const bool weights = state_->store.info().listed == word_listing::weights;
    prepare(weights ? fitted_to_weights(options, state_->store) : options, ctx);
}

std::shared_ptr<const search_engine::prepared> search_engine::prepare(const search_options& options,
                                                                      const context& ctx) const {
    if (sharded_ == nullptr) return std::make_shared<prepared>(*state_, options, ctx);
    sharded::check(options);
    std::vector<std::shared_ptr<prepared>> made;
    std::vector<const folded_words*> folded;
    for (const auto& shard : sharded_->shards) {
        made.push_back(shard == nullptr ? std::make_shared<prepared>()
                                        : std::make_shared<prepared>(*shard, options, ctx));
        folded.insert(folded.end(), made.back()->folded.begin(), made.back()->folded.end());
    }
    for (const auto& of : made) of->folded = folded;
    made.front()->others.assign(made.begin() + 1, made.end());
    return made.front();
}

}  // namespace quern
