// SPDX-License-Identifier: Apache-2.0
// What the server of a shard answers to a step. Any client may send one, so counts and bounds are checked before scores are
// computed with them.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <ranges>
#include <string>

#include "quern/base/error.hpp"
#include "quern/tasks/shards.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/shard_exchange.hpp"
#include "tasks/search/sharded.hpp"
#include "tasks/store/shards_manifest.hpp"

namespace quern {
namespace {

using shard_exchange::step;

usage_error refused(std::string_view why) {
    return usage_error(fmt::format("this step of a query {}", why));
}

/// Whether a step searches: the others look up words, an id or a document, without filter, order and facets.
bool searches(step kind) {
    return kind != step::words && kind != step::find && kind != step::document;
}

bool is_within(const whole_counts& part, const whole_counts& whole) {
    return part.documents <= whole.documents && part.occurrences <= whole.occurrences;
}

void check_collection(const whole_counts& own, const shard_exchange::request& sent) {
    constexpr whole_counts max{std::numeric_limits<std::uint32_t>::max(), std::uint64_t{1} << 52};
    if (!is_within(own, sent.collection) || !is_within(sent.collection, max))
        throw refused("has counts that no collection has");
    for (const auto& [word, of] : sent.vocabulary.words)
        if (!is_possible(of.counts, sent.collection)) throw refused("has counts that no word has");
}

void check_counts(const std::vector<whole_counts>& own, const shard_exchange::request& sent) {
    if (own.size() != sent.counts.size()) throw refused("has counts of other terms");
    for (std::size_t i = 0; i < own.size(); ++i)
        if (!is_within(own[i], sent.counts[i]) || !is_possible(sent.counts[i], sent.collection))
            throw refused("has counts that no term has");
}

}  // namespace

std::uint64_t search_engine::state::checksum() const {
    std::call_once(checksum_once, [this] { made_checksum = checksum_of_manifest(store.info()); });
    return made_checksum;
}

query_vocabulary search_engine::state::vocabulary_here(const query_vocabulary& requested,
                                                       const search_options& options,
                                                       const context& ctx) const {
    query_vocabulary vocabulary;
    const folded_words* const own = folded(options);
    for (const auto& [word, unused] : requested.words) {
        ctx.check_stop();
        word_entry& of = vocabulary.words[word];
        const posting_list list = store.words().find(word);
        of.counts = {list.document_frequency, list.collection_frequency};
        if (own == nullptr) continue;
        of.has_others = own->has_others(word);
        of.has_like = !own->like(word).empty();
    }
    for (const auto& [beginning, unused] : requested.beginnings) {
        ctx.check_stop();
        vocabulary.beginnings[beginning] =
            !(own == nullptr ? words_beginning_with(store, beginning) : own->beginning_with(beginning))
                 .empty();
    }
    return vocabulary;
}

shard_exchange::answer search_engine::state::answered(const shard_exchange::request& sent,
                                                      const prepared& lists, const context& ctx,
                                                      std::size_t max_explained) const {
    shard_exchange::answer made;
    const search_options& options = sent.options;
    switch (sent.kind) {
        case step::find:
            made.found = finder(ctx).find(sent.query);
            return made;
        case step::document:
            made.document = document(sent.document);
            return made;
        case step::words:
            made.vocabulary = vocabulary_here(sent.vocabulary, options, ctx);
            return made;
        default:
            break;
    }
    check_collection({store.info().documents, store.info().words}, sent);
    const whole_statistics whole(sent.collection, sent.vocabulary);
    const auto planned = plan(sent.query, options, lists, ctx, true, &whole);
    made.counts = planned->planned.counts();
    if (sent.kind == step::counts) return made;
    check_counts(made.counts, sent);
    planned->planned.set_whole_counts(sent.counts);
    made.bounds = planned->planned.bounds(options.ranking);
    if (sent.kind == step::bounds) return made;
    if (sent.bounds.size() != made.bounds.size()) throw refused("has bounds of other terms");
    planned->planned.finish(sent.bounds, options, true);
    point_at_plan(*planned, options, lists);
    if (sent.kind == step::ranking)
        add_ranking(made, *planned, options, lists, ctx);
    else
        add_hits(made, *planned, sent, lists, ctx, max_explained);
    return made;
}

void search_engine::state::add_ranking(shard_exchange::answer& made, const planned_query& planned,
                                       const search_options& options, const prepared& lists,
                                       const context& ctx) const {
    made.variants = planned.planned.variants();
    made.variant_words = planned.planned.variant_words();
    if (lists.facets) {
        const std::vector<std::uint32_t> documents = matching(planned, lists);
        made.facets = lists.facets->counts(documents, query_memory, ctx);
        made.total = documents.size();
    } else if (options.total || options.count) {
        made.total = count_found(planned, lists);
    }
    if (options.suggestions != 0)
        for (const std::string& word :
             planned.planned.unknown_words() | std::views::take(max_suggested_words))
            made.suggestions.push_back(suggestions_in({&store.words(), &near.words}, word, ctx));
    if (options.count) return;
    made.ranking = ranked(planned, options, lists, lists.order ? store.info().documents : options.k, ctx);
    if (!lists.order) return;
    lists.order->keep_first(made.ranking, options.k);
    for (const scored_document& of : made.ranking) made.keys.push_back(lists.order->values(of.document));
}

void search_engine::state::add_hits(shard_exchange::answer& made, const planned_query& planned,
                                    const shard_exchange::request& sent, const prepared& lists,
                                    const context& ctx, std::size_t max_explained) const {
    if (sent.options.explain) {
        const std::size_t terms = planned.planned.max_explained();
        if (sent.shown.size() * terms > max_explained)
            throw usage_error(
                fmt::format("the server of a shard explains at most {} results of a query with {} terms",
                            max_explained / terms, terms));
        check_explanations(sent.shown.size(), planned);
    }
    for (std::size_t i = 0; i < sent.shown.size(); ++i) {
        check_document(sent.shown[i].document);
        made.hits.push_back(shown_hit(planned, sent.shown[i], sent.ranks[i], sent.options, lists, ctx));
        made.names.emplace_back(made.hits.back().id);
        made.names.emplace_back(made.hits.back().title);
    }
}

std::optional<std::string> search_engine::answer_step(std::string_view text, const step_limits& limits,
                                                      const context& ctx) const {
    shard_exchange::request sent;
    try {
        sent = shard_exchange::request_from(text);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const other_version&) {
        throw;
    } catch (const std::exception& e) {
        throw refused(e.what());
    }
    if (sharded_ != nullptr || sent.checksum != state_->checksum()) return {};
    if (sent.query.size() > limits.query_bytes)
        throw usage_error(fmt::format("q is too long (at most {} bytes)", limits.query_bytes));
    // Each is from a byte of the query at least, but for the few characters that are short for several words.
    if (sent.vocabulary.words.size() + sent.vocabulary.beginnings.size() > 2 * limits.query_bytes)
        throw refused("has more words than a query");
    // One more than is shown tells whether there are more.
    if (sent.options.k > limits.results + 1 || sent.shown.size() > limits.results + 1)
        throw usage_error(fmt::format("the server of a shard gives at most {} results", limits.results));
    sharded::check(sent.options);
    const prepared lists = searches(sent.kind) ? prepared(*state_, sent.options, ctx) : prepared();
    return shard_exchange::text_of(state_->answered(sent, lists, ctx, limits.explained_terms));
}

}  // namespace quern
