// SPDX-License-Identifier: Apache-2.0
// All lists into sums, list by list in their order, according to the rule; then the best are selected.
//
// - Ids are in no order, so adding each entry in place is one cache miss per entry: 8 ns in an array of doubles. Instead,
//   the entries of each list are first partitioned by id into buckets of 2^16 objects: whole lines, gathered in the
//   first-level cache, are written past the caches, six bytes per entry (the id within the bucket, and the score). Then
//   each bucket's sums are added up in the second-level cache, all lists after each other, and only the best leave it: 2.5
//   ns and 1.6 ns per entry.
// - Partitioned entries need separate memory, and the first touch of a page costs more than reading as much. So the objects
//   are processed in a few parts; each reads the lists again and takes its own entries. The parts share the memory. Where
//   it does not suffice for them either, and for few objects, whose sums a cache holds anyway, entries are added in place.
// - A full list has an entry for each object, so its buckets begin where their ids do; others are counted first.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/rank_aggregation/aggregation_methods.hpp"
#include "ops/rank_aggregation/list_kernels.hpp"
#include "ops/rank_aggregation/object_sums.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::uint32_t bucket_objects = std::uint32_t{1} << bucket_bits;
constexpr std::size_t bucket_words = words_of_sums(bucket_objects);
constexpr std::uint32_t max_buckets = std::uint32_t{1}
                                      << 13;  // of a part: their lines stay in the second-level cache
constexpr std::uint32_t max_parts = 16;

/// Values then depend on ranks; otherwise they are weights times scores.
template <class Score>
bool by_rank(const checked_lists<Score>& lists) {
    return lists.rule().rule() == aggregate::rrf;
}

// ---- In place ----

template <class Combination, class Score>
best_objects add_in_place(checked_lists<Score>& lists, std::uint32_t k) {
    const std::size_t words = words_of_sums(lists.objects());
    cpu_array<double> scores(lists.place(), lists.objects(), "the scores of objects");
    cpu_array<std::uint64_t> seen_bits(lists.place(), 2 * words, "the marks of objects");
    object_sums<Combination> all(lists.rule(), scores.span(), seen_bits.span().first(words),
                                 seen_bits.span().last(words));
    for (const list_range& whole : lists.whole()) {
        const std::size_t list = whole.list;
        const double weight = lists.rule().rules()[list].weight;
        lists.read(std::span(&whole, 1), [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
            const auto ids = lists.view(list).ids.subspan(begin, end - begin);
            const Score* const own = lists.view(list).scores.data() + begin;
            if (by_rank(lists)) {
                all.add(ids, [&](std::size_t j) { return lists.value(list, begin + j); });
            } else {
                all.add(ids, [=](std::size_t j) { return weight * static_cast<double>(own[j]); });
            }
            return true;
        });
        if (!all.end_list(list, lists.size(list))) lists.refuse(list, lists.size(list));
    }
    best_objects best(k);
    all.offer(best, 0);
    return best;
}

// ---- Partitioned ----

/// Consecutive buckets.
struct bucket_range {
    std::uint32_t first, count;
};

/// A list's entries by bucket, one part after another: ids within the bucket, and scores or (for ranks) values.
template <class Payload>
class partitioned_list {
  public:
    partitioned_list(cpu_place& place, std::uint32_t buckets, std::uint32_t in_part, std::uint64_t entries,
                     bool full)
        : ids_(place, capacity(in_part, entries, full), "entries by bucket"),
          payloads_(place, capacity(in_part, entries, full), "entries by bucket"),
          counts_(full ? 0 : buckets),
          begins_(in_part),
          sizes_(in_part),
          lines_(in_part),
          full_(full) {}
    static std::uint64_t bytes(std::uint32_t in_part, std::uint64_t entries, bool full) {
        return capacity(in_part, entries, full) * (sizeof(std::uint16_t) + sizeof(Payload));
    }

