// SPDX-License-Identifier: Apache-2.0
// Many topics: they flow through the threads in small batches, so that the text of answers is made by all threads too and
// only a few answers are held at a time. (All answers first and then their text: half of the time with one thread working,
// and a third of it spent by the system on handing out memory.) A GPU ranks a large batch at a time, while threads analyse
// the next one's topics and write the last one's text.
#include <fmt/format.h>

#include <algorithm>

#include "device/cpu/pipeline.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/ops/resident_collection.hpp"
#include "tasks/search/engine_state.hpp"

namespace quern {
namespace {

struct answered {
    std::span<const search_topic> topics;
    std::vector<search_answer> answers;
    std::vector<std::string> texts;
};

/// How many topics go together, and how many batches are under way.
struct cut {
    std::size_t topics, batches;
};

/// The terms that explain a hit of the longest topic, at most: a word is two bytes, with what parts it from the next one.
std::uint64_t most_terms(std::span<const search_topic> topics, const search_options& options) {
    constexpr std::uint64_t other_lists = 2;
    std::size_t bytes = 0;
    for (const search_topic& topic : topics) bytes = std::max(bytes, topic.query.size());
    const std::uint64_t words = bytes / 2 + 1;
    return words * (1 + std::max<std::uint64_t>(options.expand, options.order > 1 ? 1 : 0)) + other_lists;
}

/// How many hits may be under way: they take a quarter of the memory at most.
std::uint64_t most_hits(std::span<const search_topic> topics, const search_options& options,
                        const context& run) {
    constexpr std::uint64_t snippet_bytes = 256, text_bytes = 64;
    const std::uint64_t hit_bytes =
        sizeof(search_hit) + sizeof(scored_document) + text_bytes + (options.snippets ? snippet_bytes : 0) +
        (options.explain ? most_terms(topics, options) * sizeof(explained_term) : 0) +
        (options.copies ? most_hit_copies * sizeof(hit_copy) : 0);
    return run.memory_limit() / 4 / hit_bytes;
}

/// Batches of about a millisecond; one topic after the other is the least.
cut cut_for(std::uint64_t documents, std::span<const search_topic> topics, const search_options& options,
            const context& run) {
    constexpr std::uint64_t hits_together = 4096, most_topics = 64;
    const std::uint64_t hits = std::max<std::uint64_t>(1, std::min<std::uint64_t>(options.k, documents));
    const std::uint64_t most = most_hits(topics, options, run);
    cut chosen{};
    chosen.topics = std::clamp<std::uint64_t>(std::min(hits_together, most) / hits, 1, most_topics);
    chosen.batches =
        std::clamp<std::uint64_t>(most / (hits * chosen.topics), 1, 2 * std::uint64_t{run.thread_count()});
    return chosen;
}

/// For a GPU: as many as it takes together, of which one batch is ranked, and one on either side of that.
cut cut_for_gpu(std::uint64_t documents, std::span<const search_topic> topics, const search_options& options,
                const context& run) {
    constexpr std::uint64_t most_topics = 1024, batches = 3;
    const std::uint64_t hits = std::max<std::uint64_t>(1, std::min<std::uint64_t>(options.k, documents));
    return {static_cast<std::size_t>(
                std::clamp<std::uint64_t>(most_hits(topics, options, run) / hits / batches, 1, most_topics)),
            static_cast<std::size_t>(batches)};
}

/// What topics with these options have that a GPU does not rank; nothing where it ranks them.
std::string_view left_to_cpu(const search_options& options) {
    if (options.prior != 0) return "a prior";
    if (options.expand != 0) return "similar words";
    if (options.like) return "a document to be like";
    if (options.order > 1) return "an order beyond 1";
    return {};
}

template <typename Question>
struct asked_topics {
    std::span<const search_topic> topics;
    std::vector<std::unique_ptr<Question>> asked;
    std::vector<std::vector<scored_document>> rankings;
};

}  // namespace

chosen_device search_engine::choose_device(std::size_t topics, const search_options& options,
                                           const context& run) const {
    using kind = device_choice::kind;
    // A GPU takes a quarter of a second to start; in that time a core answers topics over so many documents.
    constexpr std::uint64_t worth_starting = std::uint64_t{1} << 30;
    state_->check(options);
    const auto stays = [](std::string reason) { return chosen_device{false, 0, "cpu", std::move(reason)}; };
    if (const auto what = left_to_cpu(options); !what.empty() && run.device.where != kind::cpu) {
        const std::string reason = fmt::format("topics with {} are ranked by the CPU", what);
        if (run.device.where == kind::automatic) {
            run.log(log_level::info, "device cpu: " + reason);
            return stays(reason);
        }
        (void)quern::choose_device(run, "search of topics");  // one that is not there is an error here, too
        run.log(log_level::warning, "CUDA is asked for, but " + reason);
        return stays(reason);
    }
    if (run.device.where == kind::automatic && topics * documents() < worth_starting) {
        const std::string reason = fmt::format(
            "{} topics over {} documents take less time than starting a GPU", topics, documents());
        run.log(log_level::info, "device cpu: " + reason);
        return stays(reason);
    }
    return quern::choose_device(run, "search of topics");
}

void search_engine::search_each(std::span<const search_topic> topics, const search_options& options,
                                const context& run, const answer_text& text, const answer_taker& take) const {
    const auto lists = prepare(options, run);  // refuses options before a GPU is started
    const chosen_device chosen = choose_device(topics.size(), options, run);
    if (chosen.cuda) {
        search_on_device(topics, options, *lists, run, chosen, text, take);
    } else {
        search_on_cpu(topics, options, *lists, run, text, take);
    }
}

void search_engine::search_on_cpu(std::span<const search_topic> topics, const search_options& options,
                                  const prepared& lists, const context& run, const answer_text& text,
                                  const answer_taker& take) const {
    const cut by = cut_for(documents(), topics, options, run);
    std::span<const search_topic> rest = topics;
    pipeline<answered> line(by.batches);
    line.from([&](answered& batch) {
        run.check_stop();
        batch.topics = rest.first(std::min(by.topics, rest.size()));
        rest = rest.subspan(batch.topics.size());
        return !batch.topics.empty();
    });
    line.in_parallel([&](answered& batch) {
        batch.answers.reserve(batch.topics.size());
        for (const search_topic& topic : batch.topics) {
            run.check_stop();
            batch.answers.push_back(answer(topic.query, options, lists, run));
            batch.texts.push_back(text ? text(topic, batch.answers.back()) : std::string());
        }
    });
    line.in_order([&](answered& batch) {
        for (std::size_t i = 0; i < batch.topics.size(); ++i)
            take(batch.topics[i], batch.answers[i], batch.texts[i]);
    });
    run_parallel(run, [&] { line.run(); });
}

void search_engine::search_on_device(std::span<const search_topic> topics, const search_options& options,
                                     const prepared& lists, const context& run, const chosen_device& chosen,
                                     const answer_text& text, const answer_taker& take) const {
    resident_collection resident(state_->store.collection(), run, chosen);
    const cut by = cut_for_gpu(documents(), topics, options, run);
    // Lists made for phrases take a quarter of the memory at most, and those of the last topics asked together.
    const std::uint64_t most_made = run.memory_limit() / 4 / by.batches;
    const std::size_t together =
        options.phrases ? std::min(by.topics, std::size_t{4} * run.thread_count()) : by.topics;
    std::span<const search_topic> rest = topics;
    using batch_of_topics = asked_topics<question>;
    pipeline<batch_of_topics> line(by.batches);
    line.from([&](batch_of_topics& batch) {
        run.check_stop();
        const std::size_t most = std::min(by.topics, rest.size());
        std::uint64_t made = 0;
        while (batch.asked.size() < most && made <= most_made) {
            const std::size_t first = batch.asked.size();
            batch.asked.resize(std::min(most, first + together));
            for_each_index(run, batch.asked.size() - first, [&](std::uint64_t i) {
                batch.asked[first + i] = state_->ask(rest[first + i].query, options, lists, run);
            });
            for (std::size_t i = first; i < batch.asked.size(); ++i)
                made += batch.asked[i]->asked.bytes_made();
        }
        batch.topics = rest.first(batch.asked.size());
        rest = rest.subspan(batch.topics.size());
        return !batch.topics.empty();
    });
    line.in_order([&](batch_of_topics& batch) {
        std::vector<search_query> queries;
        for (const auto& asked : batch.asked) queries.push_back(asked->whole);
        batch.rankings = resident.search(queries, options.ranking, options.k);
    });
    line.in_order([&](batch_of_topics& batch) {
        std::vector<search_answer> answers(batch.topics.size());
        std::vector<std::string> texts(batch.topics.size());
        for_each_index(run, batch.topics.size(), [&](std::uint64_t i) {
            run.check_stop();
            answers[i] = state_->answer(*batch.asked[i], batch.rankings[i], options, lists, run);
            if (text) texts[i] = text(batch.topics[i], answers[i]);
        });
        for (std::size_t i = 0; i < answers.size(); ++i) take(batch.topics[i], answers[i], texts[i]);
    });
    run_parallel(run, [&] { line.run(); });
    if (const std::uint64_t on_cpu = resident.record().queries_on_cpu; on_cpu != 0)
        run.log(log_level::info, fmt::format("{} of {} topics have phrases or very many words: the CPU "
                                             "ranked these",
                                             on_cpu, topics.size()));
}

std::vector<search_answer> search_engine::search(std::span<const search_topic> topics,
                                                 const search_options& options, const context& run) const {
    std::vector<search_answer> answers;
    answers.reserve(topics.size());
    search_each(topics, options, run, {},
                [&](const search_topic&, const search_answer& answer, std::string_view) {
                    answers.push_back(answer);
                });
    return answers;
}

}  // namespace quern
