// SPDX-License-Identifier: Apache-2.0
// The methods on the CPU.
#include <algorithm>
#include <limits>
#include <string>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/levels/parts_of_places.hpp"
#include "ops/ngram_likelihood/ngram_methods.hpp"
#include "ops/ngram_likelihood/order/counted_pieces.hpp"
#include "ops/ngram_likelihood/order/ngram_order.hpp"
#include "ops/ngram_likelihood/papers/dictionary_method.hpp"
#include "ops/ngram_likelihood/text_counting.hpp"

namespace quern::ngram_detail {
namespace {

/// For each n from first_n on, the number of occurrences in the documents [first, last) with an unknown word.
std::vector<std::uint64_t> count_with_unknown(const context& ctx, const ngram_collection& collection,
                                              std::size_t first, std::size_t last, unsigned first_n,
                                              unsigned order) {
    paced_checks checks(ctx, neighbouring_values);
    std::vector<std::uint64_t> counts(order - first_n + 1);
    for (std::size_t d = first; d < last; ++d) {
        const std::uint64_t begin = collection.documents[d], end = collection.documents[d + 1];
        checks.after(end - begin);
        // Up to the word `clean`, no n-gram that begins here has an unknown word.
        std::uint64_t clean = end;
        for (std::uint64_t i = end; i-- > begin;) {
            if (collection.words[i] == collection.vocabulary) clean = i;
            if (clean == end) continue;
            const std::uint64_t least = std::max<std::uint64_t>(first_n, clean - i + 1);
            for (std::uint64_t n = least; n <= std::min<std::uint64_t>(order, end - i); ++n)
                ++counts[n - first_n];
        }
    }
    return counts;
}

void count_unknown(cpu_place& place, const ngram_collection& collection, unsigned order,
                   std::vector<ngram_totals>& totals) {
    const std::size_t documents = collection.documents.empty() ? 0 : collection.documents.size() - 1;
    const std::size_t pieces = pieces_for(place, documents, 64);
    std::vector<std::vector<std::uint64_t>> counts(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(documents, pieces, p);
        counts[p] = count_with_unknown(place.ctx(), collection, begin, end, totals.front().n, order);
    });
    for (const std::vector<std::uint64_t>& of_piece : counts)
        for (std::size_t t = 0; t < totals.size(); ++t) totals[t].with_unknown += of_piece[t];
}

/// from_order(sorted_ngrams, documents) outputs the requested rows.
template <class Position, class FromOrder>
void by_order_of(cpu_place& place, const ngram_collection& collection, const document_table& documents,
                 const ngram_options& options, ngram_record& record, const FromOrder& from_order) {
    const auto order = options.method == ngram_method::strings
                           ? order_of_strings<Position>(place, collection, documents, options.order)
                           : packed_order<Position>(place, collection, documents, options.order);
    record.bytes_spilled = order.bytes_spilled;
    record.totals = from_order(order.view(), documents);
}

std::uint64_t words_in(const ngram_collection& collection, const ngram_options& options) {
    return options.method == ngram_method::strings ? collection.starts.size() : collection.words.size();
}

template <class FromOrder>
void by_order(cpu_place& place, const ngram_collection& collection, const document_table& documents,
              const ngram_options& options, ngram_record& record, const FromOrder& from_order) {
    if (words_in(collection, options) <= std::numeric_limits<std::uint32_t>::max())
        by_order_of<std::uint32_t>(place, collection, documents, options, record, from_order);
    else
        by_order_of<std::uint64_t>(place, collection, documents, options, record, from_order);
}

/// In memory, next to a document_table.
bool order_does_not_fit(cpu_place& place, const ngram_collection& collection, const ngram_options& options) {
    if (options.method == ngram_method::strings) return false;
    if (document_table::bytes(collection.documents) > place.memory().left()) return true;
    const document_table documents(place, collection.documents);
    return collection.words.size() <= std::numeric_limits<std::uint32_t>::max()
               ? !order_fits<std::uint32_t>(place, collection)
               : !order_fits<std::uint64_t>(place, collection);
}

void count_occurrences(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                       ngram_record& record) {
    if (collection.documents.empty()) return;
    in_checked_parts(place.ctx(), 0, collection.documents.size() - 1, neighbouring_values,
                     [&](std::uint64_t begin, std::uint64_t end) {
                         count_lengths(collection.documents.subspan(begin, end - begin + 1), record.totals);
                     });
    if (options.method != ngram_method::strings)
        count_unknown(place, collection, options.order, record.totals);
}

}  // namespace

