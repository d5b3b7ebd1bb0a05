// SPDX-License-Identifier: Apache-2.0
// NFKC_Casefold is ICU's; calling it for every word costs ten times what finding the word does. For most characters of
// most scripts, folding a word means folding its characters one by one, which a table can do:
// - before a character whose folded form has a normalisation boundary before it, nothing reaches across
//   (Normalizer2::hasBoundaryBefore), so that forms may be concatenated;
// - a combining mark that is its own folded form and "yes" in the quick check composes with nothing before it, and
//   stays in place if its combining class is not below that of the preceding character.
//
// A word with any other character goes to ICU whole, and the result is cached. The table is filled from ICU itself,
// character by character on first use, so that it is right for the Unicode version in use and costs nothing at
// start-up.
#include "text/case_folding.hpp"
#include "text/icu_error.hpp"

#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <functional>
#include <new>
#include <stdexcept>

namespace quern::text {
namespace {

constexpr std::size_t cache_slots = std::size_t{1} << 12;
constexpr std::size_t longest_remembered = 96;

bool holds_white_space(const icu::UnicodeString& form) {
    for (std::int32_t at = 0; at < form.length(); at = form.moveIndex32(at, 1)) {
        if (u_isUWhiteSpace(form.char32At(at))) return true;
    }
    return false;
}

}  // namespace

case_folding::case_folding() : blocks_(0x110000 / 128), cache_(cache_slots + 1) {
    UErrorCode code = U_ZERO_ERROR;
    folding_ = icu::Normalizer2::getNFKCCasefoldInstance(code);
    require_success(code, "ICU has no case folding");
}

case_folding::entry case_folding::examine(char32_t c) const {
    const auto make = [](kind k, std::uint32_t low) {
        return entry{static_cast<std::uint32_t>(k) & 7, low & 0x1FFFFF};
    };
    UErrorCode code = U_ZERO_ERROR;
    const auto point = static_cast<UChar32>(c);
    const icu::UnicodeString self(point);
    const icu::UnicodeString form = folding_->normalize(self, code);
    if (U_FAILURE(code)) return make(kind::requested, 0);
    if (form.isEmpty()) return make(kind::gone, 0);
    if (holds_white_space(form)) return make(kind::requested, 0);
    if (form == self) {
        const std::uint8_t combining = u_getCombiningClass(point);
        if (combining == 0) return make(folding_->hasBoundaryBefore(point) ? kind::kept : kind::requested, 0);
        const bool composes = folding_->quickCheck(self, code) != UNORM_YES || U_FAILURE(code);
        return make(composes ? kind::requested : kind::kept, combining);
    }
    const UChar32 first = form.char32At(0);
    const bool alone = form.countChar32() == 1 && u_getCombiningClass(first) == 0;
    if (!alone || !folding_->hasBoundaryBefore(point) || !folding_->hasBoundaryBefore(first)) {
        return make(kind::requested, 0);
    }
    return make(kind::mapped, static_cast<std::uint32_t>(first));
}

case_folding::entry case_folding::look_up(char32_t c) {
    auto& entries = blocks_[c >> 7];
    if (!entries) entries = std::make_unique<entry[]>(128);
    entry& e = entries[c & 127];
    if (e.kind == static_cast<std::uint32_t>(kind::unseen)) e = examine(c);
    return e;
}

case_folding::form case_folding::fold(std::string_view word) {
    // A character of n bytes maps to one of at most 4, so that twice the size suffices except for n = 1, where the
    // result is one byte; U+FFFD takes 3 bytes for an ill-formed one.
    if (form_.size() < 3 * word.size()) form_.resize(3 * word.size());
    char* out = form_.data();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(word.data());
    std::uint32_t combining = 0;  // of the last character written
    bool blanks = false;          // before a joiner a blank may belong to a segment
    for (std::size_t at = 0; at < word.size();) {
        if (bytes[at] < 0x80) {
            const char byte = word[at++];
            blanks |= byte == ' ' || (byte >= '\t' && byte <= '\r');
            *out++ = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
            combining = 0;
            continue;
        }
        char32_t c;
        U8_NEXT_OR_FFFD(bytes, at, word.size(), c);
        const entry e = look_up(c);
        if (e.kind == static_cast<std::uint32_t>(kind::mapped)) {
            c = e.low;
            combining = 0;
        } else if (e.kind == static_cast<std::uint32_t>(kind::kept)) {
            if (e.low != 0 && (e.low < combining || out == form_.data())) return fold_by_icu(word);
            combining = e.low;
        } else if (e.kind == static_cast<std::uint32_t>(kind::gone)) {
            continue;
        } else {
            return fold_by_icu(word);
        }
        std::size_t size = 0;
        U8_APPEND_UNSAFE(out, size, c);
        out += size;
    }
    return {{form_.data(), static_cast<std::size_t>(out - form_.data())}, blanks};
}

std::size_t case_folding::end_of_piece(std::string_view word, std::size_t from) const {
    if (word.size() - from <= longest_whole) return word.size();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(word.data());
    const auto first = static_cast<std::int32_t>(from), size = static_cast<std::int32_t>(word.size());
    auto at = static_cast<std::int32_t>(from + longest_whole);
    U8_SET_CP_START(bytes, first, at);
    while (at < size) {
        const std::int32_t begin = at;
        char32_t c;
        U8_NEXT_OR_FFFD(bytes, at, size, c);
        if (folding_->hasBoundaryBefore(static_cast<UChar32>(c))) return static_cast<std::size_t>(begin);
    }
    return word.size();
}

case_folding::form case_folding::fold_by_icu(std::string_view word) {
    const bool remembered = word.size() <= longest_remembered;
    folded& slot = cache_[remembered ? std::hash<std::string_view>()(word) % cache_slots : cache_slots];
    if (slot.word != word || !remembered) {
        UErrorCode code = U_ZERO_ERROR;
        const icu::UnicodeString units = icu::UnicodeString::fromUTF8(
            icu::StringPiece(word.data(), static_cast<std::int32_t>(word.size())));
        if (units.isBogus() != 0) throw std::bad_alloc();
        slot.form.clear();
        const icu::UnicodeString form = folding_->normalize(units, code);
        require_success(code, "ICU cannot fold");
        form.toUTF8String(slot.form);
        slot.has_white_space = holds_white_space(form);
        if (remembered) slot.word = word;
    }
    return {slot.form, slot.has_white_space};
}

}  // namespace quern::text
