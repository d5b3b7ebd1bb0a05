// SPDX-License-Identifier: Apache-2.0
// Uses doubling, as in the construction of suffix arrays (Karp, Miller and Rosenberg, "Rapid identification of repeated
// patterns in strings, trees and arrays", 1972). Where sequences of p words have numbers, a sequence of p + q ≤ 2p words is
// the pair of the sequences at its begin and at its end. Pairs of 32-bit numbers are sorted as keys of 64 bits, and equal
// keys get the next number. There is no hash, hence no collision; and no bad case for the time.
//
// A sequence that occurs once makes every sequence around it occur once. Such positions are marked and no longer sorted,
// which leaves few of them in a collection with few repetitions.
#include "ops/near_duplicates/papers/words/shingle.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/error.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t occurs_once = shingle_numbers::occurs_once;
constexpr std::uint32_t no_word = 0xffffffff;  // ids are below a vocabulary of at most this
constexpr std::string_view what_for = "numbers of shingles";

/// The words, with short documents filled up to `width` with no_word: sequences of fewer words then never equal others.
/// Documents without words stay empty.
shingle_numbers filled_up(cpu_place& place, const word_list& documents, unsigned width) {
    shingle_numbers text;
    const std::size_t size = documents.size();
    text.offsets = make_array<std::uint64_t>(place, size + 1, what_for);
    text.offsets.data()[0] = 0;
    for (std::size_t d = 0; d < size; ++d) {
        const std::uint64_t words = documents.offsets[d + 1] - documents.offsets[d];
        text.offsets.data()[d + 1] =
            text.offsets.data()[d] + (words == 0 ? 0 : std::max<std::uint64_t>(words, width));
    }
    text.numbers = make_array<std::uint32_t>(place, text.offsets.data()[size], what_for);
    for_each_document(place, text.offsets.span(), document_pieces(place, text.offsets.span()),
                      [&](std::size_t, std::uint32_t d) {
                          const auto words = documents[d];
                          std::uint32_t* const end = std::copy(words.begin(), words.end(),
                                                               text.numbers.data() + text.offsets.data()[d]);
                          std::fill(end, text.numbers.data() + text.offsets.data()[d + 1], no_word);
                      });
    return text;
}

/// The number of sequences of `length` words that begin in a document.
std::uint64_t sequences_in(const shingle_numbers& text, std::uint32_t d, unsigned length) {
    const std::uint64_t words = text.offsets.data()[d + 1] - text.offsets.data()[d];
    return words < length ? 0 : words - length + 1;
}

/// Numbers sorted keys: positions of keys that occur more than once get numbers from `first_number` on. Returns the next
/// number.
template <class Position>
std::uint64_t number_repeated(cpu_place& place, std::span<const std::uint64_t> keys,
                              std::span<const Position> positions, std::uint64_t first_number,
                              std::span<std::uint32_t> numbers) {
    const std::size_t size = keys.size(), pieces = pieces_for(place, size, std::size_t{1} << 14);
    const auto begins_repeated = [&](std::size_t i) {
        return (i == 0 || keys[i] != keys[i - 1]) && i + 1 < size && keys[i] == keys[i + 1];
    };
    std::vector<std::uint64_t> before(pieces + 1);
    before[0] = first_number;
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(size, pieces, p);
        std::uint64_t count = 0;
        for (std::size_t i = begin; i < end; ++i) count += begins_repeated(i) ? 1 : 0;
        before[p + 1] = count;
    });
    std::partial_sum(before.begin(), before.end(), before.begin());
    if (before[pieces] >= occurs_once)
        throw usage_error("the documents repeat more than 2^32 - 2 different shingles");
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(size, pieces, p);
        std::uint64_t next = before[p];
        for (std::size_t i = begin; i < end; ++i) {
            if (begins_repeated(i)) ++next;
            const bool repeated =
                (i > 0 && keys[i] == keys[i - 1]) || (i + 1 < size && keys[i] == keys[i + 1]);
            if (repeated) numbers[positions[i]] = static_cast<std::uint32_t>(next - 1);
        }
    });
    return before[pieces];
}

/// The number of parts (in bits) to sort that many sequences in: half of the remaining memory must hold a part and its
/// sorting.
unsigned bits_of_parts(cpu_place& place, std::uint64_t sequences, std::uint64_t bytes_each) {
    unsigned bits = 0;
    while (bits < 12 && (sequences >> bits) * bytes_each > place.memory().left() / 2) ++bits;
    return bits;
}

