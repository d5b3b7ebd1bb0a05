// SPDX-License-Identifier: Apache-2.0
// Prefix filter (Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins in data cleaning", 2006; Bayardo,
// Ma and Srikant, "Scaling up all pairs similarity search", 2007) with the filters by length and position of Xiao, Wang,
// Lin and Yu, "Efficient similarity joins for near duplicate detection", 2008 (PPJoin).
//
// Sets are ordered by size, their numbers by ascending frequency. A pair needs `required` common numbers; so the first of
// them, the rarest, is among all but the last required − 1 numbers of both sets. These prefixes are indexed, and each set
// looks its own prefix up among the earlier sets. Numbers that occur in one set only would come first in every prefix and
// find nothing: they are only counted.
#include "ops/near_duplicates/papers/words/shingle.hpp"

#include <array>
#include <atomic>
#include <numeric>

#include "device/progress_meter.hpp"
#include "primitives/histogram/histogram.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::string_view what_for = "the join of shingles";

/// A similarity bound in terms of sizes, in integers: no product exceeds 10⁹ · 2³³ < 2⁶³.
struct similarity_bound {
    std::uint64_t numerator, denominator;

    static std::uint64_t ratio_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }
    /// The minimum size of a set that can be similar to one of `size`, which is not smaller.
    std::uint64_t min_size(std::uint64_t size) const { return ratio_up(numerator * size, denominator); }
    /// The number of elements that two sets with these sizes in total must share.
    std::uint64_t required(std::uint64_t together) const {
        return ratio_up(numerator * together, numerator + denominator);
    }
};

/// The length of the prefix of `shared` numbers where `required` are needed.
std::uint64_t prefix_length(std::uint64_t shared, std::uint64_t required) {
    return shared < required ? 0 : std::min(shared, shared - required + 1);
}

/// The sets as records: by (size, class); numbers by (frequency, number), without those of a single set.
struct records {
    number_sets numbers;
    std::uint32_t end = 0;
    std::vector<std::uint32_t> classes;
    std::vector<std::uint64_t> sizes;
    std::vector<class_age> ages;

    std::uint32_t size() const { return static_cast<std::uint32_t>(classes.size()); }
    std::span<const std::uint32_t> operator[](std::uint32_t r) const {
        const std::uint64_t* const offset = numbers.offsets.data() + r;
        return {numbers.values.data() + offset[0], offset[1] - offset[0]};
    }
};

records in_order(cpu_place& place, shingle_sets sets) {
    records result;
    result.classes.resize(sets.sizes.size());
    std::iota(result.classes.begin(), result.classes.end(), 0u);
    result.sizes = std::move(sets.sizes);
    primitives::sort_pairs<std::uint64_t, std::uint32_t>(place, result.sizes, result.classes);
    for (const std::uint32_t c : result.classes) result.ages.push_back(sets.ages[c]);

    auto frequencies = document_frequencies(place, sets.shared.view(), sets.end);
    result.numbers = selected(place, sets.shared.view(), result.classes,
                              [&](std::uint32_t number) { return frequencies.data()[number] > 1; });
    sets.shared = {};
    auto by_frequency = make_array<std::uint32_t>(place, sets.end, what_for);
    std::iota(by_frequency.span().begin(), by_frequency.span().end(), 0u);
    primitives::sort_pairs<std::uint64_t, std::uint32_t>(place, frequencies.span(), by_frequency.span());
    auto ranks = make_array<std::uint32_t>(place, sets.end, what_for);
    for (std::uint32_t i = 0; i < sets.end; ++i) {
        if (frequencies.data()[i] > 1) ranks.data()[by_frequency.data()[i]] = result.end++;
    }
    const std::size_t pieces = pieces_for(place, result.numbers.values.size(), std::size_t{1} << 14);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(result.numbers.values.size(), pieces, p);
        for (std::size_t i = begin; i < end; ++i)
            result.numbers.values.data()[i] = ranks.data()[result.numbers.values.data()[i]];
    });
    primitives::segmented_sort_keys<std::uint32_t>(place, result.numbers.values.span(),
                                                   result.numbers.offsets.span());
    return result;
}

/// A number in the prefix of a record.
struct posting {
    std::uint32_t record, position;
};

/// The prefixes of the records of one age: for every number its postings, records ascending.
struct prefix_index {
    cpu_array<std::uint64_t> offsets;   ///< empty: no records
    cpu_array<std::uint64_t> postings;  ///< record · 2³² + position

