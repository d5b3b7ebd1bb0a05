// SPDX-License-Identifier: Apache-2.0
// Any bytes through every path to words and passages: all paths must agree, and their results must match the text. The
// first byte selects language and options.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "quern/text/analyzer.hpp"
#include "text/passages.hpp"
#include "text/unicode_words.hpp"

namespace {

using namespace quern;
using namespace quern::text;

void require(bool holds) {
    if (!holds) std::abort();
}

bool same(const token_list& a, const token_list& b) {
    if (a.words != b.words || a.tokens.size() != b.tokens.size()) return false;
    for (std::size_t i = 0; i < a.tokens.size(); ++i) {
        const token &x = a.tokens[i], &y = b.tokens[i];
        if (x.word_begin != y.word_begin || x.word_end != y.word_end || x.source_begin != y.source_begin ||
            x.source_end != y.source_end) {
            return false;
        }
    }
    return a.sentence_ends == b.sentence_ends && a.paragraph_ends == b.paragraph_ends;
}

void check(std::string_view text, const token_list& list, bool passages) {
    std::uint32_t word = 0, last_begin = 0, last_end = 0;
    for (const token& t : list.tokens) {
        require(t.word_begin == word && t.word_end > t.word_begin && t.word_end <= list.words.size());
        require(t.source_end > t.source_begin && t.source_end <= text.size());
        // U+FDFA folds to four words: they have the same bytes. No other words overlap.
        require(t.source_begin >= last_end || (t.source_begin == last_begin && t.source_end == last_end));
        word = t.word_end;
        last_begin = t.source_begin;
        last_end = t.source_end;
    }
    require(word == list.words.size());
    for (const auto* ends : {&list.sentence_ends, &list.paragraph_ends}) {
        std::uint32_t before = 0;
        for (const std::uint32_t end : *ends) {
            require(end > before);
            before = end;
        }
        require(before == (passages ? list.tokens.size() : 0));
    }
}

struct paths {
    explicit paths(const char* name)
        : locale(*name ? icu::Locale(name) : icu::Locale::getRoot()),
          best(locale),
          rules(locale, word_path::rules),
          whole(locale, word_path::icu),
          marker(locale),
          icu_marker(locale, word_path::icu) {}
    icu::Locale locale;
    unicode_words best, rules, whole;
    passage_marker marker, icu_marker;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static paths languages[] = {paths(""), paths("fi"), paths("el"), paths("ja")};
    if (size == 0) return 0;
    const unsigned choice = data[0];
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);

    paths& p = languages[choice & 3];
    token_list best, rules, whole;
    p.best.find(text, best);
    p.rules.find(text, rules);
    p.whole.find(text, whole);
    p.marker.mark(text, best);
    p.marker.mark(text, rules);
    p.icu_marker.mark(text, whole);
    check(text, best, true);
    require(same(best, rules) && same(best, whole));

    static std::unique_ptr<analyzer> analyzers[64];
    auto& one = analyzers[choice >> 2];
    if (!one) {
        text_options options;
        options.tokens = static_cast<token_rule>((choice >> 2) % 3);
        options.min_length = choice & 0x10 ? 2 : 1;
        options.stop_words = choice & 0x20 ? "en" : "none";
        options.stem = choice & 0x40 ? stemmer::porter : stemmer::none;
        one = std::make_unique<analyzer>(options);
    }
    token_list list;
    one->analyze(text, list, boundaries::sentences_and_paragraphs);
    check(text, list, true);
    analyzer::take_lines(text, list);
    return 0;
}
