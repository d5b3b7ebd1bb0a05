// SPDX-License-Identifier: Apache-2.0
// One place's part of the work of several, by levels, written once for all places.
#pragma once

#include <cstdint>
#include <utility>

#include "ops/ngram_likelihood/levels/level_pieces.hpp"
#include "ops/ngram_likelihood/ngram_methods.hpp"
#include "ops/ngram_likelihood/text_counting.hpp"

namespace quern::ngram_detail {

template <class Place>
bool part_of_collection(Place& place, const ngram_collection& collection, const ngram_options& options,
                        const place_share& share, ngram_record& record) {
    const row_sink unused;  // rows go to the turns
    level_pieces<Place> pieces(place, collection, collection.words.size(), options, unused);
    if (share.turns.min_of_all(pieces.words_stay(0) ? 1 : 0) == 0) return false;
    const auto [first, last] = piece_of(collection.words.size(), share.turns.places(), share.index);
    auto all = share.words<Place>().gather(
        place, share.index, {array_from(place, collection.words.subspan(first, last - first), "words"), {}},
        share.turns);
    return all && pieces.run_part(record, share.turns, std::move(all->ids));
}

template <class Place>
bool part_of_words(Place& place, placed_text<Place> words, std::uint32_t vocabulary,
                   const ngram_options& options, const place_share& share, ngram_record& record) {
    const ngram_collection collection{.words = {}, .documents = words.documents, .vocabulary = vocabulary};
    const row_sink unused;
    return level_pieces<Place>(place, collection, words.ids.size(), options, unused)
        .run_part(record, share.turns, std::move(words.ids));
}

}  // namespace quern::ngram_detail
