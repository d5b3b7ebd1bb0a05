// SPDX-License-Identifier: Apache-2.0
// The order is cut between first words into pieces, which the threads take one by one.
#include "ops/ngram_likelihood/rows_from_order.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/ordered_rows.hpp"
#include "ops/ngram_likelihood/row_maker.hpp"

namespace quern::ngram_detail {
namespace {

constexpr std::size_t piece_positions = std::size_t{1} << 14;
constexpr std::size_t row_bytes = 80;  ///< at most, with the columns half full

/// Cuts the order between first words, into pieces of about equal size; where one begins, and the end.
std::vector<std::size_t> cut_at_first_words(std::span<const std::uint8_t> shared) {
    std::vector<std::size_t> begins{0};
    for (std::size_t i = piece_positions; i < shared.size(); i = begins.back() + piece_positions) {
        while (i < shared.size() && shared[i] != 0) ++i;
        if (i < shared.size())
            begins.push_back(i);
        else
            break;
    }
    begins.push_back(shared.size());
    return begins;
}

/// Of each document, how many distinct words it has.
template <class Position>
cpu_array<std::uint32_t> distinct_words(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                        const document_table& documents, std::uint64_t document_count) {
    cpu_array<std::uint32_t> distinct(place, document_count, "distinct words of documents");
    cpu_array<std::uint64_t> seen_in(place, document_count, "distinct words of documents");
    std::fill_n(distinct.data(), distinct.size(), 0);
    std::fill_n(seen_in.data(), seen_in.size(), ~std::uint64_t{0});
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sorted.positions.size(); ++i) {
        if (i != 0 && sorted.shared[i] == 0) ++word;
        const std::uint32_t document = documents.of(sorted.positions[i]).document;
        if (std::exchange(seen_in.data()[document], word) != word) ++distinct.data()[document];
    }
    return distinct;
}

}  // namespace

template <class Position>
std::vector<ngram_totals> rows_from_order(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                          const document_table& documents,
                                          std::span<const std::uint64_t> offsets,
                                          const ngram_options& options,
                                          const std::function<void(const ngram_rows&)>& take) {
    const std::uint64_t words = sorted.positions.size();
    row_facts<Position> facts{sorted, documents, offsets, options, {}, false};
    cpu_array<std::uint32_t> distinct;
    if (options.smoothing == ngram_smoothing::absolute) {
        distinct = distinct_words(place, sorted, documents, facts.document_count());
        facts.distinct_words = distinct.span();
    }
    facts.tables = facts.table_bytes(facts.document_count(), options.order) * place.threads() <=
                   place.memory().left() / 2;
    const std::vector<std::size_t> begins = cut_at_first_words(sorted.shared);
    // Rows in an eighth of the memory at most: half of them wait, half are those of the pieces that threads work on. A thread
    // looks whether it is its turn more often than it has its share.
    const std::size_t most_waiting =
        std::min<std::size_t>(std::size_t{1} << 21, place.memory().limit() / 16 / row_bytes);
    const std::size_t most_of_piece = std::max<std::size_t>(1, most_waiting / place.threads());
    const std::size_t most_held = std::min<std::size_t>(std::size_t{1} << 16, most_of_piece);
    ordered_rows out(facts.first_n(), options, take, most_waiting);
    std::atomic<std::size_t> next{0};
    const std::size_t pieces = words == 0 ? 0 : begins.size() - 1;
    for_each_piece(place, std::min<std::size_t>(pieces, place.threads()), [&](std::size_t) {
        try {
            row_maker<Position> maker(place, facts);
            // Pieces are taken in order, so that the one whose turn it is never waits.
            for (std::size_t p = next++; p < pieces; p = next++) {
                place.run().check_stop();
                piece_rows rows = out.room();
                maker.make(begins[p], begins[p + 1], rows, most_held,
                           [&] { out.relieve(p, rows, most_of_piece); });
                if (!out.complete(p, std::move(rows))) break;
            }
        } catch (...) {
            out.fail();
            throw;
        }
    });
    return out.totals();
}

template std::vector<ngram_totals> rows_from_order(cpu_place&, const sorted_ngrams<std::uint32_t>&,
                                                   const document_table&, std::span<const std::uint64_t>,
                                                   const ngram_options&,
                                                   const std::function<void(const ngram_rows&)>&);
template std::vector<ngram_totals> rows_from_order(cpu_place&, const sorted_ngrams<std::uint64_t>&,
                                                   const document_table&, std::span<const std::uint64_t>,
                                                   const ngram_options&,
                                                   const std::function<void(const ngram_rows&)>&);

}  // namespace quern::ngram_detail
