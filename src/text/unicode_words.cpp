// SPDX-License-Identifier: Apache-2.0
// The words that ICU's word iterator gives over a whole text, found three ways, each as fast as it can be
// exact:
//
// 1. ASCII by masks. Within the facts that break_rules proves of its own table (ascii_words_are_simple), a
// run of
//    letters and digits is a word, and nothing about it needs the rules unless it touches a joiner with a
//    busy byte behind it, a special byte or a byte beyond ASCII. Those bits are computed for 64 bytes at
//    once.
// 2. Any other segment by the rules (break_rules::next).
// 3. A segment with letters of a script written without spaces goes to ICU, which divides it by a dictionary.
//
// Why the cuts are right. ICU's iterator, going forward, finds the end of a rule segment by a longest match
// that begins at the segment's begin and knows nothing of the text before it; so from any boundary on, the
// boundaries do not depend on how that boundary was found. (a) Ways 1 and 2 may take turns at boundaries. (b)
// Way 3 gives ICU the text from one rule boundary B to a later one, C. In the whole text each segment between
// them is the longest match from its begin and ends at C or before; with the text cut off at C the machine
// reads the same characters and then the end, so the longest match that ends at C or before is the same one
// (rules that accept only at the text's end do not exist for words). The dictionaries look only at the
// characters within their rule segment. So ICU gives within the cut what it gives in the whole.
//
// One thing in ICU does depend on the past: a dictionary is loaded when a character of its script is first
// met, and the Chinese and Japanese one then also serves katakana. The constructor makes every iterator meet
// a Han character first, so that katakana are always divided alike.
#include "text/unicode_words.hpp"

#include <unicode/utf8.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "quern/base/error.hpp"

namespace quern::text {
namespace {

/// ICU is given stretches, not single segments: setting a text costs it as much as a sentence.
constexpr std::size_t dictionary_stretch = 8192;
constexpr std::size_t dictionary_gap = 64;
/// Without rules, lines are gathered up to this size: a line feed has a boundary at both sides in every rule
/// set.
constexpr std::size_t fallback_stretch = std::size_t{1} << 20;

}  // namespace

icu_boundaries::icu_boundaries(break_rules::kind wanted, const icu::Locale& locale) {
    UErrorCode code = U_ZERO_ERROR;
    iterator_.reset(wanted == break_rules::kind::words
                        ? icu::BreakIterator::createWordInstance(locale, code)
                        : icu::BreakIterator::createSentenceInstance(locale, code));
    if (U_FAILURE(code)) {
        throw std::runtime_error(std::string("ICU has no break rules: ") + u_errorName(code));
    }
    units_ = icu::UnicodeString(u"漢字漢字");
    iterator_->setText(units_);
    while (iterator_->next() != icu::BreakIterator::DONE) {
    }
}

void icu_boundaries::load(std::string_view text) {
    offsets_.clear();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max() - 1;
    char16_t* units =
        text.size() < most ? units_.getBuffer(static_cast<std::int32_t>(text.size()) + 1) : nullptr;
    if (units == nullptr) throw out_of_memory("a stretch of text for ICU", text.size() * 2, most);
    std::int32_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto begin = static_cast<std::uint32_t>(at);
        char32_t c;
        U8_NEXT_OR_FFFD(bytes, at, text.size(), c);
        offsets_.push_back(begin);
        if (c > 0xFFFF) offsets_.push_back(begin);
        U16_APPEND_UNSAFE(units, count, c);
    }
    offsets_.push_back(static_cast<std::uint32_t>(text.size()));
    units_.releaseBuffer(count);
}

unicode_words::unicode_words(const icu::Locale& locale, word_path path)
    : path_(path), icu_(break_rules::kind::words, locale) {
    if (path_ != word_path::icu) rules_ = break_rules::get(break_rules::kind::words, locale);
    if (rules_ == nullptr) path_ = word_path::icu;
    if (path_ == word_path::best && !rules_->ascii_words_are_simple()) path_ = word_path::rules;
}

