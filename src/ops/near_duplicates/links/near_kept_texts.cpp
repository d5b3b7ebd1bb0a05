// SPDX-License-Identifier: Apache-2.0
// From texts. Two near texts lie in one connected group, so only documents of one group are compared. A round takes the
// most preferred document that is left in each group: it stays, and removes those that are near it. All comparisons of a
// round are independent of each other; rounds end when no group has two documents left. A document is compared only with
// documents that stay, in their order, so that the first that removes it is the most preferred one.
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "device/array.hpp"
#include "device/budget_share.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/filter/gram_filter.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/links/disjoint_sets.hpp"
#include "ops/near_duplicates/links/order_checks.hpp"
#include "ops/near_duplicates/texts/texts.hpp"
#include "primitives/edit_distance/edit_distance.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern {

using namespace near_duplicates_detail;

namespace {

/// A document of a group.
struct group_member {
    std::uint32_t group, index, slot;  ///< a set of documents; its place in the order; its sketch
};

struct member_range {
    std::size_t begin, end;
};

/// A document that stays, and one that it may remove: positions of their members.
struct comparison {
    std::uint32_t kept, other;  ///< slots
    std::uint32_t distance = primitives::beyond_bound;
};

template <class Unit>
class kept_rounds {
  public:
    kept_rounds(const text_list& texts, const decimal& threshold, const kept_order& order,
                const std::function<void(std::uint32_t)>& before_reading, const context& ctx)
        : texts_(texts),
          threshold_(threshold),
          order_(order),
          before_reading_(before_reading),
          ctx_(ctx),
          place_(ctx),
          scratches_([this] { return scratch(place_); }) {}

    std::vector<removed_duplicate> removed(std::span<const duplicate_pair> links) {
        const budget_share listed(place_.memory(), array_bytes<duplicate_pair>(links.size()), "links");
        find_groups(links);
        sketch_members();
        for (const member_range& group : groups_) remove_equal_to_staying(group);
        std::size_t largest = 0;
        for (const member_range& group : groups_) largest = std::max(largest, group.end - group.begin);
        const std::size_t compared = std::min(members_.size(), compared_at_once + largest);
        const budget_share of_round(place_.memory(), array_bytes<comparison>(compared), "pairs of a group");
        std::vector<comparison> round;
        round.reserve(compared);
        while (!groups_.empty()) {
            std::size_t left = 0;
            for (member_range& group : groups_) {
                begin_round(group, round);
                if (group.end - group.begin > 0) groups_[left++] = group;
                if (round.size() >= compared_at_once) compare(round);
            }
            groups_.resize(left);
            compare(round);
        }
        std::ranges::sort(all_, {}, &removed_duplicate::document);
        return std::move(all_);
    }

  private:
    static constexpr std::size_t compared_at_once = std::size_t{1} << 16;

    void find_groups(std::span<const duplicate_pair> links) {
        const budget_share of_sets(place_.memory(), 2 * array_bytes<std::uint32_t>(texts_.size()),
                                   "groups of documents");
        disjoint_sets sets(texts_.size());
        for (const duplicate_pair& link : links) {
            if (link.a >= texts_.size() || link.b >= texts_.size())
                throw usage_error("near_kept: a link has a document out of range");
            sets.unite(link.a, link.b);
        }
        std::size_t members = 0;  // and groups at most: documents of a group may take no part
        for (const std::uint32_t document : order_.documents) {
            const std::uint32_t set = sets.find(document);
            if (sets.size_of(set) > 1) ++members;
        }
        of_members_.emplace(place_.memory(),
                            array_bytes<group_member>(members) + array_bytes<member_range>(members) +
                                array_bytes<std::uint32_t>(members) + members +
                                array_bytes<removed_duplicate>(members),
                            "documents of groups");
        members_.reserve(members);
        groups_.reserve(members);
        all_.reserve(members);
        for (std::uint32_t i = 0; i < order_.documents.size(); ++i) {
            const std::uint32_t set = sets.find(order_.documents[i]);
            if (sets.size_of(set) > 1) members_.push_back({set, i, 0});
        }
        std::ranges::sort(members_, {}, [](const group_member& m) { return std::pair(m.group, m.index); });
        for (std::size_t begin = 0; begin < members_.size();) {
            std::size_t end = begin;
            for (; end < members_.size() && members_[end].group == members_[begin].group; ++end)
                members_[end].slot = static_cast<std::uint32_t>(end);
            groups_.push_back({begin, end});
            begin = end;
        }
        index_of_.reserve(members_.size());
        for (const group_member& m : members_) index_of_.push_back(m.index);
        is_removed_.resize(members_.size());
    }

