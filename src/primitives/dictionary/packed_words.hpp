// SPDX-License-Identifier: Apache-2.0
// A sorted word list in pages of 128 bytes, found through a tree of keys; what a file holds and the CPU reads in place.
// A look-up waits for memory once: the tree stays in the cache, and one page settles the rest, without a chain of
// steps in it. Nothing is decoded when it is opened, and ids are ranks in byte order.
//
// A page holds up to 32 words that follow each other. What they all begin with stands in it once; of each word it has a
// byte made of all its letters (a fingerprint), how many codes it takes and the codes, each of which stands for up to
// eight letters (symbols.hpp). A look-up compares fingerprints at once and decodes the one word that may be it.
//
// The tree's nodes hold sixteen keys: bytes of separators, the shortest strings that stand between the last word of the
// page before and the first of a page. What the separators of a node and of the node behind it all begin with is left
// out (`skip`), and not looked at: every word of the list below this node begins so, and a word that does not is
// refused by the page.
//
// Bytes, numbers little-endian, each part filled with zeros to a multiple of 128:
//   header    128 bytes: u32 words, u32 pages, zeros
//   levels    from the pages up, until a level is one node: the keys of its nodes, filled up with ones to sixteen, and a
//             byte `skip` of each node. Of pages the keys have four bytes, above them eight, as big-endian numbers
//   samples   u32 for each 128th id: its page
//   symbols   a table (symbols.hpp) for each 8192 pages
//   pages     128 bytes each, and 128 zeros behind the last
//
// A page: u32 id of its first word, byte (form << 6 | words), byte length of the beginning; fingerprints; counts of
// codes, of four bits (form `few_codes`) or eight; the beginning; the codes. Form `letters`: of plain letters instead of
// codes. A word for which a page is too short (form `long_word`) stands alone: letters from byte 16 on, their number in
// the u64 before, and goes on in the pages behind it, from byte 8 on of each; these have no words, a 1 for the length of
// their beginning, and for an id how many pages back it begins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quern::primitives {

namespace packed {

inline constexpr std::uint32_t page_bytes = 128, page_head = 6, most_words = 32, fan_out = 16;
inline constexpr std::uint32_t ids_a_sample = 128, pages_a_table = 8192;
inline constexpr std::uint32_t read_beyond = 128;  ///< zeros behind the last page, so that loads need no end
inline constexpr std::uint32_t table_bytes = 256 * 8 + 256;
inline constexpr std::uint32_t long_head = 16, long_rest = 8;

enum class form : std::uint8_t { few_codes, many_codes, letters, long_word };

template <class Number>
inline Number load(const std::uint8_t* from) {
    Number number;
    std::memcpy(&number, from, sizeof number);
    return number;
}

constexpr std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + 127) / 128 * 128;
}

/// A byte of a word's letters: the first, the middle and the last eight. `word`: zeros behind one of less than eight.
inline std::uint8_t fingerprint(const std::uint8_t* word, std::uint64_t length) {
    const std::uint64_t whole = length < 8 ? 8 : length;
    const auto first = load<std::uint64_t>(word), last = load<std::uint64_t>(word + whole - 8),
               middle = load<std::uint64_t>(word + whole / 2 - 4);
    const std::uint64_t mixed = (first ^ length) * 0x9e3779b97f4a7c15U;
    const std::uint64_t other = (last + 0x632be59bd9b4e019U) * 0xd6e8feb86659fd93U ^ middle;
    const std::uint64_t both = (mixed ^ mixed >> 29 ^ (other << 32 | other >> 32)) * 0xff51afd7ed558ccdU;
    return static_cast<std::uint8_t>(both >> 56);
}

/// What the codes of some pages stand for. Code 0 is no letters.
struct symbols {
    const std::uint8_t* bytes;
    std::uint64_t letters(std::uint8_t code) const { return load<std::uint64_t>(bytes + code * 8U); }
    std::uint32_t length(std::uint8_t code) const { return bytes[256 * 8 + code]; }
};

