// SPDX-License-Identifier: Apache-2.0
#include "text/language_detection.hpp"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

#include <algorithm>
#include <utility>

#include "base/utf8.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"

namespace quern::text {
namespace {

/// Codes of CLD2 that ISO 639 replaced, and names of the Norwegian that it does not tell apart.
using renaming = std::pair<std::string_view, std::string_view>;
constexpr renaming renamed[] = {{"iw", "he"}, {"jw", "jv"}, {"un", "und"},
                                {"in", "id"}, {"nb", "no"}, {"nn", "no"}};

std::string_view code_of(CLD2::Language language) {
    const std::string_view code = CLD2::LanguageCode(language);
    const auto at = std::ranges::find(renamed, code, &renaming::first);
    return at == std::end(renamed) ? code : at->second;
}

struct detection {
    CLD2::Language languages[3] = {CLD2::UNKNOWN_LANGUAGE, CLD2::UNKNOWN_LANGUAGE, CLD2::UNKNOWN_LANGUAGE};
    int percent[3] = {};
    int valid = 0;

    explicit detection(std::string_view text) {
        const CLD2::CLDHints hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
        double scores[3];
        int bytes = 0;
        bool reliable = false;
        CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), true, &hints, 0,
                                                languages, percent, scores, nullptr, &bytes, &reliable,
                                                &valid);
    }
};

/// CLD2 refuses texts with characters that are not for interchange: they become blanks.
std::string for_interchange(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_utf8(text, at);
        const bool is_control = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || (c >= 0x7F && c < 0xA0);
        const bool is_none = c == ill_formed || (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFE) == 0xFFFE;
        if (is_control || is_none) {
            out += ' ';
        } else {
            out += text.substr(begin, at - begin);
        }
    }
    return out;
}

/// The languages of CLD2's ordinary tables, sorted: those that it names, and Bosnian, which it also finds.
constexpr std::string_view detectable[] = {
    "af", "ar", "az",  "be", "bg",  "bh", "bn", "bs", "ca", "ceb", "chr", "cs", "cy", "da",
    "de", "dv", "el",  "en", "es",  "et", "eu", "fa", "fi", "fr",  "ga",  "gd", "gl", "gu",
    "he", "hi", "hmn", "hr", "ht",  "hu", "hy", "id", "is", "it",  "iu",  "ja", "jv", "ka",
    "km", "kn", "ko",  "lg", "lif", "lo", "lt", "lv", "mk", "ml",  "mr",  "ms", "mt", "ne",
    "nl", "no", "or",  "pa", "pl",  "pt", "ro", "ru", "rw", "si",  "sk",  "sl", "sq", "sr",
    "sv", "sw", "syr", "ta", "te",  "th", "tl", "tr", "uk", "ur",  "vi",  "yi", "zh", "zh-Hant",
};

}  // namespace

detected_language language_of(std::string_view text) {
    constexpr std::size_t most = std::size_t{1} << 30;  // CLD2 counts in int
    if (text.size() > most) text = text.substr(0, most);
    detection found(text);
    if (found.valid < static_cast<int>(text.size())) found = detection(for_interchange(text));
    if (found.languages[0] == CLD2::UNKNOWN_LANGUAGE) return {"und", 0};
    return {code_of(found.languages[0]), static_cast<unsigned>(found.percent[0])};
}

std::string detectable_language(std::string_view code) {
    const auto at = std::ranges::find(renamed, code, &renaming::first);
    const std::string_view now = at == std::end(renamed) ? code : at->second;
    if (std::ranges::find(detectable, now) != std::end(detectable)) return std::string(now);
    std::string all;
    for (const std::string_view known : detectable) all.append(all.empty() ? "" : ", ").append(known);
    throw usage_error("unknown language '" + shown(code) + "' (expected one of " + all + ")");
}

std::span<const std::string_view> detectable_languages() {
    return detectable;
}

bool is_language(std::string_view detected, std::string_view wanted) {
    return detected == wanted ||
           (detected.starts_with(wanted) && detected.substr(wanted.size()).starts_with('-'));
}

}  // namespace quern::text
