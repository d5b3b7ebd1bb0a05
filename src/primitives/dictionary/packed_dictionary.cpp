// SPDX-License-Identifier: Apache-2.0
// Reading a packed list word by word: opening, ids to words, and the exact search that needs no keys.
#include "primitives/dictionary/packed_dictionary.hpp"

#include <algorithm>

namespace quern::primitives {

using packed::form;
using packed::load;

namespace {

constexpr std::uint64_t header_bytes = 128;

constexpr std::uint32_t rounded_up(std::uint32_t count, std::uint32_t by) {
    return count / by + (count % by != 0 ? 1 : 0);
}

/// The additional pages of a word with that many letters.
constexpr std::uint64_t more_pages(std::uint64_t letters) {
    constexpr std::uint64_t first = packed::page_bytes - packed::long_head,
                            each = packed::page_bytes - packed::long_rest;
    return letters <= first ? 0 : (letters - first + each - 1) / each;
}

}  // namespace

bool packed_dictionary::lay_out(std::span<const char> bytes) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
    if (bytes.size() < header_bytes) return false;
    size_ = load<std::uint32_t>(at);
    pages_ = load<std::uint32_t>(at + 4);
    if (std::any_of(at + 8, at + header_bytes, [](std::uint8_t byte) { return byte != 0; })) return false;
    std::uint64_t used = header_bytes;
    const auto part = [&](std::uint64_t length) {
        const std::uint8_t* const begin = used <= bytes.size() ? at + used : nullptr;
        used += packed::padded(length);
        return begin;
    };
    std::uint32_t count = pages_;
    for (level_count_ = 0; count > 0; ++level_count_) {
        const std::uint32_t nodes = rounded_up(count, packed::fan_out);
        const std::uint64_t key_bytes = level_count_ == 0 ? 4 : 8;
        const std::uint8_t* const keys = part(std::uint64_t{nodes} * packed::fan_out * key_bytes);
        levels_[level_count_] = {keys, part(nodes), count};
        count = nodes == 1 ? 0 : nodes;
    }
    samples_ = part(std::uint64_t{rounded_up(size_, packed::ids_a_sample)} * 4);
    tables_ = part(std::uint64_t{rounded_up(pages_, packed::pages_a_table)} * packed::table_bytes);
    page_bytes_ = part(std::uint64_t{pages_} * packed::page_bytes + packed::read_beyond);
    return used == bytes.size();
}

bool packed_dictionary::symbols_are_valid() const {
    const std::uint32_t tables = rounded_up(pages_, packed::pages_a_table);
    for (std::uint32_t t = 0; t < tables; ++t) {
        const packed::symbols of{tables_ + std::uint64_t{t} * packed::table_bytes};
        if (of.length(0) != 0) return false;
        for (unsigned code = 0; code < 256; ++code) {
            if (of.length(static_cast<std::uint8_t>(code)) > 8) return false;
        }
    }
    return true;
}

bool packed_dictionary::page_is_valid(std::uint32_t at, std::uint32_t& next_id,
                                      std::uint32_t& rest_of) const {
    const std::uint8_t* const p = page(at);
    const auto what = static_cast<form>(p[4] >> 6);
    const std::uint32_t count = p[4] & 63U, begins = p[5];
    if (rest_of > 0) {
        --rest_of;
        if (what != form::long_word || count != 0 || begins != 1) return false;
        const auto back = load<std::uint32_t>(p);
        // Only the distance to the first page of a long word leads here.
        return back > 0 && back <= at && (page(at - back)[4] & 63U) == 1 &&
               more_pages(load<std::uint64_t>(page(at - back) + 8)) == std::uint64_t{back} + rest_of;
    }
    if (load<std::uint32_t>(p) != next_id || count == 0 || count > packed::max_words) return false;
    if (count > size_ - next_id) return false;
    next_id += count;
    if (what == form::long_word) {
        const auto letters = load<std::uint64_t>(p + 8);
        const std::uint64_t more = letters >> 40 == 0 ? more_pages(letters) : pages_;
        if (count != 1 || begins != 0 || more >= pages_ - at) return false;
        rest_of = static_cast<std::uint32_t>(more);
        return true;
    }
    std::uint32_t used = packed::page_head + count + begins;
    const std::uint8_t* const counts = p + packed::page_head + count;
    if (what == form::few_codes) {
        used += (count + 1) / 2;
        for (std::uint32_t i = 0; i < (count + 1) / 2; ++i) used += (counts[i] & 15U) + (counts[i] >> 4U);
        if (count % 2 != 0 && counts[count / 2] >> 4U != 0) return false;
    } else {
        used += count;
        for (std::uint32_t i = 0; i < count; ++i) used += counts[i];
    }
    return used <= packed::page_bytes;
}

std::optional<packed_dictionary> packed_dictionary::open(std::span<const char> bytes) {
    packed_dictionary words;
    if (!words.lay_out(bytes) || !words.symbols_are_valid()) return std::nullopt;
    std::uint32_t next_id = 0, rest_of = 0, sample = 0;
    for (std::uint32_t at = 0; at < words.pages_; ++at) {
        if (!words.page_is_valid(at, next_id, rest_of)) return std::nullopt;
        for (; std::uint64_t{sample} * packed::ids_a_sample < next_id; ++sample) {
            if (load<std::uint32_t>(words.samples_ + std::uint64_t{sample} * 4) != at) return std::nullopt;
        }
    }
    if (next_id != words.size_ || rest_of != 0) return std::nullopt;
    return words;
}

