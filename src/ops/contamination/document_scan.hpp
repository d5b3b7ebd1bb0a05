// SPDX-License-Identifier: Apache-2.0
// One document against all items: windows of words are looked up by rolling hashes, and only those that the filter lets
// through are compared word by word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ops/contamination/item_index.hpp"

namespace quern::contamination_detail {

/// The words of a document, or of a piece of it, beyond their hashes. Used only for the words of windows that may
/// match.
class word_source {
  public:
    word_source() = default;
    word_source(const word_source&) = delete;  // an interface
    word_source& operator=(const word_source&) = delete;
    virtual ~word_source() = default;
    /// The number that the items use for this word; item_index::none if no item has it.
    virtual std::uint32_t number(std::size_t word) const = 0;
    /// The word's bytes in the text of the document: the beginning and the end.
    virtual std::pair<std::uint32_t, std::uint32_t> bytes(std::size_t word) const = 0;
};

/// Of one thread; reuse it for many documents, so that it keeps its memory.
class document_scan {
  public:
    /// `index` must outlive it.
    explicit document_scan(const item_index& index) : index_(index) {}

    /// Adds successive words of the current document. `is_last`: no more will follow, which saves some work.
    /// Cost: a few instructions for each word, and a look-up in a filter for each anchor.
    void add(std::span<const std::uint64_t> hashes, const word_source& words, bool is_last);

    /// The items of which the document has at least the share, ascending, with `document` 0; begins the next document.
    /// Valid until the next call. Cost: the items listed under the n-grams found, and the positions of each.
    std::span<const contamination> finish();

  private:
    struct known_word {
        std::uint64_t hash = 0;
        std::uint32_t number = item_index::none;
        std::uint32_t begin = 0, end = 0;
    };
    struct found_ngram {
        std::uint32_t ngram = item_index::none;
        std::uint32_t begin = 0, end = 0;  ///< first beginning and last end
    };

    void look_for(const window_search& search);
    /// Compares the windows of which an anchor at this word is a part.
    void look_around(const window_search& search, std::size_t anchor);
    void compare(const window_kind& kind, std::size_t first);
    std::uint32_t number_at(std::size_t at);
    std::pair<std::uint32_t, std::uint32_t> bytes_at(std::size_t at) const;
    void carry_on(std::span<const std::uint64_t> hashes);
    void note(std::uint32_t ngram, std::uint32_t begin, std::uint32_t end);
    const found_ngram* found(std::uint32_t ngram) const;
    void grow();
    std::size_t slot_of(std::uint32_t ngram) const;

    static constexpr std::size_t block = 256;  ///< anchors whose look-ups overlap

    const item_index& index_;
    const word_source* source_ = nullptr;
    std::vector<known_word> carried_;  ///< the last words of the piece before
    /// Of the carried words and then those of the piece.
    std::vector<std::uint64_t> prefixes_;
    std::vector<std::uint32_t> numbers_;  ///< `unresolved` until asked for; empty until the first comparison
    std::vector<found_ngram> found_;
    std::vector<std::uint32_t> slots_;  ///< positions in found_ plus one; a power of two
    std::vector<std::uint32_t> candidates_;
    std::vector<contamination> results_;
    std::array<std::uint32_t, block> passed_{};  ///< anchors of the block that the filter lets through
};

}  // namespace quern::contamination_detail
