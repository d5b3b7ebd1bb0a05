// SPDX-License-Identifier: Apache-2.0
// Sets are considered in the order of preference. An index has the shingles in the prefixes of those that stay
// (docs/near_duplicates_words.md): a set that is near one of them shares such a shingle with it. So a set is compared with the
// sets that stay alone, and of a template's pages each costs about one comparison.
//
// Pages that are not quite near share nearly all shingles. So a set has parities: of 1,024 bits each shingle turns one over. A
// shingle in exactly one of two sets changes one parity, so at least as many shingles differ as parities; and those that
// occur once in the collection, which are left out of the parities.
//
// Sets are looked up in batches, by all threads, in the index of what stayed before the batch. What they leave is considered
// one by one, with what stays of the same batch.
#include "ops/near_duplicates/papers/words/shingle_kept.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/bits.hpp"
#include "device/progress_meter.hpp"
#include "ops/near_duplicates/links/order_checks.hpp"
#include "ops/near_duplicates/papers/words/shingle.hpp"
#include "ops/near_duplicates/papers/words/shingle_bound.hpp"
#include "quern/base/error.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint32_t none = 0xffffffff;

/// A shingle of a prefix.
struct prefix_shingle {
    std::uint64_t hash;
    std::uint32_t position;
};

struct set_parities {
    std::array<std::uint64_t, 16> bits{};
    std::uint64_t once = 0;  ///< shingles that no other set has

    set_parities() = default;
    explicit set_parities(const shingle_set& set) : once(set.once()) {
        constexpr std::uint64_t word_bits = 64;
        for (const shingle& s : set.shared()) {
            const std::uint64_t bit = shingle_mixed(s.hash) % (word_bits * bits.size());
            bits[bit / word_bits] ^= std::uint64_t{1} << bit % word_bits;
        }
    }
    /// At least so many shingles are in exactly one of the two sets, if these are different.
    std::uint64_t differences(const set_parities& other) const {
        std::uint64_t all = once + other.once;
        for (std::size_t i = 0; i < bits.size(); ++i) all += count_of_ones(bits[i] ^ other.bits[i]);
        return all;
    }
};

/// Records by the shingles of their prefixes. Any thread may read.
class prefix_index {
  public:
    void add(const prefix_shingle& s, std::uint32_t record) {
        if (postings_.size() >= heads_.size()) grow();
        std::uint32_t& head = heads_[place_of(s.hash)];
        postings_.push_back({s.hash, record, s.position, head});
        head = static_cast<std::uint32_t>(postings_.size() - 1);
    }

    /// Calls work(record, position) for the records from `first` on with this shingle.
    template <class Work>
    void for_each(std::uint64_t hash, std::uint32_t first, const Work& work) const {
        if (heads_.empty()) return;
        for (std::uint32_t at = heads_[place_of(hash)]; at != none; at = postings_[at].next) {
            const posting& p = postings_[at];
            if (p.record < first) return;  // the later a record, the earlier in its list
            if (p.hash == hash) work(p.record, p.position);
        }
    }

    /// Once it has as many postings more. Of more than it can number: more than any memory.
    std::uint64_t bytes_with(std::uint64_t more) const {
        const std::uint64_t postings = postings_.size() + more;
        return postings < none ? (2 * sizeof(posting) + 2 * sizeof(std::uint32_t)) * postings : max_bytes;
    }

  private:
    static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;
    struct posting {
        std::uint64_t hash;
        std::uint32_t record, position, next;
    };

    std::size_t place_of(std::uint64_t hash) const { return shingle_mixed(hash) & (heads_.size() - 1); }
    void grow() {
        constexpr std::size_t least = 1024;
        heads_.assign(std::max(least, 2 * heads_.size()), none);
        for (std::uint32_t i = 0; i < postings_.size(); ++i)
            postings_[i].next = std::exchange(heads_[place_of(postings_[i].hash)], i);
    }

