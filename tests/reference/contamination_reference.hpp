// SPDX-License-Identifier: Apache-2.0
// Contamination the slow, obvious way: every n-gram of every item is looked for at every word of every document.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/ops/contamination.hpp"

namespace quern::reference {

/// Words as numbers; their bytes in a text.
struct contamination_words {
    std::vector<std::uint32_t> words;
    std::vector<std::uint32_t> begins, ends;  ///< of documents only
};

/// By item, then by document.
inline std::vector<contamination> contaminations(const std::vector<contamination_words>& items,
                                                 const std::vector<contamination_words>& documents,
                                                 const contamination_options& options) {
    std::vector<contamination> all;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
        const std::vector<std::uint32_t>& item = items[i].words;
        const std::size_t length = std::min<std::size_t>(item.size(), options.ngram);
        if (length == 0) continue;
        for (std::uint32_t d = 0; d < documents.size(); ++d) {
            const contamination_words& document = documents[d];
            contamination c{i, d, 0, 0, 0xffffffff, 0};
            for (std::size_t p = 0; p + length <= item.size(); ++p) {
                ++c.of;
                bool is_found = false;
                for (std::size_t at = 0; at + length <= document.words.size(); ++at) {
                    if (!std::ranges::equal(std::span(item).subspan(p, length),
                                            std::span(document.words).subspan(at, length)))
                        continue;
                    is_found = true;
                    c.begin = std::min(c.begin, document.begins[at]);
                    c.end = std::max(c.end, document.ends[at + length - 1]);
                }
                c.found += is_found ? 1 : 0;
            }
            // found / of >= numerator / denominator
            if (std::uint64_t{c.found} * options.overlap.denominator >=
                std::uint64_t{c.of} * options.overlap.numerator)
                all.push_back(c);
        }
    }
    return all;
}

}  // namespace quern::reference
