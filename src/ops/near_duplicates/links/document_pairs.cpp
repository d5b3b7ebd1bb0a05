// SPDX-License-Identifier: Apache-2.0
// Converts classes to pairs of documents, counted before they are listed; or to links, a few of these pairs that connect
// the same documents.
//
// Links. Let m be a class's first member and w its last wanted one.
// - All members up to w that make a pair within the class are connected by the pairs (m, each wanted one) and (each other
//   one, w).
// - Two joined classes A and B also need a pair from A's first member to each of B's later ones.
// - Members of A after its own w, which nothing has connected yet, pair with B's w, once for all classes that A is joined
//   to.
// - Where pairs of two new documents are not requested, new members without an old one among them pair with A's first
//   member, also once.
#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <string>

#include "ops/near_duplicates/links/link_search.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "primitives/scan/scan.hpp"
#include "quern/base/error.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// A class that another class is joined to.
struct neighbour {
    std::uint32_t other;
    std::uint64_t distance, of;
};

/// The neighbours of every class: offsets[c] to offsets[c + 1].
struct neighbours {
    std::vector<std::uint64_t> offsets;
    std::vector<neighbour> list;

    neighbours(std::uint32_t classes, std::span<const class_pair> joined)
        : offsets(classes + std::size_t{1}), list(2 * joined.size()) {
        for (const class_pair& p : joined) {
            ++offsets[p.a + std::size_t{1}];
            ++offsets[p.b + std::size_t{1}];
        }
        std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
        std::vector<std::uint64_t> next(offsets.begin(), offsets.end() - 1);
        for (const class_pair& p : joined) {
            list[next[p.a]++] = {p.b, p.distance, p.of};
            list[next[p.b]++] = {p.a, p.distance, p.of};
        }
    }
    std::span<const neighbour> of(std::uint32_t c) const {
        return std::span(list).subspan(offsets[c], offsets[c + 1] - offsets[c]);
    }
};

/// The members of every class that are wanted as the later document of a pair, ascending.
class later_members {
  public:
    later_members(const document_classes& classes, const requested_pairs& requested)
        : earlier_end_(requested.earlier_end), offsets_{0} {
        for (std::uint32_t c = 0; c < classes.size(); ++c) {
            for (const std::uint32_t d : classes[c])
                if (requested.wanted[d]) members_.push_back(d);
            offsets_.push_back(members_.size());
        }
    }
    std::span<const std::uint32_t> of(std::uint32_t c) const {
        return std::span(members_).subspan(offsets_[c], offsets_[c + 1] - offsets_[c]);
    }
    /// Those of class c that make a pair with document a, where a is the earlier one.
    std::span<const std::uint32_t> past_end(std::uint32_t a, std::uint32_t c) const {
        const auto members = of(c);
        if (a >= earlier_end_) return members.last(0);
        const auto from = std::upper_bound(members.begin(), members.end(), a);
        return members.last(static_cast<std::size_t>(members.end() - from));
    }

  private:
    std::uint32_t earlier_end_;
    std::vector<std::uint32_t> members_;
    std::vector<std::uint64_t> offsets_;
};

bool by_documents(const duplicate_pair& x, const duplicate_pair& y) {
    return x.a != y.a ? x.a < y.a : x.b < y.b;
}

class link_list {
  public:
    link_list(const document_classes& classes, const later_members& later, const requested_pairs& requested)
        : classes_(classes), later_(later), requested_(requested) {}

    void within(std::uint32_t c, std::uint64_t of) {
        const std::uint32_t first = classes_.first(c);
        const auto wanted = later_.of(c);
        const bool first_pairs = first < requested_.earlier_end;
        up_to_.push_back(first + 1);
        later_are_connected_.push_back(first_pairs);
        if (!first_pairs || wanted.empty() || wanted.back() == first) return;
        const std::uint32_t last = wanted.back();
        for (const std::uint32_t d : classes_[c].subspan(1)) {
            if (d > last) break;
            requested_.wanted[d] ? link(first, d, 0, of) : link(d, last, 0, of);
        }
        up_to_[c] = last + 1;
    }
    void between(const class_pair& joined) {
        connect(joined.a, joined.b, joined);
        connect(joined.b, joined.a, joined);
    }
    std::vector<duplicate_pair> take() {
        std::sort(links_.begin(), links_.end(), by_documents);
        return std::move(links_);
    }

  private:
    void link(std::uint32_t a, std::uint32_t b, std::uint64_t distance, std::uint64_t of) {
        links_.push_back({a, b, distance, of});
    }