/// The words of one page, front to back. What it reads was checked when the list was opened.
class page_reader {
  public:
    page_reader(const std::uint8_t* page, symbols of)
        : page_(page),
          of_(of),
          form_(static_cast<form>(page[4] >> 6)),
          count_(page[4] & 63U),
          codes_(page + page_head + count_ + count_bytes() + page[5]) {}

    /// Appends the rest of the next word, behind the beginning, and steps over it.
    void take_rest(std::string& word) {
        const std::uint32_t count = codes_of(at_++);
        if (form_ == form::letters) {
            word.append(reinterpret_cast<const char*>(codes_), count);
        } else {
            for (std::uint32_t c = 0; c < count; ++c) {
                const std::uint64_t letters = of_.letters(codes_[c]);
                word.append(reinterpret_cast<const char*>(&letters), of_.length(codes_[c]));
            }
        }
        codes_ += count;
    }
    void step() { codes_ += codes_of(at_++); }

    std::uint32_t words() const { return count_; }
    std::string_view beginning() const {
        return {reinterpret_cast<const char*>(page_ + page_head + count_ + count_bytes()), page_[5]};
    }
    std::uint32_t codes_of(std::uint32_t word) const {
        const std::uint8_t* const counts = page_ + page_head + count_;
        if (form_ != form::few_codes) return counts[word];
        return counts[word / 2] >> word % 2 * 4 & 15U;
    }

  private:
    std::uint32_t count_bytes() const { return form_ == form::few_codes ? (count_ + 1) / 2 : count_; }

    const std::uint8_t* page_;
    symbols of_;
    form form_;
    std::uint32_t count_;
    const std::uint8_t* codes_;
    std::uint32_t at_ = 0;
};

}  // namespace packed

/// Reads finished bytes, which must outlive it; they may lie anywhere.
class packed_words {
  public:
    struct bound {
        std::uint32_t rank;  ///< words less than the one asked for
        bool equal;          ///< whether the next one is it
    };
    struct level {
        const std::uint8_t* keys;
        const std::uint8_t* skips;
        std::uint32_t count;  ///< keys
    };

    packed_words() = default;
    /// Checks every page's head and counts, so that later calls need not; std::nullopt where they do not add up.
    static std::optional<packed_words> open(std::span<const char> bytes);

    std::uint32_t size() const { return size_; }
    std::optional<std::uint32_t> find(std::string_view word) const;  ///< packed_find.cpp
    bound lower_bound(std::string_view word) const;
    void read(std::uint32_t id, std::string& word) const;  ///< `id` below size()

    std::uint32_t pages() const { return pages_; }
    std::span<const level> levels() const { return {levels_.data(), level_count_}; }  ///< of pages first
    const std::uint8_t* page(std::uint64_t at) const { return page_bytes_ + at * packed::page_bytes; }
    packed::symbols symbols_of(std::uint64_t page) const {
        return {tables_ + page / packed::pages_a_table * packed::table_bytes};
    }
    std::uint32_t page_of(std::uint32_t id) const;
    std::uint32_t first_of(std::uint32_t page) const { return packed::load<std::uint32_t>(this->page(page)); }
    std::uint32_t words_on(std::uint32_t page) const { return this->page(page)[4] & 63U; }
    /// The page in which the word on `page` begins: another one for the rest of a long word.
    std::uint32_t head_of(std::uint32_t page) const;
    bool is_long(std::uint32_t page) const { return this->page(page)[4] >> 6 == 3; }
    void read_long(std::uint32_t page, std::string& word) const;

  private:
    std::string_view long_piece(std::uint32_t page, std::uint32_t piece, std::uint64_t left) const;
    bool lay_out(std::span<const char> bytes);
    bool symbols_are_whole() const;
    bool page_is_whole(std::uint32_t at, std::uint32_t& next_id, std::uint32_t& rest_of) const;
    int compare_first(std::uint32_t page, std::string_view word, std::string& buffer) const;

    std::uint32_t size_ = 0, pages_ = 0;
    unsigned level_count_ = 0;
    std::array<level, 8> levels_{};
    const std::uint8_t* samples_ = nullptr;
    const std::uint8_t* tables_ = nullptr;
    const std::uint8_t* page_bytes_ = nullptr;
};

}  // namespace quern::primitives
