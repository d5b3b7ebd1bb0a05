// SPDX-License-Identifier: Apache-2.0
#include "ops/search/proximity.hpp"

#include <algorithm>
#include <limits>

#include "ops/search/document_filter.hpp"

namespace quern::search_detail {
namespace {

/// A word of the phrase with its places there and in the document, both ascending.
struct placed_word {
    std::uint32_t word;
    std::vector<std::uint32_t> in_phrase, in_document;
};

/// Whether the word has a position of its own for each of its places in the phrase. Taking the first free one for each in
/// turn finds them if they exist, because all ranges have the same length.
bool fits(const placed_word& of, std::int64_t start, std::uint32_t slop) {
    auto next = of.in_document.begin();
    for (const std::uint32_t place : of.in_phrase) {
        const std::int64_t first = start + place, last = first + slop;
        next = std::lower_bound(next, of.in_document.end(), first,
                                [](std::uint32_t position, std::int64_t from) { return position < from; });
        if (next == of.in_document.end() || *next > last) return false;
        ++next;
    }
    return true;
}

}  // namespace

std::uint32_t count_places(std::span<const std::uint32_t> document, std::span<const std::uint32_t> phrase,
                           std::uint32_t slop) {
    std::vector<placed_word> words;
    for (std::uint32_t i = 0; i < phrase.size(); ++i) {
        auto at = std::ranges::find(words, phrase[i], &placed_word::word);
        if (at == words.end()) at = words.insert(words.end(), {phrase[i], {}, {}});
        at->in_phrase.push_back(i);
    }
    for (std::uint32_t position = 0; position < document.size(); ++position) {
        for (placed_word& of : words)
            if (of.word == document[position]) of.in_document.push_back(position);
    }
    std::vector<std::int64_t> starts;
    for (const placed_word& of : words) {
        if (of.in_document.size() < of.in_phrase.size()) return 0;
        for (const std::uint32_t place : of.in_phrase)
            for (const std::uint32_t position : of.in_document)
                starts.push_back(std::int64_t{position} - place);
    }
    std::ranges::sort(starts);
    starts.erase(std::ranges::unique(starts).begin(), starts.end());
    std::uint32_t places = 0;
    for (const std::int64_t start : starts)
        places += std::ranges::all_of(words, [&](const placed_word& of) { return fits(of, start, slop); });
    return places;
}

std::vector<phrase_posting> find_near(const collection_view& collection, const token_stream& tokens,
                                      std::span<const phrase_word> phrase, std::uint32_t slop,
                                      const context* ctx) {
    if (phrase.empty()) return {};
    condition every{condition::kind::all};
    std::vector<std::uint32_t> ids, document;
    for (const phrase_word& word : phrase) {
        if (std::ranges::find(ids, word.word) == ids.end()) every.members.push_back(one_of(word.list));
        ids.push_back(word.word);
    }
    std::vector<phrase_posting> found;
    for (const std::uint32_t candidate : matching_documents(collection, every, ctx)) {
        if (ctx != nullptr) ctx->check_stop();
        document.clear();
        tokens.code->decode(tokens.words_of(candidate), document);
        const std::uint32_t places = count_places(document, ids, slop);
        if (places != 0) found.push_back({candidate, places, 0});
    }
    return found;
}

std::vector<phrase_posting> find_window(const collection_view& collection, const token_stream& tokens,
                                        const phrase_word& a, const phrase_word& b, std::uint32_t window,
                                        const context* ctx) {
    condition both{condition::kind::all};
    both.members.push_back(one_of(a.list));
    if (a.word != b.word) both.members.push_back(one_of(b.list));
    std::vector<std::uint32_t> document;
    std::vector<phrase_posting> found;
    for (const std::uint32_t candidate : matching_documents(collection, both, ctx)) {
        if (ctx != nullptr) ctx->check_stop();
        document.clear();
        tokens.code->decode(tokens.words_of(candidate), document);
        // From the end: where each word occurs next.
        std::size_t next_a = document.size(), next_b = document.size();
        std::uint32_t count = 0;
        for (std::size_t at = document.size(); at-- > 0;) {
            const bool is_a = document[at] == a.word, is_b = document[at] == b.word;
            const std::size_t other = is_a ? next_b : next_a;
            if ((is_a || is_b) && other < document.size() && other - at < window) ++count;
            if (is_a) next_a = at;
            if (is_b) next_b = at;
        }
        if (count != 0) found.push_back({candidate, count, 0});
    }
    return found;
}

}  // namespace quern::search_detail