    std::vector<posting> postings_;
    std::vector<std::uint32_t> heads_;
};

/// A class of documents with one set, when the first of them is considered.
struct considered {
    std::uint32_t number, document;             ///< of the class; the first of the order
    bool stays;                                 ///< given
    std::size_t piece = 0, begin = 0, end = 0;  ///< of its prefix
    std::uint32_t near = none;                  ///< the record that removes it
    std::uint64_t distance = 0, of = 0;
};

/// What removes the other documents of a class.
struct keeper {
    std::uint32_t document = none;
    std::uint64_t distance = 0, of = 0;
};

class kept_walk {
  public:
    kept_walk(cpu_place& place, const shingle_sets& sets, const document_classes& classes,
              const similarity_bound& bound, const duplicate_scope& scope, const kept_order& order)
        : place_(place),
          sets_(sets),
          classes_(classes),
          bound_(bound),
          scope_(scope),
          order_(order),
          keepers_(classes.size()),
          scratches_([&] { return scratch(sets); }) {}

    /// False if the index becomes too large.
    bool go(duplicate_counts& counts) {
        list_visits();
        progress_meter meter(place_.ctx(), "compare", visits_.size(), "documents");
        const std::uint64_t memory = place_.memory().left() / 2;
        const std::uint64_t batch_bytes = std::max(place_.memory().left() / 16, min_batch_bytes);
        for (std::size_t first = 0, size = 0, most = first_batch; first < visits_.size(); first += size) {
            std::uint64_t shingles = 0;
            for (size = 0; size < most && first + size < visits_.size() &&
                           shingles * sizeof(prefix_shingle) * 2 < batch_bytes;
                 ++size)
                shingles += bound_.prefix(sets_.sizes[visits_[first + size].number]);
            most = std::min(2 * most, largest_batch);
            const std::span<considered> batch = std::span(visits_).subspan(first, size);
            look_up(batch);
            std::uint64_t found = 0;
            for (const auto& some : prefixes_) found += some.size();
            if (index_.bytes_with(found) + 2 * sizeof(record_of) * (records_.size() + size) > memory)
                return false;
            settle(batch);
            meter.add(size);
        }
        meter.finish();
        for (const scratch& one : scratches_) counts.candidates += one.compared;
        return true;
    }

    std::vector<removed_duplicate> removed() const {
        std::vector<removed_duplicate> all;
        for (const std::uint32_t document : order_.documents.subspan(order_.staying)) {
            const keeper& k = keepers_[classes_.class_of[document]];
            if (k.document != none && k.document != document)
                all.push_back({document, k.document, k.distance, k.of});
        }
        std::ranges::sort(all, {}, &removed_duplicate::document);
        return all;
    }

  private:
    static constexpr std::size_t first_batch = 64, largest_batch = 4096;
    static constexpr std::uint64_t min_batch_bytes = 1 << 16;
    static constexpr std::size_t held_sets = 16;
    static constexpr std::uint64_t largest_of_many = 1 << 13;  ///< shingles

    struct scratch {
        explicit scratch(const shingle_sets& sets) : own(sets.rule, sets.counts) {
            others.reserve(held_sets);
            for (std::size_t i = 0; i < held_sets; ++i) others.emplace_back(sets.rule, sets.counts);
            held.fill(none);
        }
        shingle_set own;
        std::uint32_t made = none;        ///< the class of `own`
        std::vector<shingle_set> others;  ///< of records, by their numbers modulo the size
        std::array<std::uint32_t, held_sets> held{};
        std::vector<std::pair<std::uint8_t, std::uint64_t>> ordered;
        std::vector<std::uint32_t> candidates;
        std::vector<bool> is_candidate;  ///< by record; false between two searches
        std::uint64_t compared = 0;
    };

    std::span<const std::uint32_t> words(std::uint32_t number) const {
        return sets_.documents[sets_.firsts[number]];
    }

