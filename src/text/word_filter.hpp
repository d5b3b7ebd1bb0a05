// SPDX-License-Identifier: Apache-2.0
// Filters words after they are found: drops short ones and stop words, and may stem the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/text_options.hpp"
#include "quern/text/analyzer.hpp"

struct sb_stemmer;

namespace quern::text {

/// An exact set of words, optimised for look-ups that mostly fail.
class word_set {
  public:
    void insert(std::string_view word);
    bool contains(std::string_view word) const {
        if (!(lengths_ >> (word.size() < 63 ? word.size() : 63) & 1)) return false;
        return slots_[slot_of(word)] != 0;
    }
    std::size_t size() const { return words_.size(); }

  private:
    std::size_t slot_of(std::string_view word) const;  // its slot, or the free slot for it

    std::vector<std::string> words_;
    std::vector<std::uint32_t>
        slots_;                  // 0: free; else index into words_ + 1. A power of two, at most half full
    std::uint64_t lengths_ = 0;  // bit n: some word has n bytes (bit 63: or more)
};

/// Drops and stems in that order: shortest length, stop words, stem.
class word_filter {
  public:
    word_filter(const text_options& options, word_set stop_words);
    ~word_filter();
    word_filter(const word_filter&) = delete;  // it owns a stemmer, which has state
    word_filter& operator=(const word_filter&) = delete;

    /// True when every word passes unchanged, so that apply() need not be called.
    bool idle() const { return min_length_ <= 1 && stop_words_.size() == 0 && stemmer_ == nullptr; }
    void apply(token_list& list, dropped_words dropped = dropped_words::excluded);

  private:
    std::string_view stem(std::string_view word);
    void move_passage_ends(std::vector<std::uint32_t>& ends) const;

    struct stemmed {
        std::string word, stem;
    };
    unsigned min_length_;
    word_set stop_words_;
    sb_stemmer* stemmer_ = nullptr;
    unsigned shortest_ = 0;                   // word that is stemmed, in code points
    std::vector<stemmed> cache_;              // slot by hash; a new word replaces the old one
    std::string kept_;                        // the kept words
    std::vector<std::uint32_t> kept_before_;  // kept tokens before every token; then the total
};

}  // namespace quern::text
