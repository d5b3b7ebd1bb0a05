// SPDX-License-Identifier: Apache-2.0
// Canonical decomposition, then the rule code point by code point, then composition. ASCII words, nearly all of most
// texts, are not touched; the last words folded are remembered, as stems are.
#include "text/folding.hpp"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <new>
#include <vector>

#include "base/utf8.hpp"

namespace quern::text {
namespace {

constexpr std::size_t slots = std::size_t{1} << 12, longest_remembered = 64;

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (c & 0x80) == 0; });
}

bool within(UChar32 c, UChar32 first, UChar32 last) {
    return c >= first && c <= last;
}

/// Points and signs that are dropped whatever comes before them.
bool is_sign(UChar32 c) {
    const bool hebrew = within(c, 0x0591, 0x05BD) || c == 0x05BF || within(c, 0x05C1, 0x05C2) ||
                        within(c, 0x05C4, 0x05C5) || c == 0x05C7;
    const bool arabic = within(c, 0x0610, 0x061A) || c == 0x0640 || within(c, 0x064B, 0x065F) ||
                        c == 0x0670 || within(c, 0x06D6, 0x06DC) || within(c, 0x06DF, 0x06E4) ||
                        within(c, 0x06E7, 0x06E8) || within(c, 0x06EA, 0x06ED);
    return hebrew || arabic;
}

bool is_cyrillic_vowel(UChar32 c) {
    constexpr std::array vowels{0x0430, 0x0435, 0x0438, 0x043E, 0x0443, 0x044B,
                                0x044D, 0x044E, 0x044F, 0x0456, 0x0454};
    return std::ranges::find(vowels, c) != vowels.end();
}

/// Whether a mark is dropped after this letter.
bool drops(UChar32 letter, UChar32 mark) {
    UErrorCode failed = U_ZERO_ERROR;
    switch (uscript_getScript(letter, &failed)) {
        case USCRIPT_LATIN:
        case USCRIPT_GREEK:
            return true;
        case USCRIPT_CYRILLIC:
            return (mark == 0x0301 && is_cyrillic_vowel(letter)) || (mark == 0x0308 && letter == 0x0435);
        default:
            return false;
    }
}

/// Null: the letter is plain.
const char16_t* plain(UChar32 c) {
    switch (c) {
        case 0x00E6:
            return u"ae";
        case 0x00F0:
            return u"d";
        case 0x00F8:
            return u"o";
        case 0x00FE:
            return u"th";
        case 0x0111:
            return u"d";
        case 0x0127:
            return u"h";
        case 0x0131:
            return u"i";
        case 0x0142:
            return u"l";
        case 0x0153:
            return u"oe";
        case 0x0167:
            return u"t";
        default:
            return nullptr;
    }
}

const icu::Normalizer2& normalizer(const icu::Normalizer2* (*get)(UErrorCode&)) {
    UErrorCode failed = U_ZERO_ERROR;
    const icu::Normalizer2* const made = get(failed);
    if (U_FAILURE(failed) != 0) throw std::bad_alloc();
    return *made;
}

std::string folded_form(std::string_view word) {
    static const icu::Normalizer2& decompose = normalizer(&icu::Normalizer2::getNFDInstance);
    static const icu::Normalizer2& compose = normalizer(&icu::Normalizer2::getNFCInstance);
    UErrorCode failed = U_ZERO_ERROR;
    const auto source = icu::UnicodeString::fromUTF8({word.data(), static_cast<int32_t>(word.size())});
    const icu::UnicodeString apart = decompose.normalize(source, failed);
    icu::UnicodeString kept;
    UChar32 letter = 0;
    for (std::int32_t at = 0; at < apart.length(); at = apart.moveIndex32(at, 1)) {
        const UChar32 c = apart.char32At(at);
        if (is_sign(c)) continue;
        if (u_charType(c) == U_NON_SPACING_MARK) {
            if (!drops(letter, c)) kept.append(c);
            continue;
        }
        letter = c;
        if (const char16_t* const other = plain(c))
            kept.append(other, 0, u_strlen(other));
        else
            kept.append(c);
    }
    std::string result;
    compose.normalize(kept, failed).toUTF8String(result);
    if (U_FAILURE(failed) != 0) throw std::bad_alloc();
    return result.empty() ? std::string(word) : result;
}

}  // namespace

struct accent_folder::state {
    struct folded {
        std::string word, form;
    };
    std::vector<folded> recent{slots};
    std::string form;   // of a long word
    std::string words;  // of a list

    std::string_view fold(std::string_view word) {
        if (is_ascii(word)) return word;
        if (word.size() > longest_remembered) return form = folded_form(word);
        folded& slot = recent[std::hash<std::string_view>()(word) % slots];
        if (slot.word != word) {
            slot.form = folded_form(word);
            slot.word = word;
        }
        return slot.form;
    }
};

accent_folder::accent_folder() : state_(std::make_unique<state>()) {}
accent_folder::~accent_folder() = default;

std::string without_accents(std::string_view word) {
    return is_ascii(word) ? std::string(word) : folded_form(word);
}

std::string_view accent_folder::fold(std::string_view word) {
    return state_->fold(word);
}

void accent_folder::fold(token_list& list) {
    if (is_ascii(list.words)) return;
    std::string& words = state_->words;
    words.clear();
    words.reserve(list.words.size());
    for (token& t : list.tokens) {
        const std::string_view form = state_->fold(list.word(t));
        t.word_begin = static_cast<std::uint32_t>(words.size());
        words.append(form);
        t.word_end = static_cast<std::uint32_t>(words.size());
    }
    list.words.swap(words);
}

}  // namespace quern::text