/// Spreads keys over parts; equal keys go to the same part. A bijection of 64 bits, whose upper bits are the part.
constexpr std::uint64_t part_of(std::uint64_t key, unsigned bits) {
    return bits == 0 ? 0 : ((key ^ key >> 32) * 0x9e3779b97f4a7c15u) >> (64 - bits);
}

/// The counter of one piece of work, in its own cache line.
struct alignas(64) counter {
    std::uint64_t value = 0;
};

/// From sequences of `length` words to those of `length + more` ≤ 2 `length`. `first`: every position counts; its number is
/// a word.
template <class Position>
void lengthen(cpu_place& place, shingle_numbers& text, unsigned length, unsigned more, bool first) {
    const auto offsets = text.offsets.span();
    const std::size_t pieces = document_pieces(place, offsets);
    const std::uint32_t* const numbers = text.numbers.data();
    // Calls work(piece, position, key) where a longer sequence begins that may occur more than once.
    const auto for_each_sequence = [&](const auto& work) {
        for_each_document(place, offsets, pieces, [&](std::size_t p, std::uint32_t d) {
            const std::uint64_t begin = offsets[d], end = begin + sequences_in(text, d, length + more);
            for (std::uint64_t i = begin; i < end; ++i) {
                if (first || (numbers[i] != occurs_once && numbers[i + more] != occurs_once))
                    work(p, i, std::uint64_t{numbers[i]} << 32 | numbers[i + more]);
            }
        });
    };
    auto longer = make_array<std::uint32_t>(place, text.numbers.size(), what_for);
    std::ranges::fill(longer.span(), occurs_once);
    const unsigned bits =
        bits_of_parts(place, text.numbers.size(), 3 * sizeof(std::uint64_t) + sizeof(Position));
    std::uint64_t next_number = 0;
    for (std::uint64_t part = 0; part < std::uint64_t{1} << bits; ++part) {
        std::vector<counter> counters(pieces);
        for_each_sequence([&](std::size_t p, std::uint64_t, std::uint64_t key) {
            counters[p].value += part_of(key, bits) == part ? 1 : 0;
        });
        std::uint64_t size = 0;
        for (counter& c : counters) size += std::exchange(c.value, size);
        auto keys = make_array<std::uint64_t>(place, size, what_for);
        auto positions = make_array<Position>(place, size, what_for);
        for_each_sequence([&](std::size_t p, std::uint64_t i, std::uint64_t key) {
            if (part_of(key, bits) != part) return;
            const std::uint64_t at = counters[p].value++;
            keys.data()[at] = key;
            positions.data()[at] = static_cast<Position>(i);
        });
        primitives::sort_pairs(place, keys.span(), positions.span());
        next_number =
            number_repeated<Position>(place, keys.span(), positions.span(), next_number, longer.span());
    }
    text.numbers = std::move(longer);
    text.end = static_cast<std::uint32_t>(next_number);
}

/// Drops the positions where no sequence of `width` words begins.
shingle_numbers of_shingles(cpu_place& place, const shingle_numbers& text, unsigned width) {
    shingle_numbers result;
    result.end = text.end;
    const std::size_t size = text.offsets.size() - 1;
    result.offsets = make_array<std::uint64_t>(place, size + 1, what_for);
    result.offsets.data()[0] = 0;
    for (std::uint32_t d = 0; d < size; ++d)
        result.offsets.data()[d + 1] = result.offsets.data()[d] + sequences_in(text, d, width);
    result.numbers = make_array<std::uint32_t>(place, result.offsets.data()[size], what_for);
    for_each_document(place, result.offsets.span(), document_pieces(place, result.offsets.span()),
                      [&](std::size_t, std::uint32_t d) {
                          std::copy_n(text.numbers.data() + text.offsets.data()[d],
                                      sequences_in(text, d, width),
                                      result.numbers.data() + result.offsets.data()[d]);
                      });
    return result;
}

}  // namespace

shingle_numbers number_shingles(cpu_place& place, const word_list& documents, unsigned width) {
    shingle_numbers text = filled_up(place, documents, width);
    const bool few = text.numbers.size() <= std::size_t{1} << 32;
    unsigned length = 1;
    do {  // also once for single words, to make the numbers dense
        const unsigned more = std::min(length, width - length);
        if (few)
            lengthen<std::uint32_t>(place, text, length, more, length == 1);
        else
            lengthen<std::uint64_t>(place, text, length, more, length == 1);
        length += more;
    } while (length < width);
    return of_shingles(place, text, width);
}

}  // namespace quern::near_duplicates_detail
