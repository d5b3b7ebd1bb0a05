// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/text_classes.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"
#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/pair_bounds.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

template <class Unit>
bool equal_texts(const unit_list<Unit>& texts, std::uint32_t a, std::uint32_t b) {
    const std::size_t bytes = texts.length(a) * sizeof(Unit);
    return texts.length(b) == texts.length(a) &&
           (bytes == 0 || std::memcmp(texts.units.data() + texts.offsets[a],
                                      texts.units.data() + texts.offsets[b], bytes) == 0);
}

}  // namespace

template <class Unit>
text_classes::text_classes(cpu_place& place, const unit_list<Unit>& texts, std::uint32_t first_new)
    : first_new_(first_new) {
    const std::uint32_t n = texts.size();
    const cpu_array<std::uint64_t> hashes(place, n, "the hashes of texts"),
        keys(place, n, "the hashes of texts");
    const cpu_array<std::uint32_t> lengths(place, n, "the lengths of texts"),
        order(place, n, "texts in order");
    const std::size_t pieces = pieces_for(place, n, 256, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const stretch mine = piece_of(n, pieces, p);
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            const auto text = static_cast<std::uint32_t>(i);
            const auto* const data = reinterpret_cast<const char*>(texts.units.data() + texts.offsets[i]);
            hashes.data()[i] = keys.data()[i] = hash64({data, texts.length(text) * sizeof(Unit)});
            order.data()[i] = text;
        }
    });
    primitives::sort_pairs(place, keys.span(), order.span());
    for (std::uint32_t i = 0; i < n; ++i) lengths.data()[i] = texts.length(order.data()[i]);
    primitives::sort_pairs(place, lengths.span(), order.span());  // stable: by (length, hash, text)

    members_.reserve(n);
    std::vector<std::uint32_t> rest, others;
    for (std::uint32_t i = 0; i < n;) {
        // A run of texts of one length and hash, nearly always equal.
        std::uint32_t end = i + 1;
        const auto same = [&](std::uint32_t at) {
            return lengths.data()[at] == lengths.data()[i] &&
                   hashes.data()[order.data()[at]] == hashes.data()[order.data()[i]];
        };
        while (end < n && same(end)) ++end;
        rest.assign(order.data() + i, order.data() + end);
        while (!rest.empty()) {
            begins_.push_back(static_cast<std::uint32_t>(members_.size()));
            lengths_.push_back(texts.length(rest.front()));
            others.clear();
            for (const std::uint32_t text : rest)
                (equal_texts(texts, rest.front(), text) ? members_ : others).push_back(text);
            rest.swap(others);
        }
        i = end;
    }
    begins_.push_back(static_cast<std::uint32_t>(members_.size()));
}

template text_classes::text_classes(cpu_place&, const unit_list<std::uint8_t>&, std::uint32_t);
template text_classes::text_classes(cpu_place&, const unit_list<std::uint32_t>&, std::uint32_t);

class_range window_of(const text_classes& classes, const decimal& threshold, std::uint32_t b) {
    const std::uint64_t length = classes.length(b);
    const auto first_where_not = [&](const auto& condition) {
        std::uint32_t begin = 0, end = classes.size();
        while (begin < end) {
            const std::uint32_t middle = begin + (end - begin) / 2;
            if (condition(classes.length(middle))) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        return begin;
    };
    const std::uint32_t first = first_where_not(
        [&](std::uint64_t other) { return other < length && !lengths_allow(threshold, other, length); });
    if (!classes.any_old()) return {first, b};
    return {first, first_where_not([&](std::uint64_t other) {
                return other <= length || lengths_allow(threshold, length, other);
            })};
}

std::vector<duplicate_pair> pairs_of_texts(const text_classes& classes, const duplicate_scope& scope,
                                           std::span<const duplicate_pair> class_pairs) {
    std::vector<duplicate_pair> pairs;
    const auto add = [&](std::uint32_t a, std::uint32_t b, std::uint64_t distance, std::uint64_t of) {
        if (a > b) std::swap(a, b);
        if (b >= scope.first_new && (scope.within_new || a < scope.first_new))
            pairs.push_back({a, b, distance, of});
    };
    for (const duplicate_pair& pair : class_pairs)
        for (const std::uint32_t a : classes.members(pair.a))
            for (const std::uint32_t b : classes.members(pair.b)) add(a, b, pair.distance, pair.of);
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
        const auto members = classes.members(c);
        for (std::size_t i = 0; i < members.size(); ++i)
            for (std::size_t j = i + 1; j < members.size(); ++j)
                add(members[i], members[j], 0, std::uint64_t{2} * classes.length(c));
    }
    std::ranges::sort(pairs, {}, [](const duplicate_pair& p) { return std::uint64_t{p.a} << 32 | p.b; });
    return pairs;
}

}  // namespace quern::near_duplicates_detail
