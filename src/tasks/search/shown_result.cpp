// SPDX-License-Identifier: Apache-2.0
// What is shown of a ranking: the hits with their snippets, explanations and near-duplicates.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/snippet.hpp"
#include "tasks/search/suggestions.hpp"
#include "text/word_places.hpp"

namespace quern {
namespace {

constexpr std::size_t snippet_bytes = 240;
constexpr std::size_t other_lists = 2;        // besides the words': the prior and the similarity
constexpr std::size_t piece_bytes = 1 << 20;  // of a long text: its words are not all in memory

double as_double(std::int64_t fixed) {
    return static_cast<double>(fixed) * 0x1p-32;
}

}  // namespace

bool search_engine::state::can_recognise_words() const {
    std::call_once(recognise_once, [this] {
        recognises = !store.info().verbatim && text::word_places::can_recognise(store.info().text);
    });
    return recognises;
}

std::string search_engine::state::snippet_of(std::uint32_t document, const query_plan& planned,
                                             const context& ctx) const {
    if (store.info().listed != word_listing::none) return {};
    const std::shared_ptr<const std::string> kept = texts.text(store, document);
    const std::string_view text = *kept;
    text::token_list& words = token_lists.local();
    const sought_terms sought = planned.sought();
    snippet_finder finder(sought);
    std::optional<text::word_places> places;
    if (can_recognise_words() && sought.phrases.empty() &&
        sought.words.size() <= text::word_places::max_words)
        places.emplace(sought.words);
    const auto look_through = [&](std::size_t begin, std::size_t end) {
        words_of(text.substr(begin, end - begin), words);
        finder.look_through(words, begin);
    };
    for (std::size_t begin = 0; begin < text.size();) {
        ctx.check_stop();
        const std::string_view rest = text.substr(begin);
        const std::size_t bytes = first_piece(rest, piece_bytes);
        if (places) {
            for (const auto& part : places->find(rest.substr(0, bytes)))
                look_through(begin + part.begin, begin + part.end);
        } else {
            look_through(begin, begin + bytes);
        }
        begin += bytes;
    }
    return finder.passage(text, snippet_bytes);
}

search_hit search_engine::state::hit(const scored_document& scored, std::uint32_t rank) const {
    search_hit hit;
    hit.rank = rank;
    hit.document = scored.document;
    hit.score = scored.score();
    hit.id = store.id(scored.document);
    hit.title = store.title(scored.document);
    hit.words = store.collection().document_lengths[scored.document];
    return hit;
}

search_result search_engine::state::result(const planned_query& of, std::span<const scored_document> ranking,
                                           const search_options& options, const prepared& lists,
                                           const context& ctx,
                                           const std::vector<std::uint32_t>* fused) const {
    const query_plan& planned = of.planned;
    search_result result;
    result.opened = shared_from_this();
    result.empty_query = planned.empty() && !of.finds_all;
    result.unknown_words = planned.unknown();
    result.similar_words = planned.similar();
    result.variants = planned.variants();
    result.variant_words = planned.variant_words();
    result.syntax = planned.syntax();
    result.syntax_note = planned.syntax_note();
    if (lists.facets) {
        const auto found = fused != nullptr ? *fused : matching(of, lists);
        if (options.total || options.count) result.total = found.size();
        result.facets = lists.facets->count(found, options.facet_values, query_memory, ctx);
    } else if (fused != nullptr) {
        if (options.total || options.count) result.total = fused->size();
    } else if (options.total || options.count) {
        result.total = count_found(of, lists);
    }
    if (options.suggestions != 0) {
        const searched_words own[] = {{&store.words(), &near.words}};
        result.suggestions = suggest_words(own, planned.unknown_words(), options.suggestions, ctx);
    }
    const std::size_t shown = ranking.size() - std::min(options.offset, ranking.size());
    if (options.explain) check_explanations(shown, of);
    result.hits.reserve(shown);
    for (std::size_t i = options.offset; i < ranking.size(); ++i)
        result.hits.push_back(
            shown_hit(of, ranking[i], static_cast<std::uint32_t>(i + 1), options, lists, ctx));
    return result;
}

void search_engine::state::check_explanations(std::size_t hits, const planned_query& of) const {
    const std::uint64_t bytes = hits * (of.planned.max_explained() + other_lists) * sizeof(explained_term);
    if (bytes > query_memory)
        throw out_of_memory(fmt::format("the explanations of {} results", hits), bytes, query_memory);
}

search_hit search_engine::state::shown_hit(const planned_query& of, const scored_document& scored,
                                           std::uint32_t rank, const search_options& options,
                                           const prepared& lists, const context& ctx) const {
    ctx.check_stop();
    const query_plan& planned = of.planned;
    const search_query& searched = of.whole;
    const std::uint32_t document = scored.document;
    const auto explained = [&] {
        auto terms = planned.explain(options.ranking, document);
        if (searched.prior) {
            auto& made = terms.emplace_back();
            made.list = explained_list::prior;
            made.term = "link rank";
            made.weight = options.prior;
            made.value = lists.ranks->over_average(document);
            made.score = made.part = as_double(prior_part(*searched.prior, document));
        }
        if (searched.boosts && (*searched.boosts)[document] != no_boost) {
            auto& made = terms.emplace_back();
            made.list = explained_list::like;
            made.term = store.id(lists.like->document());
            made.weight = options.like_weight;
            made.value = lists.like->cosine(document);
            made.score = made.part = as_double((*searched.boosts)[document]);
        }
        return terms;
    };
    search_hit shown = hit(scored, rank);
    if (options.snippets) shown.snippet = snippet_of(document, planned, ctx);
    if (options.explain) shown.explanation = explained();
    if (options.fields && store.fields()) shown.fields = store.fields()->json(document);
    if (options.duplicates) add_duplicates(shown, planned);
    return shown;
}

void search_engine::state::add_duplicates(search_hit& hit, const query_plan& planned) const {
    if (store.duplicates().size() == 0) return;
    const std::vector<document_duplicates::copy> duplicates = store.duplicates().of(hit.document);
    hit.duplicate_count = duplicates.size();
    std::vector<std::pair<std::size_t, std::size_t>> order;  // missing words of the query, near-duplicate
    text::token_list& title = token_lists.local();
    for (std::size_t i = 0; i < duplicates.size(); ++i) {
        words_of(duplicates[i].title, title);
        const auto is_present = [&](std::string_view word) {
            return std::ranges::any_of(title.tokens,
                                       [&](const text::token& t) { return title.word(t) == word; });
        };
        order.emplace_back(std::ranges::count_if(planned.words(), std::not_fn(is_present)), i);
    }
    const std::size_t shown = std::min(max_hit_duplicates, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown));
    for (const auto& [missing, i] : std::span(order).first(shown))
        hit.duplicates.push_back({duplicates[i].id, duplicates[i].title, duplicates[i].distance});
}

}  // namespace quern
