// SPDX-License-Identifier: Apache-2.0
// Queries over shards of which some are on other machines. Each step asks all shards at once; their answers are added, and
// are in the requests of the next step (shard_exchange.hpp). Shards on this machine answer the same steps while the servers
// of the others do.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"
#include "tasks/search/shard_exchange.hpp"
#include "tasks/search/sharded.hpp"

namespace quern {

using shard_exchange::step;

namespace {

/// What keeps the ids and titles of hits.
struct held_names {
    std::shared_ptr<const void> engine;
    std::vector<std::vector<std::string>> names;
};

/// With the text: each value that a comma ends, in the tree of JSON and as a member.
std::uint64_t bytes_to_read(std::string_view answer) {
    constexpr std::uint64_t bytes_of_a_value = 64;
    return answer.size() + bytes_of_a_value * static_cast<std::uint64_t>(std::ranges::count(answer, ','));
}

}  // namespace

usage_error search_engine::sharded::needs_local_shards(std::string_view what) {
    return usage_error(
        fmt::format("{} needs all shards on this machine (some are on others; quern merge --sharded without "
                    "--at names them by their folders)",
                    what));
}

shard_failed search_engine::sharded::bad_answer(std::size_t shard) const {
    return {described[shard].url,
            "the answer of this shard's server is not understood (expected quern serve of the same version)"};
}

void search_engine::sharded::check_counts(std::size_t shard, const whole_counts& of) const {
    if (!is_possible(of, {described[shard].documents, described[shard].words})) throw bad_answer(shard);
}

std::vector<shard_exchange::answer> search_engine::sharded::ask(
    std::span<std::optional<shard_exchange::request>> requests, const prepared& lists,
    const context& ctx) const {
    std::vector<shard_request> sent;
    std::vector<std::size_t> remote, here;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (!requests[i]) continue;
        (shards[i] == nullptr ? remote : here).push_back(i);
        if (shards[i] != nullptr) continue;
        requests[i]->checksum = described[i].checksum;
        sent.push_back({described[i].url, shard_exchange::text_of(*requests[i])});
    }
    shard_answers wait;
    if (!sent.empty()) wait = asker(sent, ctx);
    std::vector<shard_exchange::answer> answers(requests.size());
    for_each_shard(here.size(), ctx, [&](std::size_t i) {
        const std::size_t shard = here[i];
        answers[shard] = shards[shard]->answered(*requests[shard], of_shard(lists, shard), ctx,
                                                 std::numeric_limits<std::size_t>::max());
    });
    if (sent.empty()) return answers;
    const std::vector<std::string> texts = wait();
    std::uint64_t needed = 0;
    for (const std::string& text : texts) needed += bytes_to_read(text);
    if (needed > query_memory)
        throw out_of_memory("what the servers of the shards answer", needed, query_memory);
    for (std::size_t i = 0; i < remote.size(); ++i) {
        try {
            answers[remote[i]] = shard_exchange::answer_from(texts.at(i));
        } catch (const std::bad_alloc&) {  // of this machine, not of the answer
            throw;
        } catch (const std::exception&) {
            throw bad_answer(remote[i]);
        }
    }
    return answers;
}

std::vector<shard_exchange::answer> search_engine::sharded::ask_all(const shard_exchange::request& request,
                                                                    const prepared& lists,
                                                                    const context& ctx) const {
    std::vector<std::optional<shard_exchange::request>> requests(shards.size(), request);
    return ask(requests, lists, ctx);
}

query_vocabulary search_engine::sharded::vocabulary_of(shard_exchange::request request, const prepared& lists,
                                                       const context& ctx) const {
    request.kind = step::words;
    query_vocabulary vocabulary = request.vocabulary;
    if (vocabulary.words.empty() && vocabulary.beginnings.empty()) return vocabulary;
    const auto answers = ask_all(request, lists, ctx);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        for (const auto& [word, of] : answers[i].vocabulary.words) check_counts(i, of.counts);
        vocabulary.add(answers[i].vocabulary);
        if (vocabulary.words.size() != request.vocabulary.words.size() ||
            vocabulary.beginnings.size() != request.vocabulary.beginnings.size())
            throw bad_answer(i);
    }
    return vocabulary;
}

void search_engine::sharded::add_counts(shard_exchange::request& request, const query_plan& planned,
                                        const whole_statistics& whole, const prepared& lists,
                                        const context& ctx) const {
    request.counts = planned.counts();
    if (planned.has_only_words()) {  // whose sums are known
        for (std::size_t t = 0; t < request.counts.size(); ++t)
            request.counts[t] = whole.of_word(planned.words()[t]);
        return;
    }
    request.kind = step::counts;
    std::ranges::fill(request.counts, whole_counts());
    const auto answers = ask_all(request, lists, ctx);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const std::vector<whole_counts>& counts = answers[i].counts;
        if (counts.size() != request.counts.size()) throw bad_answer(i);
        for (std::size_t t = 0; t < counts.size(); ++t) {
            check_counts(i, counts[t]);
            request.counts[t].documents += counts[t].documents;
            request.counts[t].occurrences += counts[t].occurrences;
        }
    }
}

