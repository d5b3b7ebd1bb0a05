// SPDX-License-Identifier: Apache-2.0
// Words and their ids: sorted by bytes, in pages (primitives/dictionary/packed_dictionary.hpp), usable in place from a
// mapped file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "primitives/dictionary/packed_dictionary.hpp"
#include "primitives/dictionary/packed_writer.hpp"

namespace quern::text {

/// Collects words in strictly rising byte order; a word's id is its rank from 0.
class dictionary_builder {
  public:
    void append(std::string_view word);  ///< throws std::logic_error if not rising
    std::uint32_t size() const { return pages_.size(); }
    /// The finished bytes, ready to be stored; the builder is empty afterwards.
    std::string finish();

    /// For lists larger than memory: hands over the words coded so far; the caller concatenates these chunks elsewhere.
    /// Call it once more between end(), after which no word may follow, and finish(), which then returns the bytes that
    /// belong before all of them.
    std::string take_blocks() { return pages_.take_pages(); }
    void end();

  private:
    primitives::packed_writer pages_;
    bool ended_ = false;
};

/// Reads finished bytes, which must outlive it. `open` checks every number that later calls rely on, so that hostile
/// bytes are refused (std::nullopt) and never read past the end. It touches every page, but no letters: the file's
/// checksum verifies those.
class dictionary_view {
  public:
    static std::optional<dictionary_view> open(std::span<const char> bytes);
    std::uint32_t size() const { return words_.size(); }
    /// Cost: a search among keys that fit the cache, and one page. Words of more than 240 bytes: as with_prefix.
    std::optional<std::uint32_t> find(std::string_view word) const { return words_.find(word); }
    std::string word(std::uint32_t id) const;  ///< throws std::out_of_range
    /// Ids of words that begin with `prefix`: [first, last). Cost: log2(pages) pages.
    std::pair<std::uint32_t, std::uint32_t> with_prefix(std::string_view prefix) const;

    /// The words in order from `first` on: faster than word() for each.
    class walker {
      public:
        walker(const dictionary_view& of, std::uint32_t first);
        /// The next word; valid until the next call. std::nullopt at the end.
        std::optional<std::string_view> next();

      private:
        void enter(std::uint32_t page);

        const primitives::packed_dictionary* of_;
        std::uint32_t next_;
        std::uint32_t page_ = 0, left_ = 0;  ///< words left on this page
        std::optional<primitives::packed::page_reader> reader_;
        std::string word_;
    };

    /// For batched look-ups (primitives/dictionary/text_to_ids.hpp).
    const primitives::packed_dictionary& list() const { return words_; }

  private:
    explicit dictionary_view(const primitives::packed_dictionary& words) : words_(words) {}

    primitives::packed_dictionary words_;
};

}  // namespace quern::text
