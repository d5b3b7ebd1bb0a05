// SPDX-License-Identifier: Apache-2.0
// The words that ICU's word iterator gives for a whole text, found by three paths, each as fast as exactness allows:
//
// 1. ASCII by masks. Under the conditions that break_rules proves of its own table (ascii_words_are_simple), a run of
//    letters and digits is a word. It needs the rules only if it touches a joiner followed by a busy byte, a special
//    byte or a byte beyond ASCII. Those bits are computed for 64 bytes at once.
// 2. Any other segment by the rules (break_rules::next).
// 3. A segment with letters of a script written without spaces goes to ICU, which divides it by a dictionary.
//
// Why the cuts are right. ICU's iterator, going forward, finds the end of a rule segment by a longest match that begins
// at the segment's begin and knows nothing of the text before it. From any boundary on, the boundaries therefore do not
// depend on how that boundary was found.
//
// (a) Paths 1 and 2 may alternate at boundaries.
//
// (b) Path 3 gives ICU the text from one rule boundary B to a later one, C. In the whole text each segment between them
// is the longest match from its begin and ends at C or before. With the text cut at C the machine reads the same
// characters and then the end, so that the longest match that ends at C or before is the same one (word rules never
// accept only at the text's end). The dictionaries look only at the characters within their rule segment. So ICU gives
// the same result for the cut text as for the whole.
//
// The same holds in both scripts of Chinese: the rules know all ideographs as one class, so the rule boundaries are the same,
// and the choice between the two divisions is made between boundaries that both have.
//
// One thing in ICU does depend on the past: a dictionary is loaded when a character of its script first occurs, and the
// Chinese and Japanese one then also serves katakana. The constructor makes every iterator process a Han character
// first, so that katakana are always divided in the same way.
#include "text/unicode_words.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "quern/base/error.hpp"
#include "text/icu_error.hpp"

namespace quern::text {
namespace {

/// ICU receives chunks, not single segments: setting a text costs it as much as a sentence.
constexpr std::size_t dictionary_chunk = 8192;
constexpr std::size_t dictionary_gap = 64;
/// Without rules, lines are gathered up to this size: a line feed has a boundary on both sides in every rule set.
constexpr std::size_t fallback_chunk = std::size_t{1} << 20;

template <class Visit>
void each_character(std::string_view text, Visit visit) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        char32_t c;
        U8_NEXT_OR_FFFD(bytes, at, text.size(), c);
        visit(static_cast<UChar32>(c), begin, at);
    }
}

/// Calls found(begin, end) for the pieces of `text` between white space.
template <class Found>
void each_piece(std::string_view text, Found found) {
    std::size_t piece = 0;
    each_character(text, [&](UChar32 c, std::size_t begin, std::size_t end) {
        if (!u_isUWhiteSpace(c)) return;
        if (begin > piece) found(piece, begin);
        piece = end;
    });
    if (text.size() > piece) found(piece, text.size());
}

/// From `at` past all white space, or past everything else; at most to `end`.
std::size_t pass(std::string_view text, std::size_t at, std::size_t end, bool white_space) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    while (at < end) {
        const std::size_t begin = at;
        char32_t c;
        U8_NEXT_OR_FFFD(bytes, at, end, c);
        if ((u_isUWhiteSpace(static_cast<UChar32>(c)) != 0) != white_space) return begin;
    }
    return end;
}

bool holds_letter_or_number(std::string_view text) {
    bool found = false;
    each_character(text, [&](UChar32 c, std::size_t, std::size_t) {
        found = found || (U_GET_GC_MASK(c) & (U_GC_L_MASK | U_GC_N_MASK)) != 0;
    });
    return found;
}

}  // namespace

icu_boundaries::icu_boundaries(break_rules::kind wanted, const icu::Locale& locale) {
    UErrorCode code = U_ZERO_ERROR;
    iterator_.reset(wanted == break_rules::kind::words
                        ? icu::BreakIterator::createWordInstance(locale, code)
                        : icu::BreakIterator::createSentenceInstance(locale, code));
    require_success(code, "ICU has no break rules");
    units_ = icu::UnicodeString(u"漢字漢字");
    iterator_->setText(units_);
    while (iterator_->next() != icu::BreakIterator::DONE) {
    }
}

