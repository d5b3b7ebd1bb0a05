// SPDX-License-Identifier: Apache-2.0
// Counts n-grams in a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

struct ngram_document {
    std::uint32_t document = 0;
    std::uint32_t count = 0;
    std::uint32_t followed = 0;  ///< occurrences followed by another word of the document
};

/// The occurrences of an n-gram in a store.
struct ngram_occurrences {
    std::vector<std::string> words;          ///< of the n-gram, after the store's analysis
    std::vector<std::string> unknown_words;  ///< words that no document contains, each once
    std::uint64_t count = 0;                 ///< occurrences in the collection, including overlapping ones
    std::uint64_t followed = 0;  ///< its count as a history: followed by a word of the same document
    std::vector<ngram_document> documents;  ///< those that contain it, in input order
};

/// A store opened for counting; cheap to keep, thread-safe.
class ngram_counter {
  public:
    /// Also takes a sharded store (quern/tasks/shards.hpp), whose documents are numbered through its shards.
    /// Throws usage_error if there is no store, damaged_store with the section; warns through `ctx.on_log` if
    /// the store was made with another version of the Unicode data.
    static ngram_counter open(const std::filesystem::path& store, const context& ctx);
    ~ngram_counter();
    ngram_counter(ngram_counter&&) noexcept;
    ngram_counter& operator=(ngram_counter&&) noexcept;

    /// Counts the word sequence of `text`, analysed like the store's documents (both drop stop words and words
    /// shorter than the minimum length). A document's title precedes its text. Contract class: exact. Cost:
    /// proportional to the documents of the rarest word, shared by the threads of `ctx`.
    ngram_occurrences count(std::string_view text, const context& ctx) const;

    /// In the counter's memory: valid as long as the counter, also after a move.
    std::string_view id(std::uint32_t document) const;
    std::uint64_t documents() const;

  private:
    struct state;
    explicit ngram_counter(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace quern