void search_engine::sharded::add_bounds(shard_exchange::request& request, query_plan& planned,
                                        const prepared& lists, const context& ctx) const {
    planned.set_whole_counts(request.counts);
    request.bounds = planned.bounds(request.options.ranking);
    if (request.bounds.empty()) return;
    request.kind = step::bounds;
    const auto answers = ask_all(request, lists, ctx);
    std::ranges::fill(request.bounds, search_detail::shard_bounds());
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto& bounds = answers[i].bounds;
        if (bounds.size() != request.bounds.size()) throw bad_answer(i);
        for (std::size_t b = 0; b < bounds.size(); ++b) request.bounds[b].add(bounds[b]);
    }
}

search_result search_engine::sharded::result_in_steps(std::string_view query, const search_options& options,
                                                      const prepared& lists, const context& ctx) const {
    const state& own = *shards[first_local];
    const prepared& own_lists = of_shard(lists, first_local);
    shard_exchange::request request;
    request.query = query;
    request.options = options;
    request.options.text.reset();
    request.collection = {info.documents, info.words};
    const bool finds_all = own.finds_all(query, options);
    const analysed_query analysed = own.analysed(finds_all ? std::string_view() : query, options.syntax,
                                                 options.phrases, options.prefix_last);
    for (const query_part& part : analysed.parts) {
        for (const std::string& word : part.words) request.vocabulary.words[word];
        if (!part.beginning.empty()) request.vocabulary.beginnings[part.beginning];
    }
    request.vocabulary = vocabulary_of(request, lists, ctx);
    const whole_statistics whole(request.collection, request.vocabulary);
    const auto plan = own.plan(query, options, own_lists, ctx, true, &whole);
    query_plan& planned = plan->planned;
    add_counts(request, planned, whole, lists, ctx);
    add_bounds(request, planned, lists, ctx);
    planned.finish(request.bounds, options, true);

    search_result result;
    result.empty_query = planned.empty() && !finds_all;
    result.unknown_words = planned.unknown();
    result.syntax = planned.syntax();
    result.syntax_note = planned.syntax_note();
    request.kind = step::ranking;
    std::vector<shard_exchange::answer> answers = ask_all(request, lists, ctx);
    const std::span<const std::string> unknown = planned.unknown_words();
    add_found(answers, unknown.first(std::min(max_suggested_words, unknown.size())), options, own_lists,
              result);
    if (options.count) {
        result.opened = shared_from_this();
        return result;
    }
    add_hits(std::move(request), best_of(answers, options.k, own_lists), lists, ctx, result);
    return result;
}

std::vector<scored_document> search_engine::sharded::best_of(
    const std::vector<shard_exchange::answer>& answers, std::size_t k, const prepared& own_lists) const {
    struct ranked_document {
        scored_document of;
        std::span<const field_value> keys;
    };
    std::vector<ranked_document> all;
    const std::size_t fields = own_lists.order ? own_lists.order->fields() : 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const shard_exchange::answer& answer = answers[i];
        if (fields != 0 && answer.keys.size() != answer.ranking.size()) throw bad_answer(i);
        for (std::size_t d = 0; d < answer.ranking.size(); ++d) {
            const scored_document& of = answer.ranking[d];
            if (of.document >= described[i].documents) throw bad_answer(i);
            auto& made = all.emplace_back();
            made.of = {of.document + first[i], of.fixed_score};
            if (fields == 0) continue;
            if (answer.keys[d].size() != fields) throw bad_answer(i);
            made.keys = answer.keys[d];
        }
    }
    const auto best = std::ranges::next(all.begin(), static_cast<std::ptrdiff_t>(std::min(k, all.size())));
    std::partial_sort(all.begin(), best, all.end(), [&](const ranked_document& a, const ranked_document& b) {
        const int order = fields == 0 ? 0 : own_lists.order->compare(a.keys, b.keys);
        return order != 0 ? order < 0 : search_detail::ranks_before(a.of, b.of);
    });
    std::vector<scored_document> ranking;
    std::transform(all.begin(), best, std::back_inserter(ranking), [](const auto& of) { return of.of; });
    return ranking;
}

