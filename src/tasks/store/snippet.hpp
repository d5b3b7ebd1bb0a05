// SPDX-License-Identifier: Apache-2.0
// The passage of a document that shows best why it answers a query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace quern {

/// What a passage is to show.
struct sought_terms {
    std::span<const std::string> words;                 ///< sorted
    std::span<const std::vector<std::string>> phrases;  ///< of words that must stand together
    std::span<const std::uint32_t> weights;             ///< of the words, then of the phrases; from 1
};

/// How much the passages of a document are worth where they hold a word of this many of the collection's documents: 1 for one
/// that all hold, 4 · ln 2 more each time there are half as many.
std::uint32_t weight_in_passages(std::uint64_t documents, std::uint64_t holders);

/// Whether more than three quarters of the documents hold a word. Beside rarer words it says nothing of a passage.
constexpr bool is_everywhere(std::uint64_t documents, std::uint64_t holders) {
    return holders > documents - documents / 4;
}

struct snippet_match {
    std::uint32_t what;  ///< a word's place in `sought`, or that many and a phrase's place
    std::uint32_t begin, end;
};

/// Finds a passage in a text whose words come in pieces: those of a long one need not be held together. What it is given
/// must outlive it.
class snippet_finder {
  public:
    explicit snippet_finder(const sought_terms& sought) : sought_(sought) {}
    /// The words of the next piece, which begins at this byte of the text. A phrase is found within a piece.
    void look_through(const text::token_list& words, std::size_t begin);
    /// As snippet() says.
    std::string passage(std::string_view text, std::size_t max_bytes) const;

  private:
    sought_terms sought_;
    std::vector<snippet_match> matches_;  // as they begin; none ends before an earlier one does
};

/// Bytes of the text's first piece of `most` at most: up to the end of a line, where words end by every rule; else up to
/// a blank, or a character.
std::size_t first_piece(std::string_view text, std::size_t most);

/// A passage of at most about `max_bytes` of `text`, in one line, cut at words, "…" where something is left
/// out. Of all stretches between words it is the one whose different terms weigh most together; then that in which they stand
/// nearest each other (by powers of two), then that with the most of them by weight, then the first; without any,
/// the beginning of the text. `words` are the text's own (from the analyzer of the store). O(words + matches).
std::string snippet(std::string_view text, const text::token_list& words, const sought_terms& sought,
                    std::size_t max_bytes);

}  // namespace quern
