// SPDX-License-Identifier: Apache-2.0
// What a store holds as a whole, in passes over numbers that the first call makes: only what is returned is read as text.
#include "quern/tasks/collection.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tasks/search/collection_cache.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/sharded.hpp"
#include "tasks/search/whole_statistics.hpp"
#include "tasks/shared/highest.hpp"
#include "tasks/store/stop_words_of_language.hpp"
#include "tasks/store/store_summary.hpp"
#include "tasks/store/words_of_stores.hpp"

namespace quern {
namespace {

void add_lengths(collection_summary& summary, std::vector<std::uint32_t> lengths) {
    if (lengths.empty()) return;
    std::vector<std::uint32_t>& sorted = lengths;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
    std::ranges::nth_element(sorted, middle);
    summary.median = *middle;
    const auto [least, greatest] = std::ranges::minmax(lengths);
    summary.shortest = least;
    summary.longest = greatest;
    for (const std::uint64_t documents : counts_by_doubling(lengths))
        summary.document_lengths.push_back({length_from(summary.document_lengths.size()), documents});
}

collection_summary summary_of(const opened_store& store, std::size_t words, std::size_t documents,
                              const context& ctx) {
    collection_summary summary;
    const std::span<const std::uint32_t> lengths = store.collection().document_lengths;
    add_lengths(summary, {lengths.begin(), lengths.end()});
    ctx.check_stop();

    const word_index& index = store.words();
    const std::span<const std::uint64_t> occurrences = index.collection_frequencies();
    const std::vector<std::uint32_t> stop_words = stop_words_of(store, occurrences);
    // Ids follow the bytes of the words.
    for (const std::uint32_t id : highest(occurrences.size(), words + stop_words.size(),
                                          [&](std::uint32_t id) { return occurrences[id]; })) {
        if (summary.frequent_words.size() == words) break;
        if (std::ranges::binary_search(stop_words, id)) continue;
        summary.frequent_words.push_back(
            {std::string(index.dictionary().word(id)), index.document_frequency(id), occurrences[id]});
    }
    ctx.check_stop();

    if (const auto ranks = store.link_ranks()) {
        const double average = store_layout::link_rank_units / static_cast<double>(ranks->size());
        for (const std::uint32_t document :
             highest(ranks->size(), documents, [&](std::uint32_t d) { return (*ranks)[d]; }))
            summary.linked_documents.push_back({store.id(document), store.title(document),
                                                static_cast<double>((*ranks)[document]) / average});
    }
    return summary;
}

/// The same of all shards; they have no link ranks.
collection_summary summary_of(const whole_statistics& whole, const store_info& info, std::size_t words,
                              const context& ctx) {
    collection_summary summary;
    std::vector<std::uint32_t> lengths;
    for (const opened_store* const shard : whole.shards()) {
        const std::span<const std::uint32_t> own = shard->collection().document_lengths;
        lengths.insert(lengths.end(), own.begin(), own.end());
    }
    add_lengths(summary, std::move(lengths));
    ctx.check_stop();

    std::vector<std::string> looked_up;  // words by the numbers that `find` gives them
    std::map<std::string, std::uint32_t, std::less<>> numbers;
    counted_vocabulary counted{info.text, info.verbatim, info.words, {}, {}};
    counted.find = [&](std::string_view word) -> std::optional<std::uint32_t> {
        if (whole.of_word(word).documents == 0) return {};
        const auto [at, is_new] =
            numbers.try_emplace(std::string(word), static_cast<std::uint32_t>(looked_up.size()));
        if (is_new) looked_up.emplace_back(word);
        return at->second;
    };
    counted.frequency = [&](std::uint32_t number) { return whole.of_word(looked_up[number]).occurrences; };
    std::set<std::string_view> stop_words;
    for (const std::uint32_t number : stop_words_in(counted)) stop_words.insert(looked_up[number]);

    using counted_word = collection_summary::word;
    const auto before = [](const counted_word& a, const counted_word& b) {
        return a.occurrences != b.occurrences ? a.occurrences > b.occurrences : a.word < b.word;
    };
    std::priority_queue<counted_word, std::vector<counted_word>, decltype(before)> best(
        before);  // the last on top
    for_each_word(whole.shards(), {}, ctx, [&](std::string_view word, const whole_counts& counts) {
        if (words == 0 || (best.size() == words && best.top().occurrences >= counts.occurrences)) return;
        if (stop_words.contains(word)) return;
        if (best.size() == words) best.pop();
        best.push({std::string(word), counts.documents, counts.occurrences});
    });
    for (; !best.empty(); best.pop()) summary.frequent_words.push_back(best.top());
    std::ranges::reverse(summary.frequent_words);
    return summary;
}

}  // namespace

collection_summary search_engine::summary(std::size_t words, std::size_t documents,
                                          const context& ctx) const {
    if (has_remote_shards()) throw sharded::needs_local_shards("a summary of the collection");
    const auto made = [&](std::size_t of_words, std::size_t of_documents) {
        if (sharded_ != nullptr) return summary_of(*state_->statistics, store(), of_words, ctx);
        return summary_of(state_->store, of_words, of_documents, ctx);
    };
    collection_cache& kept = state_->collected;
    if (words > kept.kept_words || documents > kept.kept_documents) return made(words, documents);
    std::call_once(kept.summary_once, [&] { kept.summary = made(kept.kept_words, kept.kept_documents); });
    collection_summary summary = kept.summary;
    summary.frequent_words.resize(std::min(summary.frequent_words.size(), words));
    summary.linked_documents.resize(std::min(summary.linked_documents.size(), documents));
    return summary;
}

duplicated_documents search_engine::duplicated(std::size_t offset, std::size_t k, std::size_t copies,
                                               const context& ctx) const {
    // Shards have none.
    const document_duplicates& all = state_->store.duplicates();
    collection_cache& kept = state_->collected;
    std::call_once(kept.groups_once, [&] {
        std::vector<duplicate_group> groups = groups_of(all);
        ctx.check_stop();
        std::ranges::stable_sort(groups, std::ranges::greater(), &duplicate_group::count);
        kept.groups = std::move(groups);
    });
    const std::span<const duplicate_group> groups = kept.groups;
    duplicated_documents list;
    list.total = groups.size();
    list.duplicates = all.size();
    const std::size_t begin = std::min(offset, groups.size());
    for (const duplicate_group& of : groups.subspan(begin, std::min(k, groups.size() - begin))) {
        ctx.check_stop();
        duplicated_document group{
            state_->store.id(of.document), state_->store.title(of.document), of.count, {}};
        for (const document_duplicates::copy& copy : all.of(of.document, copies))
            group.copies.push_back({copy.id, copy.title, copy.distance});
        list.groups.push_back(std::move(group));
    }
    return list;
}

}  // namespace quern
