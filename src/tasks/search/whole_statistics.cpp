// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/whole_statistics.hpp"

#include <algorithm>
#include <utility>

#include "tasks/search/folded_words.hpp"
#include "tasks/search/part_lists.hpp"

namespace quern {

whole_statistics::whole_statistics(std::vector<const opened_store*> shards) : shards_(std::move(shards)) {
    for (const opened_store* const shard : shards_) {
        collection_.documents += shard->info().documents;
        collection_.occurrences += shard->info().words;
        max_weight_ = std::max(max_weight_, shard->info().max_weight);
    }
}

whole_counts whole_statistics::of_word(std::string_view word) const {
    if (vocabulary_ != nullptr) {
        const auto at = vocabulary_->words.find(word);
        return at == vocabulary_->words.end() ? whole_counts() : at->second.counts;
    }
    whole_counts sum;
    for (const opened_store* const shard : shards_) {
        const word_index& words = shard->words();
        const auto id = words.dictionary().find(word);
        if (!id) continue;
        sum.documents += words.document_frequency(*id);
        sum.occurrences += words.collection_frequency(*id);
    }
    return sum;
}

bool whole_statistics::begins(const std::string& beginning,
                              std::span<const folded_words* const> folded) const {
    if (vocabulary_ != nullptr) {
        const auto at = vocabulary_->beginnings.find(beginning);
        return at != vocabulary_->beginnings.end() && at->second;
    }
    if (!folded.empty())
        return std::ranges::any_of(folded,
                                   [&](const auto* of) { return !of->beginning_with(beginning).empty(); });
    return std::ranges::any_of(shards_,
                               [&](const auto* of) { return !words_beginning_with(*of, beginning).empty(); });
}

bool whole_statistics::has_others(std::string_view word, std::span<const folded_words* const> folded) const {
    if (vocabulary_ != nullptr) {
        const auto at = vocabulary_->words.find(word);
        return at != vocabulary_->words.end() && at->second.has_others;
    }
    return std::ranges::any_of(folded, [&](const auto* of) { return of->has_others(word); });
}

bool whole_statistics::has_like(std::string_view word, std::span<const folded_words* const> folded) const {
    if (vocabulary_ != nullptr) {
        const auto at = vocabulary_->words.find(word);
        return at != vocabulary_->words.end() && at->second.has_like;
    }
    return std::ranges::any_of(folded, [&](const auto* of) { return !of->like(word).empty(); });
}

void query_vocabulary::add(const query_vocabulary& other) {
    for (const auto& [word, of] : other.words) {
        word_entry& here = words[word];
        here.counts.documents += of.counts.documents;
        here.counts.occurrences += of.counts.occurrences;
        here.has_others |= of.has_others;
        here.has_like |= of.has_like;
    }
    for (const auto& [beginning, begins] : other.beginnings) beginnings[beginning] |= begins;
}

}  // namespace quern
