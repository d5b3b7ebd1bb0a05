// SPDX-License-Identifier: Apache-2.0
// All lists into sums, list by list in their order, as the rule has it; then the best are selected.
//
// Ids come in no order, so adding each entry where it belongs is a miss an entry: in an array of doubles, 8 ns. Instead, the
// entries of each list are first dealt out by id to buckets of 2^16 objects: whole lines, gathered in the first cache, are
// written past the caches, six bytes an entry (the id within the bucket, the score as it is). Then each bucket's sums are
// added up in the second cache, all lists after each other, and nothing but the best leaves it. That is 4 to 5 ns an entry,
// with a mark an object that tells the last list it was in: an id that comes twice shows itself.
//
// A full list has an entry for each object, so its buckets begin where their ids do; others are counted first. Few objects,
// whose sums a cache holds anyway, and memory that does not suffice: entries are added where they belong.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/top_k/automatic.hpp"
#include "ops/top_k/list_kernels.hpp"

namespace quern::top_k_detail {
namespace {

constexpr std::uint32_t bucket_objects = std::uint32_t{1} << bucket_bits;
constexpr std::uint32_t most_buckets = std::uint32_t{1} << 13;  // whose lines stay in the second cache

// ---- Rules ----

struct added {
    static constexpr double start = 0;
    static double of(double score, double value) { return score + value; }
};
struct multiplied {
    static constexpr double start = 1;
    static double of(double score, double value) { return product(score, value); }
};
struct least {
    static constexpr double start = std::numeric_limits<double>::infinity();
    static double of(double score, double value) { return value < score ? value : score; }
};
struct greatest {
    static constexpr double start = -std::numeric_limits<double>::infinity();
    static double of(double score, double value) { return value > score ? value : score; }
};

/// The sums of objects that follow each other, and in which list each was seen last (from 1; 0: in none).
template <class Combination>
class sums {
  public:
    sums(const scoring& rule, std::span<double> scores, std::span<std::uint8_t> last)
        : rule_(rule), scores_(scores), last_(last) {
        std::ranges::fill(scores_, Combination::start);
        std::ranges::fill(last_, std::uint8_t{0});
    }

    /// Entry j: local[j], value_at(j). False where an object comes twice.
    template <class Id, class Value>
    bool add(std::size_t list, std::span<const Id> local, const Value value_at) {
        constexpr std::size_t ahead = 24;  // entries whose sums are fetched before they are needed
        const auto mark = static_cast<std::uint8_t>(list + 1);
        double* const scores = scores_.data();
        std::uint8_t* const last = last_.data();
        unsigned twice = 0;
        const std::size_t size = local.size();
        const auto add_one = [&](std::size_t j) {
            const Id id = local[j];
            twice |= last[id] == mark ? 1u : 0u;
            last[id] = mark;
            scores[id] = Combination::of(scores[id], value_at(j));
        };
        std::size_t j = 0;
        if constexpr (sizeof(Id) > 2) {  // maybe more than a cache holds
            for (; j + ahead < size; ++j) {
                __builtin_prefetch(scores + local[j + ahead], 1);
                __builtin_prefetch(last + local[j + ahead], 1);
                add_one(j);
            }
        }
        for (; j < size; ++j) add_one(j);
        return twice == 0;
    }
    /// The list's floor to all that are not in it; after its entries.
    void add_floor(std::size_t list) {
        const double floor = rule_.floor_value(list);
        if (std::is_same_v<Combination, added> && floor == 0) return;
        for (std::size_t id = 0; id < scores_.size(); ++id)
            if (last_[id] != list + 1) scores_[id] = Combination::of(scores_[id], floor);
    }
    void offer(best_objects& best, std::uint32_t first_id) const {
        const bool is_mean = rule_.rule() == aggregate::mean;
        double worst = -std::numeric_limits<double>::infinity();
        for (std::size_t id = 0; id < scores_.size(); ++id) {
            const double score = is_mean ? scores_[id] / rule_.weights() : scores_[id];
            if (score < worst || last_[id] == 0) continue;
            best.offer({score + 0.0, first_id + static_cast<std::uint32_t>(id)});
            if (best.full()) worst = best.last().score;
        }
    }

