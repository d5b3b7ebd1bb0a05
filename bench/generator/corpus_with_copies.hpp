// SPDX-License-Identifier: Apache-2.0
// Documents for the search of near-duplicates: texts, some of them edited copies of earlier ones.
//
// A text depends only on the seed and its own number, so that many threads can make texts in any order. It uses only
// integers, sums, products and square roots, which IEEE 754 defines to the last bit, so that every machine makes the same
// one. The properties that make near-duplicates hard to find are those of real text: log-normal lengths with the spread of
// source files (1.5 octaves); words by rank about as 1/rank (Zipf's law); repeated use of the rarer words of a text
// (burstiness). Real sentences, where given, are used instead of words: filters tell generated words apart too easily.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/random_numbers.hpp"

namespace quern::generator {

class corpus_with_copies {
  public:
    struct options {
        std::uint64_t seed = 1;
        double copies = 0.01;  ///< the share of documents that are edited copies of an earlier one
        double mean_length = 2048;
        /// Texts consist of these, drawn at random, instead of words: 12 on average (median), log-normal. Not empty then.
        std::vector<std::string> sentences{};
    };
    explicit corpus_with_copies(const options& wanted);

    /// Appends document `number`, a line of JSON. May be called by several threads at once.
    void append_line(std::uint64_t number, std::string& lines) const;

  private:
    static constexpr unsigned octaves = 18;  ///< words 2^k - 1 … 2^(k+1) - 2 are octave k

    /// The text without quoting.
    std::string text(std::uint64_t number) const;
    std::string fresh_text(random_numbers& chance) const;
    std::string fresh_prose(random_numbers& chance) const;
    std::uint64_t length(random_numbers& chance) const;
    std::string_view word(random_numbers& chance, std::uint64_t topic) const;

    options options_;
    double median_octaves_ = 0;
    std::string letters_;                ///< of all words
    std::vector<std::uint32_t> begins_;  ///< of each word in letters_, and the end
};

}  // namespace quern::generator
