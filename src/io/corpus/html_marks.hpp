// SPDX-License-Identifier: Apache-2.0
// An element's role in the page by its tag: attributes, and words of its class and id.
#pragma once

#include <cstdint>

#include "io/corpus/html_tokens.hpp"

namespace quern::io {

namespace html_mark {
inline constexpr std::uint32_t unseen = 1U << 0;       ///< not shown to readers
inline constexpr std::uint32_t surrounding = 1U << 1;  ///< declares itself navigation, header, footer …
inline constexpr std::uint32_t main_shift = 4;  ///< 3 bits: how strongly it declares itself the main part
inline constexpr std::uint32_t likely_aside = 1U << 8;  ///< class or id has a word of what surrounds a text
inline constexpr std::uint32_t likely_main = 1U << 9;   ///< class or id has a word of texts
inline constexpr std::uint32_t scriptless = 1U << 11;   ///< for readers without scripts: <noscript>
inline constexpr std::uint32_t comment = 1U << 10;      ///< class or id speaks of readers' comments
}  // namespace html_mark

/// The marks of a start tag.
std::uint32_t html_marks_of(const html_token& tag);

/// The rank in `marks`: 1 the strongest declaration, 4 the weakest, 0 none.
constexpr std::uint32_t main_rank(std::uint32_t marks) {
    return marks >> html_mark::main_shift & 7U;
}

}  // namespace quern::io