  private:
    const scoring& rule_;
    std::span<double> scores_;
    std::span<std::uint8_t> last_;
};

// ---- Where they belong at once ----

template <class Combination, class Score>
best_objects add_in_place(checked_lists<Score>& lists, std::uint32_t k) {
    cpu_array<double> scores(lists.place(), lists.objects(), "the scores of objects");
    cpu_array<std::uint8_t> last(lists.place(), lists.objects(), "the marks of objects");
    sums<Combination> all(lists.rule(), scores.span(), last.span());
    for (const list_stretch& whole : lists.whole()) {
        const std::size_t list = whole.list;
        lists.read(std::span(&whole, 1), [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
            return all.add(list, lists.view(list).ids.subspan(begin, end - begin),
                           [&](std::size_t j) { return lists.value(list, begin + j); });
        });
        if (lists.size(list) < lists.objects()) all.add_floor(list);
    }
    best_objects best(k);
    all.offer(best, 0);
    return best;
}

// ---- Dealt out ----

/// A list's entries by bucket: ids within it, and scores or, of ranks, values.
template <class Payload>
class dealt_list {
  public:
    dealt_list(cpu_place& place, std::uint32_t buckets, std::uint64_t entries, bool full)
        : begins_(buckets + std::size_t{1}), sizes_(buckets), full_(full) {
        const std::uint64_t room =
            full ? std::uint64_t{buckets} * bucket_objects : entries + std::uint64_t{buckets} * line_entries;
        ids_ = cpu_array<std::uint16_t>(place, room, "entries by bucket");
        payloads_ = cpu_array<Payload>(place, room, "entries by bucket");
        for (std::uint64_t b = 0; b <= buckets && full; ++b) begins_[b] = b * bucket_objects;
    }
    static std::uint64_t bytes(std::uint32_t buckets, std::uint64_t entries, bool full) {
        return (full ? std::uint64_t{buckets} * bucket_objects
                     : entries + std::uint64_t{buckets} * line_entries) *
               (sizeof(std::uint16_t) + sizeof(Payload));
    }

    void count(std::span<const std::uint32_t> ids) {
        for (const std::uint32_t id : ids) ++begins_[id / bucket_objects + 1];
    }
    /// After count() of all; a full list needs neither.
    void counted() {
        for (std::size_t b = 1; b < begins_.size(); ++b)
            begins_[b] = begins_[b - 1] + (begins_[b] + line_entries - 1) / line_entries * line_entries;
    }
    bool full() const { return full_; }

    /// False where a bucket gets more entries than it has objects.
    bool deal(std::span<const std::uint32_t> ids, const Payload* payloads) {
        if (lines_.empty()) lines_.resize(sizes_.size());
        return top_k_detail::deal(
            ids, payloads, {ids_.data(), payloads_.data(), begins_.data(), sizes_.data(), lines_.data()});
    }
    bool dealt() {
        for (std::size_t b = 0; b < lines_.size(); ++b) {
            if (sizes_[b] > bucket_objects) return false;
            const std::uint32_t left = sizes_[b] % line_entries;
            const std::uint64_t at = begins_[b] + sizes_[b] - left;
            std::copy_n(lines_[b].ids, left, ids_.data() + at);
            std::copy_n(lines_[b].payloads, left, payloads_.data() + at);
        }
        lines_ = {};
        return true;
    }

    std::span<const std::uint16_t> ids(std::uint32_t b) const {
        return {ids_.data() + begins_[b], sizes_[b]};
    }
    const Payload* payloads(std::uint32_t b) const { return payloads_.data() + begins_[b]; }

  private:
    cpu_array<std::uint16_t> ids_;
    cpu_array<Payload> payloads_;
    std::vector<std::uint64_t> begins_;  ///< multiples of a line
    std::vector<std::uint32_t> sizes_;
    std::vector<bucket_line<Payload>> lines_;
    bool full_;
};

template <class Combination, class Payload, class Score>
class dealt_lists {
  public:
    explicit dealt_lists(checked_lists<Score>& lists) : lists_(lists), buckets_(buckets_of(lists)) {}

    static std::uint32_t buckets_of(const checked_lists<Score>& lists) {
        return lists.objects() / bucket_objects + (lists.objects() % bucket_objects != 0 ? 1 : 0);
    }
    static std::uint64_t bytes(const checked_lists<Score>& lists) {
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < lists.lists(); ++i)
            all += dealt_list<Payload>::bytes(buckets_of(lists), lists.size(i), is_full(lists, i));
        return all;
    }

    best_objects best(std::uint32_t k) {
        deal();
        cpu_place& place = lists_.place();
        const std::size_t pieces = pieces_for(place, buckets_, 1);
        std::vector<best_objects> of_piece(pieces, best_objects(k));
        std::vector<std::size_t> twice(pieces, lists_.lists());
        cpu_array<double> scores(place, pieces * bucket_objects, "the scores of objects");
        cpu_array<std::uint8_t> last(place, pieces * bucket_objects, "the marks of objects");
        for_each_piece(place, pieces, [&](std::size_t p) {
            const stretch mine = piece_of(buckets_, pieces, p);
            for (std::size_t b = mine.begin; b < mine.end; ++b) {
                place.run().check_stop();
                const std::size_t first = b * bucket_objects,
                                  size = std::min<std::size_t>(bucket_objects, lists_.objects() - first);
                sums<Combination> of_bucket(lists_.rule(), scores.span().subspan(p * bucket_objects, size),
                                            last.span().subspan(p * bucket_objects, size));
                add(of_bucket, static_cast<std::uint32_t>(b), twice[p]);
                of_bucket.offer(of_piece[p], static_cast<std::uint32_t>(first));
            }
        });
        const std::size_t first_twice = *std::ranges::min_element(twice);
        if (first_twice < lists_.lists()) lists_.refuse(first_twice, lists_.size(first_twice));
        best_objects all(k);
        for (const best_objects& one : of_piece)
            for (const scored_object& object : one.sorted()) all.offer(object);
        return all;
    }

