// SPDX-License-Identifier: Apache-2.0
// All lists into sums, list by list in their order, as the rule has it; then the best are selected.
//
// Ids come in no order, so adding each entry where it belongs is a miss an entry: in an array of doubles, 8 ns. Instead, the
// entries of each list are first dealt out by id to buckets of 2^16 objects: whole lines, gathered in the first cache, are
// written past the caches, six bytes an entry (the id within the bucket, the score as it is). Then each bucket's sums are
// added up in the second cache, all lists after each other, and nothing but the best leaves it: 2.5 ns and 1.6 ns an entry.
//
// What is dealt out goes through memory of its own, and a page that is touched for the first time costs more than reading as
// much: so the objects are taken in a few parts, each of which reads the lists again and takes what is its own. The parts share
// the memory. Where it does not suffice for them either, and for few objects, whose sums a cache holds anyway, entries
// are added where they belong.
//
// A full list has an entry for each object, so its buckets begin where their ids do; others are counted first.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/top_k/automatic.hpp"
#include "ops/top_k/list_kernels.hpp"
#include "ops/top_k/object_sums.hpp"

namespace quern::top_k_detail {
namespace {

constexpr std::uint32_t bucket_objects = std::uint32_t{1} << bucket_bits;
constexpr std::size_t bucket_words = words_of_sums(bucket_objects);
constexpr std::uint32_t most_buckets = std::uint32_t{1}
                                       << 13;  // of a part: their lines stay in the second cache
constexpr std::uint32_t most_parts = 16;

/// Values depend on ranks then, and otherwise they are weights times scores.
template <class Score>
bool by_rank(const checked_lists<Score>& lists) {
    return lists.rule().rule() == aggregate::rrf;
}

// ---- Where they belong at once ----

template <class Combination, class Score>
best_objects add_in_place(checked_lists<Score>& lists, std::uint32_t k) {
    const std::size_t words = words_of_sums(lists.objects());
    cpu_array<double> scores(lists.place(), lists.objects(), "the scores of objects");
    cpu_array<std::uint64_t> marks(lists.place(), 2 * words, "the marks of objects");
    object_sums<Combination> all(lists.rule(), scores.span(), marks.span().first(words),
                                 marks.span().last(words));
    for (const list_stretch& whole : lists.whole()) {
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

// ---- Dealt out ----

/// Buckets that follow each other.
struct bucket_range {
    std::uint32_t first, count;
};

/// A list's entries by bucket, of one part after the other: ids within the bucket, and scores or, of ranks, values.
template <class Payload>
class dealt_list {
  public:
    dealt_list(cpu_place& place, std::uint32_t buckets, std::uint32_t in_part, std::uint64_t entries,
               bool full)
        : ids_(place, room(in_part, entries, full), "entries by bucket"),
          payloads_(place, room(in_part, entries, full), "entries by bucket"),
          counts_(full ? 0 : buckets),
          begins_(in_part),
          sizes_(in_part),
          lines_(in_part),
          full_(full) {}
    static std::uint64_t bytes(std::uint32_t in_part, std::uint64_t entries, bool full) {
        return room(in_part, entries, full) * (sizeof(std::uint16_t) + sizeof(Payload));
    }

    /// Whether it need not be counted.
    bool full() const { return full_; }
    void count(std::span<const std::uint32_t> ids) {
        for (const std::uint32_t id : ids) ++counts_[id / bucket_objects];
    }
    /// After all of it was counted. False where a bucket has more entries than objects: an id comes twice.
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
    /// Ids from the part's first object on. False where a bucket of a full list gets more entries than it has objects.
    bool deal(std::span<const std::uint32_t> ids, const Payload* payloads) {
        return top_k_detail::deal(
            ids, payloads, {ids_.data(), payloads_.data(), begins_.data(), sizes_.data(), lines_.data()});
    }
    /// False as well.
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
    /// The most entries that a part of so many buckets needs room for.
    static std::uint64_t room(std::uint32_t buckets, std::uint64_t entries, bool full) {
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
class dealt_lists {
  public:
    dealt_lists(checked_lists<Score>& lists, std::uint32_t parts)
        : lists_(lists),
          buckets_(buckets_of(lists)),
          in_part_((buckets_ + parts - 1) / parts),
          twice_(lists.lists(), 0) {}

    /// The least from `parts` on that memory has room for; 0: none.
    static std::uint32_t parts_for(checked_lists<Score>& lists, std::uint32_t parts) {
        const std::uint32_t buckets = buckets_of(lists);
        const std::uint64_t left = lists.place().memory().left();
        for (parts = std::max(parts, 1u); parts <= most_parts; parts *= 2) {
            const std::uint32_t in_part = (buckets + parts - 1) / parts;
            if (in_part <= most_buckets && bytes(lists, in_part) <= left) return parts;
        }
        return 0;
    }

    best_objects best(std::uint32_t k) {
        cpu_place& place = lists_.place();
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            dealt_.emplace_back(place, buckets_, in_part_, lists_.size(i), is_full(lists_, i));
        const std::size_t pieces = pieces_for(place, in_part_, 1);
        std::vector<best_objects> of_piece(pieces, best_objects(k));
        scores_ = cpu_array<double>(place, pieces * bucket_objects, "the scores of objects");
        marks_ = cpu_array<std::uint64_t>(place, pieces * 2 * bucket_words, "the marks of objects");
        twice_in_piece_.assign(pieces, lists_.lists());
        for (std::uint32_t first = 0; first < buckets_; first += in_part_) {
            const bucket_range part{first, std::min(in_part_, buckets_ - first)};
            deal(part);
            for_each_piece(place, pieces, [&](std::size_t p) {
                const stretch mine = piece_of(part.count, pieces, p);
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
            all += dealt_list<Payload>::bytes(in_part, lists.size(i), is_full(lists, i));
        return all;
    }

    /// The part's entries to their buckets. With the first part all lists are checked, but for ids that come twice.
    void deal(bucket_range part) {
        std::vector<list_stretch> lists = lists_.whole();
        if (part.first == 0) {
            check_and_count(lists, part);
            std::erase_if(lists, [&](const list_stretch& one) { return dealt_[one.list].full(); });
        }
        std::erase_if(lists, [&](const list_stretch& one) { return twice_[one.list] != 0; });
        for (const list_stretch& one : lists) dealt_[one.list].begin(part);
        lists_.visit(lists, [&](std::size_t s, std::uint64_t begin, std::uint64_t end) {
            deal_block(part, lists[s].list, begin, end);
            return true;
        });
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            if (twice_[i] == 0 && !dealt_[i].end()) twice_[i] = 1;
    }
    /// Full lists are dealt out meanwhile, the others counted.
    void check_and_count(std::span<const list_stretch> lists, bucket_range part) {
        for (dealt_list<Payload>& one : dealt_)
            if (one.full()) one.begin(part);
        try {
            lists_.read(lists, [&](std::size_t list, std::uint64_t begin, std::uint64_t end) {
                if (dealt_[list].full()) {
                    deal_block(part, list, begin, end);
                } else {
                    dealt_[list].count(lists_.view(list).ids.subspan(begin, end - begin));
                }
                return true;
            });
        } catch (const list_fault& fault) {  // an id that comes twice in a list before it goes first
            for (std::size_t i = 0; i < fault.list(); ++i)
                if (lists_.has_one_twice(i)) lists_.refuse(i, lists_.size(i));
            throw;
        }
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            if (!dealt_[i].counted()) twice_[i] = 1;
    }
    void deal_block(bucket_range part, std::size_t list, std::uint64_t begin, std::uint64_t end) {
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
        if (!dealt_[list].deal(ids, payloads)) twice_[list] = 1;
    }
    /// Adds up one of the part's buckets, as the piece p.
    void add(bucket_range part, std::uint32_t b, std::size_t p, best_objects& best) {
        lists_.place().run().check_stop();
        const std::uint32_t first = (part.first + b) * bucket_objects;
        const std::size_t size = std::min(bucket_objects, lists_.objects() - first);
        const std::span<std::uint64_t> marks = marks_.span().subspan(p * 2 * bucket_words);
        object_sums<Combination> sums(lists_.rule(), scores_.span().subspan(p * bucket_objects, size),
                                      marks.first(words_of_sums(size)),
                                      marks.subspan(bucket_words, words_of_sums(size)));
        for (std::size_t i = 0; i < lists_.lists(); ++i) {
            if (twice_[i] != 0) continue;
            const Payload* const payloads = dealt_[i].payloads(b);
            const double weight = by_rank(lists_) ? 1 : lists_.rule().rules()[i].weight;
            const std::span<const std::uint16_t> ids = dealt_[i].ids(b);
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
    std::vector<dealt_list<Payload>> dealt_;
    cpu_array<double> scores_;
    cpu_array<std::uint64_t> marks_;
    std::vector<std::uint8_t> twice_;  ///< by list: an id comes twice in it, which is not dealt out then
    std::vector<std::size_t> twice_in_piece_;  ///< the first list in which that was seen
};

struct read_objects {
    best_objects best;
    reading_way way = reading_way::dealt_out;
};

template <class Combination, class Payload, class Score>
read_objects best_of(checked_lists<Score>& lists, std::uint32_t k, const reading_costs& costs) {
    using dealt = dealt_lists<Combination, Payload, Score>;
    const std::uint32_t parts =
        lists.objects() <= costs.in_place_objects ? 0 : dealt::parts_for(lists, costs.parts);
    if (parts == 0) return {add_in_place<Combination>(lists, k), reading_way::added_in_place};
    return {dealt(lists, parts).best(k), reading_way::dealt_out};
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
automatic_answer read_everything(checked_lists<Score>& lists, std::uint32_t k, const reading_costs& costs) {
    const read_objects read = best_by_rule(lists, k, costs);
    return {{read.best.sorted(), lists.objects()}, lists.depths(), read.way};
}
template automatic_answer read_everything(checked_lists<float>&, std::uint32_t, const reading_costs&);
template automatic_answer read_everything(checked_lists<double>&, std::uint32_t, const reading_costs&);

}  // namespace quern::top_k_detail
