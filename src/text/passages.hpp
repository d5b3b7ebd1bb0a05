// SPDX-License-Identifier: Apache-2.0
// Where sentences and paragraphs end.
#pragma once

#include <unicode/locid.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "quern/text/analyzer.hpp"
#include "text/break_rules.hpp"
#include "text/unicode_words.hpp"

namespace quern::text {

/// Marks passages in a finished token list. A word belongs to the passage in which it begins; passages without words
/// are omitted.
class passage_marker {
  public:
    explicit passage_marker(const icu::Locale& locale, word_path path = word_path::best);
    void mark(std::string_view text, token_list& list,
              boundaries wanted = boundaries::sentences_and_paragraphs);

  private:
    void find_paragraphs(std::string_view text);
    void find_lines(std::string_view text);
    void find_sentences(std::string_view text);

    std::unique_ptr<icu_boundaries> icu_;                // only if the rules cannot be read
    std::shared_ptr<const break_rules> rules_;           // otherwise
    std::vector<std::uint32_t> paragraphs_, sentences_;  // offsets of ends
};

}  // namespace quern::text
