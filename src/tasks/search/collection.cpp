// SPDX-License-Identifier: Apache-2.0
// What a store holds as a whole, in passes over numbers that the first call makes: only what is returned is read as text.
#include "quern/tasks/collection.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tasks/search/collection_cache.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/shared/highest.hpp"
#include "tasks/store/store_summary.hpp"

namespace quern {
namespace {

void add_lengths(collection_summary& summary, std::span<const std::uint32_t> lengths) {
    if (lengths.empty()) return;
    std::vector<std::uint32_t> sorted(lengths.begin(), lengths.end());
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
    add_lengths(summary, store.collection().document_lengths);
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

}  // namespace

collection_summary search_engine::summary(std::size_t words, std::size_t documents,
                                          const context& ctx) const {
    require_one_store("a summary of the collection");
    collection_cache& kept = state_->collected;
    if (words > kept.kept_words || documents > kept.kept_documents)
        return summary_of(state_->store, words, documents, ctx);
    std::call_once(kept.summary_once, [&] {
        kept.summary = summary_of(state_->store, kept.kept_words, kept.kept_documents, ctx);
    });
    collection_summary summary = kept.summary;
    summary.frequent_words.resize(std::min(summary.frequent_words.size(), words));
    summary.linked_documents.resize(std::min(summary.linked_documents.size(), documents));
    return summary;
}

duplicated_documents search_engine::duplicated(std::size_t offset, std::size_t k, std::size_t copies,
                                               const context& ctx) const {
    require_one_store("a list of near-duplicates");
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
