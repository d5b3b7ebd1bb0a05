// SPDX-License-Identifier: Apache-2.0
// The cheapest method comes first: common ends are cut off; diagonals find few edits; short strings are columns of one word
// (Myers 1999); the rest is computed in strips within a band, first a narrow one, because most similar pairs differ by far
// less than the bound. Threads take chunks of the pairs, the longest pairs first.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/edit_distance/banded_blocks_cpu.hpp"
#include "primitives/edit_distance/diagonals.hpp"
#include "primitives/edit_distance/edit_distance.hpp"
#include "primitives/edit_distance/simd_batch_cpu.hpp"

namespace quern::primitives {
namespace {

using namespace edit_distance_detail;

constexpr std::int64_t first_band = 256;  // narrower ones cost as much: strips have corners
constexpr std::int64_t few_edits = 2;     // in short strings: for more, the whole table is as fast

/// One thread's memory and methods.
template <string_unit Unit>
class aligner {
  public:
    explicit aligner(cpu_place& place) : banded_(place), one_word_(1), two_words_(2) {}

    /// Writes the distance now, or by finish().
    void align(std::span<const Unit> a, std::span<const Unit> b, std::uint32_t bound,
               std::uint32_t& distance) {
        distance = beyond_bound;
        if (a.size() > b.size()) std::swap(a, b);
        if (b.size() - a.size() > bound) return;
        const std::size_t begin = common_begin(a.data(), b.data(), a.size());
        a = a.subspan(begin), b = b.subspan(begin);
        const std::size_t end = common_end(a.data() + a.size(), b.data() + b.size(), a.size());
        a = a.first(a.size() - end), b = b.first(b.size() - end);
        if (a.empty()) distance = static_cast<std::uint32_t>(b.size());
        if (a.empty() || bound == 0) return;
        bound = static_cast<std::uint32_t>(std::min<std::size_t>(bound, b.size()));

        // As many edits along diagonals as cost about the same as columns.
        const bool is_short = a.size() <= short_pairs::max_rows;
        const auto affordable =
            is_short ? few_edits : static_cast<std::int64_t>(std::sqrt(static_cast<double>(a.size())));
        const std::int64_t few = std::min({max_diagonal_edits, std::int64_t{bound}, affordable});
        const reach reached = by_diagonals(a, b, few);
        distance = reached.distance;
        if (distance != beyond_bound || reached.edits == bound) return;
        if constexpr (std::same_as<Unit, std::uint8_t>) {
            if (is_short && b.size() <= short_pairs::max_columns)
                return short_pairs_.add(a, b, bound, distance);
        } else {
            if (a.size() <= word_rows)
                distance = by_words<1>(one_word_, a, b, bound);
            else if (is_short)
                distance = by_words<2>(two_words_, a, b, bound);
            if (is_short) return;
        }
        distance = by_bands(a, b, bound, reached);
    }
    void finish() {
        if constexpr (std::same_as<Unit, std::uint8_t>) short_pairs_.finish();
    }

  private:
    /// All rows in words of 64, column by column; the rows before a's are as in strips. Abandons the pair when each
    /// remaining column would have to lower the value.
    template <std::size_t Words>
    std::uint32_t by_words(unit_codes<Unit>& codes, std::span<const Unit> a, std::span<const Unit> b,
                           std::uint32_t bound) {
        const std::size_t filled = Words * word_rows - a.size();  // < 64
        codes.set(a, filled);
        std::uint64_t rises[Words], falls[Words] = {(std::uint64_t{1} << filled) - 1};
        for (std::size_t w = 0; w < Words; ++w) rises[w] = ~falls[w];
        auto value = static_cast<std::int64_t>(a.size()), max = std::int64_t{bound} + std::ssize(b);
        for (const Unit unit : b) {
            const std::uint64_t* const equals = codes.equal() + codes.code(unit);
            std::uint64_t up_in = 1, down_in = 0;
            for (std::size_t w = 0; w < Words; ++w) {
                const std::uint64_t equal = equals[w], vertical = equal | falls[w], matches = equal | down_in;
                const std::uint64_t horizontal = (((matches & rises[w]) + rises[w]) ^ rises[w]) | matches;
                const std::uint64_t up = falls[w] | ~(horizontal | rises[w]), down = rises[w] & horizontal;
                const std::uint64_t up_here = up << 1 | up_in, down_here = down << 1 | down_in;
                up_in = up >> 63, down_in = down >> 63;
                rises[w] = down_here | ~(vertical | up_here), falls[w] = up_here & vertical;
            }
            value += static_cast<std::int64_t>(up_in) - static_cast<std::int64_t>(down_in);
            if (value > --max) break;
        }
        codes.clear(a, filled);
        return value > bound ? beyond_bound : static_cast<std::uint32_t>(value);
    }

    /// Growing bands: the width is estimated from where diagonals, or the previous band, gave up. An estimate far beyond
    /// the bound is ignored: the dense edits may be those of a heading.
    std::uint32_t by_bands(std::span<const Unit> a, std::span<const Unit> b, std::int64_t bound,
                           const reach& reached) {
        const auto rows = static_cast<std::int64_t>(a.size());
        const auto guess = [rows](std::int64_t edits, std::int64_t row) {
            return edits * rows / std::max<std::int64_t>(row, 1) * 5 / 4;
        };
        const std::int64_t dense = guess(reached.edits, reached.rows);
        std::int64_t band = dense <= 4 * bound ? std::max(first_band, dense) : first_band;
        while (true) {
            if (band * 4 > bound * 3 || a.size() <= max_block_words * word_rows) band = bound;
            const band_result result = banded_.distance(a, b, band);
            if (result.distance != beyond_bound || band == bound) return result.distance;
            band = std::max(2 * band, guess(band, result.rows));
        }
    }