    void list_visits() {
        std::vector<bool> is_listed(classes_.size());
        for (std::size_t i = 0; i < order_.documents.size(); ++i) {
            const std::uint32_t document = order_.documents[i], number = classes_.class_of[document];
            if (is_listed[number]) continue;
            is_listed[number] = true;
            visits_.push_back({number, document, i < order_.staying});
        }
    }

    /// Appends the prefix, without shingles that no other set has.
    void append_prefix(std::uint64_t size, scratch& mine, std::vector<prefix_shingle>& to) const {
        if (size == 0) return;
        const std::uint64_t length = bound_.prefix(size);
        std::uint64_t before = mine.own.once();
        if (before >= length) return;
        mine.ordered.clear();
        for (const shingle& s : mine.own.shared())
            mine.ordered.emplace_back(sets_.counts->of(s.hash), s.hash);
        const auto end = mine.ordered.begin() + static_cast<std::ptrdiff_t>(length - before);
        std::partial_sort(mine.ordered.begin(), end, mine.ordered.end());
        for (auto at = mine.ordered.begin(); at != end; ++at)
            to.push_back({at->second, static_cast<std::uint32_t>(before++)});
    }

    std::span<const prefix_shingle> prefix_of(const considered& c) const {
        return std::span(prefixes_[c.piece]).subspan(c.begin, c.end - c.begin);
    }

