// SPDX-License-Identifier: Apache-2.0
// The slow obvious reference: ICU's iterators and normaliser over the whole text, used plainly; then a split at white
// space, which a segment may contain and a word may not.
#pragma once

#include <unicode/brkiter.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/text/analyzer.hpp"

namespace quern::text::reference {

struct word {
    std::string form;
    std::uint32_t begin, end;
    bool operator==(const word&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const word& w) {
        return out << '"' << w.form << "\"[" << w.begin << ',' << w.end << ')';
    }
};

/// UTF-16 of the text, each ill-formed sequence (maximal subpart) as U+FFFD, and the offset of every unit.
inline icu::UnicodeString units_of(std::string_view text, std::vector<std::uint32_t>& offsets) {
    icu::UnicodeString units;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    for (std::int64_t at = 0, size = static_cast<std::int64_t>(text.size()); at < size;) {
        const auto begin = static_cast<std::uint32_t>(at);
        UChar32 c;
        U8_NEXT(bytes, at, size, c);
        units.append(c < 0 ? 0xFFFD : c);
        offsets.resize(static_cast<std::size_t>(units.length()), begin);
    }
    offsets.push_back(static_cast<std::uint32_t>(text.size()));
    return units;
}

inline void check(UErrorCode code) {
    if (U_FAILURE(code)) throw std::runtime_error(u_errorName(code));
}

class icu_words {
  public:
    explicit icu_words(const char* language) {
        UErrorCode code = U_ZERO_ERROR;
        const icu::Locale locale = *language ? icu::Locale(language) : icu::Locale::getRoot();
        words_.reset(icu::BreakIterator::createWordInstance(locale, code));
        sentences_.reset(icu::BreakIterator::createSentenceInstance(locale, code));
        folding_ = icu::Normalizer2::getNFKCCasefoldInstance(code);
        check(code);
        // See unicode_words.cpp: katakana are divided once a Han character has been processed.
        const icu::UnicodeString han(u"漢字");
        words_->setText(han);
        while (words_->next() != icu::BreakIterator::DONE) {
        }
    }

    std::vector<word> words(std::string_view text) {
        std::vector<std::uint32_t> offsets;
        const icu::UnicodeString units = units_of(text, offsets);
        std::vector<word> found;
        words_->setText(units);
        std::int32_t begin = words_->first();
        for (std::int32_t end = words_->next(); end != icu::BreakIterator::DONE;
             begin = end, end = words_->next()) {
            if (words_->getRuleStatus() < UBRK_WORD_NUMBER) continue;
            for (const auto& [from, to] : between_white_space(units, begin, end)) {
                const icu::UnicodeString form = folded(units.tempSubStringBetween(from, to));
                const auto pieces = between_white_space(form, 0, form.length());
                for (const auto& [first, last] : pieces) {
                    const icu::UnicodeString piece = form.tempSubStringBetween(first, last);
                    const bool cut = to - from != end - begin || piece.length() != form.length();
                    if (cut && !holds_letter_or_number(piece)) continue;
                    word w{
                        {}, offsets[static_cast<std::size_t>(from)], offsets[static_cast<std::size_t>(to)]};
                    piece.toUTF8String(w.form);
                    found.push_back(std::move(w));
                }
            }
        }
        return found;
    }

    icu::UnicodeString folded(const icu::UnicodeString& text) const {
        UErrorCode code = U_ZERO_ERROR;
        icu::UnicodeString form = folding_->normalize(text, code);
        check(code);
        return form;
    }

    /// The ranges of units in [begin, end) without white space.
    static std::vector<std::pair<std::int32_t, std::int32_t>> between_white_space(
        const icu::UnicodeString& units, std::int32_t begin, std::int32_t end) {
        std::vector<std::pair<std::int32_t, std::int32_t>> found;
        for (std::int32_t at = begin; at < end;) {
            const std::int32_t from = at;
            while (at < end && !u_isUWhiteSpace(units.char32At(at))) at = units.moveIndex32(at, 1);
            if (at > from) found.emplace_back(from, at);
            while (at < end && u_isUWhiteSpace(units.char32At(at))) at = units.moveIndex32(at, 1);
        }
        return found;
    }

    static bool holds_letter_or_number(const icu::UnicodeString& text) {
        for (std::int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1)) {
            if ((U_GET_GC_MASK(text.char32At(at)) & (U_GC_L_MASK | U_GC_N_MASK)) != 0) return true;
        }
        return false;
    }

    /// Offsets of sentence ends.
    std::vector<std::uint32_t> sentences(std::string_view text) {
        std::vector<std::uint32_t> offsets, found;
        const icu::UnicodeString units = units_of(text, offsets);
        sentences_->setText(units);
        sentences_->first();
        while (sentences_->next() != icu::BreakIterator::DONE) {
            found.push_back(offsets[static_cast<std::size_t>(sentences_->current())]);
        }
        return found;
    }

  private:
    std::unique_ptr<icu::BreakIterator> words_, sentences_;
    const icu::Normalizer2* folding_ = nullptr;
};

}  // namespace quern::text::reference
