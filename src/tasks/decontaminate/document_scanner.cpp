// SPDX-License-Identifier: Apache-2.0
#include "tasks/decontaminate/document_scanner.hpp"

#include <algorithm>
#include <string_view>

#include "base/hash.hpp"

namespace quern {
namespace {

using contamination_detail::item_index;

/// The words of a token list for a scan, and where its text begins in that of the document.
class listed_words : public contamination_detail::word_source {
  public:
    listed_words(const text::token_list& words, std::uint32_t begin, const evaluation_set& items)
        : words_(words), begin_(begin), items_(items) {}
    std::uint32_t number(std::size_t word) const override {
        return items_.number_of(words_.word(words_.tokens[word]));
    }
    std::pair<std::uint32_t, std::uint32_t> bytes(std::size_t word) const override {
        return {begin_ + words_.tokens[word].source_begin, begin_ + words_.tokens[word].source_end};
    }

  private:
    const text::token_list& words_;
    std::uint32_t begin_;
    const evaluation_set& items_;
};

}  // namespace

document_scanner::document_scanner(const evaluation_set& items, const item_index& index,
                                   const text_options& text)
    : items_(items), words_(text), workers_([&index] { return worker(index); }) {}

std::span<const contamination> document_scanner::scan(const document& d) {
    constexpr std::size_t in_one_piece = std::size_t{1} << 18;
    worker& mine = workers_.local();
    const std::string_view text = d.text;
    if (text.size() <= in_one_piece) {
        add(mine, words_.of(d), 0, true);
    } else if (!d.verbatim) {
        words_.for_each_piece(d, [&](const text::token_list& words) { add(mine, words, 0, false); });
    } else {
        for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
            end = std::min(text.find('\n', std::min(text.size(), begin + in_one_piece)), text.size() - 1) + 1;
            text::analyzer::take_lines(text.substr(begin, end - begin), mine.lines);
            add(mine, mine.lines, static_cast<std::uint32_t>(begin), false);
        }
    }
    return mine.scan.finish();
}

void document_scanner::add(worker& mine, const text::token_list& words, std::uint32_t begin,
                           bool is_last) const {
    mine.hashes.resize(words.tokens.size());
    for (std::size_t i = 0; i < words.tokens.size(); ++i)
        mine.hashes[i] = hash64(words.word(words.tokens[i]));
    mine.scan.add(mine.hashes, listed_words(words, begin, items_), is_last);
}

}  // namespace quern