    void sketch_members() {
        sketches_ = cpu_array<text_sketch>(place_, members_.size(), "sketches of texts");
        const std::size_t pieces = members_.size() / 16 + 1;
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(members_.size(), pieces, p);
            for (std::size_t slot = begin; slot < end; ++slot) {
                ctx_.check_stop();
                const std::uint32_t document = order_.documents[index_of_[slot]];
                if (before_reading_) before_reading_(document);
                sketches_.data()[slot] = sketch_text(texts_[document], unit_of<Unit>);
            }
        });
    }

    std::uint32_t document(std::uint32_t slot) const { return order_.documents[index_of_[slot]]; }
    bool stays(std::uint32_t slot) const { return index_of_[slot] < order_.staying; }

    void remove(std::uint32_t slot, std::uint32_t kept, std::uint32_t distance) {
        const std::uint64_t of = std::uint64_t{sketches_.data()[slot].length} + sketches_.data()[kept].length;
        is_removed_[slot] = 1;
        all_.push_back({document(slot), document(kept), distance, of});
    }

    /// Several documents that stay may be near each other: an equal one is preferred.
    void remove_equal_to_staying(const member_range& group) {
        const auto hash_of = [&](std::uint32_t slot) { return sketches_.data()[slot].hash; };
        const budget_share of_staying(
            place_.memory(), 2 * array_bytes<std::uint32_t>(group.end - group.begin), "documents of a group");
        std::vector<std::uint32_t> staying;
        for (std::size_t i = group.begin; i < group.end && stays(members_[i].slot); ++i)
            staying.push_back(members_[i].slot);
        if (staying.size() < 2) return;
        std::ranges::stable_sort(staying, {}, hash_of);
        for (std::size_t i = group.begin + staying.size(); i < group.end; ++i) {
            const std::uint32_t slot = members_[i].slot;
            ctx_.check_stop();
            for (const std::uint32_t kept : std::ranges::equal_range(staying, hash_of(slot), {}, hash_of)) {
                if (document(kept) > document(slot) || texts_[document(kept)] != texts_[document(slot)])
                    continue;
                remove(slot, kept, 0);
                break;
            }
        }
    }

    /// Drops removed members, and takes the first one left. An empty group has nothing left to compare.
    void begin_round(member_range& group, std::vector<comparison>& round) {
        ctx_.check_stop();
        const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(group.begin);
        const auto end = members_.begin() + static_cast<std::ptrdiff_t>(group.end);
        const auto left =
            std::remove_if(begin, end, [&](const group_member& m) { return is_removed_[m.slot] != 0; });
        group.end = static_cast<std::size_t>(left - members_.begin());
        if (group.end - group.begin < 2 || stays(members_[group.end - 1].slot)) {
            group.end = group.begin;
            return;
        }
        const std::uint32_t kept = members_[group.begin++].slot;
        for (std::size_t i = group.begin; i < group.end; ++i) {
            const std::uint32_t other = members_[i].slot;
            if (stays(other) || (stays(kept) && document(other) < document(kept))) continue;
            round.push_back({kept, other});
        }
    }

    struct scratch {
        explicit scratch(cpu_place& place) : aligner(place) {}
        primitives::pair_aligner<Unit> aligner;
        gram_filter<Unit> grams;  ///< of held_text, once needed
        bool has_grams = false;
        std::vector<Unit> held_units, units;
        std::vector<Unit> grams_units;    ///< the last text of `grams`, which it reads once more
        std::span<const Unit> held_text;  ///< of the document that stays
        std::uint32_t held = 0xffffffff;  ///< its slot
    };

    std::span<const Unit> read(std::uint32_t slot, std::vector<Unit>& units) const {
        const std::string_view bytes = texts_[document(slot)];
        if constexpr (std::is_same_v<Unit, std::uint8_t>) {
            return {reinterpret_cast<const Unit*>(bytes.data()), bytes.size()};
        } else {
            decode(bytes, units);
            return units;
        }
    }

    void compare(std::vector<comparison>& round) {
        ctx_.report({"groups", all_.size(), members_.size(), "documents"});
        const std::size_t pieces = pieces_for(place_, round.size(), 4, 64);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(round.size(), pieces, p);
            scratch& mine = scratches_.local();
            for (std::size_t i = begin; i < end; ++i) round[i].distance = distance(round[i], mine);
        });
        for (const comparison& done : round)
            if (done.distance != primitives::beyond_bound) remove(done.other, done.kept, done.distance);
        round.clear();
    }

    std::uint32_t distance(const comparison& wanted, scratch& mine) {
        const text_sketch &x = sketches_.data()[wanted.kept], &y = sketches_.data()[wanted.other];
        const std::uint32_t apart = x.length < y.length ? y.length - x.length : x.length - y.length;
        const std::uint32_t bound = largest_distance(threshold_, std::uint64_t{x.length} + y.length);
        if (apart > bound) return primitives::beyond_bound;
        std::uint32_t norm = 0;
        unit_norms(x.counts.data(), y.counts.data(), 1, &norm);
        const std::int64_t max = largest_norm(1, bound, apart);
        if (norm > max) return primitives::beyond_bound;
        ctx_.check_stop();
        if (mine.held != wanted.kept) {
            if (mine.has_grams) mine.held_units.swap(mine.grams_units);
            mine.held_text = read(wanted.kept, mine.held_units);
            mine.held = wanted.kept;
            mine.has_grams = false;
        }
        const auto text = read(wanted.other, mine.units);
        if (norm * std::int64_t{4} > max) {  // else their q-grams would hardly exclude the pair
            if (!mine.has_grams) mine.grams.set(mine.held_text);
            mine.has_grams = true;
            if (!mine.grams.allows(document(wanted.other), text, bound)) return primitives::beyond_bound;
        }
        return mine.aligner.distance(mine.held_text, text, bound);
    }

    text_list texts_;
    decimal threshold_;
    const kept_order& order_;
    const std::function<void(std::uint32_t)>& before_reading_;
    const context& ctx_;
    cpu_place place_;
    std::optional<budget_share> of_members_;
    std::vector<group_member> members_;  ///< by group and place in the order
    std::vector<member_range> groups_;   ///< with what is left of each
    std::vector<std::uint32_t> index_of_;
    std::vector<std::uint8_t> is_removed_;
    cpu_array<text_sketch> sketches_;
    tbb::enumerable_thread_specific<scratch> scratches_;
    std::vector<removed_duplicate> all_;
};

}  // namespace

std::vector<removed_duplicate> near_kept(const text_list& texts, const duplicate_options& options,
                                         std::span<const duplicate_pair> links, const kept_order& order,
                                         const std::function<void(std::uint32_t text)>& before_reading,
                                         const context& ctx) {
    check_order(order, texts.size());
    const auto removed = [&]<class Unit>(std::type_identity<Unit>) {
        return kept_rounds<Unit>(texts, options.threshold, order, before_reading, ctx).removed(links);
    };
    return options.unit == edit_unit::byte ? removed(std::type_identity<std::uint8_t>())
                                           : removed(std::type_identity<std::uint32_t>());
}

}  // namespace quern
