// SPDX-License-Identifier: Apache-2.0
// A stable radix sort of keys with the first words of a position: three words of natural text fit 64 bits. For longer
// n-grams, few positions have equal keys; these are sorted by the next words, and so on (tie_sorter). Beyond memory,
// the same sort works in runs on disk, for rows of documents.
#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/order/first_word_parts.hpp"
#include "ops/ngram_likelihood/order/ngram_order.hpp"
#include "ops/ngram_likelihood/order/packed_keys.hpp"
#include "ops/ngram_likelihood/rows/collection_blocks.hpp"
#include "primitives/external_sort/external_sort.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/sort/sort_memory.hpp"

namespace quern::ngram_detail {
namespace {

constexpr std::size_t piece_positions = std::size_t{1} << 16, max_in_cache = std::size_t{1} << 15, ahead = 24;
/// Of a part of the first words, which follow each other in the text at some distance.
constexpr std::uint64_t scattered_words = 1 << 10;

/// Positions [begin, end) of the order share their first `known` words.
struct tied_range {
    std::size_t begin, end;
    unsigned known;
};

struct tie {
    std::uint64_t key, position;
    auto operator<=>(const tie&) const = default;
};

/// Sorts positions that share all words of their keys by the following words. In natural text most ties are short: one
/// thread sorts each, in the cache. The few long ones (repetitive texts) are sorted one after another by all threads,
/// within the budget. Of mapped words, the keys of a block of positions are read in the order of the text first.
template <class Position>
class tie_sorter {
  public:
    tie_sorter(cpu_place& place, const packed_keys& keys, const ngram_order<Position>& order)
        : place_(place),
          keys_(keys),
          positions_(order.positions()),
          shared_(order.shared()),
          block_(keys.are_mapped() ? block_that_fits() : 0) {}

    void sort() {
        sort_all({0, shared_.size(), keys_.packing().words});
        while (!long_.empty()) {
            const tied_range next = long_.back();
            long_.pop_back();
            sort_long(next);
        }
    }

  private:
    /// Sorts the ranges within one, each of which shares its first `known` words.
    void sort_all(const tied_range& within) {
        if (block_ != 0) {
            for_each_part(within, block_,
                          [&](const tied_range& part) { sort_block(without_long_end(part)); });
            return;
        }
        std::vector<tied_range> parts;
        for_each_part(within, piece_positions, [&](const tied_range& part) { parts.push_back(part); });
        for_each_piece(place_, parts.size(), [&](std::size_t p) {
            place_.ctx().check_stop();
            std::vector<tie> ties;
            sort_ranges(parts[p], ties);
        });
    }

    /// work(part) for parts of about `size` positions and whole ranges.
    template <class Work>
    void for_each_part(const tied_range& of, std::size_t size, const Work& work) {
        paced_checks checks(place_.ctx(), neighbouring_values);
        for (std::size_t begin = of.begin; begin < of.end;) {
            std::size_t end = std::min(of.end, begin + size);
            for (; end < of.end && shared_[end] >= of.known; ++end) checks.after(1);
            checks.after(size);
            work({begin, end, of.known});
            begin = end;
        }
    }

    /// The part, of which a long range at its end is noted for later.
    tied_range without_long_end(tied_range part) {
        if (part.end - part.begin <= block_ + max_in_cache) return part;
        std::size_t begin = part.begin + block_;
        while (begin > part.begin && shared_[begin] >= part.known) --begin;
        is_short({begin, part.end, part.known});
        part.end = begin;
        return part;
    }

    void sort_ranges(const tied_range& within, std::vector<tie>& ties) {
        const bool far = within.end - within.begin > 2 * ahead;  // near data has been fetched already
        for_each_range_of(within, [&](const tied_range& of) {
            if (far && of.end + ahead < within.end) {
                for (std::size_t j = of.begin + ahead; j < of.end + ahead; ++j)
                    if (shared_[j] >= within.known || shared_[j + 1] >= within.known)
                        keys_.fetch(positions_[j], within.known);
            }
            if (!is_short(of)) return;
            sort_short(of, ties, [&](std::size_t i) { return keys_.key_after(positions_[i], of.known); });
            const unsigned known = of.known + keys_.words_after(of.known);
            if (known < keys_.order()) sort_ranges({of.begin, of.end, known}, ties);
        });
    }

