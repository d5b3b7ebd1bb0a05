// SPDX-License-Identifier: Apache-2.0
// The k best on the CPU.
// - A sample gives a threshold that a little more than k keys pass. One SIMD pass over the keys, cut into a piece for each
//   thread, collects those as composites; the k best of these are selected and sorted.
// - A piece that collects much more than k (the sample can be misleading) drops all but its k best and continues with the
//   last of these as its threshold. So every input costs O(n) and memory is bounded.
// - If the sample was too strict and fewer than k pass, a second pass runs without it.
// - If k is a large share of n, everything is sorted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/fault.hpp"
#include "primitives/first_position.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/top_k/composite.hpp"
#include "primitives/top_k/filter_cpu.hpp"
#include "primitives/top_k/top_k.hpp"
#include "primitives/top_k/top_k_checks.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives {
namespace {

using namespace top_k_detail;

constexpr std::size_t block_size = 4096;       // keys between two checks of the threshold
constexpr std::size_t short_block_size = 128;  // the same without a sample: a threshold is needed soon
constexpr std::size_t inserted_columns = 64;   // shorter rows are sorted by insertion
constexpr std::size_t min_piece = 1 << 16;     // keys that justify a thread
constexpr std::size_t blocks_between_stops = 256;
constexpr std::size_t sampled_from = 1 << 14;  // below, a sample costs more than it saves
constexpr std::size_t min_sampled = 256;
constexpr std::size_t max_sampled = 1 << 15;
constexpr std::size_t radix_sorted_from = 4096;  // results; fewer are sorted by comparing
constexpr std::size_t sorted_whole_share = 8;    // of the keys: if more are requested, all are sorted

/// Keys, their ids, and which are best.
template <class Key>
struct candidates {
    std::span<const Key> keys;
    const std::uint32_t* ids;  ///< null: positions
    ranking<Key> ranks;

    std::uint32_t id(std::size_t position) const {
        return ids != nullptr ? ids[position] : static_cast<std::uint32_t>(position);
    }
};

template <class Key>
using composite_of = typename ranking<Key>::composite;

/// The best seen so far, with a capacity of `capacity`: k, and more than a block in addition.
template <class Composite>
struct collection {
    Composite* first = nullptr;
    std::size_t capacity = 0, k = 0;
    Composite limit = 0;  ///< greater ones are not among the k best
    std::size_t size = 0;

