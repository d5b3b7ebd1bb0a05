// SPDX-License-Identifier: Apache-2.0
// ICU compiles the rules of UAX #29, with its own additions for each language, into a state table by character
// category. Its iterator runs that table through two layers of caches and a virtual text, at about 15 MB/s. This class
// takes the same table (RuleBasedBreakIterator::getBinaryRules), flattens it, and runs it over UTF-8. The boundaries
// equal those of the installed ICU by construction, for any version and language, and there are no own rules to
// maintain.
//
// ICU does not guarantee the table's layout, so everything read is checked: its magic and form (version 6, in use since
// ICU 68), every offset and every state. Anything unknown makes the reading fail, and the caller uses ICU's iterator
// instead. The run follows ICU: the longest match from where the last one ended, no rule with a look-ahead mark. Tests
// compare it with ICU on random and real text.
#include "text/break_rules.hpp"
#include "text/icu_error.hpp"

#include <unicode/rbbi.h>
#include <unicode/ubrk.h>
#include <unicode/ucptrie.h>
#include <unicode/ures.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

namespace quern::text {
namespace {

constexpr std::uint16_t accepting_flag = 1, word_flag = 2;
constexpr std::uint8_t category_of_begin = 2;

/// The head of ICU's compiled rules (RBBIDataHeader) and of its state table, as numbers.
enum header_field {
    magic,
    format,
    length,
    categories,
    forward,
    forward_length,
    reverse,
    reverse_length,
    trie,
    trie_length,
    source,
    source_length,
    status,
    status_length,
    header_fields
};
enum table_field { states, row_length, dictionary_start, lookahead_size, table_flags, table_fields };
constexpr std::uint32_t known_magic = 0xB1A0;
constexpr std::uint32_t needs_begin = 2, rows_of_bytes = 4;

std::uint32_t number_at(const std::uint8_t* bytes, std::size_t index) {
    std::uint32_t number;
    std::memcpy(&number, bytes + index * 4, 4);
    return number;
}

/// True if ICU has a dictionary for Hangul. The rules mark its syllables "by dictionary", but ICU 72 has no such
/// dictionary, so that the rules alone find them.
bool has_hangul_dictionary() {
    UErrorCode code = U_ZERO_ERROR;
    UResourceBundle* bundle = ures_open(U_ICUDATA_NAME "-brkitr", "root", &code);
    UResourceBundle* dictionaries = ures_getByKey(bundle, "dictionaries", nullptr, &code);
    if (U_FAILURE(code)) {
        ures_close(bundle);
        return true;  // unknown: leave them to ICU
    }
    UErrorCode missing = U_ZERO_ERROR;
    std::int32_t size = 0;
    ures_getStringByKey(dictionaries, "Hang", &size, &missing);
    ures_close(dictionaries);
    ures_close(bundle);
    return missing != U_MISSING_RESOURCE_ERROR;
}

}  // namespace

std::shared_ptr<const break_rules> break_rules::read(const icu::BreakIterator& iterator) {
    const auto* rules = dynamic_cast<const icu::RuleBasedBreakIterator*>(&iterator);
    if (rules == nullptr) return nullptr;
    std::uint32_t size = 0;
    // getBinaryRules only reads, but is not declared const.
    const std::uint8_t* bytes = const_cast<icu::RuleBasedBreakIterator*>(rules)->getBinaryRules(size);
    auto result = std::make_shared<break_rules>();
    if (bytes == nullptr || !result->load(bytes, size)) return nullptr;
    result->prove_ascii();
    return result;
}

std::shared_ptr<const break_rules> break_rules::get(kind wanted, const icu::Locale& locale) {
    static std::mutex one_at_a_time;
    static std::map<std::pair<kind, std::string>, std::shared_ptr<const break_rules>> made;
    const std::lock_guard lock(one_at_a_time);
    const auto [place, fresh] = made.try_emplace({wanted, locale.getName()});
    if (!fresh) return place->second;
    UErrorCode code = U_ZERO_ERROR;
    const std::unique_ptr<icu::BreakIterator> iterator(
        wanted == kind::words ? icu::BreakIterator::createWordInstance(locale, code)
                              : icu::BreakIterator::createSentenceInstance(locale, code));
    if (U_FAILURE(code)) {
        made.erase(place);
        require_success(code, "ICU has no break rules");
    }
    return place->second = read(*iterator);
}

bool break_rules::load(const std::uint8_t* bytes, std::size_t size) {
    if (size < header_fields * 4 || number_at(bytes, magic) != known_magic || bytes[4] != 6) return false;
    const auto field = [&](header_field f) { return std::size_t{number_at(bytes, f)}; };
    const auto inside = [&](std::size_t offset, std::size_t bytes_present) {
        return offset % 4 == 0 && offset <= size && bytes_present <= size - offset;
    };
    if (!inside(field(forward), field(forward_length)) || !inside(field(trie), field(trie_length)) ||
        !inside(field(status), field(status_length)) || field(forward_length) < table_fields * 4 ||
        field(categories) < 3 || field(categories) > 256) {
        return false;
    }
    const std::uint8_t* table = bytes + field(forward);
    const std::size_t rows = number_at(table, states), row_bytes = number_at(table, row_length);
    const std::uint32_t flags = number_at(table, table_flags);
    const std::size_t cell = flags & rows_of_bytes ? 1 : 2;
    if (rows < 2 || row_bytes < (3 + field(categories)) * cell ||
        rows > (field(forward_length) - table_fields * 4) / row_bytes) {
        return false;
    }
    while ((std::size_t{1} << shift_) <= field(categories)) ++shift_;
    flags_column_ = (1U << shift_) - 1;
    if (rows << shift_ > 0x10000) return false;
    dictionary_from_ = number_at(table, dictionary_start);

    const auto cell_at = [&](std::size_t row, std::size_t column) {
        const std::uint8_t* at = table + table_fields * 4 + row * row_bytes + column * cell;
        return cell == 1 ? std::size_t{at[0]} : std::size_t{at[0]} | std::size_t{at[1]} << 8;
    };
    next_.assign(rows << shift_, stop);
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t accepting = cell_at(row, 0), tags = cell_at(row, 2);
        if (accepting > 1 || cell_at(row, 1) != 0) return false;  // a rule with a look-ahead mark
        // A row's statuses: their number, then the values in rising order; getRuleStatus() returns the last.
        if ((tags + 1) * 4 > field(status_length)) return false;
        const std::size_t last = tags + number_at(bytes + field(status), tags);
        if ((last + 1) * 4 > field(status_length)) return false;
        const auto value = static_cast<std::int32_t>(number_at(bytes + field(status), last));
        if (accepting) {
            next_[(row << shift_) + flags_column_] =
                value >= UBRK_WORD_NUMBER ? accepting_flag | word_flag : accepting_flag;
        }
        for (std::size_t c = 0; c < field(categories); ++c) {
            const std::size_t to = cell_at(row, 3 + c);
            if (to >= rows) return false;
            next_[(row << shift_) + c] = static_cast<state>(to << shift_);
        }
    }
    start_ = static_cast<state>(1U << shift_);
    if (flags & needs_begin) start_ = step(start_, category_of_begin);
    if (flags_of(stop) != 0 || start_ == stop) return false;

