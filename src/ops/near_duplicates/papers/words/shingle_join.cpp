// SPDX-License-Identifier: Apache-2.0
// The join by prefixes (Chaudhuri, Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007). Sets are in ascending order of
// size, shingles in ascending order of (count, hash). Two similar sets share a shingle of their prefixes
// (docs/near_duplicates_words.md): so the prefixes are sorted by shingle, beyond memory if necessary, and sets that share one
// are compared by their words.
//
// A shingle is represented by its hash. Different shingles of one hash only add candidates: within a set they stay
// separate elements, so sizes and prefixes are those of the shingles.
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "device/progress_meter.hpp"
#include "ops/near_duplicates/papers/words/shingle.hpp"
#include "ops/near_duplicates/papers/words/shingle_bound.hpp"
#include "primitives/external_sort/external_sort.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/error.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::string_view what_for = "a join of shingles";

/// A set with a shingle in its prefix, at a position in the order of shingles.
struct posting {
    std::uint32_t record, position;

    explicit posting(std::uint64_t packed)
        : record(static_cast<std::uint32_t>(packed >> 32)), position(static_cast<std::uint32_t>(packed)) {}
};
constexpr std::uint64_t packed(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{a} << 32 | b;
}

class similarity_join {
  public:
    similarity_join(cpu_place& place, const shingle_sets& sets, const similarity_bound& bound,
                    const duplicate_scope& scope)
        : place_(place), sets_(sets), bound_(bound), scope_(scope), sizes_(sets.sizes) {
        classes_.resize(sizes_.size());
        std::iota(classes_.begin(), classes_.end(), 0u);
        primitives::sort_pairs<std::uint64_t, std::uint32_t>(place, sizes_, classes_);
    }

    std::vector<class_pair> find(duplicate_counts& counts) {
        find_candidates();
        return compare_candidates(counts);
    }

  private:
    std::uint32_t size() const { return static_cast<std::uint32_t>(sizes_.size()); }
    class_age age(std::uint32_t record) const { return sets_.ages[classes_[record]]; }
    std::span<const std::uint32_t> words(std::uint32_t record) const {
        return sets_.documents[sets_.firsts[classes_[record]]];
    }

    struct prefix_scratch {
        shingle_set set;
        std::vector<std::pair<std::uint8_t, std::uint64_t>> ordered;
    };
    struct prefixes {
        std::vector<std::uint64_t> hashes, postings;
    };

    /// Appends the prefix of a record, without shingles that no other set has: they come first and match nothing.
    void append_prefix(std::uint32_t r, prefix_scratch& scratch, prefixes& to) const {
        if (sizes_[r] == 0) return;
        scratch.set.make(words(r));
        const std::uint64_t length = bound_.prefix(sizes_[r]);
        std::uint64_t before = scratch.set.once();
        if (before >= length) return;
        scratch.ordered.clear();
        for (const shingle& s : scratch.set.shared())
            scratch.ordered.emplace_back(sets_.counts->of(s.hash), s.hash);
        const auto end = scratch.ordered.begin() + static_cast<std::ptrdiff_t>(length - before);
        std::partial_sort(scratch.ordered.begin(), end, scratch.ordered.end());
        for (auto at = scratch.ordered.begin(); at != end; ++at) {
            to.hashes.push_back(at->second);
            to.postings.push_back(packed(r, static_cast<std::uint32_t>(before++)));
        }
    }

    void find_candidates() {
        constexpr std::uint32_t at_once = 1 << 14;
        constexpr std::uint64_t min_memory = 1 << 16;
        constexpr std::uint64_t posting_bytes = 32;  // in lists that grow
        const std::uint64_t batch_bytes = std::max(place_.memory().left() / 16, min_memory);
        const std::uint64_t memory =
            std::min(std::max(place_.memory().left() / 3, min_memory), std::uint64_t{1} << 32);
        primitives::external_sorter<cpu_place, std::uint64_t, std::uint64_t> sorter(place_, memory, {},
                                                                                    min_memory);
        tbb::enumerable_thread_specific<prefix_scratch> scratches([&] {
            return prefix_scratch{shingle_set(sets_.rule, sets_.counts), {}};
        });
        progress_meter meter(place_.ctx(), "prefixes", size(), "documents");
        for (std::uint32_t first = 0, count = 0; first < size(); first += count) {
            count = 0;
            for (std::uint64_t bytes = 0; count < at_once && first + count < size() && bytes < batch_bytes;
                 ++count)
                bytes += posting_bytes * bound_.prefix(sizes_[first + count]);
            const std::size_t pieces = count / 64 + 1;
            std::vector<prefixes> parts(pieces);
            for_each_piece(place_, pieces, [&](std::size_t p) {
                place_.ctx().check_stop();
                const auto [begin, end] = piece_of(count, pieces, p);
                prefix_scratch& scratch = scratches.local();
                for (std::size_t i = begin; i < end; ++i)
                    append_prefix(first + static_cast<std::uint32_t>(i), scratch, parts[p]);
            });
            for (const prefixes& part : parts) sorter.push(part.hashes, part.postings);
            meter.add(count);
        }
        meter.finish();
        // A shingle's postings, in order of records; those of a chunk's last shingle may go on in the next chunk.
        std::vector<std::uint64_t> hashes, postings;
        sorter.finish([&](std::span<const std::uint64_t> some, std::span<const std::uint64_t> values) {
            hashes.insert(hashes.end(), some.begin(), some.end());
            postings.insert(postings.end(), values.begin(), values.end());
            const auto last = std::ranges::lower_bound(hashes, hashes.back()) - hashes.begin();
            take_groups({hashes.data(), static_cast<std::size_t>(last)}, postings);
            hashes.erase(hashes.begin(), hashes.begin() + last);
            postings.erase(postings.begin(), postings.begin() + last);
        });
        take_groups(hashes, postings);
        compact();
    }