    void make_room(std::size_t wanted) {
        if (size + wanted <= capacity) return;
        std::nth_element(first, first + (k - 1), first + size);
        size = k;
        limit = first[k - 1];
    }
};

/// The capacity of a collection of the best of `keys` keys.
constexpr std::size_t block_for(std::size_t keys) {
    return keys < sampled_from ? short_block_size : block_size;
}
constexpr std::size_t capacity_for(std::size_t keys, std::size_t k) {
    const std::size_t block = block_for(keys);
    return std::min(keys + block, 2 * k + (block == block_size ? 4 : 2) * block);
}

/// Collects from keys [begin, end). False at the first NaN, whose recorded position is `first_key` higher.
template <class Key>
bool collect(const context& ctx, const candidates<Key>& from, std::size_t begin, std::size_t end,
             collection<composite_of<Key>>& best, first_position& nan, std::uint64_t first_key = 0) {
    using ranks = ranking<Key>;
    std::uint32_t positions[block_size];
    const std::size_t step = block_for(from.keys.size());
    for (std::size_t at = begin, block = 0; at < end; at += step, ++block) {
        if (block % blocks_between_stops == blocks_between_stops - 1) ctx.check_stop();
        best.make_room(step);
        // Ids that are positions ascend: after the limit's own id a key equal to it is worse.
        const bool strict = from.ids == nullptr && at > ranks::id_of(best.limit);
        const std::size_t found =
            collect_positions(from.keys.data() + at, std::min(step, end - at), from.ranks.flip(),
                              ranks::turned_of(best.limit), strict, positions);
        for (std::size_t j = 0; j < found; ++j) {
            const std::size_t position = at + positions[j];
            const Key turned = from.ranks.turned(from.keys[position]);
            if (turned != turned) {
                nan.note(first_key + position);
                return false;
            }
            const auto packed = ranks::pack(turned, from.id(position));
            best.first[best.size] = packed;
            best.size += packed <= best.limit;
        }
    }
    return true;
}

/// Moves the k best to the front, sorted.
template <class Composite>
void sort_best(std::span<Composite> found, std::size_t k) {
    if (found.size() > k) std::nth_element(found.data(), found.data() + (k - 1), found.data() + found.size());
    std::sort(found.data(), found.data() + k);
}

constexpr std::size_t sample_size(std::size_t n) {
    return n < sampled_from ? 0 : std::clamp(n / 256, min_sampled, max_sampled);
}

/// A composite that most likely at least k of the keys do not exceed; `scratch` is the caller's, for the sample.
template <class Key>
composite_of<Key> sampled_limit(const candidates<Key>& from, std::size_t k,
                                std::span<composite_of<Key>> scratch) {
    using ranks = ranking<Key>;
    const std::size_t n = from.keys.size(), sample = sample_size(n);
    if (sample == 0) return ranks::worst;
    const std::size_t rank = sample_rank(n, k, sample);
    if (rank >= sample / 2) return ranks::worst;
    std::uint64_t random = 0x9e3779b97f4a7c15;
    for (std::size_t s = 0; s < sample; ++s) {  // one out of each of `sample` ranges
        random = random * 6364136223846793005 + 1442695040888963407;
        const item_range piece = piece_of(n, sample, s);
        const std::size_t position = piece.begin + (random >> 32) % (piece.end - piece.begin);
        const Key turned = from.ranks.turned(from.keys[position]);
        scratch[s] = turned != turned ? ranks::worst : ranks::pack(turned, from.id(position));
    }
    std::nth_element(scratch.begin(), scratch.begin() + static_cast<std::ptrdiff_t>(rank - 1),
                     scratch.begin() + static_cast<std::ptrdiff_t>(sample));
    return scratch[rank - 1];
}

template <class Work>
void for_each_chunk(cpu_place& place, std::size_t size, const Work& work) {
    const std::size_t pieces = pieces_for(place, size, min_piece, 1);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range piece = piece_of(size, pieces, p);
        work(piece.begin, piece.end);
    });
}

template <class Key>
void write_best(const ranking<Key>& ranks, std::span<const composite_of<Key>> best, Key* best_keys,
                std::uint32_t* best_ids) {
    for (std::size_t j = 0; j < best.size(); ++j) {
        best_keys[j] = ranks.key_of(best[j]);
        best_ids[j] = ranking<Key>::id_of(best[j]);
    }
}

/// The two parts of composites, in the form of the radix sort.
template <class Key>
class split_composites {
  public:
    using word = typename ranking<Key>::word;

    split_composites(cpu_place& place, std::size_t size)
        : high_(place, size, "the keys of a selection"), low_(place, size, "the ids of a selection") {}

    void set(std::size_t i, composite_of<Key> packed) {
        high_.data()[i] = static_cast<word>(packed >> 32);
        low_.data()[i] = static_cast<std::uint32_t>(packed);
    }
    /// `low_rises`: among equal high parts the low ones already ascend. Both sorts are stable.
    void sort(cpu_place& place, bool low_rises) {
        if (!low_rises) sort_pairs(place, low_.span(), high_.span());
        sort_pairs(place, high_.span(), low_.span());
    }
    void write(cpu_place& place, const ranking<Key>& ranks, std::span<Key> best_keys,
               std::span<std::uint32_t> best_ids) const {
        for_each_chunk(place, best_keys.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t j = begin; j < end; ++j) {
                const auto packed = composite_of<Key>{high_.data()[j]} << 32 | low_.data()[j];
                best_keys[j] = ranks.key_of(packed);
                best_ids[j] = ranking<Key>::id_of(packed);
            }
        });
    }

  private:
    cpu_array<word> high_;
    cpu_array<std::uint32_t> low_;
};

/// Sorts everything: for a k that is a large share of n.
template <class Key>
void sort_all(cpu_place& place, const candidates<Key>& from, std::span<Key> best_keys,
              std::span<std::uint32_t> best_ids) {
    split_composites<Key> all(place, from.keys.size());
    first_position nan;
    for_each_chunk(place, from.keys.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const Key turned = from.ranks.turned(from.keys[i]);
            if (turned != turned) return nan.note(i);
            all.set(i, ranking<Key>::pack(turned, from.id(i)));
        }
    });
    nan.throw_if_any(fault::key_not_a_number);
    all.sort(place, from.ids == nullptr);
    all.write(place, from.ranks, best_keys, best_ids);
}

