// SPDX-License-Identifier: Apache-2.0
// Many topics: they flow through the threads in small batches, so that the text of answers is made by all threads too and
// only a few answers are held at a time. (All answers first and then their text: half of the time with one thread working,
// and a third of it spent by the system on handing out memory.)
#include <algorithm>

#include "device/cpu/pipeline.hpp"
#include "quern/tasks/search.hpp"

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

/// Batches of about a millisecond. Hits under way take a quarter of the memory at most; one topic after the other is the
/// least.
cut cut_for(std::uint64_t documents, const search_options& options, const context& run) {
    constexpr std::uint64_t snippet_bytes = 256, text_bytes = 64,
                            explanation_bytes = 16 * sizeof(explained_term);
    constexpr std::uint64_t hits_together = 4096, most_topics = 64;
    const std::uint64_t hits = std::max<std::uint64_t>(1, std::min<std::uint64_t>(options.k, documents));
    const std::uint64_t hit_bytes = sizeof(search_hit) + sizeof(scored_document) + text_bytes +
                                    (options.snippets ? snippet_bytes : 0) +
                                    (options.explain ? explanation_bytes : 0);
    const std::uint64_t most_hits = run.memory_limit() / 4 / hit_bytes;
    cut chosen{};
    chosen.topics = std::clamp<std::uint64_t>(hits_together / hits, 1, most_topics);
    chosen.batches = std::clamp<std::uint64_t>(most_hits / (hits * chosen.topics), 1,
                                               2 * std::uint64_t{run.thread_count()});
    return chosen;
}

}  // namespace

void search_engine::search_each(std::span<const search_topic> topics, const search_options& options,
                                const context& run, const answer_text& text, const answer_taker& take) const {
    const cut by = cut_for(documents(), options, run);
    const auto lists = prepare(options);
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
            batch.answers.push_back(answer(topic.query, options, *lists, run));
            batch.texts.push_back(text ? text(topic, batch.answers.back()) : std::string());
        }
    });
    line.in_order([&](answered& batch) {
        for (std::size_t i = 0; i < batch.topics.size(); ++i)
            take(batch.topics[i], batch.answers[i], batch.texts[i]);
    });
    run_parallel(run, [&] { line.run(); });
}

}  // namespace quern
