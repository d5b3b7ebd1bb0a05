// SPDX-License-Identifier: Apache-2.0
// The words of a stretch of consecutive documents in their order, on their way into a store. While the stretch is read
// its words have numbers in the order of first appearance; what their ids are is known when all runs are merged. Two
// bytes a word nearly always: few stretches hold more than 65,535 distinct words, and those that come late are rare.
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
    /// What encode_tokens reads: the numbers of the run's words in the order of their bytes, then of all words in the
    /// order of the text. The recorder is empty afterwards.
    std::string finish(std::span<const std::uint32_t> numbers_by_rank);

    static constexpr std::uint16_t escape = 0xffff;

  private:
    void add_large(std::uint32_t number);

    std::vector<std::uint16_t> numbers_;
};

/// The words of consecutive documents as the store keeps them.
struct coded_tokens {
    std::string bytes;
    std::vector<std::uint64_t> ends;  ///< bytes up to the end of each document
};

/// Turns a stretch into its final form. `words_by_rank` are the ids of the run's words, rising; `document_lengths` those
/// of its documents. Throws std::logic_error where the three do not belong together.
/// Cost: about a nanosecond a word.
coded_tokens encode_tokens(std::string_view recorded, std::span<const std::uint32_t> words_by_rank,
                           const token_code& code, std::span<const std::uint32_t> document_lengths);

}  // namespace quern::search_detail