    /// work(range) for the ranges of positions that share `known` words, also those of one position.
    template <class Work>
    void for_each_range_of(const tied_range& within, const Work& work) {
        for (std::size_t i = within.begin; i < within.end;) {
            std::size_t end = i + 1;
            while (end < within.end && shared_[end] >= within.known) ++end;
            work({i, end, within.known});
            i = end;
        }
    }
    /// More than one position, and not many: these are noted for later.
    bool is_short(const tied_range& of) {
        if (of.end - of.begin <= max_in_cache) return of.end - of.begin > 1;
        const std::lock_guard hold(mutex_);
        long_.push_back(of);
        return false;
    }

    /// `key_of(i)`: of the position at i.
    template <class Key_of>
    void sort_short(const tied_range& of, std::vector<tie>& ties, const Key_of& key_of) {
        ties.clear();
        for (std::size_t i = of.begin; i < of.end; ++i) ties.push_back({key_of(i), positions_[i]});
        std::sort(ties.begin(), ties.end());
        for (std::size_t i = of.begin; i < of.end; ++i) {
            positions_[i] = static_cast<Position>(ties[i - of.begin].position);
            if (i != of.begin) note_shared(i, of.known, ties[i - of.begin - 1].key, ties[i - of.begin].key);
        }
    }

    // ---- Blocks of mapped words ----

    /// How many positions, so that half of the memory suffices; 0 if it has no place for a few.
    std::size_t block_that_fits() const {
        constexpr std::uint64_t most = std::uint64_t{1} << 22, least = std::uint64_t{1} << 12,
                                each = 2 * sizeof(std::uint64_t) + sizeof(std::uint32_t);
        for (std::uint64_t block = most; block >= least; block /= 2)
            if ((block + max_in_cache) * each +
                    primitives::sort_bytes(block + max_in_cache, place_.threads()) <=
                place_.memory().left() / 2)
                return block;
        return 0;
    }

    void sort_block(tied_range of) {
        for (; of.known < keys_.order(); of.known += keys_.words_after(of.known)) {
            const cpu_array<std::uint64_t> keys = keys_in_order_of_text(of);
            if (keys.size() == 0) return;
            std::vector<tied_range> parts;
            for_each_part(of, piece_positions / 4, [&](const tied_range& part) { parts.push_back(part); });
            for_each_piece(place_, parts.size(), [&](std::size_t p) {
                place_.ctx().check_stop();
                std::vector<tie> ties;
                for_each_range_of(parts[p], [&](const tied_range& range) {
                    if (is_short(range))
                        sort_short(range, ties, [&](std::size_t i) { return keys.data()[i - of.begin]; });
                });
            });
        }
    }

