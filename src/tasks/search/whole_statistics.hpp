// SPDX-License-Identifier: Apache-2.0
// Counts of all shards together, with which each of them scores: sums, so that scores are those of one store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/ops/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

class folded_words;

/// Whether a term can have these counts: a document with it has an occurrence of it. `collection`: documents and words.
inline bool is_possible(const whole_counts& term, const whole_counts& collection) {
    return term.documents <= term.occurrences && term.documents <= collection.documents &&
           term.occurrences <= collection.occurrences;
}

/// Of a word of a query, in a shard or in all of them.
struct word_entry {
    whole_counts counts;
    bool has_others = false;  ///< if accents are ignored: whether words differ from it by accents alone
    bool has_like = false;    ///< the same, or the word itself
};

/// What a plan needs to know of the words of a query.
struct query_vocabulary {
    std::map<std::string, word_entry, std::less<>> words;
    std::map<std::string, bool, std::less<>> beginnings;  ///< whether a word begins so

    /// What another shard knows of the same words.
    void add(const query_vocabulary& other);
};

class whole_statistics {
  public:
    /// The stores must outlive it; none has near-duplicates.
    explicit whole_statistics(std::vector<const opened_store*> shards);
    /// For one query over shards of which some are on other machines. `vocabulary`: of all shards; it must outlive this.
    whole_statistics(const whole_counts& collection, const query_vocabulary& vocabulary)
        : vocabulary_(&vocabulary), collection_(collection) {}

    const whole_counts& collection() const { return collection_; }  ///< documents and words
    float max_weight() const { return max_weight_; }                ///< of stores of weights
    /// The documents and occurrences of a word; 0 if no shard has it. Cost: a look-up in each dictionary.
    whole_counts of_word(std::string_view word) const;
    bool has(std::string_view word) const { return of_word(word).documents != 0; }
    /// `folded`: of the shards, or empty if accents are not ignored.
    bool begins(const std::string& beginning, std::span<const folded_words* const> folded) const;
    bool has_others(std::string_view word, std::span<const folded_words* const> folded) const;
    bool has_like(std::string_view word, std::span<const folded_words* const> folded) const;
    std::span<const opened_store* const> shards() const { return shards_; }
    bool has_remote_shards() const { return vocabulary_ != nullptr; }

  private:
    std::vector<const opened_store*> shards_;
    const query_vocabulary* vocabulary_ = nullptr;
    whole_counts collection_;
    float max_weight_ = 0;
};

}  // namespace quern
