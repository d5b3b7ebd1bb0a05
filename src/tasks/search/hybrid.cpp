// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/hybrid.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/fusion.hpp"
#include "tasks/search/engine_state.hpp"

namespace quern {

std::vector<scored_list> hybrid_vectors::nearest(std::span<const float> vectors, quern::vector_metric metric,
                                                 std::uint64_t depth, std::span<const std::uint64_t> allowed,
                                                 const context& ctx) const {
    ctx.check_stop();
    retrieval_options options;
    options.k = depth;
    options.allowed = allowed;
    const std::lock_guard held(one_at_a_time_);
    std::vector<scored_list> lists;
    const double from = metric == quern::vector_metric::cosine ? 1 : 0;
    const auto take = [&](std::uint64_t, std::span<const std::uint32_t> ids,
                          std::span<const double> distances) {
        scored_list& list = lists.emplace_back();
        list.documents.assign(ids.begin(), ids.end());
        list.scores.assign(distances.begin(), distances.end());
        if (metric == quern::vector_metric::ip) return;
        for (double& score : list.scores) score = from - score;
    };
    // Isolated: a thread that waits within must not begin another query, which would wait for this one.
    tbb::this_task_arena::isolate([&] {
        auto& set = sets_[metric];
        if (!set) {
            context of_set = context::cpu(ctx.threads);
            of_set.memory_bytes = ctx.memory_bytes;
            set = std::make_unique<vector_set>(rows_, vector_set_options{.metric = metric}, of_set);
        }
        set->search(view_of(vectors, rows_.dimensions), options, take);
    });
    return lists;
}

scored_list fused(const scored_list& by_words, const scored_list& by_vectors, std::uint32_t documents,
                  const search_options& options) {
    const double weights[] = {1, options.vector_weight};
    fusion_options by;
    by.rule = options.fusion;
    const bool by_ranks = by.rule == fusion_rule::rrf || by.rule == fusion_rule::borda;
    by.normalisation = by_ranks ? score_normalisation::none : options.fusion_normalize;
    by.constant = options.fusion_constant;
    by.weights = weights;
    const std::array<run_list_view, 2> lists{run_list_view{by_words.documents, by_words.scores, {}},
                                             run_list_view{by_vectors.documents, by_vectors.scores, {}}};
    fused_list made = fuse(lists, documents, by);
    return {std::move(made.ids), std::move(made.scores)};
}

void search_engine::state::check_vector(std::span<const float> vector, const search_options& options) const {
    if (vector.empty()) return;
    if (!vectors)
        throw usage_error(
            store.path().string() +
            " has no vectors of documents, which a query vector needs (quern build --vectors FILE)");
    if (vector.size() != vectors->dimensions())
        throw usage_error(fmt::format("a query vector of {} numbers; the vectors of {} have {}",
                                      vector.size(), store.path().string(), vectors->dimensions()));
    if (!std::ranges::all_of(vector, [](float x) { return std::isfinite(x); }))
        throw usage_error("a query vector has a number that is not finite");
    if (options.similarity == quern::vector_metric::hamming)
        throw usage_error(
            "vector_metric: hamming is for vectors of bits (expected cosine, ip, l2, sql2, l1 or linf)");
    if (options.like) throw usage_error("a query vector cannot be combined with a document to be like");
    if (options.explain)
        throw usage_error("fused scores have no explanation; explain without a query vector");
}

search_engine::state::hybrid_query search_engine::state::hybrid_parts(std::string_view query,
                                                                      std::span<const float> vector,
                                                                      const search_options& options,
                                                                      const prepared& lists,
                                                                      const context& ctx) const {
    hybrid_query result;
    result.vector = vector;
    result.planned = plan(query, options, lists, ctx, false);
    planned_query& of = *result.planned;
    result.has_words = !of.finds_all && !of.planned.empty();
    if (result.has_words) {
        if (options.feedback != feedback_method::none) add_feedback(of, options, lists, ctx);
        for (const scored_document& hit : ranked(of, options, lists, hybrid_depth(options), ctx)) {
            result.by_words.documents.push_back(hit.document);
            result.by_words.scores.push_back(hit.score());
        }
    }
    // Restrictions of the words apply to the vectors too.
    result.allowed.assign(of.whole.passing.begin(), of.whole.passing.end());
    if (!of.whole.allowed && of.whole.forbidden.empty()) return result;
    const auto documents = static_cast<std::uint32_t>(store.info().documents);
    if (result.allowed.empty()) {
        result.allowed.assign((documents + 63) / 64, ~std::uint64_t{0});
        if (documents % 64 != 0) result.allowed.back() = (std::uint64_t{1} << documents % 64) - 1;
    }
    search_detail::ascending_set forbidden(of.whole.forbidden);
    search_detail::ascending_set only(of.whole.allowed.value_or(std::span<const std::uint32_t>()));
    for (std::uint32_t d = 0; d < documents; ++d)
        if (forbidden.contains(d) || (of.whole.allowed && !only.contains(d)))
            result.allowed[d / 64] &= ~(std::uint64_t{1} << d % 64);
    return result;
}

void search_engine::state::rank_vectors(std::span<hybrid_query> queries, const search_options& options,
                                        const context& ctx) const {
    // Neighbours with the same restriction are compared with the vectors together.
    for (std::size_t first = 0, next; first < queries.size(); first = next) {
        std::vector<float> together;
        for (next = first; next < queries.size() && queries[next].allowed == queries[first].allowed; ++next)
            together.insert(together.end(), queries[next].vector.begin(), queries[next].vector.end());
        auto found = vectors->nearest(together, options.similarity, hybrid_depth(options),
                                      queries[first].allowed, ctx);
        for (std::size_t i = first; i < next; ++i) queries[i].by_vectors = std::move(found[i - first]);
    }
}

search_result search_engine::state::hybrid_result(hybrid_query query, const search_options& options,
                                                  const prepared& lists, const context& ctx) const {
    const auto documents = static_cast<std::uint32_t>(store.info().documents);
    const scored_list all = query.has_words ? fused(query.by_words, query.by_vectors, documents, options)
                                            : std::move(query.by_vectors);
    std::vector<std::uint32_t> found = all.documents;
    std::ranges::sort(found);
    // The place in the fused ranking stands for the score: equal scores are in order already.
    std::vector<scored_document> ranking;
    ranking.reserve(all.documents.size());
    for (std::size_t i = 0; i < all.documents.size(); ++i)
        ranking.push_back({all.documents[i], -static_cast<std::int64_t>(i)});
    if (lists.order) lists.order->keep_first(ranking, options.k);
    if (ranking.size() > options.k) ranking.resize(options.k);
    if (options.count) ranking.clear();
    search_result made = result(*query.planned, ranking, options, lists, ctx, &found);
    for (search_hit& hit : made.hits)
        hit.score = all.scores[static_cast<std::size_t>(-ranking[hit.rank - 1].fixed_score)];
    made.empty_query = false;
    return made;
}

}  // namespace quern