    UErrorCode code = U_ZERO_ERROR;
    UCPTrie* opened = ucptrie_openFromBinary(UCPTRIE_TYPE_FAST, UCPTRIE_VALUE_BITS_ANY, bytes + field(trie),
                                             static_cast<std::int32_t>(field(trie_length)), nullptr, &code);
    if (U_FAILURE(code)) return false;
    load_categories(opened, has_hangul_dictionary());
    ucptrie_close(opened);
    return *std::max_element(categories_.begin(), categories_.end()) < field(categories);
}

/// The category of every code point, in blocks of 128; equal blocks are kept once.
void break_rules::load_categories(const void* trie, bool hangul_by_dictionary) {
    const auto* tree = static_cast<const UCPTrie*>(trie);
    std::vector<std::uint8_t> all(0x110000);
    for (UChar32 first = 0; first < 0x110000;) {
        std::uint32_t value = 0;
        const UChar32 last = ucptrie_getRange(tree, first, UCPMAP_RANGE_NORMAL, 0, nullptr, nullptr, &value);
        if (last < first) break;
        std::fill(all.begin() + first, all.begin() + last + 1,
                  static_cast<std::uint8_t>(std::min(value, 255U)));
        const bool hangul = first >= 0xAC00 && last <= 0xD7A3;
        if (value >= dictionary_from_ && value < 256 && !(hangul && !hangul_by_dictionary))
            dictionary_[value] = true;
        first = last + 1;
    }
    std::map<std::string_view, std::uint16_t> known;
    blocks_.reserve(all.size() >> 7);
    for (std::size_t at = 0; at < all.size(); at += 128) {
        const std::string_view block(reinterpret_cast<const char*>(all.data() + at), 128);
        const auto [place, fresh] =
            known.try_emplace(block, static_cast<std::uint16_t>(categories_.size() >> 7));
        if (fresh) categories_.insert(categories_.end(), all.begin() + at, all.begin() + at + 128);
        blocks_.push_back(place->second);
    }
}

