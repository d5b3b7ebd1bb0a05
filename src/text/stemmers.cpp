// SPDX-License-Identifier: Apache-2.0
// Which stemmer text options mean.
#include <algorithm>
#include <string>

#include "quern/base/error.hpp"
#include "quern/base/text_options.hpp"

namespace quern {
namespace {

constexpr auto first_language = static_cast<std::size_t>(stemmer::arabic),
               first_code = static_cast<std::size_t>(stemmer::code_ar);

/// The name of a code's language.
stemmer named(std::size_t code) {
    return static_cast<stemmer>(code - first_code + first_language);
}

}  // namespace

stemmer stemmer_of(const text_options& text) {
    if (text.stem != stemmer::automatic) {
        const auto at = static_cast<std::size_t>(text.stem);
        return at >= first_code ? named(at) : text.stem;
    }
    std::string language = text.language.substr(0, text.language.find_first_of("-_"));
    if (language == "nb" || language == "nn") language = "no";
    if (language == "auto")
        throw usage_error("the stemmer auto needs the language of the texts (language, such as de)");
    for (std::size_t at = first_code; at < std::size(stemmer_names); ++at)
        if (language == stemmer_names[at]) return named(at);
    std::string known;
    for (std::size_t at = first_code; at < std::size(stemmer_names); ++at)
        known.append(known.empty() ? "" : ", ").append(stemmer_names[at]);
    throw usage_error("there is no stemmer for the language '" + text.language + "' (expected one of " +
                      known + ", or the stemmer none)");
}

}  // namespace quern
