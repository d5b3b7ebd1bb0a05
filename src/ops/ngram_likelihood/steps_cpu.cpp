// SPDX-License-Identifier: Apache-2.0
// Each step is a loop over items of their own.
#include <algorithm>

#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/steps.hpp"

namespace quern::ngram_detail {
namespace {

template <class Work>
void for_each_item(cpu_place& place, std::size_t items, const Work& work) {
    const std::size_t pieces = pieces_for(place, items, std::size_t{1} << 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(items, pieces, p);
        for (std::size_t i = begin; i < end; ++i) work(i);
    });
}

template <class T>
void gather_values(cpu_place& place, std::span<const T> values, std::span<const std::uint32_t> at,
                   std::span<T> out) {
    for_each_item(place, at.size(), [&](std::size_t i) { out[i] = values[at[i]]; });
}

std::uint64_t length(const stretches_on<cpu_place>& stretches, std::uint32_t s) {
    return stretches.offsets[s + 1] - stretches.offsets[s];
}

}  // namespace

void count_up(cpu_place& place, std::span<std::uint32_t> out) {
    for_each_item(place, out.size(), [&](std::size_t i) { out[i] = static_cast<std::uint32_t>(i); });
}

void copy(cpu_place& place, std::span<const std::uint32_t> values, std::span<std::uint32_t> out) {
    for_each_item(place, out.size(), [&](std::size_t i) { out[i] = values[i]; });
}

void gather(cpu_place& place, std::span<const std::uint32_t> values, std::span<const std::uint32_t> at,
            std::span<std::uint32_t> out) {
    gather_values(place, values, at, out);
}
void gather(cpu_place& place, std::span<const std::uint8_t> values, std::span<const std::uint32_t> at,
            std::span<std::uint8_t> out) {
    gather_values(place, values, at, out);
}

void locate(cpu_place& place, std::span<const std::uint64_t> documents, unsigned most,
            std::span<std::uint32_t> document_of, std::span<std::uint8_t> left) {
    for_each_item(place, documents.empty() ? 0 : documents.size() - 1, [&](std::size_t d) {
        for (std::uint64_t i = documents[d]; i < documents[d + 1]; ++i) {
            document_of[i] = static_cast<std::uint32_t>(d);
            left[i] = static_cast<std::uint8_t>(std::min<std::uint64_t>(most, documents[d + 1] - i));
        }
    });
}

void flag_changes(cpu_place& place, std::span<const std::uint32_t> keys, std::span<std::uint8_t> flags) {
    for_each_item(place, keys.size(), [&](std::size_t i) {
        if (i == 0 || keys[i] != keys[i - 1]) flags[i] = 1;
    });
}

void scatter_ranks(cpu_place& place, std::span<const std::uint64_t> ranks, std::span<const std::uint32_t> to,
                   std::span<std::uint32_t> out) {
    for_each_item(place, to.size(),
                  [&](std::size_t i) { out[to[i]] = static_cast<std::uint32_t>(ranks[i]); });
}

void ranks_behind(cpu_place& place, std::span<const std::uint32_t> positions,
                  std::span<const std::uint8_t> left, unsigned behind, std::span<const std::uint32_t> ranks,
                  std::span<std::uint32_t> out) {
    for_each_item(place, positions.size(), [&](std::size_t i) {
        out[i] = left[positions[i]] > behind ? ranks[positions[i] + std::uint64_t{behind}] : 0;
    });
}

void count_shared(cpu_place& place, std::span<const std::uint32_t> words, std::span<const std::uint8_t> left,
                  std::span<const std::uint32_t> positions, std::span<std::uint8_t> shared) {
    for_each_item(place, positions.size(), [&](std::size_t i) {
        std::uint8_t n = 0;
        if (i != 0) {
            const std::uint32_t a = positions[i - 1], b = positions[i];
            const std::uint8_t both = std::min(left[a], left[b]);
            while (n < both && words[std::uint64_t{a} + n] == words[std::uint64_t{b} + n]) ++n;
        }
        shared[i] = n;
    });
}

