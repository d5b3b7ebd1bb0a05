// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/sharded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "device/cpu/pipeline.hpp"
#include "ops/search/search_impl.hpp"
#include "quern/tasks/shards.hpp"
#include "tasks/search/field_weights.hpp"
#include "tasks/search/suggestions.hpp"
#include "tasks/store/shards_manifest.hpp"

namespace quern {
namespace {

/// What the stores have in common, and sums. Their fields have the same names and types.
store_info info_of(const std::vector<const opened_store*>& stores, const shards_info& described) {
    store_info all = stores.front()->info();
    all.documents = described.documents;
    all.words = described.words;
    all.vocabulary = described.vocabulary;
    all.links = 0;
    all.stages.clear();
    all.sections.clear();
    all.thesaurus.reset();
    all.vectors = {};
    const auto add = [&](std::uint64_t postings, const std::vector<field_info>& fields) {
        all.postings += postings;
        for (field_info& field : all.fields) {
            const auto same = std::ranges::find(fields, field.name, &field_info::name);
            if (same == fields.end()) continue;
            field.documents += same->documents;
            field.values += same->values;
        }
    };
    for (const opened_store* const store : std::span(stores).subspan(1)) {
        add(store->info().postings, store->info().fields);
        all.max_weight = std::max(all.max_weight, store->info().max_weight);
    }
    for (const shard_info& shard : described.shards)
        if (!shard.url.empty()) add(shard.postings, shard.fields);
    return all;
}

}  // namespace

void search_engine::sharded::for_each_shard(std::size_t shards, const context& ctx,
                                            const std::function<void(std::size_t)>& work) {
    if (ctx.thread_count() > 1 && shards > 1) return for_each_index(ctx, shards, work);
    for (std::size_t i = 0; i < shards; ++i) work(i);
}

search_engine::sharded::sharded(const std::filesystem::path& store, std::uint64_t memory,
                                const ask_shards& ask, const context& ctx)
    : asker(ask), query_memory(memory) {
    const shards_info all = read_shards(store);
    described = all.shards;
    std::vector<const opened_store*> opened;
    std::vector<std::shared_ptr<state>> made;  // null: on another machine
    std::uint32_t documents = 0;
    for (const shard_info& shard : described) {
        made.emplace_back();
        first.push_back(documents);
        documents += static_cast<std::uint32_t>(shard.documents);
        if (!shard.url.empty()) {
            has_remote = true;
            continue;
        }
        require_present(store, shard);
        open_as_one(shard.store, [&, share = memory / described.size()] {
            made.back() = std::make_shared<state>(shard.store, share, given_vectors(), ctx);
        });
        require_unchanged(store, shard, made.back()->store.info());
        if (opened.empty()) first_local = made.size() - 1;
        opened.push_back(&made.back()->store);
    }
    if (opened.empty())
        throw usage_error(store.string() +
                          ": all its shards are on other machines (expected one on this machine, "
                          "by whose rules queries are read)");
    if (has_remote && !asker)
        throw usage_error(store.string() +
                          ": some of its shards are on other machines, which only quern search, "
                          "serve and mcp ask");
    if (has_remote && opened.front()->info().listed != word_listing::none)
        throw usage_error(store.string() + ": shards of lists of words must be on this machine");
    const auto statistics = has_remote ? nullptr : std::make_shared<const whole_statistics>(opened);
    for (const auto& shard : made) {
        if (shard != nullptr) shard->statistics = statistics;
        shards.push_back(shard);
    }
    info = info_of(opened, all);
}

usage_error search_engine::sharded::not_with_shards(std::string_view what) {
    return usage_error(
        fmt::format("a sharded store does not have {}, which needs one store (quern merge makes one)", what));
}

void search_engine::sharded::check(const search_options& options) {
    const std::pair<bool, std::string_view> refused[] = {
        {options.prior != 0, "link ranks (prior)"},
        {options.expand != 0, "a thesaurus (expand)"},
        {options.like.has_value(), "vectors of documents (like)"},
        {!options.vector.empty(), "hybrid search (vectors)"},
        {options.feedback != feedback_method::none, "words of the best documents (feedback)"},
        {options.order > 1 && options.ngrams == order_model::history, "words after a history (order_model)"},
        {weighs_fields(options), "weights of fields (field_weights, field_b)"},
    };
    for (const auto& [given, what] : refused)
        if (given) throw not_with_shards(what);
}

const search_engine::prepared& search_engine::sharded::of_shard(const prepared& lists, std::size_t shard) {
    return shard == 0 || lists.others.empty() ? lists : *lists.others[shard - 1];
}

search_engine::sharded::plans search_engine::sharded::plan(std::string_view query,
                                                           const search_options& options,
                                                           const prepared& lists, const context& ctx) const {
    plans planned(shards.size());
    for_each_shard(shards.size(), ctx, [&](std::size_t i) {
        planned[i] = shards[i]->plan(query, options, of_shard(lists, i), ctx, true);
    });
    std::vector<whole_counts> sums;
    for (const auto& of : planned) {
        const std::vector<whole_counts> counts = of->planned.counts();
        if (sums.empty()) sums.resize(counts.size());
        if (sums.size() != counts.size()) throw std::logic_error("shards plan a query differently");
        for (std::size_t t = 0; t < counts.size(); ++t) {
            sums[t].documents += counts[t].documents;
            sums[t].occurrences += counts[t].occurrences;
        }
    }
    std::vector<std::vector<search_detail::shard_bounds>> bounds(shards.size());
    for_each_shard(shards.size(), ctx, [&](std::size_t i) {
        planned[i]->planned.set_whole_counts(sums);
        bounds[i] = planned[i]->planned.bounds(options.ranking);
    });
    for (const auto& of : std::span(bounds).subspan(1))
        for (std::size_t b = 0; b < of.size(); ++b) bounds.front()[b].add(of[b]);
    for_each_shard(shards.size(), ctx, [&](std::size_t i) {
        planned[i]->planned.finish(bounds.front(), options, true);
        state::point_at_plan(*planned[i], options, of_shard(lists, i));
    });
    return planned;
}

std::vector<scored_document> search_engine::sharded::merged(
    std::vector<std::vector<scored_document>> rankings, std::size_t k, const prepared& lists) const {
    const auto ranks_before = [&](const scored_document& a, const scored_document& b) {
        if (lists.order) {
            const std::size_t one = shard_of(a.document), two = shard_of(b.document);
            const int order = of_shard(lists, one)
                                  .order->compare(a.document - first[one], *of_shard(lists, two).order,
                                                  b.document - first[two]);
            if (order != 0) return order < 0;
        }
        return search_detail::ranks_before(a, b);
    };
    std::vector<scored_document> all;
    for (std::size_t i = 0; i < rankings.size(); ++i) {
        const auto before = static_cast<std::ptrdiff_t>(all.size());
        for (const scored_document& of : rankings[i]) all.push_back({of.document + first[i], of.fixed_score});
        std::inplace_merge(all.begin(), all.begin() + before, all.end(), ranks_before);
        all.resize(std::min(all.size(), k));
    }
    return all;
}

std::optional<search_result> search_engine::sharded::plain_result(std::string_view query,
                                                                  const search_options& options,
                                                                  const prepared& lists,
                                                                  const context& ctx) const {
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (!of_shard(lists, i).known) return {};
    std::vector<std::optional<state::plain_ranking>> found(shards.size());
    for_each_shard(shards.size(), ctx, [&](std::size_t i) {
        found[i] = shards[i]->rank_plain(query, options, of_shard(lists, i), ctx);
    });
    if (!std::ranges::all_of(found, [](const auto& of) { return of.has_value(); })) return {};
    search_result result;
    result.opened = shared_from_this();
    result.unknown_words = std::move(found.front()->unknown);
    result.syntax = found.front()->syntax;
    std::vector<std::vector<scored_document>> rankings;
    for (auto& of : found) {
        if (of->total) result.total = result.total.value_or(0) + *of->total;
        rankings.push_back(std::move(of->ranking));
    }
    const std::vector<scored_document> ranking = merged(std::move(rankings), options.k, lists);
    for (std::size_t i = options.offset; i < ranking.size(); ++i) {
        scored_document local = ranking[i];
        const state& shard = shard_with(local.document);
        result.hits.push_back(shard.hit(local, static_cast<std::uint32_t>(i + 1)));
        result.hits.back().document = ranking[i].document;
    }
    return result;
}

std::vector<search_hit> search_engine::sharded::hits(std::span<const scored_document> ranking,
                                                     const plans& planned, const search_options& options,
                                                     const prepared& lists, const context& ctx) const {
    const std::size_t begin = std::min(options.offset, ranking.size());
    std::vector<search_hit> hits(ranking.size() - begin);
    std::vector<std::vector<std::size_t>> of_shards(shards.size());  // places in the ranking
    for (std::size_t i = begin; i < ranking.size(); ++i)
        of_shards[shard_of(ranking[i].document)].push_back(i);
    for_each_shard(shards.size(), ctx, [&](std::size_t s) {
        if (options.explain) shards[s]->check_explanations(of_shards[s].size(), *planned[s]);
        for (const std::size_t i : of_shards[s]) {
            scored_document local = ranking[i];
            local.document -= first[s];
            hits[i - begin] = shards[s]->shown_hit(*planned[s], local, static_cast<std::uint32_t>(i + 1),
                                                   options, of_shard(lists, s), ctx);
            hits[i - begin].document = ranking[i].document;
        }
    });
    return hits;
}

std::vector<search_facet> search_engine::sharded::facets(const plans& planned, const search_options& options,
                                                         const prepared& lists, search_result& result,
                                                         const context& ctx) const {
    std::vector<std::vector<std::uint32_t>> documents(shards.size());
    for_each_shard(shards.size(), ctx, [&](std::size_t i) {
        documents[i] = shards[i]->matching(*planned[i], of_shard(lists, i));
    });
    std::vector<facet_counter::found_documents> found;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        found.push_back({&*of_shard(lists, i).facets, documents[i]});
        total += documents[i].size();
    }
    if (options.total || options.count) result.total = total;
    return facet_counter::count(found, options.facet_values, query_memory, ctx);
}