    std::span<const std::uint64_t> operator[](std::uint32_t number) const {
        const std::uint64_t* const offset = offsets.data() + number;
        return {postings.data() + offset[0], offset[1] - offset[0]};
    }
    static posting unpacked(std::uint64_t p) {
        return {static_cast<std::uint32_t>(p >> 32), static_cast<std::uint32_t>(p)};
    }
};

/// The indexed length of each record: what a record that is not smaller can share with it first.
std::uint64_t indexed_length(const records& all, const similarity_bound& bound, std::uint32_t r) {
    return prefix_length(all[r].size(), bound.required(2 * all.sizes[r]));
}

prefix_index index_of(cpu_place& place, const records& all, const similarity_bound& bound, class_age age) {
    prefix_index index;
    auto begins = make_array<std::uint64_t>(place, all.size() + std::size_t{1}, what_for);
    begins.data()[0] = 0;
    for (std::uint32_t r = 0; r < all.size(); ++r) {
        begins.data()[r + 1] = begins.data()[r] + (all.ages[r] == age ? indexed_length(all, bound, r) : 0);
    }
    const std::uint64_t size = begins.data()[all.size()];
    if (size == 0) return index;
    auto keys = make_array<std::uint32_t>(place, size, what_for);
    index.postings = make_array<std::uint64_t>(place, size, what_for);
    for_each_document(place, begins.span(), document_pieces(place, begins.span()),
                      [&](std::size_t, std::uint32_t r) {
                          const std::uint64_t begin = begins.data()[r], end = begins.data()[r + 1];
                          for (std::uint64_t i = begin; i < end; ++i) {
                              keys.data()[i] = all[r][i - begin];
                              index.postings.data()[i] = std::uint64_t{r} << 32 | (i - begin);
                          }
                      });
    auto counts = make_array<std::uint64_t>(place, all.end, what_for);
    primitives::histogram<std::uint32_t>(place, keys.span(), counts.span());
    index.offsets = make_array<std::uint64_t>(place, all.end + std::size_t{1}, what_for);
    primitives::exclusive_scan<std::uint64_t, std::uint64_t>(place, counts.span(), index.offsets.span());
    primitives::sort_pairs<std::uint32_t, std::uint64_t>(place, keys.span(), index.postings.span());
    return index;
}

/// The size of the intersection, or any number below `required` if it is too small. `shared`: how many of the first x_from
/// numbers of x and the first y_from of y are equal.
std::uint64_t intersection(std::span<const std::uint32_t> x, std::span<const std::uint32_t> y,
                           std::size_t x_from, std::size_t y_from, std::uint64_t shared,
                           std::uint64_t required) {
    // If x's prefix ends before y's, no later number of y equals one of x's prefix; at least `shared` numbers of y are used
    // up. Otherwise the same with x and y swapped.
    std::size_t i = x_from, j = shared;
    if (x[x_from - 1] >= y[y_from - 1]) {
        i = shared;
        j = y_from;
    }
    while (i < x.size() && j < y.size()) {
        if (shared + std::min(x.size() - i, y.size() - j) < required) return 0;
        const bool x_steps = x[i] <= y[j], y_steps = y[j] <= x[i];
        if (x_steps && y_steps) ++shared;
        i += x_steps ? 1 : 0;
        j += y_steps ? 1 : 0;
    }
    return shared;
}

class similarity_join {
  public:
    similarity_join(cpu_place& place, const records& all, const similarity_bound& bound,
                    const duplicate_scope& scope)
        : place_(place), all_(all), bound_(bound), scope_(scope) {
        for (std::size_t age = 0; age < class_ages; ++age)
            indexes_[age] = index_of(place, all, bound, class_age(age));
    }

    /// Compares every record with the earlier ones. Free threads take pieces, large records first; the results are joined
    /// in order.
    std::vector<class_pair> find(duplicate_counts& counts) {
        const std::size_t pieces = (all_.size() + piece_size - 1) / piece_size;
        std::vector<std::vector<class_pair>> found(pieces);
        std::atomic<std::size_t> taken{0};
        std::atomic<std::uint64_t> intersected{0};
        progress_meter meter(place_.ctx(), "compare", all_.size(), "documents");
        for_each_piece(place_, place_.threads(), [&](std::size_t) {
            worker mine(*this);
            for (std::size_t p = taken++; p < pieces; p = taken++) {
                const std::size_t piece = pieces - 1 - p, begin = piece * piece_size;
                const std::size_t end = std::min<std::size_t>(begin + piece_size, all_.size());
                for (std::size_t r = begin; r < end; ++r)
                    mine.look_up(static_cast<std::uint32_t>(r), found[piece]);
                meter.add(end - begin);
            }
            intersected += mine.intersected;
        });
        counts.candidates += intersected;
        std::vector<class_pair> pairs;
        for (auto& piece : found) {
            pairs.insert(pairs.end(), piece.begin(), piece.end());
            piece = {};
        }
        return pairs;
    }

