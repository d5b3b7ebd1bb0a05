// SPDX-License-Identifier: Apache-2.0
#include "ops/search/indexing/recode_tokens.hpp"

#include <algorithm>
#include <cstring>

#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

[[noreturn]] void damaged_code(const char* reason) {
    throw damaged_store("the store", "tokens", reason);
}

}  // namespace

token_recoder::token_recoder(std::span<const std::uint32_t> frequent, std::span<const codeword> codes)
    : codes_(codes) {
    for (std::size_t i = 0; i < frequent.size(); ++i) {
        if (frequent[i] >= codes.size()) damaged_code("a short code has no word");
        (i < token_code::one_byte_words ? one_byte_ : two_bytes_).push_back(codes[frequent[i]]);
    }
}

void token_recoder::append(std::string_view coded, std::string& out) const {
    const std::size_t begin = out.size();
    // A word has one byte at least, and what is written of a code is all of its room.
    out.resize(begin + coded.size() * codeword::longest + sizeof(codeword));
    char* to = out.data() + begin;
    std::uint64_t number = 0;
    std::size_t size = 0;
    for (const char byte : coded) {
        number = number << 7 | (static_cast<unsigned char>(byte) & 0x7fU);
        ++size;
        if (!ends_a_word(byte)) continue;
        if (size > codeword::longest) damaged_code("a code is too long");
        const std::span<const codeword> table = size == 1   ? std::span<const codeword>(one_byte_)
                                                : size == 2 ? std::span<const codeword>(two_bytes_)
                                                            : codes_;
        if (number >= table.size()) damaged_code("a code has no word");
        const codeword& code = table[number];
        if (code.size == 0) damaged_code("a word is in a document, but has no postings");
        std::memcpy(to, code.bytes, sizeof code.bytes);
        to += code.size;
        number = size = 0;
    }
    if (size != 0) damaged_code("a document ends within a word");
    out.resize(static_cast<std::size_t>(to - out.data()));
}

}  // namespace quern::search_detail
