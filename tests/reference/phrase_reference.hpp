// SPDX-License-Identifier: Apache-2.0
// Phrases the slow, obvious way: at every word of every document, tests whether the phrase occurs there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/search/phrases.hpp"

namespace quern::reference {

/// The words of each document, in order.
using documents_of_words = std::vector<std::vector<std::uint32_t>>;

inline std::vector<search_detail::phrase_posting> find_phrase(const documents_of_words& documents,
                                                              const std::vector<std::uint32_t>& phrase,
                                                              search_detail::document_range range = {}) {
    std::vector<search_detail::phrase_posting> found;
    if (phrase.empty()) return found;
    for (std::uint32_t d = 0; d < documents.size(); ++d) {
        if (d < range.first || d >= range.last) continue;
        search_detail::phrase_posting posting{d, 0, 0};
        const auto& words = documents[d];
        for (std::size_t at = 0; at + phrase.size() <= words.size(); ++at) {
            if (!std::equal(phrase.begin(), phrase.end(), words.begin() + static_cast<std::ptrdiff_t>(at)))
                continue;
            ++posting.frequency;
            if (at + phrase.size() < words.size()) ++posting.followed;
        }
        if (posting.frequency != 0) found.push_back(posting);
    }
    return found;
}

}  // namespace quern::reference
