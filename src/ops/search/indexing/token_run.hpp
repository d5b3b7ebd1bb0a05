// SPDX-License-Identifier: Apache-2.0
// The words of a chunk of consecutive documents in their order, on the way into a store. While the chunk is read, its words
// are numbered by first appearance; their ids are known when all runs are merged. Nearly always two bytes per word: few
// chunks have more than 65,535 distinct words, and late ones are rare.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/token_code.hpp"

namespace quern::search_detail {

class token_recorder {
  public:
    void add(std::uint32_t number) {
        if (number < escape) {
            numbers_.push_back(static_cast<std::uint16_t>(number));
        } else {
            add_large(number);
        }
    }
    /// The input of encode_tokens: the numbers of the run's words in byte order, then of all words in text order. The
    /// recorder is empty afterwards.
    std::string finish(std::span<const std::uint32_t> numbers_by_rank);

    static constexpr std::uint16_t escape = 0xffff;

  private:
    void add_large(std::uint32_t number);

    std::vector<std::uint16_t> numbers_;
};

/// The words of consecutive documents as stored.
struct coded_tokens {
    std::string bytes;
    std::vector<std::uint64_t> ends;  ///< bytes up to the end of each document
};

/// Converts a chunk to its final form. `words_by_rank` are the ids of the run's words, ascending; `document_lengths` those
/// of its documents. Throws std::logic_error if the three do not match. Cost: about a nanosecond per word.
coded_tokens encode_tokens(std::string_view recorded, std::span<const std::uint32_t> words_by_rank,
                           const token_code& code, std::span<const std::uint32_t> document_lengths);

}  // namespace quern::search_detail
