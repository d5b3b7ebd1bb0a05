// SPDX-License-Identifier: Apache-2.0
// Equal texts are represented by one of them; this expands their pairs again.
#include <algorithm>
#include <numeric>

#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/texts/texts.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace near_duplicates_detail {
namespace {

/// `length(text)` in units; `wanted(text)`, `earlier_end` and `links_only` as in requested_pairs.
template <class Length, class Wanted>
std::vector<duplicate_pair> expand(cpu_place& place, std::span<const text_copy> copies,
                                   std::span<const duplicate_pair> found, const Length& length,
                                   const Wanted& wanted, std::uint32_t earlier_end, bool links_only,
                                   duplicate_counts& counts) {
    // Only texts in some pair, numbered in their order.
    std::vector<std::uint32_t> texts;
    texts.reserve(2 * (copies.size() + found.size()));
    for (const text_copy& copy : copies) texts.insert(texts.end(), {copy.first, copy.text});
    for (const duplicate_pair& pair : found) texts.insert(texts.end(), {pair.a, pair.b});
    std::ranges::sort(texts);
    texts.erase(std::ranges::unique(texts).begin(), texts.end());
    const auto number_of = [&](std::uint32_t text) {
        return static_cast<std::uint32_t>(std::ranges::lower_bound(texts, text) - texts.begin());
    };

    std::vector<std::uint32_t> leader(texts.size());
    std::iota(leader.begin(), leader.end(), 0u);
    for (const text_copy& copy : copies) leader[number_of(copy.text)] = number_of(copy.first);
    const document_classes classes = classes_of(leader);
    std::vector<class_pair> joined;
    joined.reserve(found.size());
    for (const duplicate_pair& pair : found) {
        const std::uint32_t x = classes.class_of[number_of(pair.a)], y = classes.class_of[number_of(pair.b)];
        joined.push_back({std::min(x, y), std::max(x, y), pair.distance, pair.of});
    }
    const auto key = [](const class_pair& p) { return std::uint64_t{p.a} << 32 | p.b; };
    std::ranges::sort(joined, {}, key);
    joined.erase(std::ranges::unique(joined, {}, key).begin(), joined.end());
    std::vector<std::uint64_t> of(classes.size());
    for (std::uint32_t c = 0; c < of.size(); ++c) of[c] = std::uint64_t{2} * length(texts[classes.first(c)]);

    requested_pairs requested;
    for (const std::uint32_t text : texts) requested.wanted.push_back(wanted(text));
    requested.earlier_end = number_of(earlier_end);
    requested.links_only = links_only;
    std::vector<duplicate_pair> pairs = document_pairs(place, classes, of, joined, requested, counts);
    for (duplicate_pair& pair : pairs) {
        pair.a = texts[pair.a];
        pair.b = texts[pair.b];
    }
    return pairs;
}

}  // namespace

void append_copies(const text_classes& classes, std::vector<text_copy>& copies) {
    for (std::uint32_t c = 0; c < classes.size(); ++c)
        for (const std::uint32_t text : classes.members(c).subspan(1))
            copies.push_back({classes.text(c), text});
}

std::vector<duplicate_pair> pairs_of_texts(cpu_place& place, const sketch_list& sketches,
                                           const duplicate_scope& scope, std::vector<text_copy> copies,
                                           std::vector<duplicate_pair> found, duplicate_counts& counts) {
    return expand(
        place, copies, found, [&](std::uint32_t text) { return sketches[text].length; },
        [&](std::uint32_t text) { return text >= scope.first_new; },
        scope.within_new ? sketches.size() : scope.first_new, scope.links_only, counts);
}

}  // namespace near_duplicates_detail

using namespace near_duplicates_detail;

void link_equal_texts(std::span<text_sketch> sketches, std::uint32_t first,
                      std::span<const duplicate_pair> pairs) {
    for (std::size_t i = 0; i < sketches.size(); ++i)
        sketches[i].first_equal = first + static_cast<std::uint32_t>(i);
    for (const duplicate_pair& pair : pairs) {
        if (pair.distance != 0 || pair.b < first || pair.b - first >= sketches.size()) continue;
        std::uint32_t& equal = sketches[pair.b - first].first_equal;
        equal = std::min(equal, pair.a);
    }
}

namespace {

std::vector<std::uint32_t> first_equals(const text_sketches& known) {
    std::vector<std::uint32_t> first;
    first.reserve(known.size());
    for (const auto& chunk : known.chunks) {
        for (const text_sketch& sketch : chunk) {
            if (sketch.first_equal > first.size())
                throw usage_error("a sketch lacks the first text that is equal");
            first.push_back(sketch.first_equal);
        }
    }
    return first;
}

}  // namespace

void keep_first_equals(const text_sketches& known, std::vector<duplicate_pair>& pairs) {
    const std::vector<std::uint32_t> first = first_equals(known);
    std::erase_if(pairs,
                  [&](const duplicate_pair& p) { return first.at(p.a) != p.a || first.at(p.b) != p.b; });
}

std::vector<duplicate_pair> pairs_of_equals(const text_sketches& known, std::span<const duplicate_pair> pairs,
                                            const std::vector<bool>& wanted, bool links_only,
                                            std::uint64_t& count, const context& ctx) {
    const std::vector<std::uint32_t> first = first_equals(known);
    const auto size = static_cast<std::uint32_t>(first.size());
    if (wanted.size() != size) throw usage_error("the number of sketches is not the number of texts");
    std::vector<bool> is_needed(size);  // of the first text of each group of equals
    for (std::uint32_t text = 0; text < size; ++text)
        if (wanted[text]) is_needed[first[text]] = true;
    std::vector<duplicate_pair> found;
    for (const duplicate_pair& pair : pairs)
        if (is_needed.at(pair.a) || is_needed.at(pair.b)) found.push_back(pair);
    for (const duplicate_pair& pair : found) is_needed[pair.a] = is_needed[pair.b] = true;
    std::vector<text_copy> copies;
    for (std::uint32_t text = 0; text < size; ++text)
        if (first[text] != text && is_needed[first[text]]) copies.push_back({first[text], text});

    std::vector<std::size_t> ends;
    for (const auto& chunk : known.chunks) ends.push_back(chunk.size() + (ends.empty() ? 0 : ends.back()));
    const auto length = [&](std::uint32_t text) {
        const auto past_end = static_cast<std::size_t>(std::ranges::upper_bound(ends, text) - ends.begin());
        return known.chunks[past_end][text - (past_end == 0 ? 0 : ends[past_end - 1])].length;
    };
    cpu_place place(ctx);
    duplicate_counts counts;
    auto all = expand(
        place, copies, found, length, [&](std::uint32_t text) { return wanted[text]; }, size, links_only,
        counts);
    count = counts.pairs;
    return all;
}

}  // namespace quern