  private:
    static constexpr std::size_t piece_size = 64;

    /// What the current record shares with an earlier one, in the prefixes.
    struct candidate {
        std::uint32_t shared, required;
    };
    static constexpr std::uint32_t ruled_out = 0xffffffff;

    struct worker {
        explicit worker(const similarity_join& j)
            : join(j), candidates(make_array<candidate>(j.place_, j.all_.size(), what_for)) {
            std::ranges::fill(candidates.span(), candidate{0, 0});
        }

        void look_up(std::uint32_t r, std::vector<class_pair>& found) {
            join.place_.ctx().check_stop();
            const records& all = join.all_;
            const std::uint64_t least = join.bound_.min_size(all.sizes[r]);
            const std::uint64_t length = prefix_length(all[r].size(), least);
            if (length == 0) return;
            const auto first =
                static_cast<std::uint32_t>(std::ranges::lower_bound(all.sizes, least) - all.sizes.begin());
            for (std::size_t age = 0; age < class_ages; ++age) {
                const prefix_index& index = join.indexes_[age];
                if (index.offsets.size() == 0 || !may_pair(all.ages[r], class_age(age), join.scope_))
                    continue;
                for (std::uint32_t i = 0; i < length; ++i) gather(r, i, first, index[all[r][i]]);
            }
            for (const std::uint32_t other : touched) {
                verify(r, length, other, found);
                candidates.data()[other] = {0, 0};
            }
            touched.clear();
        }

        /// Counts number i of record r for every record from `first` up to r that has it in its prefix.
        void gather(std::uint32_t r, std::uint32_t i, std::uint32_t first,
                    std::span<const std::uint64_t> postings) {
            const records& all = join.all_;
            const std::uint64_t left = all[r].size() - i - 1;
            auto at = std::lower_bound(postings.begin(), postings.end(), std::uint64_t{first} << 32);
            for (; at != postings.end(); ++at) {
                const posting other = prefix_index::unpacked(*at);
                if (other.record >= r) break;
                candidate& c = candidates.data()[other.record];
                if (c.shared == ruled_out) continue;
                if (c.required == 0) {
                    touched.push_back(other.record);
                    c.required = static_cast<std::uint32_t>(
                        join.bound_.required(all.sizes[r] + all.sizes[other.record]));
                }
                const std::uint64_t other_left = all[other.record].size() - other.position - 1;
                if (c.shared + 1 + std::min(left, other_left) >= c.required)
                    ++c.shared;
                else
                    c.shared = ruled_out;
            }
        }

        void verify(std::uint32_t r, std::uint64_t length, std::uint32_t other,
                    std::vector<class_pair>& found) {
            const records& all = join.all_;
            const candidate c = candidates.data()[other];
            if (c.shared == ruled_out) return;
            ++intersected;
            const std::uint64_t shared = intersection(
                all[r], all[other], length, indexed_length(all, join.bound_, other), c.shared, c.required);
            if (shared < c.required) return;
            const auto [a, b] = std::minmax(all.classes[r], all.classes[other]);
            const std::uint64_t together = all.sizes[r] + all.sizes[other];
            found.push_back({a, b, together - 2 * shared, together - shared});
        }

        const similarity_join& join;
        cpu_array<candidate> candidates;  ///< of every record; required is 0 for non-candidates
        std::vector<std::uint32_t> touched;
        std::uint64_t intersected = 0;
    };

    cpu_place& place_;
    const records& all_;
    similarity_bound bound_;
    duplicate_scope scope_;
    std::array<prefix_index, class_ages> indexes_;
};

}  // namespace

std::vector<class_pair> join_by_similarity(cpu_place& place, shingle_sets sets, const decimal& similarity,
                                           const duplicate_scope& scope, duplicate_counts& counts) {
    const records all = in_order(place, std::move(sets));
    return similarity_join(place, all, {similarity.numerator, similarity.denominator}, scope).find(counts);
}

}  // namespace quern::near_duplicates_detail
