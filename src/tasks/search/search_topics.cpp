// SPDX-License-Identifier: Apache-2.0
// Many topics: they flow through the threads in small batches, so that all threads also format the results, and only a
// few results are held at a time. (Computing all results first and then formatting them took half of the time on one
// thread, a third of it in memory allocation by the system.) A GPU ranks a large batch at a time, while threads analyse
// the topics of the next and write the text of the last.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/ascii.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/place.hpp"
#include "ops/search/scoring.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/ops/resident_index.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/field_weights.hpp"
#include "tasks/search/word_weights.hpp"
#include "tasks/store/layout.hpp"

namespace quern {
namespace {

struct written {
    std::span<const search_topic> topics;
    std::vector<search_result> results;
    std::vector<std::string> texts;
};

/// How many topics form a batch, and how many batches are in progress.
struct cut {
    std::size_t topics, batches;
};

/// The maximum number of terms that explain a hit of the longest topic: a word is at least two bytes, including its
/// separator.
std::uint64_t max_terms(std::span<const search_topic> topics, const search_options& options) {
    constexpr std::uint64_t other_lists = 2;
    std::size_t bytes = 0;
    for (const search_topic& topic : topics)
        bytes = std::max({bytes, topic.query.size(), topic.weights.size()});
    const std::uint64_t words = bytes / 2 + 1;
    const std::uint64_t pairs = options.dependence == dependence_model::none ? 0 : 2;
    const std::uint64_t feedback = options.feedback == feedback_method::none ? 0 : options.feedback_terms;
    return words * (1 + pairs + std::max<std::uint64_t>(options.expand, options.order - 1)) + feedback +
           other_lists;
}

/// How many hits may be in progress: they take at most a quarter of the memory.
std::uint64_t max_hits(std::span<const search_topic> topics, const search_options& options,
                       const context& ctx) {
    constexpr std::uint64_t snippet_bytes = 256, text_bytes = 64;
    const std::uint64_t rows = weighs_fields(options) ? 1 + store_layout::max_indexed_fields : 1;
    const std::uint64_t hit_bytes =
        sizeof(search_hit) + sizeof(scored_document) + text_bytes + (options.snippets ? snippet_bytes : 0) +
        (options.explain ? max_terms(topics, options) * rows * sizeof(explained_term) : 0) +
        (options.duplicates ? max_hit_duplicates * sizeof(duplicate_hit) : 0);
    return ctx.memory_limit() / 4 / hit_bytes;
}

/// Batches of about a millisecond; at least one topic at a time.
cut cut_for(std::uint64_t documents, std::span<const search_topic> topics, const search_options& options,
            const context& ctx) {
    constexpr std::uint64_t hits_together = 4096, max_topics = 64;
    const std::uint64_t hits = std::max<std::uint64_t>(1, std::min<std::uint64_t>(options.k, documents));
    const std::uint64_t max = max_hits(topics, options, ctx);
    cut chosen{};
    chosen.topics = std::clamp<std::uint64_t>(std::min(hits_together, max) / hits, 1, max_topics);
    chosen.batches =
        std::clamp<std::uint64_t>(max / (hits * chosen.topics), 1, 2 * std::uint64_t{ctx.thread_count()});
    return chosen;
}

/// For GPUs: as many as they rank together; one batch is ranked, and one before and one after it are in progress.
cut cut_for_gpus(std::uint64_t documents, std::span<const search_topic> topics, const search_options& options,
                 std::size_t gpus, const context& ctx) {
    constexpr std::uint64_t topics_a_gpu = 1024, batches = 3;
    const std::uint64_t max_topics = topics_a_gpu * gpus;
    const std::uint64_t hits = std::max<std::uint64_t>(1, std::min<std::uint64_t>(options.k, documents));
    return {static_cast<std::size_t>(
                std::clamp<std::uint64_t>(max_hits(topics, options, ctx) / hits / batches, 1, max_topics)),
            static_cast<std::size_t>(batches)};
}

/// Batches of topics flow through the steps that add_steps(line) adds, which make results and texts; `sink` gets these in
/// order.
template <class Batch, class AddSteps>
void run_batches(std::span<const search_topic> topics, const cut& by, const context& ctx,
                 const search_engine::result_sink& sink, const AddSteps& add_steps) {
    std::span<const search_topic> rest = topics;
    pipeline<Batch> line(by.batches);
    line.from([&](Batch& batch) {
        ctx.check_stop();
        batch.topics = rest.first(std::min(by.topics, rest.size()));
        ctx.report({"search", topics.size() - rest.size(), topics.size(), "topics"});
        rest = rest.subspan(batch.topics.size());
        return !batch.topics.empty();
    });
    add_steps(line);
    line.in_order([&](Batch& batch) {
        for (std::size_t i = 0; i < batch.topics.size(); ++i)
            sink(batch.topics[i], batch.results[i], batch.texts[i]);
    });
    run_parallel(ctx, [&] { line.run(); });
}

/// The feature of topics with these options that a GPU does not support; nothing if it ranks them.
std::string left_to_cpu(const search_options& options, word_listing listed) {
    const ranking_model model = options.ranking.model;
    if (listed == word_listing::weights) return "learned weights";
    if (!search_detail::runs_on_device(model))
        return "the model " + std::string(ranking_model_names[static_cast<std::size_t>(model)]);
    if (options.count) return "counts only";
    if (!options.filter.empty()) return "a filter";
    if (!trimmed(options.sort).empty()) return "an order by fields";
    if (weighs_fields(options)) return "weights of fields";
    if (options.prior != 0) return "a prior";
    if (options.expand != 0) return "similar words";
    if (options.feedback != feedback_method::none) return "feedback";
    if (options.dependence != dependence_model::none) return "pairs of words";
    if (options.like) return "a document to be like";
    if (options.order > 1) return "an order beyond 1";
    if (options.fold != folding::none) return "accents ignored";
    if (options.typos != typo_tolerance::never || options.prefix_last) return "typos or an unfinished word";
    return {};
}

template <typename PlannedQuery>
struct requested_topics {
    std::span<const search_topic> topics;
    std::vector<std::unique_ptr<PlannedQuery>> planned;
    std::vector<std::vector<scored_document>> rankings;
};

}  // namespace

chosen_device search_engine::choose_device(std::size_t topics, const search_options& options,
                                           const context& ctx) const {
    using kind = device_choice::kind;
    // A GPU takes a quarter of a second to start; meanwhile a core ranks topics over that many documents.
    constexpr std::uint64_t worth_starting = std::uint64_t{1} << 30;
    state_->check(options);
    const auto stays = [](std::string reason) { return chosen_device{false, 0, "cpu", std::move(reason)}; };
    const auto requested = [&] {
        return quern::choose_device(ctx, "search of topics", offered_places::several_gpus);
    };
    // Without CUDA there is no choice to report.
    if (!has_cuda && ctx.device.where == kind::automatic) return requested();
    if (const auto what = sharded_ != nullptr ? std::string("a sharded store")
                                              : left_to_cpu(options, state_->store.info().listed);
        !what.empty() && ctx.device.where != kind::cpu) {
        const std::string reason = fmt::format("topics with {} are ranked by the CPU", what);
        if (ctx.device.where == kind::automatic) {
            ctx.log(log_level::info, "device cpu: " + reason);
            return stays(reason);
        }
        (void)requested();  // a missing GPU is an error here, too
        ctx.log(log_level::warning, "CUDA was requested, but " + reason);
        return stays(reason);
    }
    if (ctx.device.where == kind::automatic && topics * documents() < worth_starting) {
        const std::string reason = fmt::format(
            "{} topics over {} documents take less time than starting a GPU", topics, documents());
        ctx.log(log_level::info, "device cpu: " + reason);
        return stays(reason);
    }
    return requested();
}

void search_engine::search_each(std::span<const search_topic> topics, const search_options& options,
                                const context& ctx, const result_text& text, const result_sink& sink) const {
    if (state_->store.info().listed == word_listing::weights) {
        const search_options fitted = fitted_to_weights(options, state_->store);
        for (const search_topic& topic : topics) state_->check_vector(topic.vector, fitted);
        (void)choose_device(topics.size(), options, ctx);  // says that a GPU has no part in it
        return search_on_cpu(topics, fitted, *prepare(fitted, ctx), ctx, text, sink);
    }
    const auto lists = prepare(options, ctx);  // refuses options before a GPU is started
    std::size_t with_vectors = 0;
    for (const search_topic& topic : topics) {
        if (!topic.vector.empty()) require_one_store("hybrid search (vectors)");
        state_->check_vector(topic.vector, options);
        with_vectors += topic.vector.empty() && options.vector.empty() ? 0 : 1;
    }
    const chosen_device chosen = choose_device(topics.size(), options, ctx);
    if (chosen.cuda && with_vectors != 0)
        ctx.log(log_level::warning, "CUDA was requested, but topics with vectors are ranked by the CPU");
    if (with_vectors != 0 && with_vectors == topics.size()) {
        state_->search_with_vectors(topics, options, *lists, ctx, text, sink);
    } else if (chosen.cuda && with_vectors == 0) {
        search_on_device(topics, options, *lists, ctx, chosen, text, sink);
    } else {
        search_on_cpu(topics, options, *lists, ctx, text, sink);
    }
}

void search_engine::state::search_with_vectors(std::span<const search_topic> topics,
                                               const search_options& options, const prepared& lists,
                                               const context& ctx, const result_text& text,
                                               const result_sink& sink) const {
    struct batch_with_vectors : written {
        std::vector<hybrid_query> queries;
    };
    search_options held = options;  // of each topic in progress
    held.k = hybrid_depth(options);
    const cut by = cut_for(store.info().documents, topics, held, ctx);
    run_batches<batch_with_vectors>(topics, by, ctx, sink, [&](auto& line) {
        line.in_parallel([&](batch_with_vectors& batch) {
            for (const search_topic& topic : batch.topics)
                batch.queries.push_back(hybrid_parts(
                    topic.query, topic.vector.empty() ? options.vector : topic.vector, options, lists, ctx));
        });
        line.in_order([&](batch_with_vectors& batch) { rank_vectors(batch.queries, options, ctx); });
        line.in_parallel([&](batch_with_vectors& batch) {
            for (std::size_t i = 0; i < batch.topics.size(); ++i) {
                ctx.check_stop();
                batch.results.push_back(hybrid_result(std::move(batch.queries[i]), options, lists, ctx));
                batch.texts.push_back(text ? text(batch.topics[i], batch.results.back()) : std::string());
            }
        });
    });
}

void search_engine::search_on_cpu(std::span<const search_topic> topics, const search_options& options,
                                  const prepared& lists, const context& ctx, const result_text& text,
                                  const result_sink& sink) const {
    const cut by = cut_for(documents(), topics, options, ctx);
    const bool weights = state_->store.info().listed == word_listing::weights;
    context of_a_topic = ctx;
    of_a_topic.threads = 1;
    run_batches<written>(topics, by, ctx, sink, [&](auto& line) {
        line.in_parallel([&](written& batch) {
            batch.results.reserve(batch.topics.size());
            for (const search_topic& topic : batch.topics) {
                ctx.check_stop();
                batch.results.push_back(
                    result(weights && !topic.weights.empty() ? topic.weights : topic.query,
                           topic.vector.empty() ? options.vector : topic.vector, options, lists, of_a_topic));
                batch.texts.push_back(text ? text(topic, batch.results.back()) : std::string());
            }
        });
    });
}

void search_engine::search_on_device(std::span<const search_topic> topics, const search_options& options,
                                     const prepared& lists, const context& ctx, const chosen_device& chosen,
                                     const result_text& text, const result_sink& sink) const {
    resident_index resident(state_->store.collection(), ctx, chosen);
    const cut by = cut_for_gpus(documents(), topics, options, 1 + chosen.more.size(), ctx);
    // Lists made for phrases take at most a quarter of the memory, including those of a batch.
    const std::uint64_t max_made = ctx.memory_limit() / 4 / by.batches;
    const std::size_t together =
        options.phrases ? std::min(by.topics, std::size_t{4} * ctx.thread_count()) : by.topics;
    std::span<const search_topic> rest = topics;
    using batch_of_topics = requested_topics<planned_query>;
    pipeline<batch_of_topics> line(by.batches);
    line.from([&](batch_of_topics& batch) {
        ctx.check_stop();
        const std::size_t max = std::min(by.topics, rest.size());
        std::uint64_t made = 0;
        while (batch.planned.size() < max && made <= max_made) {
            const std::size_t first = batch.planned.size();
            batch.planned.resize(std::min(max, first + together));
            for_each_index(ctx, batch.planned.size() - first, [&](std::uint64_t i) {
                batch.planned[first + i] = state_->plan(rest[first + i].query, options, lists, ctx, false);
            });
            for (std::size_t i = first; i < batch.planned.size(); ++i)
                made += batch.planned[i]->planned.bytes_made();
        }
        ctx.report({"search", topics.size() - rest.size(), topics.size(), "topics"});
        batch.topics = rest.first(batch.planned.size());
        rest = rest.subspan(batch.topics.size());
        return !batch.topics.empty();
    });
    line.in_order([&](batch_of_topics& batch) {
        std::vector<search_query> queries;
        for (const auto& planned : batch.planned) queries.push_back(planned->whole);
        batch.rankings = resident.search(queries, options.ranking, options.k);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            if (batch.planned[i]->finds_all)
                batch.rankings[i] = state_->all_documents(*batch.planned[i], lists, options.k, ctx);
        }
    });
    line.in_order([&](batch_of_topics& batch) {
        std::vector<search_result> results(batch.topics.size());
        std::vector<std::string> texts(batch.topics.size());
        for_each_index(ctx, batch.topics.size(), [&](std::uint64_t i) {
            ctx.check_stop();
            results[i] = state_->result(*batch.planned[i], batch.rankings[i], options, lists, ctx);
            if (text) texts[i] = text(batch.topics[i], results[i]);
        });
        for (std::size_t i = 0; i < results.size(); ++i) sink(batch.topics[i], results[i], texts[i]);
    });
    run_parallel(ctx, [&] { line.run(); });
    if (const std::uint64_t on_cpu = resident.record().queries_on_cpu; on_cpu != 0)
        ctx.log(log_level::info,
                fmt::format("{} of {} topics have phrases, required or excluded parts, or very "
                            "many words: the CPU ranked these",
                            on_cpu, topics.size()));
}

std::vector<search_result> search_engine::search(std::span<const search_topic> topics,
                                                 const search_options& options, const context& ctx) const {
    std::vector<search_result> results;
    results.reserve(topics.size());
    search_each(topics, options, ctx, {},
                [&](const search_topic&, const search_result& result, std::string_view) {
                    results.push_back(result);
                });
    return results;
}

}  // namespace quern
