// SPDX-License-Identifier: Apache-2.0
// A sorted word list in pages of 128 bytes with a tree of keys; the form of a file that the CPU reads in place. A look-up
// waits for memory once: the tree stays in the cache, and one page decides the rest, without a chain of dependent steps.
// Nothing is decoded on opening, and ids are ranks in byte order.
//
// A page holds up to 32 consecutive words. Their common beginning is stored once. For each word the page has a byte computed
// from all its letters (a fingerprint), the number of its codes and the codes, each for up to eight letters (symbol_table.hpp).
// A look-up compares all fingerprints at once and decodes the single word that may match.
//
// The tree's nodes hold sixteen keys: bytes of separators, the shortest strings between the last word of the previous page
// and the first of a page. The common beginning of the separators of a node and of the next node is omitted (`skip`) and not
// compared: every word of the list below this node begins with it, and the page rejects other words.
//
// Bytes, numbers little-endian, each part padded with zeros to a multiple of 128:
//   header    128 bytes: u32 words, u32 pages, zeros
//   levels    from the pages up, until a level is one node: the keys of its nodes, padded with ones to sixteen, and a
//             byte `skip` for each node. Keys of pages have four bytes, those above eight, as big-endian numbers
//   samples   u32 for each 128th id: its page
//   symbols   a table (symbol_table.hpp) for each 8192 pages
//   pages     128 bytes each, and 128 zeros after the last
//
// A page: u32 id of its first word, byte (form << 6 | words), byte length of the common beginning; fingerprints; counts of
// codes, of four bits (form `few_codes`) or eight; the common beginning; the codes. Form `letters`: plain letters instead of
// codes. A word that does not fit a page (form `long_word`) has its own page: letters from byte 16 on, their number in the
// u64 before. It continues in the following pages, from byte 8 on of each; these have no words, 1 as the length of their
// common beginning, and as id the number of pages back to its start.
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

inline constexpr std::uint32_t page_bytes = 128, page_head = 6, max_words = 32, fan_out = 16;
inline constexpr std::uint32_t ids_a_sample = 128, pages_a_table = 8192;
inline constexpr std::uint32_t read_beyond = 128;  ///< zeros after the last page, so that loads need no bound
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

/// A byte computed from a word's letters: the first, the middle and the last eight. `word`: followed by zeros if shorter
/// than eight.
inline std::uint8_t fingerprint(const std::uint8_t* word, std::uint64_t length) {
    const std::uint64_t whole = length < 8 ? 8 : length;
    const auto first = load<std::uint64_t>(word), last = load<std::uint64_t>(word + whole - 8),
               middle = load<std::uint64_t>(word + whole / 2 - 4);
    const std::uint64_t mixed = (first ^ length) * 0x9e3779b97f4a7c15U;
    const std::uint64_t other = (last + 0x632be59bd9b4e019U) * 0xd6e8feb86659fd93U ^ middle;
    const std::uint64_t both = (mixed ^ mixed >> 29 ^ (other << 32 | other >> 32)) * 0xff51afd7ed558ccdU;
    return static_cast<std::uint8_t>(both >> 56);
}

/// The symbols of some pages. Code 0 has no letters.
struct symbols {
    const std::uint8_t* bytes;
    std::uint64_t letters(std::uint8_t code) const { return load<std::uint64_t>(bytes + code * 8U); }
    std::uint32_t length(std::uint8_t code) const { return bytes[256 * 8 + code]; }
};

/// The words of one page, front to back. Its input was checked when the list was opened.
class page_reader {
  public:
    page_reader(const std::uint8_t* page, symbols of)
        : page_(page),
          of_(of),
          form_(static_cast<form>(page[4] >> 6)),
          count_(page[4] & 63U),
          codes_(page + page_head + count_ + count_bytes() + page[5]) {}

    /// Appends the rest of the next word, after the common beginning, and steps past it.
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

/// Reads finished bytes, at any address, which must outlive it.
class packed_dictionary {
  public:
    struct bound {
        std::uint32_t rank;  ///< number of smaller words
        bool equal;          ///< whether the next word is equal
    };
    struct level {
        const std::uint8_t* keys;
        const std::uint8_t* skips;
        std::uint32_t count;  ///< keys
    };

    packed_dictionary() = default;
    /// Checks every page's head and counts, so that later calls need not; std::nullopt if they are inconsistent.
    static std::optional<packed_dictionary> open(std::span<const char> bytes);

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
    /// The page where the word on `page` begins: an earlier one for the rest of a long word.
    std::uint32_t head_of(std::uint32_t page) const;
    bool is_long(std::uint32_t page) const { return this->page(page)[4] >> 6 == 3; }
    void read_long(std::uint32_t page, std::string& word) const;

  private:
    std::string_view long_piece(std::uint32_t page, std::uint32_t piece, std::uint64_t left) const;
    bool lay_out(std::span<const char> bytes);
    bool symbols_are_valid() const;
    bool page_is_valid(std::uint32_t at, std::uint32_t& next_id, std::uint32_t& rest_of) const;
    int compare_first(std::uint32_t page, std::string_view word, std::string& buffer) const;

    std::uint32_t size_ = 0, pages_ = 0;
    unsigned level_count_ = 0;
    std::array<level, 8> levels_{};
    const std::uint8_t* samples_ = nullptr;
    const std::uint8_t* tables_ = nullptr;
    const std::uint8_t* page_bytes_ = nullptr;
};

}  // namespace quern::primitives
