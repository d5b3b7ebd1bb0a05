// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/ngram_index.hpp"

namespace quern {

std::optional<posting_list> indexed_pair(const opened_store& store, std::uint32_t first,
                                         std::uint32_t second) {
    const word_index* const pairs = store.ngrams();
    if (pairs == nullptr) return {};
    const word_index& words = store.words();
    for (const std::uint32_t word : {first, second})
        if (!is_in_pairs(store.info().documents, words.document_frequency(word))) return {};
    std::string key;
    set_pair_key(key, words.dictionary().word(first), words.dictionary().word(second));
    return pairs->find(key);
}

}  // namespace quern