void unicode_words::find(std::string_view text, token_list& out) {
    word_writer writer(out, text.size());
    if (path_ == word_path::best) return find_by_masks(text, writer);
    for (std::size_t at = 0; at < text.size();) {
        if (path_ == word_path::rules) {
            at = next_segment(text, at, writer);
        } else {
            std::size_t end = text.find('\n', std::min(text.size(), at + fallback_stretch));
            end = end == std::string_view::npos ? text.size() : end + 1;
            // A line feed ends the stretch, so that a CR LF is never cut in two.
            icu_.divide(text, at, end, [&](std::size_t begin, std::size_t stop, bool word) {
                if (word) add(text, begin, stop, writer);
            });
            at = end;
        }
    }
}

void unicode_words::add(std::string_view text, std::size_t begin, std::size_t end, word_writer& out) {
    out.add(folding_.fold(text.substr(begin, end - begin)), begin, end);
}

/// The segment at the boundary `begin`, by the rules or by dictionary; returns where it, or the stretch that
/// had to be done with it, ends.
std::size_t unicode_words::next_segment(std::string_view text, std::size_t begin, word_writer& out) {
    const break_rules::segment segment = rules_->next(text, begin);
    if (segment.dictionary) return next_by_dictionary(text, begin, segment.end, out);
    if (segment.word) add(text, begin, segment.end, out);
    return segment.end;
}

std::size_t unicode_words::next_by_dictionary(std::string_view text, std::size_t begin, std::size_t end,
                                              word_writer& out) {
    for (std::size_t at = end;
         at < text.size() && at - begin < dictionary_stretch && at - end < dictionary_gap;) {
        const break_rules::segment segment = rules_->next(text, at);
        at = segment.end;
        if (segment.dictionary) end = at;
    }
    icu_.divide(text, begin, end, [&](std::size_t from, std::size_t to, bool word) {
        if (word) add(text, from, to, out);
    });
    return end;
}

/// Fills the chunk's bits from its masks.
void unicode_words::mark_events(std::size_t& last_safe) {
    const std::size_t blocks = chunk_.blocks();
    const auto alphanumeric = [this](std::size_t b) {
        return chunk_.masks(b).letters | chunk_.masks(b).digits;
    };
    std::uint64_t before = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
        const byte_masks& masks = chunk_.masks(b);
        const std::uint64_t run = alphanumeric(b), shifted = run << 1 | before;
        const std::uint64_t next =
            b + 1 < blocks ? (alphanumeric(b + 1) | chunk_.masks(b + 1).others) << 63 : 0;
        const std::uint64_t busy_next = (run | masks.others) >> 1 | next;
        events_[b] = (run & ~shifted) | masks.others;
        ends_[b] = ~run & shifted;
        unclear_[b] = masks.others | (ends_[b] & masks.joiners & busy_next);
        before = run >> 63;
    }
    events_.end_after(blocks);
    ends_.end_after(blocks);
    // The last byte of a chunk cannot tell whether a joiner there joins.
    last_safe = chunk_.size() - 1;
}

void unicode_words::find_by_masks(std::string_view text, word_writer& out) {
    std::size_t at = 0;  // always a boundary
    while (at < text.size()) {
        const std::size_t base = at;
        chunk_.load(text, base);
        std::size_t limit = 0;
        mark_events(limit);
        if (base + chunk_.size() == text.size()) limit = chunk_.size() + 1;
        const std::size_t chunk_end = base + chunk_.size();
        while (at < chunk_end) {
            const std::size_t event = events_.next(at - base);
            if (event >= chunk_.size()) {
                // Neutral bytes and joiners up to the chunk's end. The next chunk begins at a boundary among
                // them.
                if (chunk_end == text.size()) return;
                const std::size_t cut = rules_->boundary_before(text, at, chunk_end);
                at = cut > at ? cut : next_segment(text, at, out);
                break;
            }
            if (unclear_.test(event)) {
                at = next_segment(text, rules_->boundary_before(text, at, base + event), out);
                continue;
            }
            const std::size_t end = ends_.next(event);
            if (end >= limit) {  // the run may go on behind the chunk
                at = event > 0 ? base + event : next_segment(text, base, out);
                break;
            }
            if (unclear_.test(end)) {
                at = next_segment(text, base + event, out);
            } else {
                out.add_padded(chunk_.lowered(event), end - event, base + event);
                at = base + end;
            }
        }
    }
}

}  // namespace quern::text