    /// Pairs of an earlier document of x and a later one of y.
    void connect(std::uint32_t x, std::uint32_t y, const class_pair& joined) {
        const std::uint32_t first = classes_.first(x);
        const auto wanted = later_.past_end(first, y);
        if (wanted.empty()) return;
        const std::uint32_t last = wanted.back();
        const std::uint32_t own = wanted.front() == classes_.first(y) ? wanted.front() : last;
        link(first, own, joined.distance, joined.of);
        const auto members = classes_[x];
        for (auto d = std::lower_bound(members.begin(), members.end(), up_to_[x]);
             d != members.end() && *d < last; ++d)
            link(*d, last, joined.distance, joined.of);
        up_to_[x] = std::max(up_to_[x], last);
        if (later_are_connected_[y]) return;
        for (const std::uint32_t d : wanted)
            if (d != own) link(first, d, joined.distance, joined.of);
        later_are_connected_[y] = true;
    }

    const document_classes& classes_;
    const later_members& later_;
    const requested_pairs& requested_;
    std::vector<std::uint32_t> up_to_;  ///< earlier members that make a pair are connected
    std::vector<bool> later_are_connected_;
    std::vector<duplicate_pair> links_;
};

}  // namespace

requested_pairs requested_by(const duplicate_scope& scope, std::uint32_t documents) {
    requested_pairs requested;
    requested.wanted.resize(documents, true);
    std::fill_n(requested.wanted.begin(), std::min(scope.first_new, documents), false);
    requested.earlier_end = scope.within_new ? documents : scope.first_new;
    requested.links_only = scope.links_only;
    return requested;
}

std::vector<duplicate_pair> document_pairs(cpu_place& place, const document_classes& classes,
                                           std::span<const std::uint64_t> of,
                                           std::span<const class_pair> joined,
                                           const requested_pairs& requested, duplicate_counts& counts) {
    const auto documents = static_cast<std::uint32_t>(classes.class_of.size());
    const neighbours next_to(classes.size(), joined);
    const later_members later(classes, requested);
    const std::size_t pieces = pieces_for(place, documents, 64, 64);
    const auto for_each_a = [&](const auto& work) {
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(documents, pieces, p);
            for (std::size_t a = begin; a < end; ++a) {
                place.ctx().check_stop();
                work(static_cast<std::uint32_t>(a), classes.class_of[a]);
            }
        });
    };

    std::vector<std::uint64_t> numbers(documents), offsets(documents + std::size_t{1});
    for_each_a([&](std::uint32_t a, std::uint32_t own) {
        std::uint64_t count = later.past_end(a, own).size();
        for (const neighbour& n : next_to.of(own)) count += later.past_end(a, n.other).size();
        numbers[a] = count;
    });
    primitives::exclusive_scan<std::uint64_t, std::uint64_t>(place, numbers, offsets);
    counts.pairs += offsets.back();
    if (requested.links_only) {
        link_list links(classes, later, requested);
        for (std::uint32_t c = 0; c < classes.size(); ++c) links.within(c, of[c]);
        // In order, so that a document which only some pairs connect is linked to the first near class.
        std::vector<class_pair> in_order(joined.begin(), joined.end());
        std::ranges::sort(in_order, {}, [](const class_pair& p) { return std::pair(p.a, p.b); });
        for (const class_pair& p : in_order) links.between(p);
        return links.take();
    }
    const std::uint64_t bytes = array_bytes<duplicate_pair>(offsets.back());
    if (bytes > place.memory().left()) {
        throw out_of_memory("a list of " + std::to_string(offsets.back()) + " pairs (groups do not need it)",
                            bytes, place.memory().left());
    }

    std::vector<duplicate_pair> pairs(offsets.back());
    for_each_a([&](std::uint32_t a, std::uint32_t own) {
        duplicate_pair* out = pairs.data() + offsets[a];
        for (const std::uint32_t b : later.past_end(a, own)) *out++ = {a, b, 0, of[own]};
        if (next_to.of(own).empty()) return;  // already in order
        for (const neighbour& n : next_to.of(own))
            for (const std::uint32_t b : later.past_end(a, n.other)) *out++ = {a, b, n.distance, n.of};
        std::sort(pairs.data() + offsets[a], out, by_documents);
    });
    return pairs;
}

std::vector<duplicate_pair> link_search::found(cpu_place& place, const sketch_list& sketches,
                                               const duplicate_scope& scope, std::vector<text_copy> copies,
                                               duplicate_counts& counts) const {
    counts.candidates += measured.load();
    counts.verified += measured.load();
    duplicate_counts of_links;  // they depend on the order of the threads
    const auto connected = pairs_of_texts(place, sketches, scope, std::move(copies), links.links(), of_links);
    // The connected groups do not. All links lead to the first text, so that nothing else is visible.
    text_links groups(place, sketches.size());
    for (const duplicate_pair& link : connected) groups.connect(link.a, link.b);
    std::vector<duplicate_pair> all;
    all.reserve(connected.size());
    for (std::uint32_t text = 0; text < sketches.size(); ++text) {
        const std::uint32_t first = groups.first_of(text);
        if (first != text) all.push_back({first, text, 0, 0});
    }
    std::ranges::sort(all, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
    return all;
}

}  // namespace quern::near_duplicates_detail