    /// Of all positions of the block that are tied, at their places in it; nothing if none is.
    cpu_array<std::uint64_t> keys_in_order_of_text(const tied_range& of) {
        const std::size_t size = of.end - of.begin, pieces = pieces_for(place_, size, 1 << 14);
        const auto is_tied = [&](std::size_t i) {
            return shared_[i] >= of.known || (i + 1 < of.end && shared_[i + 1] >= of.known);
        };
        std::vector<std::size_t> begins(pieces + 1);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(size, pieces, p);
            for (std::size_t i = begin; i < end; ++i) begins[p + 1] += is_tied(of.begin + i) ? 1 : 0;
        });
        for (std::size_t p = 0; p < pieces; ++p) begins[p + 1] += begins[p];
        const std::size_t tied = begins.back();
        if (tied == 0) return {};
        cpu_array<std::uint64_t> keys(place_, size, "keys of n-grams");
        const cpu_array<std::uint64_t> positions(place_, tied, "keys of n-grams");
        const cpu_array<std::uint32_t> places(place_, tied, "keys of n-grams");
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(size, pieces, p);
            std::size_t at = begins[p];
            for (std::size_t i = begin; i < end; ++i) {
                if (!is_tied(of.begin + i)) continue;
                positions.data()[at] = positions_[of.begin + i];
                places.data()[at++] = static_cast<std::uint32_t>(i);
            }
        });
        primitives::sort_pairs(place_, positions.span(), places.span(), {.key_bits = position_bits()});
        const std::size_t readers = pieces_for(place_, tied, 1 << 12);
        for_each_piece(place_, readers, [&](std::size_t p) {
            const auto [begin, end] = piece_of(tied, readers, p);
            in_checked_parts(
                place_.ctx(), begin, end, scattered_values, [&](std::uint64_t first, std::uint64_t last) {
                    for (std::size_t i = first; i < last; ++i)
                        keys.data()[places.data()[i]] = keys_.key_after(positions.data()[i], of.known);
                });
        });
        return keys;
    }
    unsigned position_bits() const {
        return static_cast<unsigned>(std::bit_width(std::uint64_t{shared_.size()}));
    }

    void sort_long(const tied_range& of) {
        const std::uint64_t memory = place_.memory().left() / 4 * 3;
        primitives::external_sorter<cpu_place, std::uint64_t, std::uint64_t> sorter(
            place_, memory, {}, std::min(memory, primitives::external_sort_min_memory));
        std::vector<std::uint64_t> keys(std::min(of.end - of.begin, max_in_cache)), positions(keys.size());
        for (std::size_t i = of.begin; i < of.end; i += keys.size()) {
            const std::size_t size = std::min(keys.size(), of.end - i);
            place_.ctx().check_stop();
            const std::size_t pieces = pieces_for(place_, size, 1 << 12);
            for_each_piece(place_, pieces, [&](std::size_t p) {
                const auto [begin, end] = piece_of(size, pieces, p);
                paced_checks checks(place_.ctx(), scattered_values);
                for (std::size_t j = begin; j < end; ++j) {
                    checks.after(1);
                    positions[j] = positions_[i + j];
                    keys[j] = keys_.key_after(positions[j], of.known);
                }
            });
            sorter.push(std::span(keys).first(size), std::span(positions).first(size));
        }
        std::size_t i = of.begin;
        std::uint64_t last = 0;
        sorter.finish([&](std::span<const std::uint64_t> sorted_keys, std::span<const std::uint64_t> sorted) {
            place_.ctx().check_stop();
            for (std::size_t j = 0; j < sorted.size(); ++j, ++i) {
                positions_[i] = static_cast<Position>(sorted[j]);
                if (i != of.begin) note_shared(i, of.known, last, sorted_keys[j]);
                last = sorted_keys[j];
            }
        });
        const unsigned known = of.known + keys_.words_after(of.known);
        if (known < keys_.order()) sort_all({of.begin, of.end, known});
    }

    void note_shared(std::size_t i, unsigned known, std::uint64_t before, std::uint64_t key) {
        shared_[i] = static_cast<std::uint8_t>(known + keys_.packing().shared(before, key));
    }

    cpu_place& place_;
    const packed_keys& keys_;
    std::span<Position> positions_;
    std::span<std::uint8_t> shared_;
    std::size_t block_;  ///< positions of a block of mapped words; 0: they are read as they come
    std::mutex mutex_;
    std::vector<tied_range> long_;  ///< still unsorted
};

/// The order is by the first words of keys, and shared[i] is at most their number; afterwards both cover whole n-grams.
template <class Position>
void sort_ties(cpu_place& place, const packed_keys& keys, const ngram_order<Position>& order) {
    if (keys.order() > keys.packing().words) tie_sorter<Position>(place, keys, order).sort();
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
            in_checked_parts(place.ctx(), begin, end, scattered_words,
                             [&](std::uint64_t from, std::uint64_t to) {
                                 packed.pack(std::span<const Position>(positions.subspan(from, to - from)),
                                             keys.data() + from);
                             });
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
    const std::uint64_t memory = place.memory().left() / 4 * 3;
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

/// In memory. `largest`: positions of a part.
template <class Position>
bool fits(cpu_place& place, std::size_t size, std::uint64_t largest) {
    const memory_budget& memory = place.memory();
    return size * (sizeof(Position) + 1) + largest * sizeof(std::uint64_t) +
               primitives::sort_bytes(largest, place.threads()) <=
           (memory.left() - memory_of_rows(memory)) / 16 * 15;
}

}  // namespace

template <class Position>
bool order_fits(cpu_place& place, const ngram_collection& collection) {
    const std::size_t size = collection.words.size();
    return fits<Position>(place, size, 0) &&  // and only then the words are counted
           fits<Position>(place, size,
                          first_word_parts(place, collection.words, collection.vocabulary).largest());
}
template bool order_fits<std::uint32_t>(cpu_place&, const ngram_collection&);
template bool order_fits<std::uint64_t>(cpu_place&, const ngram_collection&);

template <class Position>
ngram_order<Position> packed_order(cpu_place& place, const ngram_collection& collection,
                                   const document_table& documents, unsigned order) {
    const packed_keys packed(collection, documents, order);
    const std::size_t size = collection.words.size();
    const first_word_parts parts(place, collection.words, collection.vocabulary);
    auto result = fits<Position>(place, size, parts.largest())
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
