// SPDX-License-Identifier: Apache-2.0
// What a store holds as a whole, in passes over numbers: only what is returned is read as text.
#include "quern/tasks/collection.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tasks/search/engine_state.hpp"
#include "tasks/shared/highest.hpp"
#include "tasks/store/stop_words_of_language.hpp"

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
    for (int width = 0; width <= static_cast<int>(std::bit_width(greatest)); ++width)
        summary.document_lengths.push_back({width == 0 ? 0 : std::uint64_t{1} << (width - 1), 0});
    for (const std::uint32_t length : lengths)
        ++summary.document_lengths[static_cast<std::size_t>(std::bit_width(length))].documents;
}

}  // namespace

collection_summary search_engine::summary(std::size_t words, std::size_t documents,
                                          const context& ctx) const {
    const opened_store& store = state_->store;
    collection_summary summary;
    add_lengths(summary, store.collection().document_lengths);
    ctx.check_stop();

    const word_index& index = store.words();
    const std::span<const std::uint64_t> occurrences = index.collection_frequencies();
    counted_vocabulary counted{store.info().text, store.info().verbatim, store.info().words, {}, {}};
    counted.find = [&](std::string_view word) { return index.dictionary().find(word); };
    counted.frequency = [&](std::uint32_t id) { return occurrences[id]; };
    const std::vector<std::uint32_t> stop_words = stop_words_in(counted);
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

duplicated_documents search_engine::duplicated(std::size_t offset, std::size_t k, std::size_t copies,
                                               const context& ctx) const {
    const document_duplicates& all = state_->store.duplicates();
    std::vector<std::pair<std::uint64_t, std::uint32_t>> groups;  // near-duplicates, document
    for (std::uint64_t i = 0; i < all.size(); ++i) {
        const std::uint32_t document = all.kept(i);
        if (groups.empty() || groups.back().second != document) groups.emplace_back(0, document);
        ++groups.back().first;
    }
    ctx.check_stop();
    duplicated_documents list;
    list.total = groups.size();
    list.duplicates = all.size();
    const std::size_t begin = std::min(offset, groups.size());
    const std::size_t end = begin + std::min(k, groups.size() - begin);
    std::ranges::partial_sort(groups, groups.begin() + static_cast<std::ptrdiff_t>(end),
                              [](const auto& a, const auto& b) {
                                  return a.first != b.first ? a.first > b.first : a.second < b.second;
                              });
    for (const auto& [count, document] : std::span(groups).subspan(begin, end - begin)) {
        duplicated_document group{state_->store.id(document), state_->store.title(document), count, {}};
        for (const document_duplicates::copy& of : all.of(document, copies))
            group.copies.push_back({of.id, of.title, of.distance});
        list.groups.push_back(std::move(group));
    }
    return list;
}

}  // namespace quern
