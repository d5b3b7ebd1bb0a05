// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/store_summary.hpp"

#include <bit>
#include <cstddef>
#include <string_view>

#include "tasks/store/stop_words_of_language.hpp"

namespace quern {

std::vector<std::uint64_t> counts_by_doubling(std::span<const std::uint32_t> lengths) {
    std::vector<std::uint64_t> counts(33);
    for (const std::uint32_t length : lengths) ++counts[static_cast<std::size_t>(std::bit_width(length))];
    while (!counts.empty() && counts.back() == 0) counts.pop_back();
    return counts;
}

std::vector<std::uint32_t> stop_words_of(const opened_store& store,
                                         std::span<const std::uint64_t> occurrences) {
    const auto dictionary = store.words().dictionary();
    counted_vocabulary counted{store.info().text, store.info().verbatim, store.info().words, {}, {}};
    counted.find = [&](std::string_view word) { return dictionary.find(word); };
    counted.frequency = [&](std::uint32_t id) { return occurrences[id]; };
    return stop_words_in(counted);
}

std::vector<duplicate_group> groups_of(const document_duplicates& duplicates) {
    std::vector<duplicate_group> groups;
    for (std::uint64_t i = 0; i < duplicates.size(); ++i) {
        const std::uint32_t document = duplicates.kept(i);
        if (groups.empty() || groups.back().document != document) groups.push_back({document, 0});
        ++groups.back().count;
    }
    return groups;
}

}  // namespace quern
