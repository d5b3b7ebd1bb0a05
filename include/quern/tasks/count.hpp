// SPDX-License-Identifier: Apache-2.0
// How often a store holds words one behind the other.
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
    std::uint32_t followed = 0;  ///< occurrences with another word of the document behind them
};

struct ngram_counts {
    std::vector<std::string> words;          ///< of the n-gram, as the store's analysis made them
    std::vector<std::string> unknown_words;  ///< those that no document holds, each once
    std::uint64_t count = 0;                 ///< occurrences in the collection, overlapping ones too
    std::uint64_t followed = 0;  ///< its count as a history: followed by a word of the same document
    std::vector<ngram_document> documents;  ///< those that hold it, in input order
};

/// A store opened for counting; cheap to keep, safe to ask from many threads at once.
class ngram_counter {
  public:
    /// Throws usage_error where there is no store, damaged_store naming the section, and warns through `run.on_log` where
    /// the store was made with another version of the Unicode data.
    static ngram_counter open(const std::filesystem::path& store, const context& run);
    ~ngram_counter();
    ngram_counter(ngram_counter&&) noexcept;
    ngram_counter& operator=(ngram_counter&&) noexcept;

    /// Counts the words of `text`, read as the store's documents were (words shorter than its least length and stop words
    /// are left out there and here), one behind the other. A document's title stands before its text.
    /// Contract class: exact. Cost: that of the least frequent word's documents, shared by the threads of `run`.
    ngram_counts count(std::string_view text, const context& run) const;

    /// In the counter's memory: valid as long as the counter, also after it is moved.
    std::string_view id(std::uint32_t document) const;
    std::uint64_t documents() const;

  private:
    struct state;
    explicit ngram_counter(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace quern
