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

struct snippet_match {
    std::uint32_t what;  ///< a word's place in `wanted`, or that many and a phrase's place
    std::uint32_t begin, end;
};

/// Finds a passage in a text whose words come in pieces: those of a long one need not be held together. What it is given
/// must outlive it.
class snippet_finder {
  public:
    snippet_finder(std::span<const std::string> wanted, std::span<const std::vector<std::string>> phrases)
        : wanted_(wanted), phrases_(phrases) {}
    /// The words of the next piece, which begins at this byte of the text. A phrase is found within a piece.
    void look_through(const text::token_list& words, std::size_t begin);
    /// As snippet() says.
    std::string passage(std::string_view text, std::size_t max_bytes) const;

  private:
    std::span<const std::string> wanted_;
    std::span<const std::vector<std::string>> phrases_;
    std::vector<snippet_match> matches_;  // as they begin; none ends before an earlier one does
};

/// Bytes of the text's first piece of `most` at most: up to the end of a line, where words end by every rule; else up to
/// a blank, or a character.
std::size_t first_piece(std::string_view text, std::size_t most);

/// A passage of at most about `max_bytes` of `text`, in one line, cut at words, "…" where something is left
/// out. Of all stretches between words it is the one that holds the most different query words and phrases, then the
/// most of them, then the first; without any, the beginning of the text. `words` are the text's own (from the
/// analyzer of the store), `wanted` the query's, sorted; a phrase counts where all its words stand together.
std::string snippet(std::string_view text, const text::token_list& words, std::span<const std::string> wanted,
                    std::span<const std::vector<std::string>> phrases, std::size_t max_bytes);

}  // namespace quern
