// SPDX-License-Identifier: Apache-2.0
// The selection of a piece is first converted to bits, which are counted. The start of the piece's results is known when
// its turn comes (primitives/chained_scan.hpp); then they are written from the bits. One pass over memory for any number of
// threads, and unselected values need not be read.
#include <algorithm>
#include <bit>

#include "primitives/argument_checks.hpp"
#include "primitives/chained_scan.hpp"
#include "primitives/select/select.hpp"
#include "primitives/select/select_kernels.hpp"

namespace quern::primitives {
namespace {

/// Bits of a piece, for every thread.
class selections {
  public:
    selections(cpu_place& place, std::size_t each)
        : words_(each / 64), bits_(place, place.threads() * words_, "which values are selected") {}
    std::uint64_t* of(std::size_t slot) const { return bits_.data() + slot * words_; }

  private:
    std::size_t words_;
    cpu_array<std::uint64_t> bits_;
};

/// write(bits, begin, end, out, count) for the flagged items of each piece; returns their number.
template <class T, class Write>
std::size_t select_flagged(cpu_place& place, std::span<const std::uint8_t> flags, std::span<T> out,
                           const Write& write) {
    constexpr std::size_t each = cached_piece(sizeof(T));
    const selections bits(place, each);
    return for_each_piece_chained(
        place, flags.size(), each, std::size_t{0},
        [&](std::size_t slot, std::size_t begin, std::size_t end) {
            return select_detail::bits_of_flags(flags.data() + begin, end - begin, bits.of(slot));
        },
        [](std::size_t before, std::size_t mine) { return before + mine; },
        [&](std::size_t slot, std::size_t begin, std::size_t end, std::size_t before, std::size_t mine) {
            if (before + mine <= out.size()) write(bits.of(slot), begin, end, out.data() + before, mine);
        });
}

/// For every set bit, its distance from the previous one; the first: from `previous`.
void write_distances(const std::uint64_t* bits, std::size_t begin, std::size_t size, std::uint64_t previous,
                     std::uint64_t* out) {
    for (std::size_t i = 0; i < size; i += 64) {
        std::uint64_t word = bits[i / 64];
        const std::uint64_t first = begin + i;
        if (word == ~std::uint64_t{0}) {
            *out = first - previous;
            std::fill_n(out + 1, 63, 1);
            out += 64;
            previous = first + 63;
            continue;
        }
        for (; word != 0; word &= word - 1) {
            const std::uint64_t at = first + static_cast<std::uint64_t>(std::countr_zero(word));
            *out++ = at - previous;
            previous = at;
        }
    }
}

}  // namespace

template <payload T>
std::size_t compact(cpu_place& place, std::span<const T> values, std::span<const std::uint8_t> flags,
                    std::span<T> out) {
    check_same_size("compact", "values", values.size(), "flags", flags.size());
    const std::size_t kept = select_flagged(
        place, flags, out,
        [&](const std::uint64_t* bits, std::size_t begin, std::size_t end, T* to, std::size_t count) {
            select_detail::keep_values(values.data() + begin, bits, end - begin, to, count);
        });
    check_capacity("compact", "out", out.size(), kept);
    return kept;
}

template <payload Position>
std::size_t compact_positions(cpu_place& place, std::span<const std::uint8_t> flags,
                              std::span<Position> out) {
    if (sizeof(Position) == 4) check_32_bits("compact_positions", flags.size(), "flags", "positions");
    const std::size_t kept = select_flagged(
        place, flags, out,
        [](const std::uint64_t* bits, std::size_t begin, std::size_t end, Position* to, std::size_t count) {
            select_detail::keep_positions(static_cast<Position>(begin), bits, end - begin, to, count);
        });
    check_capacity("compact_positions", "out", out.size(), kept);
    return kept;
}

template <payload T>
std::size_t run_length_encode(cpu_place& place, std::span<const T> values, std::span<T> unique,
                              std::span<std::uint64_t> counts) {
    struct runs {
        std::size_t number;
        std::size_t last_begin;  ///< of the one that is still open
    };
    constexpr std::size_t each = cached_piece(sizeof(T));
    const std::size_t capacity = std::min(unique.size(), counts.size());
    const selections begins(place, each);
    const auto all = for_each_piece_chained(
        place, values.size(), each, runs{0, 0},
        [&](std::size_t slot, std::size_t begin, std::size_t end) {
            std::uint64_t* const bits = begins.of(slot);
            const std::size_t size = end - begin;
            const std::size_t number =
                select_detail::bits_of_runs(values.data() + begin, size, begin == 0, bits);
            if (number == 0) return runs{0, 0};
            std::size_t word = (size - 1) / 64;
            while (bits[word] == 0) --word;
            return runs{number, begin + 64 * word + static_cast<std::size_t>(std::bit_width(bits[word])) - 1};
        },
        [](const runs& before, const runs& mine) {
            return mine.number == 0 ? before : runs{before.number + mine.number, mine.last_begin};
        },
        [&](std::size_t slot, std::size_t begin, std::size_t end, const runs& before, const runs& mine) {
            if (mine.number == 0 || before.number + mine.number > capacity) return;
            std::uint64_t* const bits = begins.of(slot);
            select_detail::keep_values(values.data() + begin, bits, end - begin,
                                       unique.data() + before.number, mine.number);
            // A run's length is known where the next one begins; before the first of all none has ended.
            if (begin == 0) bits[0] &= ~std::uint64_t{1};
            write_distances(bits, begin, end - begin, before.last_begin,
                            counts.data() + (begin == 0 ? 0 : before.number - 1));
        });
    check_capacity("run_length_encode", "unique", unique.size(), all.number);
    check_capacity("run_length_encode", "counts", counts.size(), all.number);
    if (all.number != 0) counts[all.number - 1] = values.size() - all.last_begin;
    return all.number;
}

template std::size_t compact(cpu_place&, std::span<const std::uint32_t>, std::span<const std::uint8_t>,
                             std::span<std::uint32_t>);
template std::size_t compact(cpu_place&, std::span<const std::uint64_t>, std::span<const std::uint8_t>,
                             std::span<std::uint64_t>);
template std::size_t compact_positions(cpu_place&, std::span<const std::uint8_t>, std::span<std::uint32_t>);
template std::size_t compact_positions(cpu_place&, std::span<const std::uint8_t>, std::span<std::uint64_t>);
template std::size_t run_length_encode(cpu_place&, std::span<const std::uint32_t>, std::span<std::uint32_t>,
                                       std::span<std::uint64_t>);
template std::size_t run_length_encode(cpu_place&, std::span<const std::uint64_t>, std::span<std::uint64_t>,
                                       std::span<std::uint64_t>);

}  // namespace quern::primitives
