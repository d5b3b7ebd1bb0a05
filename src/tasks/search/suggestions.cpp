// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/suggestions.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/utf8.hpp"
#include "text/near_word_finder.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

constexpr std::size_t max_characters = 64;

std::size_t characters_of(std::string_view word) {
    std::size_t characters = 0;
    for (std::size_t at = 0; at < word.size(); ++characters) next_utf8(word, at);
    return characters;
}

/// Two edits leave too little of a short word: "hotel" is not a misspelt "html".
std::uint32_t max_edits(std::size_t characters) {
    constexpr std::size_t short_word = 6;
    if (characters < 2 || characters > max_characters) return 0;
    return characters < short_word ? 1 : 2;
}

/// Whether a word is the likelier one: each unit of cost divides its likelihood by four; each document that has it adds
/// one share. In integers, so that it is the same everywhere; no cost of two edits exceeds 64 bits.
bool likelier(const suggestion& a, const suggestion& b) {
    constexpr unsigned bits = 2;
    const std::uint32_t least = std::min(a.cost, b.cost);
    const std::uint64_t of_a = a.documents << bits * (b.cost - least);
    const std::uint64_t of_b = b.documents << bits * (a.cost - least);
    return of_a != of_b ? of_a > of_b : a.word < b.word;
}

}  // namespace

std::vector<suggestion> suggestions_in(const searched_words& store, const std::string& unknown,
                                       const context& ctx) {
    std::vector<suggestion> found;
    const std::uint32_t edits = max_edits(characters_of(unknown));
    if (edits == 0) return found;
    for (const auto& of : store.finder->find(unknown, edits, ctx)) {
        std::string word = store.index->dictionary().word(of.id);
        const std::uint32_t cost = text::misspelling_cost(unknown, word);
        found.push_back({std::move(word), of.distance, cost, store.index->document_frequency(of.id)});
    }
    return found;
}

void add_best_suggestions(const std::string& unknown, std::vector<suggestion> found, std::size_t max,
                          std::vector<suggested_words>& suggested) {
    if (found.empty()) return;
    std::ranges::stable_sort(found, {}, &suggestion::word);
    std::vector<suggestion> together;
    for (suggestion& of : found) {
        if (together.empty() || together.back().word != of.word)
            together.push_back(std::move(of));
        else
            together.back().documents += of.documents;
    }
    const std::size_t shown = std::min(max, together.size());
    std::ranges::partial_sort(together, together.begin() + static_cast<std::ptrdiff_t>(shown), likelier);
    auto& made = suggested.emplace_back();
    made.unknown = unknown;
    for (const suggestion& of : std::span(together).first(shown))
        made.words.push_back({of.word, of.distance, of.documents});
}

std::vector<suggested_words> suggest_words(std::span<const searched_words> stores,
                                           std::span<const std::string> unknown, std::size_t max,
                                           const context& ctx) {
    std::vector<suggested_words> suggested;
    for (const std::string& word : unknown.first(std::min(max_suggested_words, unknown.size()))) {
        std::vector<suggestion> found;
        for (const searched_words& store : stores)
            std::ranges::move(suggestions_in(store, word, ctx), std::back_inserter(found));
        add_best_suggestions(word, std::move(found), max, suggested);
    }
    return suggested;
}

}  // namespace quern
