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
    blanks,   ///< what stands between blanks, tabs and line ends, unchanged
};

/// Porter's original stemmer for English, and those of Snowball by the name or the code of their language. A store records
/// the name.
enum class stemmer {
    none,
    porter,
    automatic,  ///< that of text_options::language
    arabic,
    armenian,
    basque,
    catalan,
    danish,
    dutch,
    english,
    finnish,
    french,
    german,
    greek,
    hindi,
    hungarian,
    indonesian,
    irish,
    italian,
    lithuanian,
    nepali,
    norwegian,
    portuguese,
    romanian,
    russian,
    serbian,
    spanish,
    swedish,
    tamil,
    turkish,
    yiddish,
    code_ar,
    code_hy,
    code_eu,
    code_ca,
    code_da,
    code_nl,
    code_en,
    code_fi,
    code_fr,
    code_de,
    code_el,
    code_hi,
    code_hu,
    code_id,
    code_ga,
    code_it,
    code_lt,
    code_ne,
    code_no,
    code_pt,
    code_ro,
    code_ru,
    code_sr,
    code_es,
    code_sv,
    code_ta,
    code_tr,
    code_yi,
};

/// What happens to accents.
enum class folding { none, accents };

/// Names in the order of the values, as typed, shown and stored.
inline constexpr std::string_view token_rule_names[] = {"unicode", "ascii", "letters", "blanks"};
inline constexpr std::string_view stemmer_names[] = {
    "none",       "porter",  "auto",    "arabic",     "armenian", "basque",    "catalan",    "danish",
    "dutch",      "english", "finnish", "french",     "german",   "greek",     "hindi",      "hungarian",
    "indonesian", "irish",   "italian", "lithuanian", "nepali",   "norwegian", "portuguese", "romanian",
    "russian",    "serbian", "spanish", "swedish",    "tamil",    "turkish",   "yiddish",    "ar",
    "hy",         "eu",      "ca",      "da",         "nl",       "en",        "fi",         "fr",
    "de",         "el",      "hi",      "hu",         "id",       "ga",        "it",         "lt",
    "ne",         "no",      "pt",      "ro",         "ru",       "sr",        "es",         "sv",
    "ta",         "tr",      "yi",
};
inline constexpr std::string_view folding_names[] = {"none", "accents"};

struct text_options {
    std::string language = "auto";  ///< "auto": rules for all languages; or a code such as "en", "de", "zh"
    token_rule tokens = token_rule::unicode;
    unsigned min_length = 1;  ///< words of fewer code points are dropped
    /// "none", the code of a language with a built-in list, or a file (one word per line).
    std::string stop_words = "none";
    stemmer stem = stemmer::none;
    folding fold = folding::none;  ///< before stop words and stems

    friend bool operator==(const text_options&, const text_options&) = default;
};

/// The stemmer that these options mean: none, porter or a language. Throws usage_error for `automatic` with a language that
/// has none.
stemmer stemmer_of(const text_options& text);

/// Whether `stop_words` is "none" or the code of a built-in list: then it never means a file, even if one has
/// that name.
bool is_builtin_stop_list(std::string_view stop_words);

}  // namespace quern