    struct nothing {};

    banded_aligner<Unit> banded_;
    unit_codes<Unit> one_word_, two_words_;
    std::conditional_t<std::same_as<Unit, std::uint8_t>, short_pairs, nothing> short_pairs_;
};

void check_pairs(std::span<const std::uint64_t> offsets, std::span<const bounded_pair> pairs) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 31;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const bounded_pair& pair = pairs[i];
        const auto refuse = [i](const std::string& what) {
            throw usage_error("edit_distances: pair " + std::to_string(i) + what);
        };
        for (const std::uint32_t s : {pair.a, pair.b}) {
            if (std::uint64_t{s} + 1 >= offsets.size())
                refuse(" names string " + std::to_string(s) + ", but there are " +
                       std::to_string(offsets.empty() ? 0 : offsets.size() - 1));
            const std::uint64_t length = offsets[s + 1] - offsets[s];
            if (length >= limit)
                refuse(" has a string of " + std::to_string(length) + " units; 2^31 are too many");
        }
        if (pair.bound >= limit) refuse(" has bound " + std::to_string(pair.bound) + "; 2^31 are too many");
    }
}

/// Pairs by the length of their strings, as chunks of `order` of about equal work, the longest first.
struct queue {
    cpu_array<std::uint32_t> order;
    std::vector<item_range> ranges;
};

queue queue_pairs(cpu_place& place, std::span<const std::uint64_t> offsets,
                  std::span<const bounded_pair> pairs) {
    constexpr std::size_t classes = 33;
    constexpr std::size_t units_a_range = 1 << 16;
    const auto class_of = [&](const bounded_pair& pair) {
        const std::uint64_t lengths =
            offsets[pair.b + 1] - offsets[pair.b] + offsets[pair.a + 1] - offsets[pair.a];
        return classes - 1 - static_cast<std::size_t>(std::bit_width(lengths));
    };
    std::array<std::size_t, classes + 1> begins{};
    for (const bounded_pair& pair : pairs) ++begins[class_of(pair) + 1];
    for (std::size_t c = 0; c < classes; ++c) begins[c + 1] += begins[c];
    queue result{cpu_array<std::uint32_t>(place, pairs.size(), "the order of pairs"), {}};
    for (std::size_t c = 0; c < classes; ++c) {
        const std::size_t size = std::max<std::size_t>(1, units_a_range >> (classes - 1 - c));
        for (std::size_t at = begins[c]; at < begins[c + 1]; at += size)
            result.ranges.push_back({at, std::min(at + size, begins[c + 1])});
    }
    std::array<std::size_t, classes + 1> next = begins;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        result.order.data()[next[class_of(pairs[i])]++] = static_cast<std::uint32_t>(i);
    return result;
}

}  // namespace

template <string_unit Unit>
void edit_distances(cpu_place& place, std::span<const Unit> units, std::span<const std::uint64_t> offsets,
                    std::span<const bounded_pair> pairs, std::span<std::uint32_t> distances) {
    check_same_size("edit_distances", "distances", distances.size(), "pairs", pairs.size());
    check_32_bits("edit_distances", pairs.size(), "pairs", "positions");
    check_pairs(offsets, pairs);
    const queue waiting = queue_pairs(place, offsets, pairs);
    const auto string = [&](std::uint32_t s) {
        return units.subspan(offsets[s], offsets[s + 1] - offsets[s]);
    };
    std::atomic<std::size_t> taken{0};
    for_each_piece(place, std::min<std::size_t>(place.threads(), waiting.ranges.size()), [&](std::size_t) {
        aligner<Unit> mine(place);
        while (true) {
            const std::size_t next = taken.fetch_add(1, std::memory_order_relaxed);
            if (next >= waiting.ranges.size()) return;
            place.ctx().check_stop();
            for (std::size_t i = waiting.ranges[next].begin; i < waiting.ranges[next].end; ++i) {
                const std::uint32_t p = waiting.order.data()[i];
                mine.align(string(pairs[p].a), string(pairs[p].b), pairs[p].bound, distances[p]);
            }
            mine.finish();
        }
    });
}

template <string_unit Unit>
struct pair_aligner<Unit>::ways {
    aligner<Unit> own;
};

template <string_unit Unit>
pair_aligner<Unit>::pair_aligner(cpu_place& place) : ways_(new ways{aligner<Unit>(place)}) {}
template <string_unit Unit>
pair_aligner<Unit>::pair_aligner(pair_aligner&&) noexcept = default;
template <string_unit Unit>
pair_aligner<Unit>& pair_aligner<Unit>::operator=(pair_aligner&&) noexcept = default;
template <string_unit Unit>
pair_aligner<Unit>::~pair_aligner() = default;

template <string_unit Unit>
std::uint32_t pair_aligner<Unit>::distance(std::span<const Unit> a, std::span<const Unit> b,
                                           std::uint32_t bound) {
    std::uint32_t distance = beyond_bound;
    ways_->own.align(a, b, bound, distance);
    ways_->own.finish();
    return distance;
}

template class pair_aligner<std::uint8_t>;
template class pair_aligner<std::uint32_t>;

template void edit_distances<std::uint8_t>(cpu_place&, std::span<const std::uint8_t>,
                                           std::span<const std::uint64_t>, std::span<const bounded_pair>,
                                           std::span<std::uint32_t>);
template void edit_distances<std::uint32_t>(cpu_place&, std::span<const std::uint32_t>,
                                            std::span<const std::uint64_t>, std::span<const bounded_pair>,
                                            std::span<std::uint32_t>);

}  // namespace quern::primitives
