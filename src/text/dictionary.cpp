// SPDX-License-Identifier: Apache-2.0
// A sorted word list, front-coded in blocks of sixteen words, with a table of keys in front that carries the search.
// It keeps byte order, so that ids are ranks and prefixes are ranges; it needs no decoding at opening; and a look-up
// reads one block.
//
// Bytes, all numbers little-endian:
//   u32 words, u32 width of an offset (4 or 8, the smaller that fits), u64 bytes of blocks,
//   u64 key per block      the first eight bytes of its first word as a big-endian number, zeros behind a short
//                          word: the search runs over these alone and seldom touches the words
//   offset per block + 1   where it begins in the blocks; the last is their end
//   blocks                 primitives/dictionary/front_coding.hpp
#include "text/dictionary.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/prefix_key.hpp"
#include "base/varint.hpp"

namespace quern::text {
namespace {

using primitives::front_coding::half_limit;
using primitives::front_coding::words_per_block;

constexpr std::size_t header_bytes = 16;

template <class Number>
Number load(const char* from) {
    static_assert(std::endian::native == std::endian::little, "stored numbers are read as they lie");
    Number number;
    std::memcpy(&number, from, sizeof number);
    return number;
}

template <class Number>
void store(std::string& out, Number number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
    const std::size_t limit = std::min(a.size(), b.size());
    std::size_t length = 0;
    while (length < limit && a[length] == b[length]) ++length;
    return length;
}

const std::uint8_t* bytes_of(std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}

/// The word that a walk has come to, made of the one before.
void take_word(const primitives::front_coding::block_walk& walk, std::string& word) {
    word.resize(std::min<std::size_t>(walk.shared(), word.size()));
    word.append(reinterpret_cast<const char*>(walk.letters()), walk.added());
}

}  // namespace

void dictionary_builder::append(std::string_view word) {
    if (size_ > 0 && std::string_view(previous_) >= word) {
        throw std::logic_error("dictionary words must rise");
    }
    if (size_ == std::numeric_limits<std::uint32_t>::max()) throw std::logic_error("dictionary is full");
    if (size_ % words_per_block == 0) {
        offsets_.push_back(block_bytes());
        keys_.push_back(prefix_key(word));
        append_varint(blocks_, word.size());
        blocks_ += word;
        previous_.assign(word);
    } else {
        const std::size_t shared = common_prefix(previous_, word);
        const std::size_t added =
            word.size() - shared;  // at least 1: the word is greater than the one before
        const std::size_t low = std::min<std::size_t>(added - 1, half_limit);
        const std::size_t high = std::min<std::size_t>(shared, half_limit);
        blocks_ += static_cast<char>(high << 4 | low);
        if (high == half_limit) append_varint(blocks_, shared - half_limit);
        if (low == half_limit) append_varint(blocks_, added - 1 - half_limit);
        blocks_ += word.substr(shared);
        previous_.replace(shared, std::string::npos, word.substr(shared));
    }
    ++size_;
}

std::string dictionary_builder::take_blocks() {
    taken_bytes_ += blocks_.size();
    return std::exchange(blocks_, {});
}

std::string dictionary_builder::finish() {
    const bool wide = block_bytes() > std::numeric_limits<std::uint32_t>::max();
    std::string out;
    out.reserve(header_bytes + keys_.size() * 8 + (offsets_.size() + 1) * (wide ? 8 : 4) + blocks_.size());
    store<std::uint32_t>(out, size_);
    store<std::uint32_t>(out, wide ? 8 : 4);
    store<std::uint64_t>(out, block_bytes());
    for (const std::uint64_t key : keys_) store(out, key);
    offsets_.push_back(block_bytes());
    for (const std::uint64_t offset : offsets_) {
        if (wide) {
            store(out, offset);
        } else {
            store(out, static_cast<std::uint32_t>(offset));
        }
    }
    out += blocks_;
    *this = dictionary_builder();
    return out;
}

std::optional<dictionary_view> dictionary_view::open(std::span<const char> bytes) {
    if (bytes.size() < header_bytes) return std::nullopt;
    dictionary_view view;
    view.size_ = load<std::uint32_t>(bytes.data());
    view.offset_width_ = load<std::uint32_t>(bytes.data() + 4);
    const auto block_bytes = load<std::uint64_t>(bytes.data() + 8);
    if (view.offset_width_ != 4 && view.offset_width_ != 8) return std::nullopt;

    const std::uint64_t blocks = (std::uint64_t{view.size_} + words_per_block - 1) / words_per_block;
    const std::uint64_t tables = blocks * 8 + (blocks + 1) * view.offset_width_;
    const std::uint64_t rest = bytes.size() - header_bytes;
    if (tables > rest || block_bytes != rest - tables) return std::nullopt;
    view.keys_ = bytes.subspan(header_bytes, blocks * 8);
    view.offsets_ = bytes.subspan(header_bytes + blocks * 8, (blocks + 1) * view.offset_width_);
    view.blocks_ = bytes.subspan(header_bytes + tables);

    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i <= blocks; ++i) {
        const char* at = view.offsets_.data() + i * view.offset_width_;
        const std::uint64_t offset =
            view.offset_width_ == 4 ? load<std::uint32_t>(at) : load<std::uint64_t>(at);
        const bool rises = i == 0 ? offset == 0 : offset > before;
        if (!rises || offset > block_bytes) return std::nullopt;
        before = offset;
    }
    if (before != block_bytes) return std::nullopt;
    view.index_ = primitives::key_index(view.keys_.data(), blocks);
    return view;
}

