// SPDX-License-Identifier: Apache-2.0
// A sorted word list in blocks of sixteen: the first word of a block whole, each other one as the number of
// bytes it shares with the word before and the bytes that follow (front coding). It keeps byte order, so that
// ids are ranks and prefixes are ranges; it needs no decoding at opening; and a look-up reads one block.
//
// Bytes, all numbers little-endian:
//   u32 words, u32 width of an offset (4 or 8, the smaller that fits), u64 bytes of blocks,
//   u64 key per block      the first eight bytes of its first word as a big-endian number, zeros behind a
//   short
//                          word: the binary search runs over these alone and seldom touches the words
//   offset per block + 1   where it begins in the blocks; the last is their end
//   blocks                 first word: number n, n bytes
//                          others: byte (shared << 4 | added - 1); a half of 15 is continued by a number;
//                          bytes
//   "number": seven bits a byte, low ones first, the high bit set on all but the last
#include "text/dictionary.hpp"

#include "base/varint.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace quern::text {
namespace {

constexpr std::uint32_t words_per_block = 16;
constexpr std::size_t header_bytes = 16;
constexpr std::uint32_t half_limit = 15;

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

/// The first eight bytes as a number that compares as the bytes do; a short word is filled with zeros, so
/// that a word and the same word with NUL bytes behind share a key.
std::uint64_t key_of(std::string_view word) {
    std::uint64_t key = 0;
    if (word.size() >= 8) {
        std::memcpy(&key, word.data(), 8);
    } else if (!word.empty()) {
        std::memcpy(&key, word.data(), word.size());
    }
    return __builtin_bswap64(key);
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
    const std::size_t limit = std::min(a.size(), b.size());
    std::size_t length = 0;
    while (length < limit && a[length] == b[length]) ++length;
    return length;
}

/// Reads the words of one block in turn. Every step is checked against the block's end and the word so far,
/// so that damaged bytes end the walk and are never followed.
class block_walk {
  public:
    explicit block_walk(std::span<const char> block) : at_(block.data()), end_(at_ + block.size()) {}

    /// Steps to the next word: it begins with `shared` bytes of the one before and goes on with `added`.
    /// False at the end of the block and at bytes that make no word.
    bool next() {
        if (at_ == end_) return false;
        std::uint64_t add;
        if (first_) {
            first_ = false;
            shared_ = 0;
            if (!number(add)) return false;
        } else {
            const auto halves = static_cast<unsigned char>(*at_++);
            shared_ = halves >> 4;
            add = (halves & 15) + 1U;
            std::uint64_t more;
            if (shared_ == half_limit) {
                if (!number(more) || more > length_) return false;
                shared_ += more;
            }
            if (add == half_limit + 1) {
                if (!number(more)) return false;
                if (more > static_cast<std::uint64_t>(end_ - at_)) return false;
                add += more;
            }
            if (shared_ > length_) return false;
        }
        if (add > static_cast<std::uint64_t>(end_ - at_)) return false;
        added_ = std::string_view(at_, add);
        at_ += add;
        length_ = shared_ + add;
        return true;
    }

    std::uint64_t shared() const { return shared_; }
    std::string_view added() const { return added_; }

  private:
    bool number(std::uint64_t& out) {
        out = 0;
        for (unsigned shift = 0; at_ != end_ && shift < 63; shift += 7) {
            const auto byte = static_cast<unsigned char>(*at_++);
            out |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return true;
        }
        return false;
    }

    const char* at_;
    const char* end_;
    std::uint64_t shared_ = 0;
    std::uint64_t length_ = 0;
    std::string_view added_;
    bool first_ = true;
};

}  // namespace