    /// Whether it needs no counting.
    bool full() const { return full_; }
    void count(std::span<const std::uint32_t> ids) {
        for (const std::uint32_t id : ids) ++counts_[id / bucket_objects];
    }
    /// Call it after counting the whole list. False if a bucket has more entries than objects: an id occurs twice.
    bool counted() const {
        return std::ranges::all_of(counts_, [](std::uint64_t count) { return count <= bucket_objects; });
    }

    void begin(bucket_range part) {
        std::uint64_t at = 0;
        for (std::uint32_t b = 0; b < part.count; ++b) {
            begins_[b] = at;
            at += full_ ? bucket_objects : whole_lines(counts_[part.first + b]);
        }
        std::ranges::fill(sizes_, 0u);
    }
    /// Partitions ids from the part's first object on. False if a bucket of a full list gets more entries than it has
    /// objects.
    bool partition(std::span<const std::uint32_t> ids, const Payload* payloads) {
        return rank_aggregation_detail::partition(
            ids, payloads, {ids_.data(), payloads_.data(), begins_.data(), sizes_.data(), lines_.data()});
    }
    /// False for the same reason.
    bool end() {
        for (std::size_t b = 0; b < lines_.size(); ++b) {
            if (sizes_[b] > bucket_objects) return false;
            const std::uint32_t left = sizes_[b] % line_entries;
            const std::uint64_t at = begins_[b] + sizes_[b] - left;
            std::copy_n(lines_[b].ids, left, ids_.data() + at);
            std::copy_n(lines_[b].payloads, left, payloads_.data() + at);
        }
        return true;
    }

    std::span<const std::uint16_t> ids(std::uint32_t b) const {
        return {ids_.data() + begins_[b], sizes_[b]};
    }
    const Payload* payloads(std::uint32_t b) const { return payloads_.data() + begins_[b]; }

  private:
    static std::uint64_t whole_lines(std::uint64_t entries) {
        return (entries + line_entries - 1) / line_entries * line_entries;
    }
    /// The maximum entries for which a part of that many buckets needs memory.
    static std::uint64_t capacity(std::uint32_t buckets, std::uint64_t entries, bool full) {
        const std::uint64_t all = std::uint64_t{buckets} * bucket_objects;
        return full ? all : std::min(all, entries + std::uint64_t{buckets} * line_entries);
    }

    cpu_array<std::uint16_t> ids_;
    cpu_array<Payload> payloads_;
    std::vector<std::uint64_t> counts_;  ///< of all buckets
    std::vector<std::uint64_t> begins_;  ///< of the part's, multiples of a line; so are the sizes
    std::vector<std::uint32_t> sizes_;
    std::vector<bucket_line<Payload>> lines_;
    bool full_;
};

template <class Combination, class Payload, class Score>
class partitioned_lists {
  public:
    partitioned_lists(checked_lists<Score>& lists, std::uint32_t parts)
        : lists_(lists),
          buckets_(buckets_of(lists)),
          in_part_((buckets_ + parts - 1) / parts),
          twice_(lists.lists(), 0) {}

    /// The smallest number from `parts` on that fits memory; 0: none.
    static std::uint32_t parts_for(checked_lists<Score>& lists, std::uint32_t parts) {
        const std::uint32_t buckets = buckets_of(lists);
        const std::uint64_t left = lists.place().memory().left();
        for (parts = std::max(parts, 1u); parts <= max_parts; parts *= 2) {
            const std::uint32_t in_part = (buckets + parts - 1) / parts;
            if (in_part <= max_buckets && bytes(lists, in_part) <= left) return parts;
        }
        return 0;
    }