std::uint32_t packed_dictionary::page_of(std::uint32_t id) const {
    const std::uint32_t sample = id / packed::ids_a_sample, beyond = sample + 1;
    std::uint32_t low = load<std::uint32_t>(samples_ + std::uint64_t{sample} * 4);
    std::uint32_t high = beyond < rounded_up(size_, packed::ids_a_sample)
                             ? load<std::uint32_t>(samples_ + std::uint64_t{beyond} * 4)
                             : pages_ - 1;
    // Pages have about equal numbers of words: the first guess is usually right or next to it.
    std::uint32_t guess = low + (high - low) * (id % packed::ids_a_sample) / packed::ids_a_sample;
    for (std::uint32_t steps = 0; low < high; ++steps) {
        guess = head_of(std::clamp(guess, low, high));
        const std::uint8_t* const p = page(guess);
        const auto first = load<std::uint32_t>(p);
        if (id < first) {
            high = guess - 1;
            guess = steps < 2 ? high : low + (high - low) / 2;
        } else if (id - first >= (p[4] & 63U)) {
            low = guess + 1;
            if (is_long(guess)) low += static_cast<std::uint32_t>(more_pages(load<std::uint64_t>(p + 8)));
            guess = steps < 2 ? low : low + (high - low + 1) / 2;
        } else {
            return guess;
        }
    }
    return head_of(low);
}

std::uint32_t packed_dictionary::head_of(std::uint32_t at) const {
    const std::uint8_t* const p = page(at);
    return p[4] == 3U << 6 ? at - load<std::uint32_t>(p) : at;
}

std::string_view packed_dictionary::long_piece(std::uint32_t first, std::uint32_t piece,
                                               std::uint64_t left) const {
    const std::uint32_t head = piece == 0 ? packed::long_head : packed::long_rest;
    const auto* letters = reinterpret_cast<const char*>(page(std::uint64_t{first} + piece) + head);
    return {letters, std::min<std::uint64_t>(left, packed::page_bytes - head)};
}

void packed_dictionary::read_long(std::uint32_t first, std::string& word) const {
    word.clear();
    auto left = load<std::uint64_t>(page(first) + 8);
    for (std::uint32_t piece = 0; left > 0; ++piece) {
        const std::string_view letters = long_piece(first, piece, left);
        word += letters;
        left -= letters.size();
    }
}

void packed_dictionary::read(std::uint32_t id, std::string& word) const {
    const std::uint32_t at = page_of(id);
    if (is_long(at)) return read_long(at, word);
    packed::page_reader reader(page(at), symbols_of(at));
    word.assign(reader.beginning());
    for (std::uint32_t before = id - load<std::uint32_t>(page(at)); before > 0; --before) reader.step();
    reader.take_rest(word);
}

int packed_dictionary::compare_first(std::uint32_t at, std::string_view word, std::string& buffer) const {
    if (is_long(at)) {
        auto left = load<std::uint64_t>(page(at) + 8);
        for (std::uint32_t piece = 0; left > 0; ++piece) {
            const std::string_view letters = long_piece(at, piece, left);
            if (const int order = letters.compare(word.substr(0, letters.size())); order != 0) return order;
            word.remove_prefix(letters.size());
            left -= letters.size();
        }
        return word.empty() ? 0 : -1;
    }
    packed::page_reader reader(page(at), symbols_of(at));
    buffer.assign(reader.beginning());
    reader.take_rest(buffer);
    return buffer.compare(word);
}

packed_dictionary::bound packed_dictionary::lower_bound(std::string_view word) const {
    std::string buffer;
    // The last page whose first word is at most `word`.
    std::uint32_t low = 0, high = pages_;  // those before `low` are; those from `high` on are not
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2, head = head_of(middle);
        if (compare_first(head, word, buffer) <= 0) {
            low = middle + 1;
        } else {
            high = head;
        }
    }
    if (low == 0) return {0, false};
    const std::uint32_t at = head_of(low - 1);
    const auto first = load<std::uint32_t>(page(at));
    if (is_long(at)) {
        const bool equal = compare_first(at, word, buffer) == 0;
        return {equal ? first : first + 1, equal};
    }
    packed::page_reader reader(page(at), symbols_of(at));
    const std::string_view beginning = reader.beginning();
    if (const int order = beginning.compare(word.substr(0, beginning.size())); order != 0) {
        return {order < 0 ? first + reader.words() : first, false};
    }
    word.remove_prefix(beginning.size());
    for (std::uint32_t i = 0; i < reader.words(); ++i) {
        buffer.clear();
        reader.take_rest(buffer);
        const int order = buffer.compare(word);
        if (order >= 0) return {first + i, order == 0};
    }
    return {first + reader.words(), false};
}

}  // namespace quern::primitives
