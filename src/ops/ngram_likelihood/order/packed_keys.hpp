// SPDX-License-Identifier: Apache-2.0
// The packed keys of a collection's positions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/ngram_likelihood/order/packed_word_keys.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

class packed_keys {
  public:
    packed_keys(const ngram_collection& collection, const document_table& documents, unsigned order)
        : words_(collection.words),
          documents_(documents),
          order_(order),
          packing_(collection.vocabulary, order) {}

    const word_packing& packing() const { return packing_; }
    unsigned order() const { return order_; }

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
