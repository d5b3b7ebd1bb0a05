// SPDX-License-Identifier: Apache-2.0
// ICU's compiled break rules, run over UTF-8 without ICU's iterator.
#pragma once

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/utf8.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace quern::text {

/// The state machine by which ICU finds word or sentence boundaries in one language. Immutable, shared by threads.
class break_rules {
  public:
    enum class kind { words, sentences };

    /// Made once per kind and language. Null if the installed ICU's machine has an unknown form: use ICU's iterator
    /// then. Throws std::runtime_error if ICU itself fails.
    static std::shared_ptr<const break_rules> get(kind wanted, const icu::Locale& locale);
    /// The same from an iterator's machine.
    static std::shared_ptr<const break_rules> read(const icu::BreakIterator& iterator);

    struct segment {
        std::size_t end;
        bool word;        ///< letters, numbers, kana or ideographs by ICU's rule status
        bool dictionary;  ///< ICU divides it further by a dictionary
    };
    /// The segment that begins at `begin`, a boundary below text.size(). The result does not depend on anything before
    /// `begin`. Cost: the bytes read, which may extend slightly past the segment's end.
    segment next(std::string_view text, std::size_t begin) const;

    /// How an ASCII byte takes part in words; see ascii_words_are_simple().
    enum class ascii_class : std::uint8_t { alphanumeric, joiner, special, neutral };
    /// True if the following is proved on the machine itself, for ASCII text:
    /// - a run of letters and digits is one segment, a word, and begins and ends at boundaries, with these exceptions:
    /// - a joiner (' . , : ;) after a run may join it to a following alphanumeric or special byte, and has boundaries
    ///   on both sides otherwise;
    /// - a special byte (_ @) may join anything;
    /// - every other byte has a boundary between it and any byte of the three classes above.
    bool ascii_words_are_simple() const { return ascii_simple_; }
    static constexpr ascii_class class_of(char byte) {
        if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')) {
            return ascii_class::alphanumeric;
        }
        if (byte == '\'' || byte == '.' || byte == ',' || byte == ':' || byte == ';')
            return ascii_class::joiner;
        return byte == '_' || byte == '@' ? ascii_class::special : ascii_class::neutral;
    }
    /// Requires simple ASCII words and nothing alphanumeric or special in text[from, at): the latest position in [from,
    /// at] that is certainly a boundary if `from` is one. `at` is below text.size().
    std::size_t boundary_before(std::string_view text, std::size_t from, std::size_t at) const;

  private:
    using state = std::uint16_t;  // index of a row in next_, already multiplied
    static constexpr state stop = 0;

    bool load(const std::uint8_t* bytes, std::size_t size);
    void load_categories(const void* trie, bool hangul_by_dictionary);
    void prove_ascii();
    std::uint8_t category(UChar32 c) const {
        return categories_[static_cast<std::size_t>(blocks_[static_cast<std::size_t>(c) >> 7]) << 7 |
                           (c & 127)];
    }
    state step(state from, std::uint8_t category) const { return next_[from + category]; }
    state flags_of(state s) const { return next_[s + flags_column_]; }

    std::vector<state> next_;  // rows of 1 << shift_ cells: the next state by category, flags in the last
    std::vector<std::uint16_t> blocks_;  // of 128 code points
    std::vector<std::uint8_t> categories_;
    std::array<bool, 256> dictionary_{};  // by category
    std::array<bool, 256> clings_{};      // by category: may stay with a preceding neutral byte or joiner
    std::array<bool, 128 * 128> keep_{};  // two neutral bytes that may belong to one segment
    unsigned shift_ = 0;
    unsigned flags_column_ = 0;
    unsigned dictionary_from_ = 0;
    state start_ = 0;
    bool ascii_simple_ = false;
};

inline break_rules::segment break_rules::next(std::string_view text, std::size_t begin) const {
    constexpr state accepting = 1, word = 2, at_end = 1;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    const std::size_t size = text.size();
    const state* rows = next_.data();
    const std::uint8_t* ascii = categories_.data();  // the first block
    std::size_t at = begin, end = begin;
    state last = 0;
    bool dictionary = false, dictionary_accepted = false;
    state now = start_;
    for (;;) {
        if (at == size) {
            now = rows[now + at_end];
            if (flags_of(now) & accepting) {
                end = at;
                last = flags_of(now);
                dictionary_accepted = dictionary;
            }
            break;
        }
        std::uint8_t sort;
        if (bytes[at] < 0x80) {
            sort = ascii[bytes[at]];
            ++at;
        } else {
            UChar32 c;
            U8_NEXT_OR_FFFD(bytes, at, size, c);
            sort = category(c);
            dictionary |= dictionary_[sort];
        }
        now = rows[now + sort];
        const state flags = flags_of(now);
        if (flags & accepting) {
            end = at;
            last = flags;
            dictionary_accepted = dictionary;
        }
        if (now == stop) break;
    }
    if (end == begin) {  // no rule matched: one character
        UChar32 c;
        U8_NEXT_OR_FFFD(bytes, end, size, c);
        return {end, false, dictionary_[category(c)]};
    }
    return {end, (last & word) != 0, dictionary_accepted};
}

}  // namespace quern::text