primitives::front_coding::block_bytes dictionary_view::block(std::uint64_t index) const {
    const char* at = offsets_.data() + index * offset_width_;
    const std::uint64_t begin = offset_width_ == 4 ? load<std::uint32_t>(at) : load<std::uint64_t>(at);
    at += offset_width_;
    const std::uint64_t end = offset_width_ == 4 ? load<std::uint32_t>(at) : load<std::uint64_t>(at);
    const std::uint8_t* const all = bytes_of({blocks_.data(), blocks_.size()});
    return {all + begin, all + end};
}

primitives::front_coding::bound dictionary_view::lower_bound(std::string_view word) const {
    if (size_ == 0) return {0, false};
    const std::uint8_t* const letters = bytes_of(word);
    const std::uint64_t key = prefix_key(word);
    const std::uint64_t which = primitives::front_coding::block_of(
        [this](std::uint64_t i) { return load<std::uint64_t>(keys_.data() + i * 8); },
        [this](std::uint64_t i) { return block(i); }, primitives::front_coding::blocks_for(size_),
        index_.below(key), key, letters, word.size());
    const primitives::front_coding::block_bytes bytes = block(which);
    __builtin_prefetch(bytes.begin + 64);  // most blocks go on into the next line
    const std::uint32_t count = primitives::front_coding::words_in(which, size_);
    return primitives::front_coding::in_list(
        primitives::front_coding::lower_bound(bytes.begin, bytes.end, count, letters, word.size()), which);
}

std::optional<std::uint32_t> dictionary_view::find(std::string_view word) const {
    const primitives::front_coding::bound found = lower_bound(word);
    if (!found.equal) return std::nullopt;
    return found.rank;
}

std::string dictionary_view::word(std::uint32_t id) const {
    if (id >= size_) throw std::out_of_range("no such word id");
    const primitives::front_coding::block_bytes bytes = block(id / words_per_block);
    primitives::front_coding::block_walk walk(bytes.begin, bytes.end);
    std::string word;
    for (std::uint32_t i = 0; i <= id % words_per_block && walk.next(); ++i) take_word(walk, word);
    return word;
}

dictionary_view::walker::walker(const dictionary_view& of, std::uint32_t first) : of_(&of), next_(first) {
    if (first >= of.size_) return;
    enter(first / words_per_block);
    for (std::uint32_t i = 0; i < first % words_per_block && walk_.next(); ++i) take_word(walk_, word_);
}

void dictionary_view::walker::enter(std::uint32_t block) {
    const primitives::front_coding::block_bytes bytes = of_->block(block);
    walk_ = primitives::front_coding::block_walk(bytes.begin, bytes.end);
    word_.clear();
}

std::optional<std::string_view> dictionary_view::walker::next() {
    if (next_ >= of_->size_) return std::nullopt;
    if (next_ % words_per_block == 0) enter(next_ / words_per_block);
    ++next_;
    if (walk_.next()) take_word(walk_, word_);
    return word_;
}

primitives::word_list<cpu_place> dictionary_view::list() const {
    if (reinterpret_cast<std::uintptr_t>(keys_.data()) % alignof(std::uint64_t) != 0) {
        throw std::logic_error("the bytes of a dictionary lie at no multiple of eight");
    }
    primitives::word_list<cpu_place> list;
    list.size = size_;
    list.keys = {reinterpret_cast<const std::uint64_t*>(keys_.data()), keys_.size() / 8};
    list.blocks = {bytes_of({blocks_.data(), blocks_.size()}), blocks_.size()};
    if (offset_width_ == 4) {
        list.offsets = {reinterpret_cast<const std::uint32_t*>(offsets_.data()), offsets_.size() / 4};
    } else {
        list.wide_offsets = {reinterpret_cast<const std::uint64_t*>(offsets_.data()), offsets_.size() / 8};
    }
    return list;
}

std::pair<std::uint32_t, std::uint32_t> dictionary_view::with_prefix(std::string_view prefix) const {
    const std::uint32_t first = lower_bound(prefix).rank;
    // The least string greater than every one with this prefix: its last byte below 255 raised by one.
    std::string beyond(prefix);
    while (!beyond.empty() && static_cast<unsigned char>(beyond.back()) == 0xFF) beyond.pop_back();
    if (beyond.empty()) return {first, size_};
    beyond.back() = static_cast<char>(beyond.back() + 1);
    return {first, std::max(first, lower_bound(beyond).rank)};
}

}  // namespace quern::text