  private:
    static bool is_full(const checked_lists<Score>& lists, std::size_t list) {
        return lists.size(list) == lists.objects();
    }
    void deal() {
        const std::vector<list_stretch> whole = lists_.whole();
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            dealt_.emplace_back(lists_.place(), buckets_, lists_.size(i), is_full(lists_, i));
        lists_.read(whole, [&](std::size_t list, std::uint64_t begin, std::uint64_t end) {
            const auto ids = lists_.view(list).ids.subspan(begin, end - begin);
            if (dealt_[list].full()) return deal_block(list, begin, end);
            dealt_[list].count(ids);
            return true;
        });
        std::vector<list_stretch> counted;
        for (const list_stretch& one : whole)
            if (!dealt_[one.list].full()) counted.push_back(one);
        for (const list_stretch& one : counted) dealt_[one.list].counted();
        lists_.read(counted, [&](std::size_t s, std::uint64_t begin, std::uint64_t end) {
            return deal_block(counted[s].list, begin, end);
        });
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            if (!dealt_[i].dealt()) lists_.refuse(i, lists_.size(i));
    }
    bool deal_block(std::size_t list, std::uint64_t begin, std::uint64_t end) {
        const auto ids = lists_.view(list).ids.subspan(begin, end - begin);
        if (!by_rank()) {
            if constexpr (std::is_same_v<Payload, Score>)
                return dealt_[list].deal(ids, lists_.view(list).scores.data() + begin);
        }
        Payload values[checked_lists<Score>::block];
        for (std::size_t j = 0; j < ids.size(); ++j)
            values[j] = static_cast<Payload>(lists_.value(list, begin + j));
        return dealt_[list].deal(ids, values);
    }
    /// Values are dealt out then, and scores otherwise.
    bool by_rank() const { return lists_.rule().rule() == aggregate::rrf; }

    void add(sums<Combination>& to, std::uint32_t b, std::size_t& twice) const {
        for (std::size_t i = 0; i < lists_.lists(); ++i) {
            const Payload* const payloads = dealt_[i].payloads(b);
            const double weight = by_rank() ? 1 : lists_.rule().rules()[i].weight;
            const bool good = to.add(i, dealt_[i].ids(b), [=](std::size_t j) {
                return weight * static_cast<double>(payloads[j]);
            });
            if (!good) twice = std::min(twice, i);
            if (!dealt_[i].full()) to.add_floor(i);
        }
    }

    checked_lists<Score>& lists_;
    std::uint32_t buckets_;
    std::vector<dealt_list<Payload>> dealt_;
};

template <class Combination, class Payload, class Score>
best_objects best_of(checked_lists<Score>& lists, std::uint32_t k, std::uint32_t cached_objects) {
    using dealt = dealt_lists<Combination, Payload, Score>;
    const std::uint64_t sums_of_buckets = std::uint64_t{16} * 9 * lists.place().threads() * bucket_objects;
    if (lists.objects() <= cached_objects || dealt::buckets_of(lists) > most_buckets ||
        dealt::bytes(lists) + sums_of_buckets > lists.place().memory().left())
        return add_in_place<Combination>(lists, k);
    return dealt(lists).best(k);
}

template <class Score>
best_objects best_by_rule(checked_lists<Score>& lists, std::uint32_t k, std::uint32_t cached_objects) {
    switch (lists.rule().rule()) {
        case aggregate::min:
            return best_of<least, Score>(lists, k, cached_objects);
        case aggregate::max:
            return best_of<greatest, Score>(lists, k, cached_objects);
        case aggregate::product:
            return best_of<multiplied, Score>(lists, k, cached_objects);
        case aggregate::rrf:
            return best_of<added, double>(lists, k, cached_objects);
        default:
            return best_of<added, Score>(lists, k, cached_objects);
    }
}

}  // namespace

template <class Score>
found_objects read_everything(checked_lists<Score>& lists, std::uint32_t k, std::uint32_t cached_objects) {
    return {best_by_rule(lists, k, cached_objects).sorted(), lists.objects()};
}
template found_objects read_everything(checked_lists<float>&, std::uint32_t, std::uint32_t);
template found_objects read_everything(checked_lists<double>&, std::uint32_t, std::uint32_t);

}  // namespace quern::top_k_detail
