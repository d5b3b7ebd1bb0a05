// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/papers/words/hamming_join.hpp"

#include <bit>
#include <limits>
#include <numeric>

#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned all_bits = 64;

constexpr std::uint64_t lowest_bits(unsigned count) {
    return count >= all_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// The bit order of a table: the chosen blocks on top, so that sorting groups the values that agree in them.
class permutation {
  public:
    /// `chosen`: the numbers of the blocks, ascending.
    permutation(unsigned blocks, const std::vector<unsigned>& chosen) : blocks_(blocks), chosen_(chosen) {
        std::vector<unsigned> order = chosen;
        for (unsigned b = 0; b < blocks; ++b)
            if (!std::binary_search(chosen.begin(), chosen.end(), b)) order.push_back(b);
        unsigned top = all_bits;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const unsigned width = begin_of(order[i] + 1) - begin_of(order[i]);
            top -= width;
            if (i + 1 == chosen.size()) key_ = ~lowest_bits(top);
            moves_.push_back({begin_of(order[i]), top, lowest_bits(width)});
        }
    }

    std::uint64_t apply(std::uint64_t x) const {
        std::uint64_t moved = 0;
        for (const move& m : moves_) moved |= (x >> m.from & m.mask) << m.to;
        return moved;
    }
    std::uint64_t undo(std::uint64_t x) const {
        std::uint64_t moved = 0;
        for (const move& m : moves_) moved |= (x >> m.to & m.mask) << m.from;
        return moved;
    }
    /// The bits of the chosen blocks after apply().
    std::uint64_t key() const { return key_; }
    /// Whether the chosen blocks are the first ones that agree; `different` (not permuted) has the bits that differ.
    bool is_first(std::uint64_t different) const {
        std::size_t agreeing = 0;
        for (unsigned b = 0; b < blocks_ && agreeing < chosen_.size(); ++b) {
            const std::uint64_t block = lowest_bits(begin_of(b + 1)) & ~lowest_bits(begin_of(b));
            if ((different & block) != 0) continue;
            if (chosen_[agreeing++] != b) return false;
        }
        return true;
    }

  private:
    struct move {
        unsigned from, to;
        std::uint64_t mask;
    };
    unsigned begin_of(unsigned block) const { return all_bits * block / blocks_; }

    unsigned blocks_;
    std::vector<unsigned> chosen_;
    std::vector<move> moves_;
    std::uint64_t key_ = 0;
};

/// The next choice of the same number of `blocks` in lexicographic order; false after the last.
bool next_choice(std::vector<unsigned>& chosen, unsigned blocks) {
    for (std::size_t i = chosen.size(); i-- > 0;) {
        if (chosen[i] == blocks - (chosen.size() - i)) continue;
        for (unsigned b = chosen[i] + 1; i < chosen.size(); ++i) chosen[i] = b++;
        return true;
    }
    return false;
}

/// The first position from `from` on whose value is at least `bound`; steps double.
std::size_t first_at_least(std::span<const std::uint64_t> sorted, std::size_t from, std::uint64_t bound) {
    std::size_t step = 1, low = from;
    while (low + step <= sorted.size() && sorted[low + step - 1] < bound) {
        low += step;
        step *= 2;
    }
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(low + step, sorted.size()));
    return static_cast<std::size_t>(
        std::lower_bound(sorted.begin() + static_cast<std::ptrdiff_t>(low), end, bound) - sorted.begin());
}

struct near_pair {
    std::uint64_t x, y;
};

/// Compares each of xs[begin .. end) with the ys that agree in the table's key; if both are the same table, only with later
/// ones. Returns the number of compared pairs.
std::uint64_t compare_runs(const context& ctx, std::span<const std::uint64_t> xs, std::size_t begin,
                           std::size_t end, std::span<const std::uint64_t> ys, bool same_table,
                           const permutation& table, unsigned bits, std::vector<near_pair>& found) {
    constexpr std::size_t at_once = 4096;
    std::vector<std::uint32_t> near(at_once);
    const std::uint64_t key = table.key();
    std::uint64_t compared = 0;
    std::size_t run_begin = 0, run_end = 0;
    for (std::size_t i = begin; i < end; ++i) {
        if (i % 256 == 0) ctx.check_stop();
        const std::uint64_t x = xs[i];
        if (i == begin || ((xs[i - 1] ^ x) & key) != 0) {
            const std::uint64_t greatest = x | ~key;
            run_begin = first_at_least(ys, run_end, x & key);
            run_end = greatest == std::numeric_limits<std::uint64_t>::max()
                          ? ys.size()
                          : first_at_least(ys, run_begin, greatest + 1);
        }
        std::size_t at = same_table ? i + 1 : run_begin;
        compared += run_end - at;
        for (; at < run_end; at += at_once) {
            const std::size_t size = std::min(at_once, run_end - at);
            const std::size_t count = find_near(ys.data() + at, size, x, bits, near.data());
            for (std::size_t n = 0; n < count; ++n) {
                const std::uint64_t different = table.undo(x ^ ys[at + near[n]]);
                if (table.is_first(different)) found.push_back({table.undo(x), table.undo(ys[at + near[n]])});
            }
        }
    }
    return compared;
}

