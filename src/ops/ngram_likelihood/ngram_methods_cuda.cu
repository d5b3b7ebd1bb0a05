// SPDX-License-Identifier: Apache-2.0
// The methods on CUDA: the templates of ngram_levels.hpp and dictionary_method.hpp, and words compared as strings.
#include <limits>
#include <string>

#include "ops/ngram_likelihood/rows/block_pipe.cuh"
//
#include "device/input_array.hpp"
#include "ops/ngram_likelihood/levels/parts_of_places.hpp"
#include "ops/ngram_likelihood/ngram_methods.hpp"
#include "ops/ngram_likelihood/papers/dictionary_method.hpp"
#include "ops/ngram_likelihood/papers/string_words.hpp"
#include "ops/ngram_likelihood/text_counting.hpp"
#include "primitives/sort/merge_sort.cuh"

namespace quern::ngram_detail {
namespace {

std::vector<ngram_totals> by_strings(cuda_place& place, const words_by_letters& words, std::uint64_t size,
                                     std::span<const std::uint64_t> documents, const ngram_options& options,
                                     const row_sink& sink) {
    sorted_counting<cuda_place> counting(place, size, documents, options);
    if (size != 0)
        primitives::merge_sort(place, counting.positions(), words_before{words, counting.left().data()});
    auto totals = counting.count(words, sink);
    count_lengths(documents, totals);
    return totals;
}

std::vector<ngram_totals> by_strings(cuda_place& place, const ngram_collection& collection,
                                     const ngram_options& options, const row_sink& sink) {
    if (collection.text.size() > std::numeric_limits<std::uint32_t>::max())
        throw usage_error("n-gram likelihood: on a GPU the method strings takes texts of less than 4 GiB");
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(collection.text.data()),
                          collection.text.size());
    const input_array<cuda_place, std::uint8_t> text(place, bytes, "text");
    const std::size_t size = collection.starts.size();
    auto begins = make_array<std::uint32_t>(place, size, "words"),
         ends = make_array<std::uint32_t>(place, size, "words");
    {
        const input_array<cuda_place, std::uint64_t> starts(place, collection.starts, "words");
        const input_array<cuda_place, std::uint32_t> lengths(place, collection.lengths, "words");
        for_each_item(place, size, narrow_words{starts.data(), lengths.data(), begins.data(), ends.data()});
    }
    return by_strings(place, {text.data(), begins.data(), ends.data()}, size, collection.documents, options,
                      sink);
}

void check_positions(std::uint64_t words) {
    if (words > std::numeric_limits<std::uint32_t>::max())
        throw usage_error("n-gram likelihood: on a GPU this method takes fewer than 2^32 words");
}

}  // namespace

void count_ngrams(cuda_place& place, const ngram_collection& collection, const ngram_options& options,
                  const row_sink& sink, ngram_record& record) {
    switch (options.method) {
        case ngram_method::strings:
            check_positions(collection.starts.size());
            record.totals = by_strings(place, collection, options, sink);
            break;
        case ngram_method::dictionary: {
            check_positions(collection.words.size());
            const input_array<cuda_place, std::uint32_t> words(place, collection.words, "words");
            record.totals = by_dictionary<cuda_place>(place, words.span(), collection.vocabulary,
                                                      collection.documents, options, sink);
            break;
        }
        case ngram_method::suffix_sigma:
            throw usage_error("n-gram likelihood: the method suffix-sigma runs on cpu only");
        default:
            level_pieces<cuda_place>(place, collection, collection.words.size(), options, sink).run(record);
    }
}

bool count_part(cuda_place& place, const ngram_collection& collection, const ngram_options& options,
                const place_share& share, ngram_record& record) {
    return part_of_collection(place, collection, options, share, record);
}

void count_words(cuda_place& place, placed_text<cuda_place> words, std::uint32_t vocabulary,
                 const ngram_options& options, const row_sink& sink, ngram_record& record) {
    const std::size_t size = words.ids.size();
    if (options.method == ngram_method::dictionary) {
        record.totals =
            by_dictionary<cuda_place>(place, words.ids.span(), vocabulary, words.documents, options, sink);
        return;
    }
    ngram_collection collection{.words = {}, .documents = words.documents, .vocabulary = vocabulary};
    if (options.method == ngram_method::automatic) {
        level_pieces<cuda_place> pieces(place, collection, size, options, sink);
        if (pieces.words_stay(size * sizeof(std::uint32_t))) {
            pieces.run(record, std::move(words.ids));
            return;
        }
    }
    const std::vector<std::uint32_t> ids = to_host(place, words.ids.span());
    words.ids = {};
    collection.words = ids;
    count_ngrams(place, collection, options, sink, record);
}

bool count_words_part(cuda_place& place, placed_text<cuda_place> words, std::uint32_t vocabulary,
                      const ngram_options& options, const place_share& share, ngram_record& record) {
    return part_of_words(place, std::move(words), vocabulary, options, share, record);
}

void count_strings(cuda_place& place, const primitives::tokenized_text<cuda_place>& cut,
                   const ngram_options& options, const row_sink& sink, ngram_record& record) {
    const std::vector<std::uint64_t> documents = to_host(place, cut.document_offsets.span());
    record.totals = by_strings(place, {cut.letters.data(), cut.begins.data(), cut.ends.data()},
                               cut.begins.size(), documents, options, sink);
}

}  // namespace quern::ngram_detail
