// SPDX-License-Identifier: Apache-2.0
#include "ops/search/token_code.hpp"

#include <algorithm>

#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

constexpr unsigned char end_tag = 0x80;
constexpr std::size_t short_codes = token_code::one_byte_words + token_code::two_byte_words;

[[noreturn]] void damaged(const char* reason) {
    throw damaged_store("the store", "tokens", reason);
}

/// `number` in groups of seven bits, the highest first, in at least `least` bytes.
codeword grouped(std::uint32_t number, unsigned least) {
    codeword code;
    unsigned size = least;
    while (size < codeword::longest && (std::uint64_t{number} >> (7 * size)) != 0) ++size;
    code.size = static_cast<std::uint8_t>(size);
    for (unsigned i = 0; i < size; ++i)
        code.bytes[i] = static_cast<char>(std::uint64_t{number} >> (7 * (size - 1 - i)) & 0x7f);
    code.bytes[size - 1] = static_cast<char>(static_cast<unsigned char>(code.bytes[size - 1]) | end_tag);
    return code;
}

bool rises_below(std::span<const std::uint32_t> words, std::uint32_t limit) {
    return std::ranges::adjacent_find(words, std::greater_equal<>()) == words.end() &&
           (words.empty() || words.back() < limit);
}

}  // namespace

void frequent_words::add(std::uint64_t collection_frequency) {
    const std::uint32_t word = words_++;
    // Among equal frequencies the earlier words stay.
    if (candidates_.size() >= short_codes && collection_frequency <= too_few_) return;
    candidates_.push_back({collection_frequency, word});
    if (candidates_.size() == 4 * short_codes) select();
}

void frequent_words::select() {
    if (candidates_.size() <= short_codes) return;
    const auto last = candidates_.begin() + (short_codes - 1);
    std::nth_element(candidates_.begin(), last, candidates_.end(), before);
    too_few_ = last->frequency;
    candidates_.resize(short_codes);
}

std::vector<std::uint32_t> frequent_words::finish() {
    select();
    std::sort(candidates_.begin(), candidates_.end(), before);
    std::vector<std::uint32_t> words;
    words.reserve(candidates_.size());
    for (const candidate& c : candidates_) words.push_back(c.word);
    const auto middle =
        words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), token_code::one_byte_words));
    std::sort(words.begin(), middle);
    std::sort(middle, words.end());
    return words;
}

token_code::token_code(std::span<const std::uint32_t> frequent, std::uint32_t vocabulary)
    : one_byte_(frequent.first(std::min(frequent.size(), one_byte_words))),
      two_bytes_(frequent.subspan(one_byte_.size())),
      vocabulary_(vocabulary) {
    if (frequent.size() != std::min<std::size_t>(vocabulary, short_codes) ||
        !rises_below(one_byte_, vocabulary) || !rises_below(two_bytes_, vocabulary))
        damaged("the words of short codes do not match the dictionary");
}

codeword token_code::of(std::uint32_t word) const {
    const auto place_in = [word](std::span<const std::uint32_t> words) {
        return static_cast<std::uint32_t>(std::ranges::lower_bound(words, word) - words.begin());
    };
    if (const auto at = place_in(one_byte_); at < one_byte_.size() && one_byte_[at] == word)
        return grouped(at, 1);
    if (const auto at = place_in(two_bytes_); at < two_bytes_.size() && two_bytes_[at] == word)
        return grouped(at, 2);
    return grouped(word, 3);
}

std::vector<codeword> token_code::of_rising(std::span<const std::uint32_t> words) const {
    std::vector<codeword> codes;
    codes.reserve(words.size());
    std::uint32_t one = 0, two = 0;
    for (const std::uint32_t word : words) {
        while (one < one_byte_.size() && one_byte_[one] < word) ++one;
        while (two < two_bytes_.size() && two_bytes_[two] < word) ++two;
        const bool is_one = one < one_byte_.size() && one_byte_[one] == word;
        const bool is_two = !is_one && two < two_bytes_.size() && two_bytes_[two] == word;
        codes.push_back(is_one ? grouped(one, 1) : is_two ? grouped(two, 2) : grouped(word, 3));
    }
    return codes;
}

void token_code::decode(std::string_view coded, std::vector<std::uint32_t>& words) const {
    std::uint64_t number = 0;
    std::size_t size = 0;
    for (const char c : coded) {
        const auto byte = static_cast<unsigned char>(c);
        number = number << 7 | (byte & 0x7fu);
        ++size;
        if (byte < end_tag) continue;
        if (size <= 2) {
            const auto table = size == 1 ? one_byte_ : two_bytes_;
            if (number >= table.size()) damaged("a short code has no word");
            words.push_back(table[number]);
        } else {
            if (size > codeword::longest || number >= vocabulary_) damaged("a code has no word");
            // Each word must have a single code, or phrases with it would not be found.
            const auto word = static_cast<std::uint32_t>(number);
            if ((size > 3 && number >> (7 * (size - 1)) == 0) ||
                std::ranges::binary_search(two_bytes_, word) || std::ranges::binary_search(one_byte_, word))
                damaged("a word does not have its shortest code");
            words.push_back(word);
        }
        number = size = 0;
    }
    if (size != 0) damaged("a document ends within a word");
}

}  // namespace quern::search_detail