void count_lengths(std::span<const std::uint64_t> documents, std::vector<ngram_totals>& totals) {
    for (std::size_t d = 1; d < documents.size(); ++d) {
        const std::uint64_t words = documents[d] - documents[d - 1];
        for (ngram_totals& of_n : totals)
            if (words >= of_n.n) of_n.occurrences += words - of_n.n + 1;
    }
}

void count_ngrams(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                  const row_sink& sink, ngram_record& record) {
    if (options.method == ngram_method::dictionary) {
        record.totals = by_dictionary<cpu_place>(place, collection.words, collection.vocabulary,
                                                 collection.documents, options, sink);
        return;
    }
    const document_table documents(place, collection.documents);
    if (options.method == ngram_method::suffix_sigma)
        record.totals = suffix_sigma(place, collection, documents, options, sink);
    else
        by_order(place, collection, documents, options, record,
                 [&](const auto& sorted, const document_table& of) {
                     return rows_from_order(place, sorted, of, collection.documents, options, sink);
                 });
    count_occurrences(place, collection, options, record);
}

void count_collection(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                      const collection_sink& sink, ngram_record& record) {
    if (options.method == ngram_method::dictionary || options.method == ngram_method::suffix_sigma) {
        count_collection<cpu_place>(place, collection, options, sink, record);
        return;
    }
    if (order_does_not_fit(place, collection, options) &&
        count_by_pieces(place, collection, options, sink, record)) {
        count_occurrences(place, collection, options, record);
        return;
    }
    const document_table documents(place, collection.documents);
    by_order(place, collection, documents, options, record,
             [&](const auto& sorted, const document_table& of) {
                 return collection_from_order(place, sorted, of, options, sink);
             });
    count_occurrences(place, collection, options, record);
}

bool count_part(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                const place_share& share, ngram_record& record) {
    return part_of_collection(place, collection, options, share, record);
}

void count_words(cpu_place& place, placed_text<cpu_place> words, std::uint32_t vocabulary,
                 const ngram_options& options, const row_sink& sink, ngram_record& record) {
    count_ngrams(place, {.words = words.ids.span(), .documents = words.documents, .vocabulary = vocabulary},
                 options, sink, record);
}

bool count_words_part(cpu_place& place, placed_text<cpu_place> words, std::uint32_t vocabulary,
                      const ngram_options& options, const place_share& share, ngram_record& record) {
    return part_of_words(place, std::move(words), vocabulary, options, share, record);
}

void count_strings(cpu_place& place, const primitives::tokenized_text<cpu_place>& cut,
                   const ngram_options& options, const row_sink& sink, ngram_record& record) {
    std::vector<std::uint64_t> starts(cut.begins.span().begin(), cut.begins.span().end());
    std::vector<std::uint32_t> lengths(starts.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = cut.ends.span()[i] - cut.begins.span()[i];
    const std::string_view letters(reinterpret_cast<const char*>(cut.letters.data()), cut.letters.size());
    count_ngrams(place,
                 {.words = {},
                  .documents = cut.document_offsets.span(),
                  .vocabulary = 0,
                  .text = letters,
                  .starts = starts,
                  .lengths = lengths},
                 options, sink, record);
}

}  // namespace quern::ngram_detail
