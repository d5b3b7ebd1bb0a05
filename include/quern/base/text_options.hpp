// SPDX-License-Identifier: Apache-2.0
// How text becomes words. Indexing and searching must use the same options, so a store records them.
#pragma once

#include <string>
#include <string_view>

namespace quern {

enum class token_rule {
    /// Unicode word boundaries (UAX #29; dictionaries for Chinese, Japanese, Thai …), NFKC case folding.
    unicode,
    ascii,    ///< runs of [a-z0-9] after lower-casing A-Z
    letters,  ///< runs of [a-z] after lower-casing A-Z
};

enum class stemmer { none, porter };

/// Names in the order of the values, as typed, shown and stored.
inline constexpr std::string_view token_rule_names[] = {"unicode", "ascii", "letters"};
inline constexpr std::string_view stemmer_names[] = {"none", "porter"};

struct text_options {
    std::string language = "auto";  ///< "auto": rules for all languages; or a code such as "en", "de", "zh"
    token_rule tokens = token_rule::unicode;
    unsigned min_length = 1;  ///< words of fewer code points are dropped
    /// "none", the code of a language with a built-in list, or a file (one word per line).
    std::string stop_words = "none";
    stemmer stem = stemmer::none;

    friend bool operator==(const text_options&, const text_options&) = default;
};

/// Whether `stop_words` is "none" or the code of a built-in list: then it never means a file, even if one has
/// that name.
bool is_builtin_stop_list(std::string_view stop_words);

}  // namespace quern
