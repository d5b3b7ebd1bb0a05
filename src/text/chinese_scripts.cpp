// SPDX-License-Identifier: Apache-2.0
// One table of ideographs for each script, made once by ICU: its transliterator takes a microsecond a character and a
// lock. Words without ideographs, nearly all of other languages, are not touched.
#include "text/chinese_scripts.hpp"

#include <unicode/translit.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "quern/base/error.hpp"

namespace quern::text {
namespace {

/// The ideographs that the table covers: those of the first plane, extension A included. ICU maps no others.
constexpr char32_t first_ideograph = 0x3400, past_ideographs = 0xA000;

class character_map {
  public:
    explicit character_map(const char* name) : to_(past_ideographs - first_ideograph) {
        UErrorCode failed = U_ZERO_ERROR;
        UParseError where;
        const std::unique_ptr<icu::Transliterator> by(icu::Transliterator::createInstance(
            icu::UnicodeString::fromUTF8(name), UTRANS_FORWARD, where, failed));
        if (failed == U_MEMORY_ALLOCATION_ERROR) throw std::bad_alloc();
        if (U_FAILURE(failed) != 0 || by == nullptr)
            throw usage_error(std::string("the installed ICU lacks the transliterator ") + name +
                              " for Chinese (expected ICU with its complete data)");
        for (char32_t c = first_ideograph; c < past_ideographs; ++c) {
            icu::UnicodeString text(static_cast<UChar32>(c));
            by->transliterate(text);
            const bool is_one = text.countChar32() == 1;
            to_[c - first_ideograph] = is_one ? static_cast<char32_t>(text.char32At(0)) : c;
        }
    }

    char32_t operator()(char32_t c) const {
        return c >= first_ideograph && c < past_ideographs ? to_[c - first_ideograph] : c;
    }

  private:
    std::vector<char32_t> to_;
};

/// Ideographs of the table have three bytes in UTF-8, of which the first is one of these.
bool may_begin_ideograph(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xE3 && byte <= 0xE9;
}

bool may_have_ideographs(std::string_view word) {
    return std::ranges::any_of(word, may_begin_ideograph);
}

/// Simplified characters that ICU takes for variants of others (具, 交), which are other words: 俱乐部, 摔跤.
bool is_simplified(char32_t c) {
    return c == U'俱' || c == U'跤';
}

}  // namespace

struct script_joiner::table {
    std::vector<char32_t> to;

    explicit table(script wanted) {
        const character_map by_icu("Hant-Hans");
        const auto simplify = [&](char32_t c) { return is_simplified(c) ? c : by_icu(c); };
        // A form may have a form itself, and two may be each other's (苎, 苧): then the first stands for both.
        const auto simplified = [&](char32_t c) {
            for (char32_t next = simplify(c); next != c; next = simplify(c)) {
                if (simplify(next) == c) return std::min(c, next);
                c = next;
            }
            return c;
        };
        for (char32_t c = first_ideograph; c < past_ideographs; ++c) to.push_back(simplified(c));
        if (wanted == script::simplified) return;
        const character_map lengthen("Hans-Hant");
        const auto traditional = [&](char32_t c) { return lengthen(simplified(c)); };
        // Twice: the traditional form of a rare simplified character may have another simplified one (䌽, 綵, 彩).
        for (char32_t& c : to) c = traditional(traditional(c));
    }

    char32_t operator()(char32_t c) const {
        return c >= first_ideograph && c < past_ideographs ? to[c - first_ideograph] : c;
    }

    static std::shared_ptr<const table> of(script wanted) {
        if (wanted == script::simplified) {
            static const auto result = std::make_shared<const table>(script::simplified);
            return result;
        }
        static const auto result = std::make_shared<const table>(script::traditional);
        return result;
    }
};

script_joiner::script_joiner(script wanted) : table_(table::of(wanted)) {}

void script_joiner::join(token_list& list) {
    if (!may_have_ideographs(list.words)) return;
    words_.clear();
    words_.reserve(list.words.size());
    for (token& t : list.tokens) {
        const std::string_view word = list.word(t);
        const auto begin = static_cast<std::uint32_t>(words_.size());
        if (!may_have_ideographs(word)) {
            words_.append(word);
        } else {
            for (std::size_t at = 0; at < word.size();) append_utf8((*table_)(next_utf8(word, at)), words_);
        }
        t.word_begin = begin;
        t.word_end = static_cast<std::uint32_t>(words_.size());
    }
    list.words.swap(words_);
}

void script_joiner::join(std::string& text) const {
    std::string form;
    for (std::size_t at = 0; at < text.size();) {
        if (!may_begin_ideograph(text[at])) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        const char32_t c = next_utf8(text, at);
        const char32_t to = (*table_)(c);
        if (to == c) continue;
        form.clear();
        append_utf8(to, form);
        text.replace(begin, at - begin, form);
    }
}

}  // namespace quern::text
