// SPDX-License-Identifier: Apache-2.0
// Completion of the last word from the vocabulary. Words that begin so are a range of the dictionary, so that only the
// numbers of their documents are read; the letters of the best are read at the end. Shards have ids of their own, so that
// their words are compared by letters.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/tasks/search_option_table.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/sharded.hpp"
#include "tasks/search/word_variants.hpp"
#include "tasks/store/words_of_stores.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

struct candidate {
    std::uint32_t id, distance, documents;
};

/// Ids follow the bytes of the words.
bool before(const candidate& a, const candidate& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return a.documents != b.documents ? a.documents > b.documents : a.id < b.id;
}

/// Of a beginning with which no word begins: how many edits away others may be.
std::uint32_t edits_of(const std::string& beginning, typo_tolerance typos) {
    if (typos == typo_tolerance::never) return 0;
    const std::uint32_t edits = max_typos(beginning);
    return typos == typo_tolerance::one ? std::min(edits, 1U) : edits;
}

std::vector<candidate> candidates(const word_index& index, const std::string& beginning, typo_tolerance typos,
                                  const context& ctx) {
    std::vector<candidate> found;
    const auto [first, last] = index.dictionary().with_prefix(beginning);
    found.reserve(last - first);
    for (std::uint32_t id = first; id < last; ++id) found.push_back({id, 0, index.document_frequency(id)});
    const std::uint32_t edits = found.empty() ? edits_of(beginning, typos) : 0;
    if (edits == 0) return found;
    for (const text::near_word& near : text::near_beginnings(index.dictionary(), beginning, edits, ctx))
        found.push_back({near.id, near.distance, index.document_frequency(near.id)});
    return found;
}

void complete_from(const word_index& index, const completion_options& options, const context& ctx,
                   completion_result& result) {
    std::vector<candidate> found = candidates(index, result.beginning, options.typos, ctx);
    result.total = found.size();
    const std::size_t shown = std::min(options.k, found.size());
    std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(shown), before);
    result.words.reserve(shown);
    for (const candidate& of : std::span(found).first(shown))
        result.words.push_back({index.dictionary().word(of.id), of.documents,
                                index.postings(of.id).collection_frequency, of.distance});
}

/// The best of the words that are added, in byte order.
class best_words {
  public:
    explicit best_words(completion_result& result, std::size_t k) : result_(result), k_(k) {}
    void add(std::string_view word, const whole_counts& counts, std::uint32_t distance) {
        ++result_.total;
        std::vector<completed_word>& best = result_.words;
        const auto is_worse = [&](const completed_word& of) {
            return of.distance != distance ? of.distance > distance : of.documents < counts.documents;
        };
        const auto at = std::ranges::find_if(best, is_worse);
        if (at == best.end() && best.size() >= k_) return;
        best.insert(at, {std::string(word), counts.documents, counts.occurrences, distance});
        if (best.size() > k_) best.pop_back();
    }

  private:
    completion_result& result_;
    std::size_t k_;
};

void complete_from(std::span<const opened_store* const> shards, const completion_options& options,
                   const context& ctx, completion_result& result) {
    best_words best(result, options.k);
    for_each_word(shards, result.beginning, ctx,
                  [&](std::string_view word, const whole_counts& counts) { best.add(word, counts, 0); });
    const std::uint32_t edits = result.total == 0 ? edits_of(result.beginning, options.typos) : 0;
    if (edits == 0) return;
    std::map<std::string, std::pair<whole_counts, std::uint32_t>> near;
    for (const opened_store* const shard : shards) {
        const word_index& index = shard->words();
        for (const auto& of : text::near_beginnings(index.dictionary(), result.beginning, edits, ctx)) {
            auto& [counts, distance] = near[index.dictionary().word(of.id)];
            counts.documents += index.document_frequency(of.id);
            counts.occurrences += index.collection_frequency(of.id);
            distance = of.distance;
        }
    }
    for (const auto& [word, of] : near) best.add(word, of.first, of.second);
}

}  // namespace

completion_result search_engine::complete(std::string_view typed, const completion_options& options,
                                          const context& ctx) const {
    if (has_remote_shards()) throw sharded::needs_local_shards("completion of words");
    check_ranges(options);
    completion_result result;
    result.before = typed;
    const auto unfinished = state_->unfinished_word_of(typed, between_words_of(typed));
    if (!unfinished) return result;
    result.before = typed.substr(0, unfinished->begin);
    result.beginning = unfinished->beginning;
    if (sharded_ != nullptr)
        complete_from(state_->statistics->shards(), options, ctx, result);
    else
        complete_from(state_->store.words(), options, ctx, result);
    return result;
}

}  // namespace quern
