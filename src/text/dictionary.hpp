// SPDX-License-Identifier: Apache-2.0
// Words and their ids: sorted by bytes, front-coded in blocks, usable in place from a mapped file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "primitives/dictionary/dictionary.hpp"

namespace quern::text {

/// Collects words in strictly rising byte order; a word's id is its rank from 0.
class dictionary_builder {
  public:
    void append(std::string_view word);  ///< throws std::logic_error when not rising
    std::uint32_t size() const { return size_; }
    /// The finished bytes, to be stored as they are; the builder is empty afterwards.
    std::string finish();

    /// For lists that memory does not hold: hands over the words coded so far, to be kept elsewhere one stretch behind
    /// the other. Taken once more before finish(), which then returns the bytes that belong before them all.
    std::string take_blocks();

  private:
    std::uint64_t block_bytes() const { return taken_bytes_ + blocks_.size(); }

    std::string blocks_;  // front-coded words, not yet taken out
    std::uint64_t taken_bytes_ = 0;
    std::vector<std::uint64_t> offsets_;  // where each block begins
    std::vector<std::uint64_t> keys_;     // the first eight bytes of each block's first word, as a number
    std::string previous_;
    std::uint32_t size_ = 0;
};

/// Reads finished bytes, which must outlive it. `open` checks every offset that later calls rely on, so that
/// hostile bytes are refused (std::nullopt) and never read past the end. It touches keys and offsets only: that
/// the words between them are those once written is for the checksum of the file to say.
class dictionary_view {
  public:
    static std::optional<dictionary_view> open(std::span<const char> bytes);
    std::uint32_t size() const { return size_; }
    std::optional<std::uint32_t> find(std::string_view word) const;  ///< cost: log16(blocks) + one block
    std::string word(std::uint32_t id) const;                        ///< throws std::out_of_range
    /// Ids of words that begin with `prefix`: [first, last).
    std::pair<std::uint32_t, std::uint32_t> with_prefix(std::string_view prefix) const;

    /// The words one after the other, from `first` on: faster than word() for each.
    class walker {
      public:
        walker(const dictionary_view& of, std::uint32_t first);
        /// The next word; valid until the next call. std::nullopt behind the last.
        std::optional<std::string_view> next();

      private:
        void enter(std::uint32_t block);

        const dictionary_view* of_;
        std::uint32_t next_;
        primitives::front_coding::block_walk walk_{nullptr, nullptr};
        std::string word_;
    };

    /// As arrays, for look-ups of many words at a time (primitives/dictionary/dictionary.hpp). The bytes must lie at a
    /// multiple of eight, as those of a mapped file do; throws std::logic_error otherwise.
    primitives::word_list<cpu_place> list() const;
    const primitives::key_index& index() const { return index_; }

  private:
    primitives::front_coding::bound lower_bound(std::string_view word) const;
    primitives::front_coding::block_bytes block(std::uint64_t index) const;

    primitives::key_index index_;
    std::span<const char> keys_;
    std::span<const char> offsets_;
    std::span<const char> blocks_;
    std::uint32_t size_ = 0;
    std::uint32_t offset_width_ = 0;
};

}  // namespace quern::text
