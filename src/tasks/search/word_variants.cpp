// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/word_variants.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/utf8.hpp"
#include "tasks/search/folded_words.hpp"
#include "text/dictionary.hpp"
#include "text/folding.hpp"
#include "text/near_word_finder.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

void add_ids(std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from) {
    to.insert(to.end(), from.begin(), from.end());
    std::ranges::sort(to);
}

/// Words by distance, without the word itself. `folded`: words count by their forms without accents.
std::vector<variant_tier> near_tiers(const opened_store& store, const variant_request& request,
                                     bool of_beginnings, const folded_words* folded, const near_finders& near,
                                     const context& ctx) {
    std::vector<variant_tier> tiers(request.edits);
    for (std::uint32_t i = 0; i < request.edits; ++i) tiers[i].distance = i + 1;
    std::string word = of_beginnings ? request.beginning : request.word;
    if (folded != nullptr) word = text::without_accents(word);
    const auto add_near = [&](const text::near_word_finder& finder, const word_index& index,
                              std::vector<std::uint32_t> store_words::*ids) {
        const text::dictionary_view& words = index.dictionary();
        for (const text::near_word& of : of_beginnings
                                             ? text::near_beginnings(words, word, request.edits, ctx)
                                             : finder.find(word, request.edits, ctx)) {
            if (of.distance == 0) continue;
            if (folded != nullptr && text::without_accents(words.word(of.id)) != words.word(of.id)) continue;
            (tiers[of.distance - 1].words.*ids).push_back(of.id);
        }
    };
    add_near(near.words, store.words(), &store_words::ids);
    add_near(near.title_words, store.title_words(), &store_words::title_ids);
    if (folded == nullptr) return tiers;
    for (const auto& of : folded->near(word, request.edits, of_beginnings, ctx)) {
        if (of.distance == 0) continue;
        add_ids(tiers[of.distance - 1].words.ids, of.words->ids);
        add_ids(tiers[of.distance - 1].words.title_ids, of.words->title_ids);
    }
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
                                      bool of_beginnings, const folded_words* folded,
                                      const near_finders& near, const context& ctx) {
    std::vector<variant_tier> tiers;
    if (!request.beginning.empty()) {
        auto& completions = tiers.emplace_back();
        completions.words = folded == nullptr ? words_beginning_with(store, request.beginning)
                                              : folded->beginning_with(request.beginning);
        drop(completions.words, store, request.word);
    }
    if (request.edits != 0)
        std::ranges::move(near_tiers(store, request, of_beginnings, folded, near, ctx),
                          std::back_inserter(tiers));
    return tiers;
}

}  // namespace quern
