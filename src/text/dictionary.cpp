// SPDX-License-Identifier: Apache-2.0
#include "text/dictionary.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace quern::text {

void dictionary_builder::append(std::string_view word) {
    if (ended_) throw std::logic_error("the dictionary has ended");
    if (size() > 0 && pages_.last() >= word) throw std::logic_error("dictionary words must rise");
    if (size() == std::numeric_limits<std::uint32_t>::max()) throw std::logic_error("dictionary is full");
    pages_.append(word);
}

void dictionary_builder::end() {
    pages_.end();
    ended_ = true;
}

std::string dictionary_builder::finish() {
    if (!ended_) end();
    std::string out = pages_.tables();
    out += pages_.take_pages();
    *this = dictionary_builder();
    return out;
}

std::optional<dictionary_view> dictionary_view::open(std::span<const char> bytes) {
    const auto words = primitives::packed_dictionary::open(bytes);
    if (!words) return std::nullopt;
    return dictionary_view(*words);
}

std::string dictionary_view::word(std::uint32_t id) const {
    if (id >= size()) throw std::out_of_range("no such word id");
    std::string word;
    words_.read(id, word);
    return word;
}

dictionary_view::walker::walker(const dictionary_view& of, std::uint32_t first)
    : of_(&of.words_), next_(first) {
    if (first >= of_->size()) return;
    enter(of_->page_of(first));
    for (std::uint32_t before = first - of_->first_of(page_); before > 0; --before, --left_) reader_->step();
}

void dictionary_view::walker::enter(std::uint32_t page) {
    page_ = page;
    left_ = of_->words_on(page);
    reader_.reset();
    if (!of_->is_long(page)) reader_.emplace(of_->page(page), of_->symbols_of(page));
}

std::optional<std::string_view> dictionary_view::walker::next() {
    if (next_ >= of_->size()) return std::nullopt;
    while (left_ == 0) {  // the rest of a long word has none, and pages that a file lost while it is read
        if (page_ + 1 >= of_->pages()) return std::nullopt;
        enter(page_ + 1);
    }
    ++next_;
    --left_;
    if (reader_) {
        word_.assign(reader_->beginning());
        reader_->take_rest(word_);
    } else {
        of_->read_long(page_, word_);
    }
    return word_;
}

std::pair<std::uint32_t, std::uint32_t> dictionary_view::with_prefix(std::string_view prefix) const {
    const std::uint32_t first = words_.lower_bound(prefix).rank;
    // The smallest string greater than every one with this prefix: its last byte below 255 raised by one.
    std::string beyond(prefix);
    while (!beyond.empty() && static_cast<unsigned char>(beyond.back()) == 0xFF) beyond.pop_back();
    if (beyond.empty()) return {first, size()};
    beyond.back() = static_cast<char>(beyond.back() + 1);
    return {first, std::max(first, words_.lower_bound(beyond).rank)};
}

}  // namespace quern::text
