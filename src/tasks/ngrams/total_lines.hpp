// SPDX-License-Identifier: Apache-2.0
// Counts of the n-grams of a collection as text: lines of words, tab, count, formed by all threads and written in order.
// Neighbours in the order begin with the same words, whose text is kept from line to line.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/text_batches.hpp"

namespace quern {

class total_lines {
  public:
    /// `corpus` and `ctx` must outlive it.
    total_lines(const ngram_corpus& corpus, const context& ctx);

    /// Passes the lines of `ngrams`, which have `n` words, to take(text, number of n-grams) in parts, in order, one at a time.
    void write(number_stream<counted_ngram>& ngrams, unsigned n,
               const std::function<void(std::string_view, std::uint64_t)>& take);

  private:
    /// The same if the words are not in memory.
    void write_mapped(number_stream<counted_ngram>& ngrams, unsigned n,
                      const std::function<void(std::string_view, std::uint64_t)>& take);
    template <class Words_of>
    void append(std::string& out, std::span<const counted_ngram> ngrams, unsigned n,
                const Words_of& words_of) const;

    const ngram_corpus& corpus_;
    const context& ctx_;
    reused_texts free_texts_;
    bool words_are_plain_;  ///< each is its own text in a line
};

}  // namespace quern
