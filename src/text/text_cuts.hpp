// SPDX-License-Identifier: Apache-2.0
// Where a long text can be cut, so that several threads find its words.
#pragma once

#include <cstddef>
#include <string_view>

#include "quern/base/text_options.hpp"

namespace quern::text {

struct text_cut {
    std::size_t at;      ///< the offset of the second part
    bool ends_sentence;  ///< otherwise a sentence goes on there, and the first part of it has a word
};

/// A place after `from` where the words and sentences of both parts, analysed by themselves, are those of the whole: if there is
/// one in the second half of text[from, from + bytes], the last line feed there or else the last blank between letters;
/// else the first one after that. The end of the text if there is none.
text_cut cut_text(std::string_view text, std::size_t from, std::size_t bytes,
                  token_rule rule = token_rule::unicode);

/// A place after `from` where a word begins and no paragraph ends, at the beginning of a line or after a blank between letters:
/// the last one in the second half of text[from, from + bytes], or else the first one after that. The end of the text if there
/// is none. The words of both parts, analysed by themselves, are those of the whole.
std::size_t cut_within_paragraph(std::string_view text, std::size_t from, std::size_t bytes,
                                 token_rule rule = token_rule::unicode);

}  // namespace quern::text