/// Checks on the table what ascii_words_are_simple() states. `inside`: the states after a letter or digit of a run;
/// `idle`: those after neutral bytes only; `lone`: those after a joiner at a segment's begin.
void break_rules::prove_ascii() {
    std::vector<char> members[4];
    for (int c = 0; c < 128; ++c)
        members[static_cast<int>(class_of(static_cast<char>(c)))].push_back(static_cast<char>(c));
    const auto& [alphanumeric, joiners, specials, neutral] = members;
    const auto after = [this](state s, char c) {
        return step(s, categories_[static_cast<unsigned char>(c)]);
    };
    const auto add = [](std::vector<state>& set, state s) {
        if (s != stop && std::find(set.begin(), set.end(), s) == set.end()) set.push_back(s);
    };
    constexpr state accepted_word = accepting_flag | word_flag;

    std::vector<state> inside, idle, lone;
    for (const char c : alphanumeric) add(inside, after(start_, c));
    for (std::size_t i = 0; i < inside.size(); ++i) {
        for (const char c : alphanumeric) add(inside, after(inside[i], c));
        for (const char j : joiners) {
            const state joined = after(inside[i], j);
            for (const char c : alphanumeric) add(inside, after(joined, c));
        }
    }
    for (const char c : neutral) add(idle, after(start_, c));
    for (std::size_t i = 0; i < idle.size(); ++i) {
        for (const char c : neutral) add(idle, after(idle[i], c));
    }
    for (const char j : joiners) add(lone, after(start_, j));

    bool simple = true;
    for (const char c : alphanumeric) simple = simple && after(start_, c) != stop;
    for (const state s : inside) {
        simple = simple && (flags_of(s) & accepted_word) == accepted_word;
        for (const char c : alphanumeric) simple = simple && after(s, c) != stop;
        for (const char c : neutral) simple = simple && after(s, c) == stop;
        for (const char j : joiners) {
            const state joined = after(s, j);
            if (joined == stop) continue;
            simple = simple && (flags_of(joined) & accepting_flag) == 0;
            for (const auto* idlers : {&joiners, &neutral}) {
                for (const char c : *idlers) simple = simple && after(joined, c) == stop;
            }
        }
    }
    for (const auto* set : {&idle, &lone}) {
        for (const state s : *set) {
            simple = simple && flags_of(s) == accepting_flag;
            for (const auto* others : {&alphanumeric, &joiners, &specials}) {
                for (const char c : *others) simple = simple && after(s, c) == stop;
            }
            for (std::size_t c = 0; c < flags_column_; ++c) {
                clings_[c] = clings_[c] || step(s, static_cast<std::uint8_t>(c)) != stop;
            }
        }
    }
    for (const state s : lone) {
        for (const char c : neutral) simple = simple && after(s, c) == stop;
    }
    // Whether two neutral bytes may belong to one segment, after anything neutral.
    std::vector<state> before = idle;
    before.push_back(start_);
    for (const char a : neutral) {
        for (const char b : neutral) {
            bool together = false;
            for (const state s : before) {
                const state reached = after(s, a);
                together = together || (reached != stop && after(reached, b) != stop);
            }
            keep_[static_cast<std::size_t>(a) << 7 | static_cast<std::size_t>(b)] = together;
        }
    }
    ascii_simple_ = simple;
}

std::size_t break_rules::boundary_before(std::string_view text, std::size_t from, std::size_t at) const {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    if (bytes[at] >= 0x80) {
        std::size_t end = at;
        UChar32 c;
        U8_NEXT_OR_FFFD(bytes, end, text.size(), c);
        if (at == from || !clings_[category(c)]) return at;
        --at;
    }
    while (at > from && keep_[std::size_t{bytes[at - 1]} << 7 | bytes[at]]) --at;
    return at;
}

}  // namespace quern::text
