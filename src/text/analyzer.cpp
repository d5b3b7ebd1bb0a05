// SPDX-License-Identifier: Apache-2.0
// The pipeline of text to words: segment and normalise, then drop and stem.
#include "text/analyzer.hpp"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/stringoptions.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "quern/base/error.hpp"
#include "text/stop_words.hpp"
#include "text/word_filter.hpp"

namespace quern::text {
namespace {

icu::Locale locale_of(const std::string& language) {
    if (language == "auto") return icu::Locale::getRoot();
    const icu::Locale locale = icu::Locale::createCanonical(language.c_str());
    const char* code = locale.getISO3Language();
    if (locale.isBogus() || *locale.getLanguage() == 0 || *code == 0) {
        throw usage_error("unknown language '" + language + "': expected auto or a code such as en, de, zh");
    }
    return locale;
}

struct utf16_text {
    icu::UnicodeString units;
    std::vector<std::uint32_t> offsets;  // of every unit, and the end
};

void to_utf16(std::string_view text, utf16_text& out) {
    out.offsets.clear();
    out.units.remove();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    const auto size = static_cast<std::int64_t>(text.size());
    for (std::int64_t at = 0; at < size;) {
        const auto begin = static_cast<std::uint32_t>(at);
        UChar32 c;
        U8_NEXT(bytes, at, size, c);
        if (c < 0) c = 0xFFFD;
        out.units.append(c);
        out.offsets.resize(static_cast<std::size_t>(out.units.length()), begin);
    }
    out.offsets.push_back(static_cast<std::uint32_t>(text.size()));
}

}  // namespace

struct analyzer::state {
    explicit state(const text_options& options) : rule(options.tokens), locale(locale_of(options.language)) {
        UErrorCode code = U_ZERO_ERROR;
        words.reset(icu::BreakIterator::createWordInstance(locale, code));
        sentences.reset(icu::BreakIterator::createSentenceInstance(locale, code));
        folding = icu::Normalizer2::getNFKCCasefoldInstance(code);
        if (U_FAILURE(code)) throw usage_error("no word rules for language '" + options.language + "'");
    }

    void segment(std::string_view text, token_list& out) {
        if (rule == token_rule::unicode) return unicode(text, out);
        const auto belongs = [this](char c) {
            return (c >= 'a' && c <= 'z') || (rule == token_rule::ascii && c >= '0' && c <= '9');
        };
        const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
        for (std::size_t at = 0; at < text.size(); ++at) {
            if (!belongs(lower(text[at]))) continue;
            token t{};
            t.word_begin = static_cast<std::uint32_t>(out.words.size());
            t.source_begin = static_cast<std::uint32_t>(at);
            for (; at < text.size() && belongs(lower(text[at])); ++at) out.words += lower(text[at]);
            t.source_end = static_cast<std::uint32_t>(at);
            t.word_end = static_cast<std::uint32_t>(out.words.size());
            out.tokens.push_back(t);
        }
    }

    void unicode(std::string_view text, token_list& out) {
        to_utf16(text, utf16);
        words->setText(utf16.units);
        std::int32_t begin = words->first();
        for (std::int32_t end = words->next(); end != icu::BreakIterator::DONE;
             begin = end, end = words->next()) {
            if (words->getRuleStatus() < UBRK_WORD_NUMBER) continue;
            token t{};
            t.source_begin = utf16.offsets[static_cast<std::size_t>(begin)];
            t.source_end = utf16.offsets[static_cast<std::size_t>(end)];
            t.word_begin = static_cast<std::uint32_t>(out.words.size());
            UErrorCode code = U_ZERO_ERROR;
            folding->normalize(utf16.units.tempSubStringBetween(begin, end), code).toUTF8String(out.words);
            t.word_end = static_cast<std::uint32_t>(out.words.size());
            if (t.word_end != t.word_begin) out.tokens.push_back(t);
        }
    }

    void passages(std::string_view text, token_list& out) {
        to_utf16(text, utf16);
        std::vector<std::uint32_t> sentence_offsets, paragraph_offsets;
        for (std::size_t at = 0; at < text.size(); ++at) {
            if (text.substr(at).starts_with("\xE2\x80\xA9")) {
                paragraph_offsets.push_back(static_cast<std::uint32_t>(at + 3));
            } else if (text[at] == '\n') {
                const std::size_t next = text.find_first_not_of(" \t\r", at + 1);
                if (next != std::string_view::npos && text[next] == '\n') {
                    paragraph_offsets.push_back(static_cast<std::uint32_t>(at + 1));
                }
            }
        }
        paragraph_offsets.push_back(static_cast<std::uint32_t>(text.size()));
        sentences->setText(utf16.units);
        for (sentences->first(); sentences->next() != icu::BreakIterator::DONE;) {
            sentence_offsets.push_back(utf16.offsets[static_cast<std::size_t>(sentences->current())]);
        }
        sentence_offsets.insert(sentence_offsets.end(), paragraph_offsets.begin(), paragraph_offsets.end());
        std::sort(sentence_offsets.begin(), sentence_offsets.end());
        const auto count = [&](const std::vector<std::uint32_t>& offsets, std::vector<std::uint32_t>& ends) {
            std::size_t tokens = 0;
            for (const std::uint32_t offset : offsets) {
                while (tokens < out.tokens.size() && out.tokens[tokens].source_begin < offset) ++tokens;
                if (tokens > (ends.empty() ? 0 : ends.back()))
                    ends.push_back(static_cast<std::uint32_t>(tokens));
            }
        };
        count(sentence_offsets, out.sentence_ends);
        count(paragraph_offsets, out.paragraph_ends);
    }

    token_rule rule;
    icu::Locale locale;
    std::unique_ptr<icu::BreakIterator> words, sentences;
    const icu::Normalizer2* folding = nullptr;
    utf16_text utf16;
    std::unique_ptr<word_filter> filter;
};

analyzer::analyzer(const text_options& options) : state_(std::make_unique<state>(options)) {
    word_set stop;
    token_list list;
    for (const std::string& word : read_stop_words(options.stop_words)) {
        list = {};
        state_->segment(word, list);
        for (const token& t : list.tokens) stop.insert(list.word(t));
    }
    state_->filter = std::make_unique<word_filter>(options, std::move(stop));
}

analyzer::~analyzer() = default;
analyzer::analyzer(analyzer&&) noexcept = default;
analyzer& analyzer::operator=(analyzer&&) noexcept = default;

void analyzer::analyze(std::string_view text, token_list& out, boundaries wanted) {
    out.words.clear();
    out.tokens.clear();
    out.sentence_ends.clear();
    out.paragraph_ends.clear();
    state_->segment(text, out);
    if (wanted == boundaries::sentences_and_paragraphs) state_->passages(text, out);
    if (!state_->filter->idle()) state_->filter->apply(out);
}

void analyzer::take_lines(std::string_view text, token_list& out) {
    out.words.assign(text);
    out.tokens.clear();
    out.sentence_ends.clear();
    out.paragraph_ends.clear();
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::size_t stop = end > at && text[end - 1] == '\r' ? end - 1 : end;
        if (stop > at) {
            const auto first = static_cast<std::uint32_t>(at), last = static_cast<std::uint32_t>(stop);
            out.tokens.push_back({first, last, first, last});
        }
        at = end + 1;
    }
}

std::string unicode_version() {
    return U_UNICODE_VERSION;
}

}  // namespace quern::text
