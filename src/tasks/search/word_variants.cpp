// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/word_variants.hpp"

#include <algorithm>
#include <iterator>

#include "base/utf8.hpp"
#include "tasks/search/folded_words.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

using finder = decltype(&text::near_words);

/// The words of one index by distance, without the word itself.
void add_near(const word_index& index, const variant_request& request, finder find, const context& ctx,
              std::vector<std::uint32_t> store_words::*ids, std::vector<variant_tier>& tiers) {
    const std::string& word = find == &text::near_words ? request.word : request.beginning;
    for (const text::near_word& near : find(index.dictionary(), word, request.edits, ctx))
        if (near.distance != 0) (tiers[near.distance - 1].words.*ids).push_back(near.id);
}

std::vector<variant_tier> near_tiers(const opened_store& store, const variant_request& request, finder find,
                                     const context& ctx) {
    std::vector<variant_tier> tiers(request.edits);
    for (std::uint32_t i = 0; i < request.edits; ++i) tiers[i].distance = i + 1;
    add_near(store.words(), request, find, ctx, &store_words::ids, tiers);
    add_near(store.title_words(), request, find, ctx, &store_words::title_ids, tiers);
    return tiers;
}

void drop(store_words& words, const opened_store& store, std::string_view word) {
    if (const auto id = store.words().dictionary().find(word)) std::erase(words.ids, *id);
    if (const auto id = store.title_words().dictionary().find(word)) std::erase(words.title_ids, *id);
}

}  // namespace

std::uint32_t max_typos(std::string_view word) {
    constexpr std::size_t one_edit = 4, two_edits = 8, too_long = 65;
    std::size_t characters = 0;
    for (std::size_t at = 0; at < word.size() && characters < too_long; ++characters) next_utf8(word, at);
    if (characters < one_edit || characters >= too_long) return 0;
    return characters < two_edits ? 1 : 2;
}

std::vector<variant_tier> variants_of(const opened_store& store, const variant_request& request,
                                      const folded_words* folded, const context& ctx) {
    std::vector<variant_tier> tiers;
    finder find = &text::near_words;
    if (!request.beginning.empty()) {
        auto& completions = tiers.emplace_back();
        completions.words = folded == nullptr ? words_beginning_with(store, request.beginning)
                                              : folded->beginning_with(request.beginning);
        const bool begins_none = completions.words.empty();
        drop(completions.words, store, request.word);
        if (begins_none && !has_word(store, request.word)) find = &text::near_beginnings;
    }
    if (request.edits != 0)
        std::ranges::move(near_tiers(store, request, find, ctx), std::back_inserter(tiers));
    std::erase_if(tiers, [](const variant_tier& tier) { return tier.words.empty(); });
    return tiers;
}

}  // namespace quern