std::uint32_t class_with(const fingerprint_list& sorted, std::uint64_t fingerprint) {
    const auto at = std::lower_bound(sorted.fingerprints.begin(), sorted.fingerprints.end(), fingerprint);
    return sorted.classes[static_cast<std::size_t>(at - sorted.fingerprints.begin())];
}

class hamming_join {
  public:
    hamming_join(cpu_place& place, std::array<fingerprint_list, class_ages>&& lists, unsigned bits,
                 const duplicate_scope& scope)
        : place_(place), lists_(std::move(lists)), bits_(bits), scope_(scope) {
        for (fingerprint_list& list : lists_)
            primitives::sort_pairs<std::uint64_t, std::uint32_t>(place, list.fingerprints, list.classes);
    }

    /// Adds the pairs that belong to this table; returns the number of compared pairs.
    std::uint64_t search(const permutation& table, std::vector<class_pair>& out) {
        std::array<cpu_array<std::uint64_t>, class_ages> permuted;
        for (std::size_t age = 0; age < class_ages; ++age) permuted[age] = sorted_table(table, age);
        std::uint64_t compared = 0;
        for (std::size_t x = 0; x < class_ages; ++x) {
            for (std::size_t y = x; y < class_ages; ++y) {
                if (may_pair(class_age(x), class_age(y), scope_))
                    compared += search_ages(table, x, y, permuted[x].span(), permuted[y].span(), out);
            }
        }
        return compared;
    }

  private:
    cpu_array<std::uint64_t> sorted_table(const permutation& table, std::size_t age) {
        const std::vector<std::uint64_t>& from = lists_[age].fingerprints;
        auto permuted = make_array<std::uint64_t>(place_, from.size(), "a table of fingerprints");
        const std::size_t pieces = pieces_for(place_, from.size(), std::size_t{1} << 14);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(from.size(), pieces, p);
            for (std::size_t i = begin; i < end; ++i) permuted.data()[i] = table.apply(from[i]);
        });
        primitives::sort_keys<std::uint64_t>(place_, permuted.span());
        return permuted;
    }

    std::uint64_t search_ages(const permutation& table, std::size_t x_age, std::size_t y_age,
                              std::span<const std::uint64_t> xs, std::span<const std::uint64_t> ys,
                              std::vector<class_pair>& out) {
        const std::size_t pieces = pieces_for(place_, xs.size(), 256, 32);
        std::vector<std::vector<near_pair>> found(pieces);
        std::vector<std::uint64_t> compared(pieces);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(xs.size(), pieces, p);
            compared[p] =
                compare_runs(place_.ctx(), xs, begin, end, ys, x_age == y_age, table, bits_, found[p]);
        });
        for (const auto& piece : found) {
            for (const near_pair& pair : piece) {
                const std::uint32_t a = class_with(lists_[x_age], pair.x),
                                    b = class_with(lists_[y_age], pair.y);
                const auto distance = static_cast<std::uint64_t>(std::popcount(pair.x ^ pair.y));
                out.push_back({std::min(a, b), std::max(a, b), distance, all_bits});
            }
        }
        return std::accumulate(compared.begin(), compared.end(), std::uint64_t{0});
    }

    cpu_place& place_;
    std::array<fingerprint_list, class_ages> lists_;
    unsigned bits_;
    duplicate_scope scope_;
};

}  // namespace

hamming_plan plan_hamming_join(std::uint64_t fingerprints, unsigned bits) {
    constexpr double comparisons_worth_a_place = 40;  // the cost of one fingerprint's entry in a sorted table
    const auto n = static_cast<double>(fingerprints);
    hamming_plan best;
    double least = std::numeric_limits<double>::infinity(), tables = 1;
    for (unsigned k = 0; bits + k <= all_bits && tables < 1e6; ++k) {
        const unsigned blocks = bits + k, key_bits = blocks == 0 ? 0 : all_bits * k / blocks;
        const double runs = static_cast<double>(std::uint64_t{1} << std::min(key_bits, 63u));
        const double cost = tables * (n * comparisons_worth_a_place + n * n / 2 / runs);
        if (cost < least) {
            least = cost;
            best = {blocks, k};
        }
        tables = tables * (blocks + 1) / (k + 1);
    }
    return best;
}

std::vector<class_pair> join_by_hamming_distance(cpu_place& place,
                                                 std::array<fingerprint_list, class_ages> lists,
                                                 unsigned bits, const hamming_plan& plan,
                                                 const duplicate_scope& scope, duplicate_counts& counts) {
    std::vector<class_pair> found;
    if (bits == 0) return found;  // the classes' fingerprints are all different
    hamming_join join(place, std::move(lists), bits, scope);
    std::vector<unsigned> chosen(plan.agreeing);
    std::iota(chosen.begin(), chosen.end(), 0u);
    do {
        counts.candidates += join.search(permutation(plan.blocks, chosen), found);
    } while (next_choice(chosen, plan.blocks));
    return found;
}

}  // namespace quern::near_duplicates_detail
