// SPDX-License-Identifier: Apache-2.0
// Writes the form of packed_dictionary.hpp front to back, in one pass over words in strictly ascending byte order. Symbols are
// chosen for batches of words: a quarter of a million words or 16 MiB. The same words make the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/dictionary/symbol_table.hpp"

namespace quern::primitives {

class packed_writer {
  public:
    void append(std::string_view word);
    /// Codes the waiting words; no word may follow.
    void end();
    /// Returns the pages made so far; after end() the last ones.
    std::string take_pages();
    /// The parts before the pages; after end().
    std::string tables() const;

    std::uint32_t size() const { return size_; }
    std::string_view last() const {
        return waiting_.empty() ? std::string_view(before_) : word(waiting_.size() - 1);
    }

  private:
    struct page;

    std::string_view word(std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : waiting_[i - 1];
        return std::string_view(letters_).substr(begin, waiting_[i] - begin);
    }
    void make_pages(bool all);
    void choose_symbols();
    std::size_t fill(page& made, page& other, std::size_t first) const;
    bool encode(page& made, std::size_t first, std::size_t count) const;
    void begin_page(std::string_view before, std::string_view first);
    void write(const page& made, std::size_t first);
    void write_long(std::string_view word);
    void append_level(std::string& out, std::uint64_t apart, unsigned key_bytes) const;
    std::string_view separator(std::uint64_t of) const;

    std::string letters_;                 ///< of words that wait
    std::vector<std::uint64_t> waiting_;  ///< their ends
    std::string before_;                  ///< the last word already coded
    std::vector<symbol_table> symbols_;   ///< of all batches
    std::string pages_;
    std::uint32_t page_count_ = 0;
    std::uint32_t size_ = 0, written_ = 0;
    std::string separators_;
    std::vector<std::uint32_t> separator_ends_;
    std::vector<std::uint32_t> samples_;
};

}  // namespace quern::primitives
