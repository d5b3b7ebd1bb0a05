// SPDX-License-Identifier: Apache-2.0
// From pairs. Documents at distance 0 form a class, which has the pairs of its members; so a class needs only two
// documents: the first given one that stays, and the one that this walk kept. The pairs of a class are read at most
// once, however many members it has.
#include "quern/ops/near_kept.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "device/array.hpp"
#include "device/budget_share.hpp"
#include "device/paced_checks.hpp"
#include "ops/near_duplicates/links/disjoint_sets.hpp"
#include "ops/near_duplicates/links/order_checks.hpp"
#include "quern/base/error.hpp"

namespace quern {

using namespace near_duplicates_detail;

namespace {

constexpr std::uint32_t none = 0xffffffff;

/// A document that stays, as its place in the order, and the pair that leads to it.
struct near_document {
    std::uint32_t index = none;
    std::uint64_t pair = 0;
};

struct equal_class {
    std::uint32_t staying = none, kept = none;  ///< places in the order: the first given, the one of the walk
    std::uint64_t of = 0;                       ///< of a pair of two members
    bool is_read = false;
    near_document near_staying, near_kept;  ///< the most preferred of its pairs, once read
};

class pair_walk {
  public:
    pair_walk(std::span<const duplicate_pair> pairs, std::size_t documents, const kept_order& order,
              const context& ctx)
        : pairs_(pairs),
          order_(order),
          ctx_(ctx),
          place_(ctx),
          of_documents_(place_.memory(), array_bytes<std::uint32_t>(documents), "classes of documents"),
          number_(documents, none) {
        const budget_share sets(place_.memory(), 3 * array_bytes<std::uint32_t>(documents),
                                "equal documents");
        disjoint_sets equals(documents);
        for (const duplicate_pair& p : pairs) {
            if (p.a >= documents || p.b >= documents)
                throw usage_error("near_kept: a pair has a document out of range");
            if (p.distance == 0) equals.unite(p.a, p.b);
        }
        number_classes(equals);
    }

    std::vector<removed_duplicate> removed() {
        index_pairs();
        const auto listed = static_cast<std::uint64_t>(std::ranges::count_if(
            order_.documents, [&](std::uint32_t document) { return number_[document] != none; }));
        const budget_share of_removed(place_.memory(), array_bytes<removed_duplicate>(listed),
                                      "removed documents");
        std::vector<removed_duplicate> all;
        all.reserve(listed);
        paced_checks checks(ctx_, scattered_values);
        for (std::size_t i = 0; i < order_.documents.size(); ++i) {
            checks.after(1);
            const std::uint32_t document = order_.documents[i];
            if (number_[document] == none) continue;  // in no pair
            equal_class& own = classes_[number_[document]];
            if (i < order_.staying) {
                own.staying = std::min(own.staying, static_cast<std::uint32_t>(i));
                continue;
            }
            if (const std::uint32_t equal = keeper(own.staying, own.kept, document); equal != none) {
                all.push_back({document, order_.documents[equal], 0, own.of});
                continue;
            }
            if (!own.is_read) read(own, number_[document]);
            const bool is_later =
                own.near_staying.index != none && order_.documents[own.near_staying.index] < document;
            const near_document& near = is_later ? own.near_staying : own.near_kept;
            if (near.index == none) {
                own.kept = static_cast<std::uint32_t>(i);
                continue;
            }
            const duplicate_pair& pair = pairs_[near.pair];
            all.push_back({document, order_.documents[near.index], pair.distance, pair.of});
        }
        std::ranges::sort(all, {}, &removed_duplicate::document);
        return all;
    }

  private:
    /// Replaces the sets: number_[document] is the class of each document of a pair.
    void number_classes(disjoint_sets& equals) {
        std::vector<std::uint32_t> class_of(number_.size(), none);  // of a set
        std::uint32_t classes = 0;
        const auto add = [&](std::uint32_t document) {
            std::uint32_t& number = class_of[equals.find(document)];
            if (number == none) number = classes++;
            number_[document] = number;
        };
        for (const duplicate_pair& p : pairs_) {
            add(p.a);
            add(p.b);
        }
        of_classes_.emplace(place_.memory(), array_bytes<equal_class>(classes), "equal documents");
        classes_.resize(classes);
        for (const duplicate_pair& p : pairs_)
            if (p.distance == 0) classes_[number_[p.a]].of = p.of;
    }

    void index_pairs() {
        // With the pairs, which the caller holds.
        const std::uint64_t listed = array_bytes<duplicate_pair>(pairs_.size());
        const std::uint64_t begins = array_bytes<std::uint64_t>(classes_.size() + 1);
        of_index_.emplace(place_.memory(), listed + 2 * begins,
                          "an index of " + std::to_string(pairs_.size()) + " pairs");
        begins_.resize(classes_.size() + 1);
        for (const duplicate_pair& p : pairs_) {
            if (p.distance == 0) continue;
            ++begins_[number_[p.a] + std::size_t{1}];
            ++begins_[number_[p.b] + std::size_t{1}];
        }
        std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
        pairs_of_ = cpu_array<std::uint64_t>(place_, begins_.back(), "an index of pairs");
        std::vector<std::uint64_t> next(begins_.begin(), begins_.end() - 1);
        for (std::uint64_t i = 0; i < pairs_.size(); ++i) {
            if (pairs_[i].distance == 0) continue;
            pairs_of_.data()[next[number_[pairs_[i].a]]++] = i;
            pairs_of_.data()[next[number_[pairs_[i].b]]++] = i;
        }
    }

    /// Of a class: the document that removes this one, if any.
    std::uint32_t keeper(std::uint32_t staying, std::uint32_t kept, std::uint32_t document) const {
        return staying != none && order_.documents[staying] < document ? staying : kept;
    }

    /// The classes near `own`, once its first document is considered: what stays later is less preferred.
    void read(equal_class& own, std::uint32_t number) const {
        own.is_read = true;
        paced_checks checks(ctx_, neighbouring_values);
        for (std::uint64_t at = begins_[number]; at < begins_[number + std::size_t{1}]; ++at) {
            checks.after(1);
            const std::uint64_t pair = pairs_of_.data()[at];
            const std::uint32_t a = number_[pairs_[pair].a], b = number_[pairs_[pair].b];
            const equal_class& other = classes_[a == number ? b : a];
            const auto prefer = [pair](std::uint32_t index, near_document& to) {
                if (index < to.index) to = {index, pair};
            };
            prefer(other.staying, own.near_staying);
            prefer(other.kept, own.near_kept);
        }
    }

    std::span<const duplicate_pair> pairs_;
    const kept_order& order_;
    const context& ctx_;
    cpu_place place_;
    budget_share of_documents_;
    std::optional<budget_share> of_classes_, of_index_;
    std::vector<std::uint32_t> number_;  ///< of the class of each document; none: in no pair
    std::vector<equal_class> classes_;
    std::vector<std::uint64_t> begins_;  ///< class c: pairs_of_[begins_[c] .. begins_[c + 1])
    cpu_array<std::uint64_t> pairs_of_;
};

}  // namespace

std::vector<removed_duplicate> near_kept(std::span<const duplicate_pair> pairs, std::size_t documents,
                                         const kept_order& order, const context& ctx) {
    check_order(order, documents);
    if (pairs.empty()) return {};
    return pair_walk(pairs, documents, order, ctx).removed();
}

}  // namespace quern
