// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/suggestions.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

constexpr std::size_t most_words = 8, most_characters = 64;

std::size_t characters_of(std::string_view word) {
    std::size_t characters = 0;
    for (std::size_t at = 0; at < word.size(); ++characters) next_utf8(word, at);
    return characters;
}

/// The nearest ones: with one edit first, which takes a small part of the time that two take.
std::vector<text::near_word> nearest(const text::dictionary_view& words, const std::string& unknown,
                                     const context& run) {
    const std::size_t characters = characters_of(unknown);
    if (characters > most_characters) return {};
    const std::uint32_t bound = characters < 4 ? 1 : 2;
    // Of a word of one letter nothing is left when that is another.
    for (std::uint32_t edits = 1; edits <= bound && edits < characters; ++edits) {
        auto near = text::near_words(words, unknown, edits, run);
        if (!near.empty()) return near;
    }
    return {};
}

}  // namespace

std::vector<suggested_words> suggest_words(const word_index& index, std::span<const std::string> unknown,
                                           std::size_t most, const context& run) {
    std::vector<suggested_words> suggested;
    for (const std::string& word : unknown.first(std::min(most_words, unknown.size()))) {
        const auto near = nearest(index.dictionary(), word, run);
        if (near.empty()) continue;
        struct counted {
            std::uint64_t documents;
            text::near_word word;
        };
        std::vector<counted> by_documents;
        by_documents.reserve(near.size());
        for (const auto& of : near) by_documents.push_back({index.postings(of.id).document_frequency, of});
        std::ranges::stable_sort(by_documents, std::ranges::greater(), &counted::documents);
        if (by_documents.size() > most) by_documents.resize(most);
        auto& made = suggested.emplace_back();
        made.unknown = word;
        for (const auto& [documents, of] : by_documents)
            made.words.push_back({index.dictionary().word(of.id), of.distance, documents});
    }
    return suggested;
}

}  // namespace quern
