// SPDX-License-Identifier: Apache-2.0
// Which words of a vocabulary are stop words, if the corpus was read with them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "quern/base/text_options.hpp"

namespace quern {

struct counted_vocabulary {
    text_options text;      ///< of the corpus
    bool verbatim = false;  ///< whether words are verbatim instead of by the rules of `text`
    std::uint64_t occurrences = 0;
    std::function<std::optional<std::uint32_t>(std::string_view word)> find;
    std::function<std::uint64_t(std::uint32_t id)> frequency;
};

/// The ids of the words that a built-in stop list names, in the corpus's spelling, sorted. The list is that of the
/// language in the text options. If these name none, it is detected from the words: the list whose words occur most,
/// and others whose words occur at least half as often, each at least a twentieth of all words ("war" is a stop word in
/// German, but not in English). Cost: some thousand look-ups.
std::vector<std::uint32_t> stop_words_in(const counted_vocabulary& words);

}  // namespace quern