void flag_long(cpu_place& place, std::span<const std::uint32_t> positions, std::span<const std::uint8_t> left,
               unsigned n, std::span<std::uint8_t> flags) {
    for_each_item(place, positions.size(),
                  [&](std::size_t i) { flags[i] = left[positions[i]] >= n ? 1 : 0; });
}

void flag_ngrams(cpu_place& place, std::span<const std::uint8_t> shared, std::span<const std::uint32_t> items,
                 unsigned n, std::span<std::uint8_t> flags) {
    for_each_item(place, items.size(), [&](std::size_t i) {
        flags[i] = i == 0 || shared[items[i]] < n || items[i - 1] + 1 != items[i] ? 1 : 0;
    });
}

void flag_documents(cpu_place& place, std::span<const std::uint32_t> positions,
                    std::span<const std::uint32_t> document_of, std::span<std::uint8_t> flags) {
    for_each_item(place, positions.size(), [&](std::size_t i) {
        if (i != 0 && document_of[positions[i]] != document_of[positions[i - 1]]) flags[i] = 1;
    });
}

void flag_begins(cpu_place& place, std::span<const std::uint64_t> offsets, std::size_t stretches,
                 std::span<const std::uint32_t> items, std::span<std::uint8_t> flags) {
    for_each_item(place, stretches, [&](std::size_t s) { flags[items[offsets[s]]] = 1; });
}

void scatter_lengths(cpu_place& place, const stretches_on<cpu_place>& stretches,
                     std::span<const std::uint32_t> items, std::span<std::uint32_t> out) {
    for_each_item(place, items.size(), [&](std::size_t i) {
        out[items[i]] = static_cast<std::uint32_t>(length(stretches, stretches.of_item[i]));
    });
}

void scatter_sums(cpu_place& place, const stretches_on<cpu_place>& stretches,
                  std::span<const std::uint64_t> sums, std::span<const std::uint32_t> items,
                  std::span<std::uint32_t> out) {
    for_each_item(place, items.size(), [&](std::size_t i) {
        const std::uint64_t begin = stretches.offsets[stretches.of_item[i]];
        const std::uint64_t end = stretches.offsets[stretches.of_item[i] + std::size_t{1}];
        out[items[i]] = static_cast<std::uint32_t>(sums[end - 1] - (begin == 0 ? 0 : sums[begin - 1]));
    });
}

void write_rows(cpu_place& place, const row_sources<cpu_place>& from, const row_formula& formula,
                const row_columns<cpu_place>& to) {
    for_each_item(place, from.rows.count, [&](std::size_t r) {
        const std::uint64_t at = from.rows.offsets[r];
        const std::uint32_t position = from.positions[at], item = from.items[at],
                            document = from.document_of[position];
        const std::uint64_t begin = from.ngrams.offsets[from.ngrams.of_item[at]];
        const std::uint64_t end = from.ngrams.offsets[from.ngrams.of_item[at] + std::size_t{1}];
        const ngram_counts counts{
            .in_document = from.rows.offsets[r + 1] - at,
            .history_in_document = from.history_in_document[item],
            .in_collection = end - begin,
            .history_in_collection = length(from.histories, from.histories.of_item[item]),
            .followers = from.followers.empty() ? 0 : from.followers[item]};
        const std::uint64_t holders =
            from.rows.of_item[end - 1] - from.rows.of_item[begin] + std::uint64_t{1};
        to.documents[r] = document;
        to.firsts[r] = static_cast<std::uint32_t>(position - from.documents[document]);
        to.in_document[r] = static_cast<std::uint32_t>(counts.in_document);
        to.history_in_document[r] = static_cast<std::uint32_t>(counts.history_in_document);
        to.in_collection[r] = counts.in_collection;
        to.history_in_collection[r] = counts.history_in_collection;
        to.begins[r] = at == begin ? 1 : 0;
        to.weights[r] =
            formula.measure == ngram_measure::bm25
                ? formula.bm25.weight(inverse_document_frequency(formula.document_count, holders),
                                      counts.in_document,
                                      from.documents[document + std::size_t{1}] - from.documents[document])
                : likelihood(counts, formula.smooth);
    });
}

}  // namespace quern::ngram_detail
