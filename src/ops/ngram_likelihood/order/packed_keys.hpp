// SPDX-License-Identifier: Apache-2.0
// The packed keys of a collection's positions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "device/files/mapped_pages.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

// Several words as one number that compares like them. A plain header, which nvcc reads too.

/// `words` fields of `bits` bits, the first word in the highest: id + 1, or 0 past the end of the document.
struct word_packing {
    unsigned bits, words;

    /// As many words as fit, up to the length of an n-gram.
    constexpr word_packing(std::uint32_t vocabulary, unsigned order)
        : bits(static_cast<unsigned>(std::bit_width(vocabulary + 1u))),
          words(64 / bits < order ? 64 / bits : order) {}

    constexpr unsigned key_bits() const { return bits * words; }
    /// The key of the end of a document.
    static constexpr std::uint64_t end = 0;
    /// The key of a position, from its word and the key of the next position (`end` at the end of the document).
    constexpr std::uint64_t before(std::uint32_t word, std::uint64_t key_after) const {
        return (std::uint64_t{word} + 1) << (bits * (words - 1)) | (words == 1 ? 0 : key_after >> bits);
    }
    /// The number of words of a key before the end of its document.
    constexpr unsigned words_in(std::uint64_t key) const {
        return key == 0 ? 0 : words - static_cast<unsigned>(std::countr_zero(key)) / bits;
    }
    /// The number of equal leading words of two keys; the end of a document does not count.
    constexpr unsigned shared(std::uint64_t a, std::uint64_t b) const {
        const std::uint64_t differing = a ^ b;
        if (differing == 0) return words_in(a);
        return (static_cast<unsigned>(std::countl_zero(differing)) - (64 - key_bits())) / bits;
    }
    /// The first `count` words of a key.
    constexpr std::uint64_t first(std::uint64_t key, unsigned count) const {
        return count >= words ? key : key >> (bits * (words - count)) << (bits * (words - count));
    }
};

class packed_keys {
  public:
    packed_keys(const ngram_collection& collection, const document_table& documents, unsigned order)
        : words_(collection.words),
          documents_(documents),
          order_(order),
          packing_(collection.vocabulary, order) {}

    const word_packing& packing() const { return packing_; }
    unsigned order() const { return order_; }
    bool are_mapped() const { return is_mapped(words_.data()); }

    /// keys[i - begin] and positions[i - begin] for i in [begin, end).
    template <class Position>
    void pack(std::size_t begin, std::size_t end, std::uint64_t* keys, Position* positions) const {
        for (std::size_t from = begin; from < end;) {
            const std::uint64_t document_end = documents_.of(from).end;
            const std::size_t stop = std::min<std::size_t>(end, document_end);
            std::uint64_t key = stop == document_end ? word_packing::end : key_of(stop, document_end);
            for (std::size_t i = stop; i-- > from;) {
                key = packing_.before(words_[i], key);
                keys[i - begin] = key;
                positions[i - begin] = static_cast<Position>(i);
            }
            from = stop;
        }
    }

    /// The keys of ascending positions.
    template <class Position>
    void pack(std::span<const Position> positions, std::uint64_t* keys) const {
        std::uint64_t document_end = 0;
        for (const Position position : positions) {
            if (position >= document_end) document_end = documents_.of(position).end;
            *keys++ = key_of(position, document_end);
        }
    }

    /// The number of words beyond `known` in a key made of the following words.
    unsigned words_after(unsigned known) const { return std::min(packing_.words, order_ - known); }
    /// The key of those words.
    std::uint64_t key_after(std::uint64_t position, unsigned known) const {
        const std::uint64_t document_end = documents_.of(position).end, after = position + known;
        if (after >= document_end) return word_packing::end;
        return packing_.first(key_of(after, document_end), words_after(known));
    }

    /// Prefetches the words that follow a position.
    void fetch(std::uint64_t position, unsigned known) const {
        __builtin_prefetch(words_.data() + position + known);
    }

  private:
    std::uint64_t key_of(std::uint64_t position, std::uint64_t document_end) const {
        std::uint64_t key = word_packing::end;
        for (std::uint64_t i = std::min(document_end, position + packing_.words); i-- > position;)
            key = packing_.before(words_[i], key);
        return key;
    }

    std::span<const std::uint32_t> words_;
    const document_table& documents_;
    unsigned order_;
    word_packing packing_;
};

}  // namespace quern::ngram_detail
