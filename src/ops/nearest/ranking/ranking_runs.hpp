// SPDX-License-Identifier: Apache-2.0
// Rankings of a batch of queries, from one tile after another: sorted runs in host memory, those of a query adjacent, in
// the order of their rows. When there is no space left, everything outside the first k is dropped, so that any number of
// tiles takes the memory of a few.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "primitives/merge/loser_tree.hpp"

namespace quern::nearest_detail {

template <class Key>
struct ranked_run {
    std::span<const Key> keys;
    std::span<const std::uint32_t> ids;
};

/// The first keys.size() pairs of all runs together, by key, equal ones in the order of the runs.
template <class Key>
void merge_runs(std::span<const ranked_run<Key>> runs, std::span<Key> keys, std::span<std::uint32_t> ids) {
    if (runs.size() == 1) {
        std::copy_n(runs[0].keys.data(), keys.size(), keys.data());
        std::copy_n(runs[0].ids.data(), keys.size(), ids.data());
        return;
    }
    using tree = primitives::loser_tree<Key>;
    std::vector<typename tree::entry> entries(tree::entries_for(runs.size()), tree::nothing_left);
    std::vector<std::uint64_t> taken(runs.size());
    const auto next_of = [&](std::uint32_t run) {
        const std::uint64_t at = taken[run];
        return at < runs[run].keys.size() ? tree::make_entry(runs[run].keys[at], run) : tree::nothing_left;
    };
    for (std::uint32_t run = 0; run < runs.size(); ++run) entries[entries.size() / 2 + run] = next_of(run);
    tree least(entries);
    for (std::uint64_t j = 0; j < keys.size(); ++j) {
        const std::uint32_t run = tree::leaf_of(least.winner());
        const std::uint64_t at = taken[run]++;
        keys[j] = runs[run].keys[at];
        ids[j] = runs[run].ids[at];
        least.template replace_winner<tree::any_depth>(next_of(run));
    }
}

template <class Key>
class ranking_runs {
  public:
    /// Allocates `capacity` pairs per query: all there will be, or at least k plus the longest run.
    ranking_runs(cpu_place& host, std::uint64_t queries, std::uint64_t k, std::uint64_t capacity)
        : host_(&host),
          k_(k),
          capacity_(capacity),
          keys_(host, queries * capacity, "rankings of a batch of queries"),
          ids_(host, queries * capacity, "rankings of a batch of queries"),
          lists_(queries) {}

    /// Contiguous pairs, `length` per query.
    struct block {
        std::span<Key> keys;
        std::span<std::uint32_t> ids;
    };
    /// The final positions of runs of `length` for these queries, if there will be no others.
    std::optional<block> whole(std::uint64_t first_query, std::uint64_t queries, std::uint64_t length) const {
        if (length != capacity_ || lists_[first_query].size != 0) return {};
        return block{keys_.span().subspan(first_query * capacity_, queries * length),
                     ids_.span().subspan(first_query * capacity_, queries * length)};
    }

    /// Adds a run for each of these queries: for query q the first lengths[q] of `length` pairs (no lengths: all).
    /// `first_row` is added to the ids.
    void add(std::uint64_t first_query, std::uint64_t queries, const block& runs, std::uint64_t length,
             std::span<const std::uint64_t> lengths, std::uint32_t first_row) {
        const bool in_place = runs.keys.data() == keys_.data() + first_query * capacity_;
        if (in_place && queries == 1) {  // may be long
            shift_ids(runs.ids, first_row);
            return note(first_query, lengths.empty() ? length : lengths[0]);
        }
        const std::size_t pieces = pieces_for(*host_, queries * length, 1 << 16);
        for_each_piece(*host_, std::min<std::size_t>(pieces, queries), [&](std::size_t p) {
            const auto [begin, end] = piece_of(queries, std::min<std::size_t>(pieces, queries), p);
            for (std::uint64_t q = begin; q < end; ++q) {
                const std::uint64_t size = lengths.empty() ? length : lengths[q];
                if (!in_place) make_room(first_query + q, size);
                const std::uint64_t to = (first_query + q) * capacity_ + lists_[first_query + q].size;
                if (!in_place) std::copy_n(runs.keys.data() + q * length, size, keys_.data() + to);
                for (std::uint64_t j = 0; j < size; ++j)
                    ids_.data()[to + j] = runs.ids[q * length + j] + first_row;
                note(first_query + q, size);
            }
        });
    }

    std::size_t queries() const { return lists_.size(); }
    /// The number of runs of a query, and run r.
    std::size_t count_of(std::uint64_t query) const { return lists_[query].begins.size(); }
    ranked_run<Key> run(std::uint64_t query, std::size_t r) const {
        const list& mine = lists_[query];
        const std::uint64_t begin = mine.begins[r];
        const std::uint64_t end = r + 1 < mine.begins.size() ? mine.begins[r + 1] : mine.size;
        return {keys_.span().subspan(query * capacity_ + begin, end - begin),
                ids_.span().subspan(query * capacity_ + begin, end - begin)};
    }

  private:
    struct list {
        std::uint64_t size = 0;
        std::vector<std::uint64_t> begins;
    };

    void note(std::uint64_t query, std::uint64_t size) {
        if (size == 0) return;
        lists_[query].begins.push_back(lists_[query].size);
        lists_[query].size += size;
    }

    void shift_ids(std::span<std::uint32_t> ids, std::uint32_t by) {
        if (by == 0) return;
        const std::size_t pieces = pieces_for(*host_, ids.size(), 1 << 18);
        for_each_piece(*host_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(ids.size(), pieces, p);
            for (std::size_t j = begin; j < end; ++j) ids[j] += by;
        });
    }

    /// Joins the query's runs to one of its first k if the next does not fit.
    void make_room(std::uint64_t query, std::uint64_t size) {
        list& mine = lists_[query];
        if (mine.size + size <= capacity_) return;
        std::vector<ranked_run<Key>> runs;
        for (std::size_t r = 0; r < mine.begins.size(); ++r) runs.push_back(run(query, r));
        const std::uint64_t kept = std::min(mine.size, k_);
        const auto keys = make_array<Key>(*host_, kept, "joining rankings");
        const auto ids = make_array<std::uint32_t>(*host_, kept, "joining rankings");
        merge_runs<Key>(runs, keys.span(), ids.span());
        std::copy_n(keys.data(), kept, keys_.data() + query * capacity_);
        std::copy_n(ids.data(), kept, ids_.data() + query * capacity_);
        mine.begins.assign(1, 0);
        mine.size = kept;
    }

    cpu_place* host_;
    std::uint64_t k_, capacity_;
    cpu_array<Key> keys_;
    cpu_array<std::uint32_t> ids_;
    std::vector<list> lists_;
};

}  // namespace quern::nearest_detail
