// SPDX-License-Identifier: Apache-2.0
// Lists made for one query: a phrase's documents as a posting list, so that it scores like a word, and the words of a query
// after the words before them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/memory_budget.hpp"
#include "ops/search/phrases.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// A posting list that owns its bytes.
struct made_list {
    std::string bytes;
    std::uint32_t document_frequency = 0;
    std::uint64_t collection_frequency = 0;
    posting_list view() const { return {bytes, document_frequency, collection_frequency}; }
};

/// The posting list of `found`, with bounds by the lengths. Cost: linear.
made_list list_of(std::span<const phrase_posting> found, std::span<const std::uint32_t> document_lengths);

/// The documents of a list, ascending.
std::vector<std::uint32_t> documents_of(const posting_list& list, const collection_view& collection);

/// The documents of any of the lists, ascending, each with the sum of its frequencies (saturated). Cost: the postings of
/// all lists; 4 bytes of memory for each document of the collection, or 12 for each posting if that is less.
std::vector<phrase_posting> united(const collection_view& collection, std::span<const posting_list> lists);

/// Finds, for each word of a query, the longest sequence of at most `order` words that ends with it and that the collection
/// contains. Searches each n-gram once.
class history_finder {
  public:
    /// All arguments must outlive it. Throws out_of_memory if the lists of its n-grams need more than `memory` bytes: 12
    /// per document and n-gram.
    history_finder(const collection_view& collection, const token_stream& tokens, unsigned order,
                   std::uint64_t memory = ~std::uint64_t{0})
        : collection_(collection), tokens_(tokens), order_(order), memory_(memory) {}

    struct continuation {
        std::vector<std::uint32_t> words;  ///< the history, then the word after it: at least two
        std::vector<continued_document> documents;
        std::uint64_t frequency = 0, history = 0;
        std::uint32_t holders = 0;  ///< documents with the word after the history
        std::uint32_t count = 0;
        query_continuation view() const { return {documents, frequency, history, count}; }
    };

    /// Whether words[at] follows a history; then counts one of `found` once more. Missing words (nullopt) end a sequence,
    /// as does the beginning.
    bool add(std::span<const std::optional<phrase_word>> words, std::size_t at);
    const std::vector<continuation>& found() const { return found_; }

  private:
    const std::vector<phrase_posting>& documents_with(std::span<const phrase_word> words);
    continuation continue_history(std::span<const phrase_word> words);

    const collection_view& collection_;
    const token_stream& tokens_;
    unsigned order_;
    memory_budget memory_;
    std::map<std::vector<std::uint32_t>, std::vector<phrase_posting>> looked_for_;
    std::vector<continuation> found_;
    std::map<std::vector<std::uint32_t>, std::size_t> place_in_found_;  // by its words
};

}  // namespace quern::search_detail