    /// The pairs of sets that share one of these shingles. `hashes` ascend; each has all its postings.
    void take_groups(std::span<const std::uint64_t> hashes, std::span<const std::uint64_t> postings) {
        const std::size_t n = hashes.size(), pieces = pieces_for(place_, n, std::size_t{1} << 12);
        std::vector<std::vector<std::uint64_t>> found(pieces);
        for_each_piece(place_, pieces, [&](std::size_t p) {  // each takes the shingles that begin in it
            const auto [begin, end] = piece_of(n, pieces, p);
            std::size_t i = begin;
            while (i < end && i > 0 && hashes[i] == hashes[i - 1]) ++i;
            while (i < end) {
                std::size_t past_end = i + 1;
                while (past_end < n && hashes[past_end] == hashes[i]) ++past_end;
                if (past_end - i > 1) take_group(postings.subspan(i, past_end - i), found[p]);
                i = past_end;
            }
        });
        for (const auto& some : found) {
            candidates_.insert(candidates_.end(), some.begin(), some.end());
            if (candidates_.size() >= compact_at_) compact();
        }
    }

    /// Two sets with one shingle in their prefixes, if they may be similar as far as sizes and positions tell: if it is the
    /// first that they share, all others are after it in both.
    void take_group(std::span<const std::uint64_t> group, std::vector<std::uint64_t>& found) const {
        for (std::size_t i = 1; i < group.size(); ++i) {
            if (i % 1024 == 0) place_.ctx().check_stop();
            const posting x(group[i]);
            const std::uint64_t x_size = sizes_[x.record];
            const auto smallest =
                std::ranges::lower_bound(group.first(i), bound_.min_size(x_size), {},
                                         [&](std::uint64_t value) { return sizes_[posting(value).record]; });
            for (auto at = smallest; at != group.begin() + static_cast<std::ptrdiff_t>(i); ++at) {
                const posting y(*at);
                const std::uint64_t y_size = sizes_[y.record];
                if (y.record == x.record || y.position >= bound_.prefix_as_smaller(y_size) ||
                    !may_pair(age(x.record), age(y.record), scope_))
                    continue;
                const std::uint64_t left = std::min(x_size - x.position, y_size - y.position);
                if (left >= bound_.required(x_size + y_size)) found.push_back(packed(x.record, y.record));
            }
        }
    }

    /// Removes repeated candidates.
    void compact() {
        primitives::sort_keys<std::uint64_t>(place_, candidates_);
        candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
        const std::uint64_t bytes = 2 * array_bytes<std::uint64_t>(candidates_.size());
        if (bytes > place_.memory().left()) throw out_of_memory(what_for, bytes, place_.memory().left());
        compact_at_ = std::max(compact_at_, 2 * candidates_.size());
    }

    std::vector<class_pair> compare_candidates(duplicate_counts& counts) const {
        const std::size_t n = candidates_.size(), pieces = n / 256 + 1;
        std::vector<std::vector<class_pair>> found(pieces);
        struct scratch {
            shingle_set x, y;
            std::uint64_t held = ~std::uint64_t{0};
        };
        tbb::enumerable_thread_specific<scratch> scratches([&] {
            return scratch{shingle_set(sets_.rule, sets_.counts), shingle_set(sets_.rule, sets_.counts)};
        });
        progress_meter meter(place_.ctx(), "compare", n, "pairs");
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(n, pieces, p);
            scratch& mine = scratches.local();
            for (std::size_t i = begin; i < end; ++i) {
                place_.ctx().check_stop();
                const auto [x, y] = posting(candidates_[i]);
                if (mine.held != x) mine.x.make(words(x));
                mine.held = x;
                mine.y.make(words(y));
                const std::uint64_t together = sizes_[x] + sizes_[y], required = bound_.required(together);
                const std::uint64_t shared = shingle_set::common(mine.x, mine.y, required);
                if (shared < required) continue;
                const auto [a, b] = std::minmax(classes_[x], classes_[y]);
                found[p].push_back({a, b, together - 2 * shared, together - shared});
            }
            meter.add(end - begin);
        });
        meter.finish();
        counts.candidates += n;
        std::vector<class_pair> pairs;
        for (auto& piece : found) {
            pairs.insert(pairs.end(), piece.begin(), piece.end());
            piece = {};
        }
        return pairs;
    }

    cpu_place& place_;
    const shingle_sets& sets_;
    similarity_bound bound_;
    duplicate_scope scope_;
    std::vector<std::uint64_t> sizes_;       ///< ascending: sets in this order are records
    std::vector<std::uint32_t> classes_;     ///< by record
    std::vector<std::uint64_t> candidates_;  ///< two records, the larger first
    std::size_t compact_at_ = std::size_t{1} << 22;
};

}  // namespace

std::vector<class_pair> join_by_similarity(cpu_place& place, const shingle_sets& sets,
                                           const decimal& similarity, const duplicate_scope& scope,
                                           duplicate_counts& counts) {
    return similarity_join(place, sets, {similarity.numerator, similarity.denominator}, scope).find(counts);
}

}  // namespace quern::near_duplicates_detail
