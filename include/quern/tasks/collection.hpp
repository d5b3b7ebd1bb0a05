// SPDX-License-Identifier: Apache-2.0
// What a store holds as a whole: lengths, frequent words, best-linked documents, and the documents that have near-duplicates.
// search_engine::summary and search_engine::duplicated return it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// Views are valid as long as the engine, or a copy of one of its results.
struct collection_summary {
    /// Documents whose number of words, title included, is at least `from` and below the next `from`: 0, 1, 2, 4, 8 …
    /// up to the longest document.
    struct lengths {
        std::uint64_t from = 0, documents = 0;
    };
    struct word {
        std::string word;  ///< in the store's form: a stem if the store stems
        std::uint64_t documents = 0, occurrences = 0;
    };
    struct ranked_document {
        std::string_view id, title;
        double rank = 0;  ///< N · PageRank: 1 is the average
    };

    std::vector<lengths> document_lengths;
    std::uint64_t shortest = 0, median = 0, longest = 0;  ///< words of documents; the lower median
    /// Words with the most occurrences first, then by bytes. Without the stop words of the store's language, if it has a
    /// list of them.
    std::vector<word> frequent_words;
    /// By falling link rank, then in their order; empty without link ranks.
    std::vector<ranked_document> linked_documents;
};

/// A document and the near-duplicates of it that the build excluded.
struct duplicated_document {
    struct copy {
        std::string_view id, title;
        std::uint32_t distance = 0;  ///< edit distance of the texts, in bytes
    };
    std::string_view id, title;  ///< of the kept document
    std::uint64_t count = 0;     ///< of all its near-duplicates
    std::vector<copy> copies;    ///< the first of them, in the order of the corpus
};

struct duplicated_documents {
    std::uint64_t total = 0;       ///< documents that have near-duplicates
    std::uint64_t duplicates = 0;  ///< near-duplicates of all of them
    std::vector<duplicated_document> groups;
};

}  // namespace quern