void search_engine::sharded::add_hits(shard_exchange::request request,
                                      std::span<const scored_document> ranking, const prepared& lists,
                                      const context& ctx, search_result& result) const {
    auto held = std::make_shared<held_names>();
    held->engine = shared_from_this();
    result.opened = held;
    const std::size_t begin = std::min(request.options.offset, ranking.size());
    result.hits.resize(ranking.size() - begin);
    request.kind = step::hits;
    std::vector<std::optional<shard_exchange::request>> requests(shards.size());
    std::vector<std::vector<std::size_t>> places(shards.size());
    for (std::size_t i = begin; i < ranking.size(); ++i) {
        const std::size_t shard = shard_of(ranking[i].document);
        if (!requests[shard]) requests[shard] = request;
        requests[shard]->shown.push_back({ranking[i].document - first[shard], ranking[i].fixed_score});
        requests[shard]->ranks.push_back(static_cast<std::uint32_t>(i + 1));
        places[shard].push_back(i);
    }
    std::vector<shard_exchange::answer> answers = ask(requests, lists, ctx);
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        if (answers[shard].hits.size() != places[shard].size()) throw bad_answer(shard);
        const std::vector<std::string>& names = held->names.emplace_back(std::move(answers[shard].names));
        for (std::size_t h = 0; h < places[shard].size(); ++h) {
            search_hit& hit = result.hits[places[shard][h] - begin];
            hit = std::move(answers[shard].hits[h]);
            hit.document = ranking[places[shard][h]].document;
            hit.id = names[2 * h];
            hit.title = names[2 * h + 1];
        }
    }
}

void search_engine::sharded::add_found(const std::vector<shard_exchange::answer>& answers,
                                       std::span<const std::string> unknown, const search_options& options,
                                       const prepared& own_lists, search_result& result) const {
    std::vector<const std::vector<found_variants>*> variants;
    std::vector<std::vector<facet_counts>> facets;
    const bool has_total = options.total || options.count;
    if (has_total) result.total = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const shard_exchange::answer& of = answers[i];
        if (of.variants.size() != answers[first_local].variants.size() ||
            (options.suggestions != 0 && of.suggestions.size() != unknown.size()) || (has_total && !of.total))
            throw bad_answer(i);
        variants.push_back(&of.variants);
        std::ranges::copy(of.variant_words, std::back_inserter(result.variant_words));
        if (has_total) *result.total += *of.total;
        if (own_lists.facets) facets.push_back(of.facets);
    }
    if (own_lists.facets) result.facets = facets_of(facets, options.facet_values, *own_lists.facets);
    std::ranges::sort(result.variant_words);
    result.variant_words.erase(std::ranges::unique(result.variant_words).begin(), result.variant_words.end());
    result.variants = joined(variants);
    if (options.suggestions == 0) return;
    for (std::size_t u = 0; u < unknown.size(); ++u) {
        std::vector<suggestion> found;
        for (const shard_exchange::answer& of : answers)
            found.insert(found.end(), of.suggestions[u].begin(), of.suggestions[u].end());
        add_best_suggestions(unknown[u], std::move(found), options.suggestions, result.suggestions);
    }
}

std::vector<search_facet> search_engine::sharded::facets_of(
    const std::vector<std::vector<facet_counts>>& shards_counts, std::size_t values,
    const facet_counter& counter) const {
    const auto together = [&](auto&& of) -> std::optional<std::vector<search_facet>> {
        try {
            return counter.together(of, values, query_memory);
        } catch (const std::runtime_error&) {
            return {};
        }
    };
    if (auto facets = together(std::span(shards_counts))) return std::move(*facets);
    std::size_t faulty = 0;
    while (together(std::span(shards_counts).subspan(faulty, 1))) ++faulty;
    throw bad_answer(faulty);
}

std::optional<std::uint32_t> search_engine::sharded::find_in_steps(std::string_view id,
                                                                   const context& ctx) const {
    shard_exchange::request request;
    request.kind = step::find;
    request.query = id;
    const auto answers = ask_all(request, prepared(), ctx);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (!answers[i].found) continue;
        if (*answers[i].found >= described[i].documents) throw bad_answer(i);
        return first[i] + *answers[i].found;
    }
    return {};
}

stored_document search_engine::sharded::document(std::uint32_t number, const context& ctx) const {
    const std::size_t shard = shard_of(number);
    const std::uint32_t own = number - first[shard];
    if (shards[shard] != nullptr) return shards[shard]->document(own);
    if (own >= described[shard].documents)
        throw usage_error("there is no document " + std::to_string(number));
    std::vector<std::optional<shard_exchange::request>> requests(shards.size());
    auto& request = requests[shard].emplace();
    request.kind = step::document;
    request.document = own;
    auto answers = ask(requests, prepared(), ctx);
    if (!answers[shard].document) throw bad_answer(shard);
    return std::move(*answers[shard].document);
}

}  // namespace quern