    best_objects best(std::uint32_t k) {
        cpu_place& place = lists_.place();
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            partitioned_.emplace_back(place, buckets_, in_part_, lists_.size(i), is_full(lists_, i));
        const std::size_t pieces = pieces_for(place, in_part_, 1);
        std::vector<best_objects> of_piece(pieces, best_objects(k));
        scores_ = cpu_array<double>(place, pieces * bucket_objects, "the scores of objects");
        seen_bits_ = cpu_array<std::uint64_t>(place, pieces * 2 * bucket_words, "the marks of objects");
        twice_in_piece_.assign(pieces, lists_.lists());
        for (std::uint32_t first = 0; first < buckets_; first += in_part_) {
            const bucket_range part{first, std::min(in_part_, buckets_ - first)};
            partition(part);
            for_each_piece(place, pieces, [&](std::size_t p) {
                const item_range mine = piece_of(part.count, pieces, p);
                for (std::size_t b = mine.begin; b < mine.end; ++b)
                    add(part, static_cast<std::uint32_t>(b), p, of_piece[p]);
            });
        }
        refuse_twice();
        best_objects all(k);
        for (const best_objects& one : of_piece)
            for (const scored_object& object : one.sorted()) all.offer(object);
        return all;
    }

  private:
    static std::uint32_t buckets_of(const checked_lists<Score>& lists) {
        return lists.objects() / bucket_objects + (lists.objects() % bucket_objects != 0 ? 1 : 0);
    }
    static bool is_full(const checked_lists<Score>& lists, std::size_t list) {
        return lists.size(list) == lists.objects();
    }
    static std::uint64_t bytes(checked_lists<Score>& lists, std::uint32_t in_part) {
        std::uint64_t all = pieces_for(lists.place(), in_part, 1) *
                            (bucket_objects * sizeof(double) + 2 * bucket_words * sizeof(std::uint64_t));
        for (std::size_t i = 0; i < lists.lists(); ++i)
            all += partitioned_list<Payload>::bytes(in_part, lists.size(i), is_full(lists, i));
        return all;
    }

    /// Partitions the part's entries into their buckets. The first part also checks all lists, except for repeated ids.
    void partition(bucket_range part) {
        std::vector<list_range> lists = lists_.whole();
        if (part.first == 0) {
            check_and_count(lists, part);
            std::erase_if(lists, [&](const list_range& one) { return partitioned_[one.list].full(); });
        }
        std::erase_if(lists, [&](const list_range& one) { return twice_[one.list] != 0; });
        for (const list_range& one : lists) partitioned_[one.list].begin(part);
        lists_.visit(lists, [&](std::size_t s, std::uint64_t begin, std::uint64_t end) {
            partition_block(part, lists[s].list, begin, end);
            return true;
        });
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            if (twice_[i] == 0 && !partitioned_[i].end()) twice_[i] = 1;
    }
    /// Partitions full lists in the same pass; counts the others.
    void check_and_count(std::span<const list_range> lists, bucket_range part) {
        for (partitioned_list<Payload>& one : partitioned_)
            if (one.full()) one.begin(part);
        try {
            lists_.read(lists, [&](std::size_t list, std::uint64_t begin, std::uint64_t end) {
                if (partitioned_[list].full()) {
                    partition_block(part, list, begin, end);
                } else {
                    partitioned_[list].count(lists_.view(list).ids.subspan(begin, end - begin));
                }
                return true;
            });
        } catch (const list_fault& fault) {  // an id that occurs twice earlier in a list takes precedence
            for (std::size_t i = 0; i < fault.list(); ++i)
                if (lists_.has_one_twice(i)) lists_.refuse(i, lists_.size(i));
            throw;
        }
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            if (!partitioned_[i].counted()) twice_[i] = 1;
    }
    void partition_block(bucket_range part, std::size_t list, std::uint64_t begin, std::uint64_t end) {
        if (twice_[list] != 0) return;
        auto ids = lists_.view(list).ids.subspan(begin, end - begin);
        Payload values[checked_lists<Score>::block];
        const Payload* payloads = values;
        if constexpr (std::is_same_v<Payload, Score>) payloads = lists_.view(list).scores.data() + begin;
        if (by_rank(lists_) || !std::is_same_v<Payload, Score>) {
            for (std::size_t j = 0; j < ids.size(); ++j)
                values[j] = static_cast<Payload>(lists_.value(list, begin + j));
            payloads = values;
        }
        std::uint32_t own_ids[checked_lists<Score>::block];
        Payload own_payloads[checked_lists<Score>::block];
        if (in_part_ < buckets_) {
            const std::size_t own = take_range(ids, payloads, part.first * bucket_objects,
                                               part.count * bucket_objects, own_ids, own_payloads);
            ids = {own_ids, own};
            payloads = own_payloads;
        }
        if (!partitioned_[list].partition(ids, payloads)) twice_[list] = 1;
    }
    /// Adds up one of the part's buckets, as piece p.
    void add(bucket_range part, std::uint32_t b, std::size_t p, best_objects& best) {
        lists_.place().ctx().check_stop();
        const std::uint32_t first = (part.first + b) * bucket_objects;
        const std::size_t size = std::min(bucket_objects, lists_.objects() - first);
        const std::span<std::uint64_t> seen_bits = seen_bits_.span().subspan(p * 2 * bucket_words);
        object_sums<Combination> sums(lists_.rule(), scores_.span().subspan(p * bucket_objects, size),
                                      seen_bits.first(words_of_sums(size)),
                                      seen_bits.subspan(bucket_words, words_of_sums(size)));
        for (std::size_t i = 0; i < lists_.lists(); ++i) {
            if (twice_[i] != 0) continue;
            const Payload* const payloads = partitioned_[i].payloads(b);
            const double weight = by_rank(lists_) ? 1 : lists_.rule().rules()[i].weight;
            const std::span<const std::uint16_t> ids = partitioned_[i].ids(b);
            sums.add(ids, [=](std::size_t j) { return weight * static_cast<double>(payloads[j]); });
            if (!sums.end_list(i, ids.size())) twice_in_piece_[p] = std::min(twice_in_piece_[p], i);
        }
        sums.offer(best, first);
    }
    void refuse_twice() const {
        std::size_t list = *std::ranges::min_element(twice_in_piece_);
        for (std::size_t i = 0; i < list; ++i)
            if (twice_[i] != 0) list = i;
        if (list < lists_.lists()) lists_.refuse(list, lists_.size(list));
    }

