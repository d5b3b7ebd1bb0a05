// SPDX-License-Identifier: Apache-2.0
// Runs of letters, or of letters and digits: they begin and end where a bit of the class mask differs from the
// preceding bit, so that the loop steps from one such bit to the next.
#include "text/plain_words.hpp"

#include <algorithm>
#include <string>

#include "text/byte_masks.hpp"
#include "text/word_writer.hpp"

namespace quern::text {
namespace {

bool belongs(char c, bool digits) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (digits && c >= '0' && c <= '9');
}

}  // namespace

std::size_t find_plain_words(std::string_view text, std::size_t from, std::size_t to, bool digits,
                             token_list& out) {
    word_writer writer(out, to - from);
    byte_chunk chunk;
    chunk_bits changes;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
    std::string long_word;
    std::size_t base = from;
    while (base < to) {
        chunk.load(text, base);
        std::uint64_t before = 0;
        for (std::size_t b = 0; b < chunk.blocks(); ++b) {
            const std::uint64_t mask = chunk.masks(b).letters | (digits ? chunk.masks(b).digits : 0);
            changes[b] = mask ^ (mask << 1 | before);
            before = mask >> 63;
        }
        changes.end_after(chunk.blocks());
        const std::size_t size = chunk.size();
        const bool last = base + size == text.size();
        std::size_t at = 0;
        for (;;) {
            at = changes.next(at);
            if (at >= size) break;
            const std::size_t end = changes.next(at + 1);
            if (end >= size && !last) break;  // it may continue in the next chunk
            writer.add_padded(chunk.lowered(at), end - at, base + at);
            at = end + 1;  // the byte at `end`, if any, belongs to no word
            if (at >= size) break;
        }
        if (at > 0 || last) {
            base += std::min(at, size);
            continue;
        }
        // The whole chunk belongs to one run: process it byte by byte.
        long_word.clear();
        std::size_t end = base;
        for (; end < text.size() && belongs(text[end], digits); ++end) {
            const char c = text[end];
            long_word += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
        }
        writer.add(long_word, base, end);
        base = end;
    }
    return base;
}

std::size_t find_words_between_blanks(std::string_view text, std::size_t from, std::size_t to,
                                      token_list& out) {
    constexpr std::string_view blanks = " \t\n\r\f\v";
    word_writer writer(out, to - from);
    for (std::size_t at = from;;) {
        const std::size_t begin = text.find_first_not_of(blanks, at);
        if (begin >= to) return std::min(begin, text.size());
        at = std::min(text.find_first_of(blanks, begin), text.size());
        writer.add(text.substr(begin, at - begin), begin, at);
    }
}

}  // namespace quern::text