template <class Key>
class selection {
  public:
    using composite = composite_of<Key>;

    selection(cpu_place& place, const candidates<Key>& from, std::size_t k)
        : place_(place), from_(from), k_(k), pieces_(pieces_for(place, from.keys.size(), min_piece, 1)) {}

    void write(std::span<Key> best_keys, std::span<std::uint32_t> best_ids) {
        auto sample =
            make_array<composite>(place_, sample_size(from_.keys.size()), "the sample of a selection");
        const composite limit = sampled_limit(from_, k_, sample.span());
        auto best = best_of_pieces(limit);
        if (best.size() < k_) best = best_of_pieces(ranking<Key>::worst);
        if (k_ < radix_sorted_from) {
            sort_best(best, k_);
            return write_best<Key>(from_.ranks, best.first(k_), best_keys.data(), best_ids.data());
        }
        split_composites<Key> all(place_, best.size());
        for (std::size_t j = 0; j < best.size(); ++j) all.set(j, best[j]);
        all.sort(place_, false);
        all.write(place_, from_.ranks, best_keys, best_ids);
    }

  private:
    /// The collected composites of the pieces: all that do not exceed `limit`, or at least the k best of them.
    std::span<composite> best_of_pieces(composite limit) {
        const std::size_t n = from_.keys.size(), capacity = capacity_for(n / pieces_ + 1, k_);
        collected_ = cpu_array<composite>();
        collected_ = make_array<composite>(place_, pieces_ * capacity, "the candidates of a selection");
        std::vector<std::size_t> sizes(pieces_);
        first_position nan;
        for_each_piece(place_, pieces_, [&](std::size_t p) {
            collection<composite> best{collected_.data() + p * capacity, capacity, k_, limit};
            const item_range piece = piece_of(n, pieces_, p);
            collect(place_.ctx(), from_, piece.begin, piece.end, best, nan);
            sizes[p] = best.size;
        });
        nan.throw_if_any(fault::key_not_a_number);
        std::size_t all = sizes[0];
        for (std::size_t p = 1; p < pieces_; ++p) {
            std::copy_n(collected_.data() + p * capacity, sizes[p], collected_.data() + all);
            all += sizes[p];
        }
        return collected_.span().first(all);
    }

    cpu_place& place_;
    const candidates<Key>& from_;
    std::size_t k_, pieces_;
    cpu_array<composite> collected_;
};

template <class Key>
void top_k_with_ids(cpu_place& place, std::span<const Key> keys, const std::uint32_t* ids,
                    std::span<Key> best_keys, std::span<std::uint32_t> best_ids, best which) {
    const candidates<Key> from{keys, ids, ranking<Key>(which)};
    const std::size_t k = best_keys.size();
    if (k == 0) return;
    if (k >= radix_sorted_from && k >= keys.size() / sorted_whole_share)
        sort_all(place, from, best_keys, best_ids);
    else
        selection<Key>(place, from, k).write(best_keys, best_ids);
}

/// The best of row after row, by one thread, in reused memory.
template <class Key>
class row_selection {
  public:
    using composite = composite_of<Key>;

    row_selection(cpu_place& place, std::size_t columns, std::size_t k)
        : place_(place),
          k_(k),
          capacity_(capacity_for(columns, k)),
          collected_(place, capacity_, "the candidates of a row"),
          sample_(place, sample_size(columns), "the sample of a row") {}

    void write(const candidates<Key>& row, std::uint64_t first_key, Key* best_keys, std::uint32_t* best_ids,
               first_position& nan) {
        const std::size_t columns = row.keys.size();
        if (columns <= inserted_columns) return insert(row, first_key, best_keys, best_ids, nan);
        const composite limit = sampled_limit(row, k_, sample_.span());
        collection<composite> best{collected_.data(), capacity_, k_, limit};
        if (!collect(place_.ctx(), row, 0, columns, best, nan, first_key)) return;
        if (best.size < k_) {
            best = {collected_.data(), capacity_, k_, ranking<Key>::worst};
            collect(place_.ctx(), row, 0, columns, best, nan, first_key);
        }
        sort_best<composite>({best.first, best.size}, k_);
        write_best<Key>(row.ranks, {best.first, k_}, best_keys, best_ids);
    }