    checked_lists<Score>& lists_;
    std::uint32_t buckets_, in_part_;
    std::vector<partitioned_list<Payload>> partitioned_;
    cpu_array<double> scores_;
    cpu_array<std::uint64_t> seen_bits_;
    std::vector<std::uint8_t> twice_;  ///< by list: an id occurs twice in it, so it is no longer partitioned
    std::vector<std::size_t> twice_in_piece_;  ///< the first list where that was found
};

struct read_objects {
    best_objects best;
    reading_way way = reading_way::partitioned;
};

template <class Combination, class Payload, class Score>
read_objects best_of(checked_lists<Score>& lists, std::uint32_t k, const reading_costs& costs) {
    using partitioned = partitioned_lists<Combination, Payload, Score>;
    const std::uint32_t parts =
        lists.objects() <= costs.direct_objects ? 0 : partitioned::parts_for(lists, costs.parts);
    if (parts == 0) return {add_in_place<Combination>(lists, k), reading_way::added_directly};
    return {partitioned(lists, parts).best(k), reading_way::partitioned};
}

template <class Score>
read_objects best_by_rule(checked_lists<Score>& lists, std::uint32_t k, const reading_costs& costs) {
    switch (lists.rule().rule()) {
        case aggregate::min:
            return best_of<least, Score>(lists, k, costs);
        case aggregate::max:
            return best_of<greatest, Score>(lists, k, costs);
        case aggregate::product:
            return best_of<multiplied, Score>(lists, k, costs);
        case aggregate::rrf:
            return best_of<added, double>(lists, k, costs);
        default:
            return best_of<added, Score>(lists, k, costs);
    }
}

}  // namespace

template <class Score>
automatic_result read_everything(checked_lists<Score>& lists, std::uint32_t k, const reading_costs& costs) {
    const read_objects read = best_by_rule(lists, k, costs);
    return {{read.best.sorted(), lists.objects()}, lists.depths(), read.way};
}
template automatic_result read_everything(checked_lists<float>&, std::uint32_t, const reading_costs&);
template automatic_result read_everything(checked_lists<double>&, std::uint32_t, const reading_costs&);

}  // namespace quern::rank_aggregation_detail
