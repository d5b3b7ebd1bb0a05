// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/whole_statistics.hpp"

#include <algorithm>
#include <utility>

namespace quern {

whole_statistics::whole_statistics(std::vector<const opened_store*> shards) : shards_(std::move(shards)) {
    for (const opened_store* const shard : shards_) {
        collection_.documents += shard->info().documents;
        collection_.occurrences += shard->info().words;
        max_weight_ = std::max(max_weight_, shard->info().max_weight);
    }
}

whole_counts whole_statistics::of_word(std::string_view word) const {
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

}  // namespace quern
