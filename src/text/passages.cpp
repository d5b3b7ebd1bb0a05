// SPDX-License-Identifier: Apache-2.0
// Sentences are those of ICU's sentence rules (UAX #29 and the language's own), run by break_rules as words are. A
// paragraph ends at an empty line or U+2029 and ends its last sentence. Both are found as offsets and then counted
// against the words in one merge, independent of how words are found.
#include "text/passages.hpp"

#include <algorithm>
#include <cstring>

namespace quern::text {
namespace {

constexpr std::string_view paragraph_separator = "\xE2\x80\xA9";
constexpr std::size_t fallback_chunk = std::size_t{1} << 20;

/// For each offset the number of tokens that begin before it, without zeros and repetitions.
void count_tokens(const std::vector<std::uint32_t>& offsets, const std::vector<token>& tokens,
                  std::vector<std::uint32_t>& ends) {
    std::size_t count = 0;
    for (const std::uint32_t offset : offsets) {
        const std::size_t before = count;
        while (count < tokens.size() && tokens[count].source_begin < offset) ++count;
        if (count > before) ends.push_back(static_cast<std::uint32_t>(count));
    }
}

}  // namespace

passage_marker::passage_marker(const icu::Locale& locale, word_path path) {
    constexpr auto wanted = break_rules::kind::sentences;
    if (path != word_path::icu) rules_ = break_rules::get(wanted, locale);
    if (rules_ == nullptr) icu_ = std::make_unique<icu_boundaries>(wanted, locale);
}

void passage_marker::mark(std::string_view text, token_list& list, boundaries wanted) {
    if (wanted == boundaries::line_paragraphs) {
        find_lines(text);
    } else {
        find_paragraphs(text);
    }
    if (wanted != boundaries::sentences_and_paragraphs) {
        count_tokens(paragraphs_, list.tokens, list.paragraph_ends);
        return;
    }
    find_sentences(text);
    const auto found = static_cast<std::ptrdiff_t>(sentences_.size());
    sentences_.insert(sentences_.end(), paragraphs_.begin(), paragraphs_.end());
    std::inplace_merge(sentences_.begin(), sentences_.begin() + found, sentences_.end());
    count_tokens(sentences_, list.tokens, list.sentence_ends);
    count_tokens(paragraphs_, list.tokens, list.paragraph_ends);
}

void passage_marker::find_paragraphs(std::string_view text) {
    paragraphs_.clear();
    const auto end_here = [this](std::size_t at) { paragraphs_.push_back(static_cast<std::uint32_t>(at)); };
    std::size_t separator = text.find(paragraph_separator);
    for (std::size_t line = 0;;) {
        const std::size_t end = std::min(text.find('\n', line), text.size());
        for (; separator < end; separator = text.find(paragraph_separator, separator + 1)) {
            end_here(separator + paragraph_separator.size());
        }
        if (end == text.size()) break;
        line = end + 1;
        std::size_t next = line;
        while (next < text.size() && (text[next] == ' ' || text[next] == '\t' || text[next] == '\r')) ++next;
        if (next < text.size() && text[next] == '\n') {
            end_here(line);
            line = next;  // the end of the empty line may begin another
        }
    }
    end_here(text.size());
}

void passage_marker::find_lines(std::string_view text) {
    paragraphs_.clear();
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
        paragraphs_.push_back(static_cast<std::uint32_t>(at));
    }
    paragraphs_.push_back(static_cast<std::uint32_t>(text.size()));
}

void passage_marker::find_sentences(std::string_view text) {
    sentences_.clear();
    if (rules_ != nullptr) {
        for (std::size_t at = 0; at < text.size();) {
            at = rules_->next(text, at).end;
            sentences_.push_back(static_cast<std::uint32_t>(at));
        }
        return;
    }
    for (std::size_t at = 0; at < text.size();) {  // a line feed ends a sentence in every rule set
        std::size_t end = text.find('\n', std::min(text.size(), at + fallback_chunk));
        end = end == std::string_view::npos ? text.size() : end + 1;
        icu_->divide(text, at, end, [this](std::size_t, std::size_t stop, bool) {
            sentences_.push_back(static_cast<std::uint32_t>(stop));
        });
        at = end;
    }
}

}  // namespace quern::text
