// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/long_document.hpp"

#include <string_view>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/words/corpus_words.hpp"
#include "text/text_cuts.hpp"

namespace quern {
namespace {

/// The end of the last paragraph that ends in text[from, to); `from` if there is none.
std::size_t last_paragraph_end(std::string_view text, std::size_t from, std::size_t to) {
    for (std::size_t end = to; end > from;) {
        const std::size_t line = text.substr(from, end - from).rfind('\n');
        if (line == std::string_view::npos) return from;
        end = from + line;
        const std::size_t next = text.find_first_not_of(" \t\r", end + 1);
        if (next != std::string_view::npos && text[next] == '\n') return end + 1;
    }
    return from;
}

}  // namespace

const std::vector<std::uint32_t>& ends_of(const text::token_list& words, window_limit limit) {
    return limit == window_limit::sentence ? words.sentence_ends : words.paragraph_ends;
}

text::boundaries boundaries_of(const document& d, window_limit limit) {
    if (limit == window_limit::sentence) return text::boundaries::sentences_and_paragraphs;
    return d.line_paragraphs ? text::boundaries::line_paragraphs : text::boundaries::paragraphs;
}

void renumber(std::vector<std::uint32_t>& numbers, std::span<const std::uint32_t> number_of_distinct) {
    for (std::uint32_t& n : numbers) {
        if (n < passage_end) n = number_of_distinct[n];
    }
}

/// `numbers` has a passage_end after each passage that ends before the end of the piece.
struct long_document_words::piece {
    document part;
    bool ends_passage = false;
    word_count_table distinct;
    std::vector<std::uint32_t> numbers, number_of_distinct;
    std::uint64_t occurrences = 0;
    bool ends_earlier = false;  ///< the passage of the piece before ends before the first number
    bool is_open = false;       ///< the last passage has numbers
};

std::uint64_t long_document_words::add(const document& d, std::vector<std::uint32_t>& numbers) const {
    std::uint64_t occurrences = 0;
    std::size_t at = 0;
    bool is_open = false;
    pipeline<piece> line(units_at_once(ctx_));
    line.from([&](piece& p) {
        ctx_.check_stop();
        if (at == d.text.size()) return false;
        const cut found = cut_after(d, at);
        p.part.text = d.text.substr(at, found.at - at);
        p.part.verbatim = d.verbatim;
        p.part.line_paragraphs = d.line_paragraphs;
        p.ends_passage = found.ends_passage;
        at = found.at;
        return true;
    });
    line.in_parallel([this](piece& p) { analyse(p); });
    line.in_order([this](piece& p) { into_.add(p.distinct, p.number_of_distinct); });
    line.in_parallel([](piece& p) { renumber(p.numbers, p.number_of_distinct); });
    line.in_order([&](piece& p) {
        if (is_open && p.ends_earlier) numbers.push_back(passage_end);
        is_open = p.is_open || (is_open && p.numbers.empty() && !p.ends_earlier);
        numbers.insert(numbers.end(), p.numbers.begin(), p.numbers.end());
        occurrences += p.occurrences;
        if (!is_open || !p.ends_passage) return;
        numbers.push_back(passage_end);
        is_open = false;
    });
    line.run();
    return occurrences;
}

long_document_words::cut long_document_words::cut_after(const document& d, std::size_t from) const {
    const std::string_view text = d.text;
    if (text.size() - from <= piece_bytes_) return {text.size(), true};
    if (d.verbatim) {
        const std::size_t at = cut_lines(text, from, piece_bytes_);
        return {at, at == text.size()};
    }
    if (params_.window_end == window_limit::sentence) {
        const text::text_cut found = text::cut_text(text, from, piece_bytes_, rule_);
        return {found.at, found.ends_sentence};
    }
    const std::size_t middle = from + piece_bytes_ / 2, last = from + piece_bytes_;
    if (d.line_paragraphs) {
        const std::size_t line = text.substr(middle, last - middle).rfind('\n');
        if (line != std::string_view::npos) return {middle + line + 1, true};
    } else if (const std::size_t end = last_paragraph_end(text, middle, last); end != middle) {
        return {end, true};
    }
    const std::size_t at = text::cut_within_paragraph(text, from, piece_bytes_, rule_);
    return {at, at == text.size() || (d.line_paragraphs && text[at - 1] == '\n')};
}

void long_document_words::analyse(piece& p) const {
    // With the words that are dropped, since a passage may end after them.
    const text::token_list& words =
        words_.of(p.part, boundaries_of(p.part, params_.window_end), text::dropped_words::keep_place);
    const bool keeps_gaps = params_.gaps == gap_policy::keep;
    std::uint32_t at = 0;
    const auto add_until = [&](std::uint32_t end) {
        for (; at < end; ++at) {
            const std::string_view word = words.word(words.tokens[at]);
            p.occurrences += word.empty() ? 0 : 1;
            if (word.empty() && !keeps_gaps) continue;
            p.numbers.push_back(word.empty() ? unknown_word : p.distinct.add(word));
            p.is_open = true;
        }
    };
    for (const std::uint32_t end : ends_of(words, params_.window_end)) {
        add_until(end);
        if (end == words.tokens.size()) break;  // of the piece
        if (p.is_open)
            p.numbers.push_back(passage_end);
        else if (p.numbers.empty())
            p.ends_earlier = true;
        p.is_open = false;
    }
    add_until(static_cast<std::uint32_t>(words.tokens.size()));
    release(p.part.text);
}

}  // namespace quern
