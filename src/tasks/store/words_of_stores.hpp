// SPDX-License-Identifier: Apache-2.0
// The words of several stores together, each once: their dictionaries are in the same order, and so are walked side by side.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"
#include "tasks/store/opened_store.hpp"
#include "text/dictionary.hpp"

namespace quern {

/// Calls take(word, counts) for each word that begins with `prefix`, in byte order. `word` is valid until the next call;
/// `counts`: its documents and occurrences in all stores. `stores`: a range of pointers to them. Throws `interrupted`.
/// Cost: the letters of these words in each store, times the number of stores.
template <typename Stores, typename Take>
void for_each_word(const Stores& stores, std::string_view prefix, const context& ctx, const Take& take) {
    constexpr std::uint64_t between_checks = 65'536;
    struct walked {
        const word_index& index;
        std::uint32_t id, end;
        text::dictionary_view::walker words;
        std::optional<std::string_view> word;

        void advance() { word = ++id < end ? words.next() : std::nullopt; }
    };
    std::deque<walked> walks;
    for (const opened_store* const store : stores) {
        const word_index& index = store->words();
        const auto [begin, end] = prefix.empty() ? std::pair(std::uint32_t{0}, index.dictionary().size())
                                                 : index.dictionary().with_prefix(prefix);
        if (begin == end) continue;
        auto& walk = walks.emplace_back(
            index, begin, end, text::dictionary_view::walker(index.dictionary(), begin), std::nullopt);
        walk.word = walk.words.next();
    }
    std::string word;
    for (std::uint64_t words = 0;; ++words) {
        if (words % between_checks == 0) ctx.check_stop();
        const walked* first = nullptr;
        for (const walked& of : walks)
            if (of.word && (first == nullptr || *of.word < *first->word)) first = &of;
        if (first == nullptr) return;
        word = *first->word;
        whole_counts counts;
        for (walked& of : walks) {
            if (of.word != word) continue;
            counts.documents += of.index.document_frequency(of.id);
            counts.occurrences += of.index.collection_frequency(of.id);
            of.advance();
        }
        take(std::string_view(word), counts);
    }
}

}  // namespace quern
