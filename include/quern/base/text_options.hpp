// SPDX-License-Identifier: Apache-2.0
// How text becomes words. The same choice must be made when a collection is read and when it is asked, so a
// store records it.
#pragma once

#include <string>
#include <string_view>

namespace quern {

enum class token_rule {
    unicode,  ///< word boundaries of Unicode (UAX #29; dictionaries for Chinese, Japanese, Thai …), NFKC case-folded
    ascii,    ///< runs of [a-z0-9] after lower-casing A-Z
    letters,  ///< runs of [a-z] after lower-casing A-Z
};

enum class stemmer { none, porter };

/// Their names, in the order of the values: as typed, shown and stored.
inline constexpr std::string_view token_rule_names[] = {"unicode", "ascii", "letters"};
inline constexpr std::string_view stemmer_names[] = {"none", "porter"};

struct text_options {
    std::string language =
        "auto";  ///< "auto": the rules that serve every language; or a code such as "en", "de", "zh"
    token_rule tokens = token_rule::unicode;
    unsigned min_length = 1;  ///< words of fewer code points are dropped
    std::string stop_words =
        "none";  ///< "none", a language code with a list of ours, or a file (one word a line)
    stemmer stem = stemmer::none;

    friend bool operator==(const text_options&, const text_options&) = default;
};

/// Whether `stop_words` is "none" or the code of a list of ours: then it never means a file, whatever the current
/// folder holds.
bool is_builtin_stop_list(std::string_view stop_words);

}  // namespace quern
