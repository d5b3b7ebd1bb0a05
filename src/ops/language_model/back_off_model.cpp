// SPDX-License-Identifier: Apache-2.0
#include "ops/language_model/back_off_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/language_model/block_scorer.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr float no_probability = std::numeric_limits<float>::quiet_NaN();

/// A list sorted by its words.
struct sorted_list {
    ngram_list list;
    std::span<const std::uint32_t> of(std::uint64_t i) const {
        return std::span(list.words).subspan(i * list.n, list.n);
    }
};

/// By words. An n-gram that occurs twice is reported by its positions in `list`.
sorted_list sorted(ngram_list list, back_off_model::repeated_ngram& repeated) {
    const unsigned n = list.n;
    const auto words_of = [&](std::uint32_t i) { return list.words.data() + std::uint64_t{i} * n; };
    struct entry {
        std::uint64_t key;  // the first two words
        std::uint32_t at;
    };
    std::vector<entry> order(list.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = {std::uint64_t{words_of(i)[0]} << 32 | (n > 1 ? words_of(i)[1] : 0), i};
    std::ranges::sort(order, [&](const entry& a, const entry& b) {
        if (a.key != b.key) return a.key < b.key;
        const auto [x, y] = std::mismatch(words_of(a.at), words_of(a.at) + n, words_of(b.at));
        if (x != words_of(a.at) + n) return *x < *y;
        return a.at < b.at;
    });
    sorted_list result;
    result.list.n = n;
    result.list.words.reserve(list.words.size());
    result.list.logarithms.reserve(list.size());
    result.list.back_offs.reserve(list.back_offs.size());
    for (std::uint64_t i = 0; i < order.size(); ++i) {
        const std::uint32_t* const words = words_of(order[i].at);
        if (repeated.n == 0 && i != 0 && std::equal(words, words + n, words_of(order[i - 1].at)))
            repeated = {n, order[i - 1].at, order[i].at};
        result.list.words.insert(result.list.words.end(), words, words + n);
        result.list.logarithms.push_back(list.logarithms[order[i].at]);
        if (!list.back_offs.empty()) result.list.back_offs.push_back(list.back_offs[order[i].at]);
    }
    return result;
}

/// Adds to `shorter` the ends of the n-grams of `longer` that it lacks, as entries without a probability.
void add_missing_ends(sorted_list& shorter, const sorted_list& longer) {
    const unsigned n = shorter.list.n;
    ngram_list all;
    all.n = n;
    const auto take = [&](std::span<const std::uint32_t> words, float logarithm, float back_off) {
        all.words.insert(all.words.end(), words.begin(), words.end());
        all.logarithms.push_back(logarithm);
        all.back_offs.push_back(back_off);
    };
    std::vector<std::uint64_t> missing;  // of `longer`, the first with each end
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; i < longer.list.size(); ++i) {
        const auto end = longer.of(i).first(n);
        if (i != 0 && std::ranges::equal(end, longer.of(i - 1).first(n))) continue;
        while (at < shorter.list.size() && std::ranges::lexicographical_compare(shorter.of(at), end)) ++at;
        if (at == shorter.list.size() || !std::ranges::equal(shorter.of(at), end)) missing.push_back(i);
    }
    if (missing.empty()) return;
    at = 0;
    const auto copy = [&] {
        take(shorter.of(at), shorter.list.logarithms[at],
             shorter.list.back_offs.empty() ? 0 : shorter.list.back_offs[at]);
        ++at;
    };
    for (const std::uint64_t i : missing) {
        const auto end = longer.of(i).first(n);
        while (at < shorter.list.size() && std::ranges::lexicographical_compare(shorter.of(at), end)) copy();
        take(end, no_probability, 0);
    }
    while (at < shorter.list.size()) copy();
    shorter.list = std::move(all);
}

}  // namespace

back_off_model::back_off_model(std::vector<ngram_list> lists, repeated_ngram& repeated) {
    std::vector<sorted_list> by_words;
    for (ngram_list& list : lists) {
        by_words.push_back(sorted(std::move(list), repeated));
        if (repeated.n != 0) return;
    }
    for (std::size_t i = by_words.size(); i-- > 1;) add_missing_ends(by_words[i - 1], by_words[i]);

    levels_.resize(by_words.size());
    for (std::size_t i = 0; i < by_words.size(); ++i) {
        level& of = levels_[i];
        const ngram_list& list = by_words[i].list;
        const bool is_last = i + 1 == by_words.size();
        if (list.size() >= UINT32_MAX) throw out_of_memory("the numbers of n-grams", list.size(), UINT32_MAX);
        if (i != 0) {
            of.words.resize(list.size());
            for (std::uint64_t k = 0; k < list.size(); ++k) of.words[k] = by_words[i].of(k).back();
        }
        of.logarithms = list.logarithms;
        if (is_last) continue;
        of.back_offs = list.back_offs;
        of.back_offs.resize(list.size());
        const sorted_list& next = by_words[i + 1];
        of.children.resize(list.size() + 1);
        std::uint64_t at = 0;
        for (std::uint64_t k = 0; k < list.size(); ++k) {
            of.children[k] = static_cast<std::uint32_t>(at);
            while (at < next.list.size() && std::ranges::equal(next.of(at).first(i + 1), by_words[i].of(k)))
                ++at;
        }
        of.children[list.size()] = static_cast<std::uint32_t>(at);
    }
}

back_off_model::child_search back_off_model::search_of(unsigned n, std::uint32_t node,
                                                       std::uint32_t word) const {
    const level &of = levels_[n - 1], &next = levels_[n];
    const child_search search{of.children[node], of.children[node + 1], word};
    __builtin_prefetch(next.words.data() + search.begin + (search.end - search.begin) / 2);
    return search;
}

/// Looks at the middle of what is left.
bool back_off_model::advance(unsigned n, child_search& search, std::uint32_t& found) const {
    const level& next = levels_[n];
    found = no_word;
    if (search.begin == search.end) return true;
    const std::uint32_t middle = search.begin + (search.end - search.begin) / 2;
    const std::uint32_t at = next.words[middle];
    if (at == search.word) {
        found = middle;
        __builtin_prefetch(&next.logarithms[middle]);
        return true;
    }
    if (at < search.word)
        search.begin = middle + 1;
    else
        search.end = middle;
    __builtin_prefetch(next.words.data() + search.begin + (search.end - search.begin) / 2);
    return false;
}

double back_off_model::score(std::uint32_t word, history& before) const {
    return score_word(*this, word, before);
}

back_off_model::history back_off_model::after(std::uint32_t word) const {
    history result;
    if (order() == 1) return result;
    result.size = result.known = 1;
    result.words[0] = result.nodes[0] = word;
    return result;
}

std::uint64_t back_off_model::memory_bytes() const {
    std::uint64_t bytes = 0;
    for (const level& of : levels_)
        bytes += 4 * (of.words.size() + of.logarithms.size() + of.back_offs.size() + of.children.size());
    return bytes;
}

std::uint64_t back_off_model::bytes_for(std::span<const std::uint64_t> sizes) {
    std::uint64_t lists = 0, longest = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::uint64_t list = sizes[i] * (4 * (i + 1) + 8);
        lists += list;
        longest = std::max(longest, list + 16 * sizes[i]);
    }
    // The lists are sorted one after the other; then the levels, of at most 16 bytes an n-gram, stand next to them.
    return std::max(lists + longest,
                    lists + 16 * std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
}

template class block_scorer<back_off_model>;

}  // namespace quern
