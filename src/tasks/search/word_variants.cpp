// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/word_variants.hpp"

#include <algorithm>
#include <iterator>

#include "base/utf8.hpp"
#include "tasks/search/folded_words.hpp"
#include "text/near_word_finder.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

using near_list = std::vector<text::near_word>;

/// Words by distance, without the word itself.
void add_near(const near_list& found, std::vector<std::uint32_t> store_words::*ids,
              std::vector<variant_tier>& tiers) {
    for (const text::near_word& near : found)
        if (near.distance != 0) (tiers[near.distance - 1].words.*ids).push_back(near.id);
}

std::vector<variant_tier> near_tiers(const opened_store& store, const variant_request& request,
                                     bool of_beginnings, const near_finders& near, const context& ctx) {
    std::vector<variant_tier> tiers(request.edits);
    for (std::uint32_t i = 0; i < request.edits; ++i) tiers[i].distance = i + 1;
    const auto find = [&](const text::near_word_finder& finder, const word_index& index) {
        return of_beginnings
                   ? text::near_beginnings(index.dictionary(), request.beginning, request.edits, ctx)
                   : finder.find(request.word, request.edits, ctx);
    };
    add_near(find(near.words, store.words()), &store_words::ids, tiers);
    add_near(find(near.title_words, store.title_words()), &store_words::title_ids, tiers);
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
                                      const folded_words* folded, const near_finders& near,
                                      const context& ctx) {
    std::vector<variant_tier> tiers;
    bool of_beginnings = false;
    if (!request.beginning.empty()) {
        auto& completions = tiers.emplace_back();
        completions.words = folded == nullptr ? words_beginning_with(store, request.beginning)
                                              : folded->beginning_with(request.beginning);
        const bool begins_none = completions.words.empty();
        drop(completions.words, store, request.word);
        of_beginnings = begins_none && !has_word(store, request.word);
    }
    if (request.edits != 0)
        std::ranges::move(near_tiers(store, request, of_beginnings, near, ctx), std::back_inserter(tiers));
    std::erase_if(tiers, [](const variant_tier& tier) { return tier.words.empty(); });
    return tiers;
}

}  // namespace quern