    /// The prefixes of a batch, and what is near a record before it.
    void look_up(std::span<considered> batch) {
        const std::size_t pieces = pieces_for(place_, batch.size(), 8, 16);
        prefixes_.assign(pieces, {});
        parities_.resize(batch.size());
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(batch.size(), pieces, p);
            scratch& mine = scratches_.local();
            for (std::size_t i = begin; i < end; ++i) {
                place_.ctx().check_stop();
                considered& c = batch[i];
                c.piece = p;
                c.begin = prefixes_[p].size();
                mine.own.make(words(c.number));
                mine.made = c.number;
                append_prefix(sets_.sizes[c.number], mine, prefixes_[p]);
                c.end = prefixes_[p].size();
                if (c.begin == c.end) continue;
                parities_[i] = set_parities(mine.own);
                if (!c.stays) find_near(c, parities_[i], 0, mine);
            }
        });
    }

    /// The first record from `first` on that the class is near.
    void find_near(considered& c, const set_parities& own, std::uint32_t first, scratch& mine) const {
        const std::uint64_t size = sets_.sizes[c.number];
        mine.candidates.clear();
        mine.is_candidate.resize(records_.size());
        for (const prefix_shingle& s : prefix_of(c)) {
            index_.for_each(s.hash, first, [&](std::uint32_t record, std::uint32_t position) {
                if (mine.is_candidate[record] ||
                    !may_be_near(size, s.position, sets_.sizes[records_[record].number], position))
                    return;
                mine.is_candidate[record] = true;
                mine.candidates.push_back(record);
            });
        }
        for (const std::uint32_t record : mine.candidates) mine.is_candidate[record] = false;
        std::erase_if(mine.candidates, [&](std::uint32_t record) {
            const std::uint64_t together = size + sets_.sizes[records_[record].number];
            return own.differences(records_[record].parities) + 2 * bound_.required(together) > together;
        });
        std::ranges::sort(mine.candidates);
        for (const std::uint32_t record : mine.candidates) {
            place_.ctx().check_stop();
            if (mine.made != c.number) mine.own.make(words(c.number));
            mine.made = c.number;
            const std::uint32_t number = records_[record].number;
            const std::uint64_t together = size + sets_.sizes[number], required = bound_.required(together);
            ++mine.compared;
            const std::uint64_t shared = shingle_set::common(mine.own, set_of(record, mine), required);
            if (shared < required) continue;
            c.near = record;
            c.distance = together - 2 * shared;
            c.of = together - shared;
            return;
        }
    }

    /// Two sets with a shingle of their prefixes at these positions, as far as sizes and positions tell.
    bool may_be_near(std::uint64_t x_size, std::uint64_t x_position, std::uint64_t y_size,
                     std::uint64_t y_position) const {
        if (x_size < y_size) {
            std::swap(x_size, y_size);
            std::swap(x_position, y_position);
        }
        return y_size >= bound_.min_size(x_size) && y_position < bound_.prefix_as_smaller(y_size) &&
               std::min(x_size - x_position, y_size - y_position) >= bound_.required(x_size + y_size);
    }

    const shingle_set& set_of(std::uint32_t record, scratch& mine) const {
        // Large ones in one place: a thread does not hold many of them.
        const bool is_large = sets_.sizes[records_[record].number] > largest_of_many;
        const std::size_t at = is_large ? 0 : record % held_sets;
        if (mine.held[at] != record) mine.others[at].make(words(records_[record].number));
        mine.held[at] = record;
        return mine.others[at];
    }

    /// Decides a batch, one class after another.
    void settle(std::span<considered> batch) {
        scratch& mine = scratches_.local();
        const auto before = static_cast<std::uint32_t>(records_.size());
        for (std::size_t i = 0; i < batch.size(); ++i) {
            considered& c = batch[i];
            if (c.near == none && !c.stays && records_.size() > before && c.begin < c.end) {
                mine.made = none;
                find_near(c, parities_[i], before, mine);
            }
            keeper& k = keepers_[c.number];
            if (c.near != none) {
                k = {records_[c.near].document, c.distance, c.of};
                continue;
            }
            if (!c.stays && !scope_.within_new) continue;
            k = {c.document, 0, sets_.sizes[c.number]};
            if (c.begin == c.end) continue;  // nothing is near it
            const auto record = static_cast<std::uint32_t>(records_.size());
            records_.push_back({c.number, c.document, parities_[i]});
            for (const prefix_shingle& s : prefix_of(c)) index_.add(s, record);
        }
    }

    struct record_of {
        std::uint32_t number, document;
        set_parities parities;
    };

    cpu_place& place_;
    const shingle_sets& sets_;
    const document_classes& classes_;
    similarity_bound bound_;
    const duplicate_scope& scope_;
    const kept_order& order_;
    std::vector<considered> visits_;
    std::vector<record_of> records_;  ///< what stays and has a prefix, the most preferred first
    std::vector<keeper> keepers_;     ///< by class
    std::vector<std::vector<prefix_shingle>> prefixes_;  ///< of the batch, by piece
    std::vector<set_parities> parities_;                 ///< of the batch
    prefix_index index_;
    tbb::enumerable_thread_specific<scratch> scratches_;
};

}  // namespace

std::optional<std::vector<removed_duplicate>> near_kept_by_shingles(
    const word_list& documents, const shingle_rule& rule, const decimal& similarity,
    const duplicate_scope& scope, const kept_order& order, const context& ctx, duplicate_counts& counts) {
    const auto size = static_cast<std::uint32_t>(documents.size());
    check_order(order, size);
    for (const std::uint32_t document : order.documents.subspan(order.staying))
        if (order.staying != 0 && document < order.documents[order.staying - 1])
            throw usage_error("near_kept_by_shingles: a document that stays comes after others");
    counts.compared += pairs_in_scope(size, scope);
    if (size < 2) return std::vector<removed_duplicate>();
    cpu_place place(ctx);
    const shingle_counts counts_of(place, documents, rule);
    set_measures measures = measure_sets(place, documents, rule, counts_of);
    const document_classes classes = classes_of_sets(place, documents, rule, &counts_of, measures);
    const shingle_sets sets = sets_of_classes(documents, rule, &counts_of, classes, scope, measures);
    kept_walk walk(place, sets, classes, {similarity.numerator, similarity.denominator}, scope, order);
    if (!walk.go(counts)) return std::nullopt;
    return walk.removed();
}

}  // namespace quern::near_duplicates_detail