void icu_boundaries::load(std::string_view text) {
    offsets_.clear();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    constexpr std::size_t max = std::numeric_limits<std::int32_t>::max() - 1;
    char16_t* units =
        text.size() < max ? units_.getBuffer(static_cast<std::int32_t>(text.size()) + 1) : nullptr;
    if (units == nullptr) throw out_of_memory("a chunk of text for ICU", text.size() * 2, max);
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

unicode_words::unicode_words(const icu::Locale& locale, word_path path, chinese how)
    : path_(path), icu_(break_rules::kind::words, locale) {
    if (how == chinese::in_both_scripts) {
        simplify_.emplace(script_joiner::script::simplified);
        lengthen_.emplace(script_joiner::script::traditional);
    }
    if (path_ != word_path::icu) rules_ = break_rules::get(break_rules::kind::words, locale);
    if (rules_ == nullptr) path_ = word_path::icu;
    if (path_ == word_path::best && !rules_->ascii_words_are_simple()) path_ = word_path::rules;
}

std::size_t unicode_words::find(std::string_view text, std::size_t from, std::size_t to, token_list& out) {
    word_writer writer(out, to - from);
    if (from == 0) long_ = {};
    to_ = to;
    go_on(text, to, writer);
    std::size_t at = std::max(from, long_.end);
    if (long_.at == long_.end) at = find_segments(text, at, to, writer);
    return long_.at < long_.end ? long_.at : at;
}

std::size_t unicode_words::find_segments(std::string_view text, std::size_t at, std::size_t to,
                                         word_writer& writer) {
    if (path_ == word_path::best) return find_by_masks(text, at, to, writer);
    while (at < to) {
        if (path_ == word_path::rules) {
            at = next_segment(text, at, writer);
        } else {
            std::size_t end = text.find('\n', std::min(text.size(), at + fallback_chunk));
            end = end == std::string_view::npos ? text.size() : end + 1;
            // A line feed ends the chunk, so that a CR LF is never split.
            divide(text, at, end, writer);
            at = end;
        }
    }
    return at;
}

void unicode_words::add(std::string_view text, std::size_t begin, std::size_t end, word_writer& out) {
    if (end - begin > case_folding::longest_whole) [[unlikely]] {
        long_ = {end, begin, begin, begin, {}, false};
        return go_on(text, end, out);
    }
    const case_folding::form form = folding_.fold(text.substr(begin, end - begin));
    if (form.has_white_space) [[unlikely]]
        return add_between_blanks(text, begin, end, out);
    out.add(form.text, begin, end);
}

/// A segment may contain white space: U+202F joins digits by the rules, U+FDFA is four words in one character. Each
/// piece between white space that has a letter or a number is a word. Its source is the bytes between white space in
/// the text, or the whole segment if one character makes several words.
void unicode_words::add_between_blanks(std::string_view text, std::size_t begin, std::size_t end,
                                       word_writer& out) {
    each_piece(text.substr(begin, end - begin), [&](std::size_t from, std::size_t to) {
        const std::string form(folding_.fold(text.substr(begin + from, to - from)).text);
        each_piece(form, [&](std::size_t first, std::size_t last) {
            const std::string_view word = std::string_view(form).substr(first, last - first);
            if (holds_letter_or_number(word)) out.add(word, begin + from, begin + to);
        });
    });
}

/// Continues the long segment to `to` or its end. As add(), but in pieces that are folded separately.
void unicode_words::go_on(std::string_view text, std::size_t to, word_writer& out) {
    long_segment& s = long_;
    const auto give = [&] {
        if (!s.is_cut || holds_letter_or_number(s.word)) out.add(s.word, s.piece_begin, s.piece_end);
        s.word.clear();
    };
    const auto cut = [&] {
        s.is_cut = true;
        give();
    };
    while (s.at < s.end && s.at < to) {
        if (s.at == s.piece_end) {
            s.piece_begin = pass(text, s.at, s.end, true);
            s.piece_end = pass(text, s.piece_begin, s.end, false);
            s.is_cut = s.is_cut || s.piece_begin != s.at || s.piece_end != s.end;
            s.at = s.piece_begin;
            continue;
        }
        const std::size_t end = folding_.end_of_piece(text.substr(0, s.piece_end), s.at);
        const std::string_view form = folding_.fold(text.substr(s.at, end - s.at)).text;
        s.at = end;
        std::size_t before = 0;
        each_piece(form, [&](std::size_t first, std::size_t last) {
            if (first != before) cut();
            s.word.append(form, first, last - first);
            before = last;
        });
        if (before != form.size()) cut();
        if (s.at == s.piece_end) give();
    }
}

/// The segment at the boundary `begin`, by the rules or by dictionary; returns its end, or the end of the chunk that
/// had to be processed with it.
std::size_t unicode_words::next_segment(std::string_view text, std::size_t begin, word_writer& out) {
    const break_rules::segment segment = rules_->next(text, begin);
    if (segment.dictionary) return next_by_dictionary(text, begin, segment.end, out);
    if (segment.word && segment.end - begin > case_folding::longest_whole) {
        long_ = {segment.end, begin, begin, begin, {}, false};
        go_on(text, std::max(to_, begin + 1), out);
    } else if (segment.word) {
        add(text, begin, segment.end, out);
    }
    return segment.end;
}

std::size_t unicode_words::next_by_dictionary(std::string_view text, std::size_t begin, std::size_t end,
                                              word_writer& out) {
    for (std::size_t at = end;
         at < text.size() && at - begin < dictionary_chunk && at - end < dictionary_gap;) {
        const break_rules::segment segment = rules_->next(text, at);
        at = segment.end;
        if (segment.dictionary) end = at;
    }
    divide(text, begin, end, out);
    return end;
}

/// Adds the words of a chunk, found by ICU.
void unicode_words::divide(std::string_view text, std::size_t begin, std::size_t end, word_writer& out) {
    if (simplify_) return divide_in_both_scripts(text, begin, end, out);
    icu_.divide(text, begin, end, [&](std::size_t from, std::size_t to, bool word) {
        if (word) add(text, from, to, out);
    });
}

/// ICU's dictionary has more words in traditional characters (博物館 is one, 博物 馆 two), but some only in simplified ones, and
/// a character may have several traditional forms. So between two boundaries that both divisions have, that of fewer words
/// counts; of equally many the traditional one.
void unicode_words::divide_in_both_scripts(std::string_view text, std::size_t begin, std::size_t end,
                                           word_writer& out) {
    const auto divided_by = [&](const script_joiner& script, std::vector<divided>& into) {
        into.clear();
        joined_.assign(text.substr(begin, end - begin));
        script.join(joined_);
        icu_.divide(joined_, 0, joined_.size(), [&](std::size_t, std::size_t to, bool word) {
            into.push_back({begin + to, word});
        });
    };
    divided_by(*simplify_, simplified_);
    divided_by(*lengthen_, traditional_);
    std::size_t from = begin;
    for (std::size_t s = 0, t = 0; s < simplified_.size();) {
        const std::size_t first_s = s, first_t = t;
        while (simplified_[s].end != traditional_[t].end)
            ++(simplified_[s].end < traditional_[t].end ? s : t);
        ++s;
        ++t;
        const std::span<const divided> chosen = s - first_s < t - first_t
                                                    ? std::span(simplified_).subspan(first_s, s - first_s)
                                                    : std::span(traditional_).subspan(first_t, t - first_t);
        for (const divided& d : chosen) {
            if (d.word) add(text, from, d.end, out);
            from = d.end;
        }
    }
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
    // The last byte of a chunk cannot show whether a joiner there joins.
    last_safe = chunk_.size() - 1;
}

std::size_t unicode_words::find_by_masks(std::string_view text, std::size_t from, std::size_t to,
                                         word_writer& out) {
    std::size_t at = from;  // always a boundary
    while (at < to) {
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
                if (chunk_end == text.size()) return chunk_end;
                const std::size_t cut = rules_->boundary_before(text, at, chunk_end);
                at = cut > at ? cut : next_segment(text, at, out);
                break;
            }
            if (unclear_.test(event)) {
                at = next_segment(text, rules_->boundary_before(text, at, base + event), out);
                continue;
            }
            const std::size_t end = ends_.next(event);
            if (end >= limit) {  // the run may continue past the chunk
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
    return at;
}

}  // namespace quern::text
