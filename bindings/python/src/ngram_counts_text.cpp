// SPDX-License-Identifier: Apache-2.0
#include "ngram_counts_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "quern/base/error.hpp"
#include "quern/tasks/ngrams.hpp"

namespace quern::python {
namespace {

std::string_view first_line(std::string_view text) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos)
        throw invalid_input("counts of n-grams", 0, "the last line is not complete");
    return text.substr(0, end + 1);
}

std::string_view words_of(std::string_view line) {
    return line.substr(0, line.rfind('\t'));
}

std::uint64_t count_of(std::string_view line) {
    const std::size_t tab = line.rfind('\t');
    std::uint64_t count = 0;
    const char* const end = line.data() + line.size() - 1;
    if (tab == std::string_view::npos || std::from_chars(line.data() + tab + 1, end, count).ptr != end)
        throw invalid_input("counts of n-grams", 0, "a line has no count");
    return count;
}

/// By words, each by bytes; the unknown word is the last.
bool is_before(std::string_view a, std::string_view b) {
    while (true) {
        const std::string_view x = a.substr(0, a.find(' ')), y = b.substr(0, b.find(' '));
        if (x != y) return y == unknown_ngram_word || (x != unknown_ngram_word && x < y);
        if (x.size() == a.size() || y.size() == b.size()) return a.size() < b.size();
        a.remove_prefix(x.size() + 1);
        b.remove_prefix(y.size() + 1);
    }
}

}  // namespace

ngram_counts_text::ngram_counts_text(std::string_view text, std::span<const std::uint64_t> distinct) {
    std::size_t at = 0;
    for (const std::uint64_t lines : distinct) {
        const std::size_t begin = at;
        for (std::uint64_t i = 0; i < lines; ++i) at += first_line(text.substr(at)).size();
        levels_.push_back(text.substr(begin, at - begin));
    }
    if (at != text.size()) throw invalid_input("counts of n-grams", 0, "there are more lines than n-grams");
    is_ordered_ = words_show_their_order();
}

bool ngram_counts_text::words_show_their_order() const {
    if (levels_.empty()) return true;
    std::string_view before;
    for (std::string_view rest = levels_[0]; !rest.empty();) {
        const std::string_view line = first_line(rest), word = words_of(line);
        const bool has_blank = std::ranges::any_of(word, [](unsigned char c) { return c <= ' '; });
        if (has_blank || (before.data() != nullptr && !is_before(before, word))) return false;
        before = word;
        rest.remove_prefix(line.size());
    }
    return true;
}

std::uint64_t ngram_counts_text::count(std::span<const std::string_view> words) const {
    if (words.empty() || words.size() > levels_.size()) return 0;
    std::string joined;
    for (const std::string_view word : words) joined.append(joined.empty() ? "" : " ").append(word);
    const std::string_view lines = levels_[words.size() - 1];
    if (!is_ordered_) {
        for (std::string_view rest = lines; !rest.empty();) {
            const std::string_view line = first_line(rest);
            if (words_of(line) == joined) return count_of(line);
            rest.remove_prefix(line.size());
        }
        return 0;
    }
    std::size_t first = 0, last = lines.size();  // of the lines that may be it
    while (first < last) {
        const std::size_t middle = first + (last - first) / 2;
        const auto* const end_before =
            static_cast<const char*>(memrchr(lines.data() + first, '\n', middle - first));
        const std::size_t begin =
            end_before == nullptr ? first : static_cast<std::size_t>(end_before + 1 - lines.data());
        const std::string_view line = first_line(lines.substr(begin)), found = words_of(line);
        if (found == joined) return count_of(line);
        if (is_before(found, joined)) {
            first = begin + line.size();
        } else {
            last = begin;
        }
    }
    return 0;
}

void ngram_counts_text::each(std::size_t n,
                             const std::function<void(std::string_view, std::uint64_t)>& sink) const {
    for (std::string_view rest = levels_.at(n - 1); !rest.empty();) {
        const std::string_view line = first_line(rest);
        sink(words_of(line), count_of(line));
        rest.remove_prefix(line.size());
    }
}

}  // namespace quern::python
