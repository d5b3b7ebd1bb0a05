// SPDX-License-Identifier: Apache-2.0
// A stable radix sort of keys with the first words of a position: three words of natural text fit 64 bits. For longer
// n-grams, few positions have equal keys; these are sorted by the next words, and so on (tie_sorter.hpp). Beyond memory,
// the same sort works in runs on disk.
#include <algorithm>
#include <limits>

#include "device/cpu/cpu_place.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/order/first_word_parts.hpp"
#include "ops/ngram_likelihood/order/ngram_order.hpp"
#include "ops/ngram_likelihood/order/packed_keys.hpp"
#include "ops/ngram_likelihood/order/tie_sorter.hpp"
#include "primitives/external_sort/external_sort.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::ngram_detail {
namespace {

constexpr std::size_t piece_positions = std::size_t{1} << 16;

/// The order is by the first words of keys, and shared[i] is at most their number; afterwards both cover whole n-grams.
template <class Position>
void sort_ties(cpu_place& place, const packed_keys& keys, const ngram_order<Position>& order) {
    if (keys.order() > keys.packing().words)
        tie_sorter<Position, packed_keys>(place, keys, order.positions(), order.shared()).sort();
}

template <class Work>
void for_each_range(cpu_place& place, std::size_t size, const Work& work) {
    const std::size_t pieces = (size + piece_positions - 1) / piece_positions;
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(size, pieces, p);
        work(begin, end);
    });
}

template <class Position>
ngram_order<Position> order_in_memory(cpu_place& place, const packed_keys& packed,
                                      const first_word_parts& parts, std::size_t size) {
    ngram_order<Position> result(place, size);
    parts.partition(place, result.positions());
    const cpu_array<std::uint64_t> capacity(place, parts.largest(), "keys of n-grams");
    for (std::size_t part = 1; part < parts.begins().size(); ++part) {
        const std::size_t first = parts.begins()[part - 1], count = parts.begins()[part] - first;
        const std::span<Position> positions = result.positions().subspan(first, count);
        const std::span<std::uint64_t> keys = capacity.span().first(count);
        for_each_range(place, count, [&](std::size_t begin, std::size_t end) {
            packed.pack(std::span<const Position>(positions.subspan(begin, end - begin)),
                        keys.data() + begin);
        });
        primitives::sort_pairs(place, keys, positions, {.key_bits = packed.packing().key_bits()});
        std::uint8_t* const shared = result.shared().data() + first;
        for_each_range(place, count, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                shared[i] =
                    i == 0 ? 0 : static_cast<std::uint8_t>(packed.packing().shared(keys[i - 1], keys[i]));
        });
    }
    return result;
}

template <class Position>
ngram_order<Position> order_by_runs(cpu_place& place, const packed_keys& packed, std::size_t size) {
    ngram_order<Position> result(typename ngram_order<Position>::in_scratch_files{}, place.ctx(), size);
    const std::size_t at_once = std::min(size, piece_positions);
    const cpu_array<std::uint64_t> keys(place, at_once, "keys of n-grams");
    const cpu_array<Position> positions(place, at_once, "keys of n-grams");
    const std::uint64_t memory = place.memory().left() / 8 * 7;
    primitives::external_sorter<cpu_place, std::uint64_t, Position> sorter(
        place, memory, {.key_bits = packed.packing().key_bits()},
        std::min(memory, primitives::external_sort_min_memory));
    for (std::size_t begin = 0; begin < size; begin += at_once) {
        const std::size_t count = std::min(at_once, size - begin);
        place.ctx().check_stop();
        packed.pack(begin, begin + count, keys.data(), positions.data());
        sorter.push(keys.span().first(count), positions.span().first(count));
    }
    std::size_t i = 0;
    std::uint64_t last = 0;
    sorter.finish([&](std::span<const std::uint64_t> sorted_keys, std::span<const Position> sorted) {
        place.ctx().check_stop();
        std::copy(sorted.begin(), sorted.end(), result.positions().begin() + static_cast<std::ptrdiff_t>(i));
        for (const std::uint64_t key : sorted_keys) {
            result.shared()[i] = i == 0 ? 0 : static_cast<std::uint8_t>(packed.packing().shared(last, key));
            last = key;
            ++i;
        }
    });
    result.bytes_spilled = sorter.record().bytes_written + size * (sizeof(Position) + 1);
    return result;
}

/// Bytes of packed_order in memory.
template <class Position>
std::uint64_t bytes_in_memory(cpu_place& place, std::size_t size, const first_word_parts& parts) {
    constexpr std::uint64_t sort_bytes = 16;  // a second copy of the pairs
    const std::uint64_t of_threads =
        place.threads() * std::min<std::uint64_t>(std::uint64_t{5} << 20, 2 * sort_bytes * parts.largest());
    return size * (sizeof(Position) + 1) + parts.largest() * (sizeof(std::uint64_t) + sort_bytes) +
           of_threads;
}
bool are_left(cpu_place& place, std::uint64_t bytes) {
    return bytes <= place.memory().left() / 16 * 15;
}

}  // namespace

bool order_fits(cpu_place& place, const ngram_collection& collection) {
    const std::uint64_t size = collection.words.size(), documents = collection.documents.size();
    constexpr std::uint64_t table = std::uint64_t{1} << 18, table_of_document = 24;
    const std::uint64_t bytes_of_positions = size <= std::numeric_limits<std::uint32_t>::max() ? 5 : 9;
    const std::uint64_t least = size * bytes_of_positions + table + table_of_document * documents;
    if (!are_left(place, least)) return false;
    const first_word_parts parts(place, collection.words, collection.vocabulary);
    const std::uint64_t all = bytes_of_positions == 5 ? bytes_in_memory<std::uint32_t>(place, size, parts)
                                                      : bytes_in_memory<std::uint64_t>(place, size, parts);
    return are_left(place, all + table + table_of_document * documents);
}

template <class Position>
ngram_order<Position> packed_order(cpu_place& place, const ngram_collection& collection,
                                   const document_table& documents, unsigned order) {
    const packed_keys packed(collection, documents, order);
    const std::size_t size = collection.words.size();
    const first_word_parts parts(place, collection.words, collection.vocabulary);
    auto result = are_left(place, bytes_in_memory<Position>(place, size, parts))
                      ? order_in_memory<Position>(place, packed, parts, size)
                      : order_by_runs<Position>(place, packed, size);
    sort_ties(place, packed, result);
    return result;
}
template ngram_order<std::uint32_t> packed_order(cpu_place&, const ngram_collection&, const document_table&,
                                                 unsigned);
template ngram_order<std::uint64_t> packed_order(cpu_place&, const ngram_collection&, const document_table&,
                                                 unsigned);

}  // namespace quern::ngram_detail