void dictionary_builder::append(std::string_view word) {
    if (size_ > 0 && std::string_view(previous_) >= word) {
        throw std::logic_error("dictionary words must rise");
    }
    if (size_ == std::numeric_limits<std::uint32_t>::max()) throw std::logic_error("dictionary is full");
    if (size_ % words_per_block == 0) {
        offsets_.push_back(blocks_.size());
        keys_.push_back(key_of(word));
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

std::string dictionary_builder::finish() {
    const bool wide = blocks_.size() > std::numeric_limits<std::uint32_t>::max();
    std::string out;
    out.reserve(header_bytes + keys_.size() * 8 + (offsets_.size() + 1) * (wide ? 8 : 4) + blocks_.size());
    store<std::uint32_t>(out, size_);
    store<std::uint32_t>(out, wide ? 8 : 4);
    store<std::uint64_t>(out, blocks_.size());
    for (const std::uint64_t key : keys_) store(out, key);
    offsets_.push_back(blocks_.size());
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
    return view;
}

std::span<const char> dictionary_view::block(std::uint32_t index) const {
    const char* at = offsets_.data() + std::size_t{index} * offset_width_;
    const std::uint64_t begin = offset_width_ == 4 ? load<std::uint32_t>(at) : load<std::uint64_t>(at);
    at += offset_width_;
    const std::uint64_t end = offset_width_ == 4 ? load<std::uint32_t>(at) : load<std::uint64_t>(at);
    return blocks_.subspan(begin, end - begin);
}

/// The last block whose first word is not greater than `word`; 0 when there is none.
std::uint32_t dictionary_view::block_of(std::string_view word) const {
    const std::uint64_t key = key_of(word);
    const auto key_at = [this](std::size_t i) { return load<std::uint64_t>(keys_.data() + i * 8); };
    // Blocks before `first` have a smaller key. The loop is written to compile into conditional moves.
    std::size_t first = 0;
    for (std::size_t count = keys_.size() / 8; count > 0;) {
        const std::size_t half = (count + 1) / 2;
        first += key_at(first + half - 1) < key ? half : 0;
        count -= half;
    }
    // Of those with the same key the words themselves decide: bisect them.
    std::size_t last = first;
    if (first < keys_.size() / 8 && key_at(first) == key) {
        std::size_t count = keys_.size() / 8 - first;
        while (count > 0) {
            const std::size_t half = count / 2;
            const std::size_t middle = last + half;
            bool before = key_at(middle) == key;
            if (before) {
                block_walk walk(block(static_cast<std::uint32_t>(middle)));
                before = walk.next() && walk.added() <= word;
            }
            if (before) {
                last = middle + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
    }
    return static_cast<std::uint32_t>(last == 0 ? 0 : last - 1);
}

/// Walks one block keeping only how many bytes `word` has in common with the word walked over: as long as a
/// word shares more than that with its neighbour it compares like the neighbour, and no byte of it is read.
dictionary_view::place dictionary_view::lower_bound(std::string_view word) const {
    if (size_ == 0) return {0, false};
    const std::uint32_t index = block_of(word);
    std::uint32_t rank = index * words_per_block;
    const std::uint32_t limit = std::min(size_ - rank, words_per_block) + rank;
    block_walk walk(block(index));
    std::uint64_t same = 0;
    for (; rank < limit && walk.next(); ++rank) {
        if (walk.shared() > same) continue;
        if (walk.shared() < same) return {rank, false};
        const std::string_view rest = word.substr(same);
        const std::size_t more = common_prefix(walk.added(), rest);
        same += more;
        if (more == rest.size()) return {rank, more == walk.added().size()};
        if (more < walk.added().size() &&
            static_cast<unsigned char>(walk.added()[more]) > static_cast<unsigned char>(rest[more])) {
            return {rank, false};
        }
    }
    return {limit, false};
}

std::optional<std::uint32_t> dictionary_view::find(std::string_view word) const {
    const place found = lower_bound(word);
    if (!found.equal) return std::nullopt;
    return found.rank;
}

std::string dictionary_view::word(std::uint32_t id) const {
    if (id >= size_) throw std::out_of_range("no such word id");
    block_walk walk(block(id / words_per_block));
    std::string word;
    for (std::uint32_t i = 0; i <= id % words_per_block && walk.next(); ++i) {
        word.resize(std::min<std::size_t>(walk.shared(), word.size()));
        word += walk.added();
    }
    return word;
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
