// SPDX-License-Identifier: Apache-2.0
// Inverts a chunk of documents in memory: words in, one sorted run out (single-pass in-memory indexing, Heinz and Zobel
// 2003, with runs cut by input so that they join in order).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/indexing/index_runs.hpp"

namespace quern::search_detail {

/// Not thread-safe; one per chunk. Cost: one hash look-up per word, a sort of the distinct words at the end. Memory: about
/// 8 bytes per posting; 50 bytes plus its letters per distinct word; 2 bytes per word if the order is kept.
class inverter {
  public:
    enum class word_order { forgotten, kept };
    /// If the order is kept, the run also has the words of each document in their order.
    explicit inverter(word_order order = word_order::forgotten);
    void add(std::string_view word);
    /// The same for many words, and faster: a large table exceeds the caches, so the entries of a batch of words are all
    /// prefetched before the first is read.
    void add(std::span<const std::string_view> words);
    /// The same word `times` times, at least 1.
    void add_repeated(std::string_view word, std::uint32_t times);
    /// A word with a frequency that means something else than occurrences: it counts as one word of the document. Once for
    /// each word of a document.
    void add_valued(std::string_view word, std::uint32_t frequency);
    /// Ends the current document (which may be empty); returns its number of words.
    std::uint32_t end_document();
    std::uint32_t documents() const { return documents_; }
    /// The run; do not use the inverter afterwards.
    sorted_run finish();

  private:
    struct alignas(32) entry {     // never across two cache lines
        std::uint64_t prefix;      // the first eight bytes; they distinguish most words without the letters
        std::uint64_t word_begin;  // in letters_
        std::uint32_t word_bytes;
        std::uint32_t last_document;  // the last one with the word, plus one
        std::uint32_t frequency;      // in that document
        std::uint32_t postings;       // closed ones
    };
    struct posting {
        std::uint32_t word;
        std::uint32_t frequency;
    };

    void add(std::string_view word, std::uint64_t hash);
    std::uint32_t find_or_insert(std::string_view word, std::uint64_t hash);
    void grow();
    std::string_view word_of(const entry& e) const { return {letters_.data() + e.word_begin, e.word_bytes}; }

    std::vector<std::uint64_t> slots_;  // hash tag above, entry number plus one below; 0 is empty
    std::vector<entry> entries_;
    std::string letters_;
    std::vector<std::uint32_t> words_in_document_;  // distinct, in order of first appearance
    std::vector<posting> postings_;                 // (word, frequency) by document
    std::vector<std::uint64_t> document_ends_;      // in postings_
    token_recorder tokens_;                         // entry numbers in the order of the text
    bool keeps_order_;
    std::uint32_t documents_ = 0;
    std::uint32_t length_ = 0;
};

}  // namespace quern::search_detail