  private:
    /// Inserts key after key into its place among the best so far.
    void insert(const candidates<Key>& row, std::uint64_t first_key, Key* best_keys, std::uint32_t* best_ids,
                first_position& nan) {
        composite sorted[inserted_columns];
        std::size_t size = 0;
        for (std::size_t i = 0; i < row.keys.size(); ++i) {
            const Key turned = row.ranks.turned(row.keys[i]);
            if (turned != turned) return nan.note(first_key + i);
            const composite packed = ranking<Key>::pack(turned, static_cast<std::uint32_t>(i));
            if (size == k_ && packed > sorted[size - 1]) continue;
            std::size_t place = size < k_ ? size++ : size - 1;
            for (; place > 0 && packed < sorted[place - 1]; --place) sorted[place] = sorted[place - 1];
            sorted[place] = packed;
        }
        write_best<Key>(row.ranks, {sorted, k_}, best_keys, best_ids);
    }

    cpu_place& place_;
    std::size_t k_, capacity_;
    cpu_array<composite> collected_, sample_;
};

}  // namespace

template <sortable_key Key>
void top_k(cpu_place& place, std::span<const Key> keys, std::span<Key> best_keys,
           std::span<std::uint32_t> best_ids, best which) {
    check_top_k(keys.size(), -1, best_keys.size(), best_ids.size());
    top_k_with_ids(place, keys, nullptr, best_keys, best_ids, which);
}

template <sortable_key Key>
void top_k(cpu_place& place, std::span<const Key> keys, std::span<const std::uint32_t> ids,
           std::span<Key> best_keys, std::span<std::uint32_t> best_ids, best which) {
    check_top_k(keys.size(), static_cast<std::int64_t>(ids.size()), best_keys.size(), best_ids.size());
    top_k_with_ids(place, keys, ids.data(), best_keys, best_ids, which);
}

template <sortable_key Key>
void batched_top_k(cpu_place& place, std::span<const Key> keys, std::uint64_t columns, std::uint64_t k,
                   std::span<Key> best_keys, std::span<std::uint32_t> best_ids, best which) {
    const std::uint64_t rows =
        check_batched_top_k(keys.size(), columns, k, best_keys.size(), best_ids.size());
    if (rows == 0 || k == 0) return;
    if (rows < place.threads() && columns >= 2 * min_piece) {  // a row keeps all threads busy
        for (std::uint64_t r = 0; r < rows; ++r) {
            try {
                top_k(place, keys.subspan(r * columns, columns), best_keys.subspan(r * k, k),
                      best_ids.subspan(r * k, k), which);
            } catch (const invalid_value& e) {
                throw_fault(fault::key_not_a_number, r * columns + e.position());
            }
        }
        return;
    }
    first_position nan;
    const std::size_t pieces = std::min(rows, pieces_for(place, rows * columns, min_piece, 8));
    for_each_piece(place, pieces, [&](std::size_t p) {
        row_selection<Key> selected(place, columns, k);
        const item_range piece = piece_of(rows, pieces, p);
        for (std::uint64_t r = piece.begin; r < piece.end; ++r) {
            const candidates<Key> row{keys.subspan(r * columns, columns), nullptr, ranking<Key>(which)};
            selected.write(row, r * columns, best_keys.data() + r * k, best_ids.data() + r * k, nan);
        }
    });
    nan.throw_if_any(fault::key_not_a_number);
}

#define QUERN_TOP_K_OF(KEY)                                                                                \
    template void top_k(cpu_place&, std::span<const KEY>, std::span<KEY>, std::span<std::uint32_t>, best); \
    template void top_k(cpu_place&, std::span<const KEY>, std::span<const std::uint32_t>, std::span<KEY>,  \
                        std::span<std::uint32_t>, best);                                                   \
    template void batched_top_k(cpu_place&, std::span<const KEY>, std::uint64_t, std::uint64_t,            \
                                std::span<KEY>, std::span<std::uint32_t>, best);
QUERN_TOP_K_OF(float)
QUERN_TOP_K_OF(double)
QUERN_TOP_K_OF(std::uint32_t)
QUERN_TOP_K_OF(std::int32_t)
QUERN_TOP_K_OF(std::uint64_t)
QUERN_TOP_K_OF(std::int64_t)
#undef QUERN_TOP_K_OF

}  // namespace quern::primitives
