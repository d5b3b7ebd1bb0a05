// SPDX-License-Identifier: Apache-2.0
#include "ops/ngram_likelihood/rows/rows_from_order.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/rows/collection_blocks.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "ops/ngram_likelihood/rows/ordered_rows.hpp"
#include "ops/ngram_likelihood/rows/row_maker.hpp"

namespace quern::ngram_detail {
namespace {

// Pieces of the order that threads take one by one.

/// Cuts the order between first words into pieces of about equal size; returns the start of each, and the end.
std::vector<std::size_t> cut_at_first_words(const context& ctx, std::span<const std::uint8_t> shared) {
    constexpr std::size_t piece_positions = std::size_t{1} << 14;
    paced_checks checks(ctx, neighbouring_values);
    std::vector<std::size_t> begins{0};
    for (std::size_t i = piece_positions; i < shared.size(); i = begins.back() + piece_positions) {
        checks.after(piece_positions);
        for (; i < shared.size() && shared[i] != 0; ++i) checks.after(1);
        if (i < shared.size())
            begins.push_back(i);
        else
            break;
    }
    begins.push_back(shared.size());
    return begins;
}

/// `shared` as in sorted_ngrams. make_maker() gives a thread its maker. make(begin, end, piece, max_held, relieve) adds
/// the rows of these sorted positions to the piece. As blocks_of_pieces.
template <class Block, class MakeMaker>
std::vector<ngram_totals> blocks_from_order(cpu_place& place, unsigned threads,
                                            std::span<const std::uint8_t> shared, unsigned first_n,
                                            const ngram_options& options,
                                            const typename ordered_blocks<Block>::row_sink& sink,
                                            const MakeMaker& make_maker) {
    const std::vector<std::size_t> begins = cut_at_first_words(place.ctx(), shared);
    return blocks_of_pieces<Block>(
        place, threads, shared.empty() ? 0 : begins.size() - 1, first_n, options, sink, [&] {
            return [&, maker = make_maker()](std::size_t p, piece_blocks<Block>& rows, std::size_t max_held,
                                             const std::function<void()>& relieve) mutable {
                maker.make(begins[p], begins[p + 1], rows, max_held, relieve);
            };
        });
}

/// The number of distinct words of each document.
template <class Position>
cpu_array<std::uint32_t> distinct_words(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                        const document_table& documents, std::uint64_t document_count) {
    cpu_array<std::uint32_t> distinct(place, document_count, "distinct words of documents");
    cpu_array<std::uint64_t> seen_in(place, document_count, "distinct words of documents");
    std::fill_n(distinct.data(), distinct.size(), 0);
    std::fill_n(seen_in.data(), seen_in.size(), ~std::uint64_t{0});
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sorted.positions.size(); ++i) {
        if (i % (std::size_t{1} << 16) == 0) place.ctx().check_stop();
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
                                          const std::function<void(const ngram_rows&)>& sink) {
    collection_stats<Position> stats{sorted, documents, offsets, options, {}, false};
    cpu_array<std::uint32_t> distinct;
    if (options.smoothing == ngram_smoothing::absolute) {
        distinct = distinct_words(place, sorted, documents, stats.document_count());
        stats.distinct_words = distinct.span();
    }
    // Half of what is left for documents, an eighth for places. With little memory, fewer threads work.
    const std::uint64_t left = place.memory().left() - memory_of_rows(place.memory()),
                        each = stats.holder_bytes(stats.document_count());
    const auto makers = static_cast<unsigned>(
        std::clamp<std::uint64_t>(left / 2 / std::max<std::uint64_t>(each, 1), 1, place.threads()));
    stats.tables = (each + stats.table_bytes(stats.document_count(), options.order)) * makers <= left / 2;
    constexpr std::uint64_t max_places = std::uint64_t{1} << 21, bytes_a_place = 16;  // in order, and sorted
    stats.max_places = std::clamp<std::uint64_t>(left / 8 / makers / bytes_a_place, 1024, max_places);
    return blocks_from_order<row_block>(place, makers, sorted.shared, stats.first_n(), options, sink,
                                        [&] { return row_maker<Position>(place, stats); });
}

template std::vector<ngram_totals> rows_from_order(cpu_place&, const sorted_ngrams<std::uint32_t>&,
                                                   const document_table&, std::span<const std::uint64_t>,
                                                   const ngram_options&,
                                                   const std::function<void(const ngram_rows&)>&);
template std::vector<ngram_totals> rows_from_order(cpu_place&, const sorted_ngrams<std::uint64_t>&,
                                                   const document_table&, std::span<const std::uint64_t>,
                                                   const ngram_options&,
                                                   const std::function<void(const ngram_rows&)>&);

namespace {

/// For collection_maker.
template <class Position>
struct ordered_ngrams {
    const sorted_ngrams<Position>& sorted;
    const document_table& documents;

    const std::uint8_t* shared() const { return sorted.shared.data(); }
    std::uint64_t position(std::size_t i) const { return sorted.positions[i]; }
    std::uint64_t words_left(std::size_t i) const {
        const std::uint64_t at = sorted.positions[i];
        return documents.of(at).end - at;
    }
};

}  // namespace

template <class Position>
std::vector<ngram_totals> collection_from_order(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                                const document_table& documents, const ngram_options& options,
                                                const std::function<void(const collection_ngrams&)>& sink) {
    std::vector<ngram_totals> totals = blocks_from_order<collection_block>(
        place, place.threads(), sorted.shared, options.only ? options.order : 1, options, sink, [&] {
            struct of_all : collection_maker<ordered_ngrams<Position>> {
                std::uint64_t words;
                void make(std::size_t begin, std::size_t end, piece_blocks<collection_block>& out,
                          std::size_t max_held, const std::function<void()>& relieve) {
                    this->begin_piece(out, max_held, relieve);
                    this->add_words(begin, end, words);
                }
            };
            return of_all{{place.ctx(), {sorted, documents}, options}, sorted.positions.size()};
        });
    for (ngram_totals& of_n : totals) of_n.rows = 0;  // no document contains one
    return totals;
}

template std::vector<ngram_totals> collection_from_order(
    cpu_place&, const sorted_ngrams<std::uint32_t>&, const document_table&, const ngram_options&,
    const std::function<void(const collection_ngrams&)>&);
template std::vector<ngram_totals> collection_from_order(
    cpu_place&, const sorted_ngrams<std::uint64_t>&, const document_table&, const ngram_options&,
    const std::function<void(const collection_ngrams&)>&);

}  // namespace quern::ngram_detail
