// SPDX-License-Identifier: Apache-2.0
// The passage of a document that best shows why it matches a query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/passage.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// The terms that a passage should show.
struct sought_terms {
    std::span<const std::string> words;                 ///< sorted
    std::span<const std::vector<std::string>> phrases;  ///< of words that must be adjacent
    std::span<const std::uint32_t> weights;             ///< of the words, then of the phrases; from 1
};

/// Finds a passage in a text whose words arrive in pieces: those of a long text need not be in memory together. Its
/// arguments must outlive it.
class snippet_finder {
  public:
    explicit snippet_finder(const sought_terms& sought) : sought_(sought) {}
    /// The words of the next piece, which begins at this byte of the text. A phrase is found within a piece.
    void look_through(const text::token_list& words, std::size_t begin);
    /// As snippet().
    std::string passage(std::string_view text, std::size_t max_bytes) const;

  private:
    sought_terms sought_;
    std::vector<search_detail::passage_match> matches_;  // by begin; none ends before an earlier one does
};

/// Length of the text's first piece, at most `max`: up to the end of a line, where words end by every rule; else up to
/// a blank, or a character.
std::size_t first_piece(std::string_view text, std::size_t max);

/// A passage of at most about `max_bytes` of `text` (twice as much for one long match), in one line, cut at words, with "…"
/// where something is omitted. It maximises, in this order: the total weight of its distinct terms; their nearness (by powers of two); the total
/// weight of all matches; then the first is chosen. Without matches, the beginning of the text.
///
/// `words` are those of the text (from the store's analyzer). O(words + matches).
std::string snippet(std::string_view text, const text::token_list& words, const sought_terms& sought,
                    std::size_t max_bytes);

}  // namespace quern