std::vector<found_variants> search_engine::sharded::joined(
    const std::vector<const std::vector<found_variants>*>& of) {
    std::vector<found_variants> all;
    for (std::size_t i = 0; i < of.front()->size(); ++i) {
        std::map<std::string_view, suggested_words::known> words;
        for (const auto* const variants : of) {
            for (const suggested_words::known& word : (*variants)[i].words) {
                const auto [at, is_new] = words.try_emplace(word.word, word);
                if (!is_new) at->second.documents += word.documents;
            }
        }
        if (words.empty()) continue;
        auto& made = all.emplace_back();
        made.word = (*of.front())[i].word;
        for (auto& [word, known] : words) made.words.push_back(std::move(known));
        sort_variants(made.words);
    }
    return all;
}

search_result search_engine::sharded::result(std::string_view query, const search_options& options,
                                             const prepared& lists, const context& ctx) const {
    if (has_remote) return result_in_steps(query, options, lists, ctx);
    if (auto plain = plain_result(query, options, lists, ctx)) return std::move(*plain);
    const plans planned = plan(query, options, lists, ctx);
    const planned_query& one = *planned.front();
    search_result result;
    result.opened = shared_from_this();
    result.empty_query = one.planned.empty() && !one.finds_all;
    result.unknown_words = one.planned.unknown();
    result.syntax = one.planned.syntax();
    result.syntax_note = one.planned.syntax_note();
    std::vector<const std::vector<found_variants>*> variants;
    for (const auto& of : planned) {
        variants.push_back(&of->planned.variants());
        std::ranges::copy(of->planned.variant_words(), std::back_inserter(result.variant_words));
    }
    std::ranges::sort(result.variant_words);
    result.variant_words.erase(std::ranges::unique(result.variant_words).begin(), result.variant_words.end());
    result.variants = joined(variants);
    if (lists.facets) {
        result.facets = facets(planned, options, lists, result, ctx);
    } else if (options.total || options.count) {
        std::vector<std::uint64_t> found(shards.size());
        for_each_shard(shards.size(), ctx, [&](std::size_t i) {
            found[i] = shards[i]->count_found(*planned[i], of_shard(lists, i));
        });
        result.total = 0;
        for (const std::uint64_t documents : found) *result.total += documents;
    }
    if (options.suggestions != 0) {
        std::vector<searched_words> words;
        for (const auto& shard : shards) words.push_back({&shard->store.words(), &shard->near.words});
        result.suggestions = suggest_words(words, one.planned.unknown_words(), options.suggestions, ctx);
    }
    if (options.count) return result;
    std::vector<std::vector<scored_document>> rankings(shards.size());
    for_each_shard(shards.size(), ctx, [&](std::size_t i) {
        const prepared& of = of_shard(lists, i);
        const std::size_t k = of.order ? shards[i]->store.info().documents : options.k;
        rankings[i] = shards[i]->ranked(*planned[i], options, of, k, ctx);
        if (of.order) of.order->keep_first(rankings[i], options.k);
    });
    result.hits = hits(merged(std::move(rankings), options.k, lists), planned, options, lists, ctx);
    return result;
}

std::optional<std::uint32_t> search_engine::sharded::find(std::string_view id, const context& ctx) const {
    if (has_remote) return find_in_steps(id, ctx);
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (const auto found = shards[i]->finder(ctx).find(id)) return first[i] + *found;
    return {};
}

std::size_t search_engine::sharded::shard_of(std::uint32_t document) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(first, document) - first.begin()) - 1;
}

const search_engine::state& search_engine::sharded::shard_with(std::uint32_t& document) const {
    const std::size_t shard = shard_of(document);
    if (shards[shard] == nullptr) throw needs_local_shards("a document's id by its number");
    document -= first[shard];
    return *shards[shard];
}

void search_engine::sharded::warm_up() const {
    for (const auto& shard : shards) {
        if (shard == nullptr) continue;
        shard->analyzers.local();
        shard->finder(context());
    }
}

}  // namespace quern
