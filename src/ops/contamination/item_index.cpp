// SPDX-License-Identifier: Apache-2.0
#include "ops/contamination/item_index.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/release.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/contamination_option_table.hpp"

namespace quern::contamination_detail {
namespace {

constexpr std::uint64_t items_between_checks = 1 << 12;  // of the stop flag

std::uint64_t positions_of(std::uint64_t words, unsigned ngram) {
    if (words == 0) return 0;
    return words < ngram ? 1 : words - ngram + 1;
}

std::uint64_t all_positions(const item_words& items, unsigned ngram) {
    std::uint64_t sum = 0;
    for (std::uint32_t item = 0; item < items.items(); ++item)
        sum += positions_of(items.offsets[item + 1] - items.offsets[item], ngram);
    return sum;
}

std::uint64_t slots_for(std::uint64_t positions) {
    return positions + positions / 2 + 2;
}

/// Shorter anchors would match by chance too often; longer ones give shorter strides.
constexpr std::uint32_t shortest_anchor = 4, longest_anchor = 8;
/// Items shorter than an n-gram are found by windows of this many words if they have as many.
constexpr std::uint32_t head_words = 3;

std::uint32_t anchor_of(unsigned ngram) {
    return ngram <= shortest_anchor ? ngram : std::clamp(ngram / 2, shortest_anchor, longest_anchor);
}

template <class T>
std::uint64_t bytes_of(const std::vector<T>& values) {
    return values.capacity() * sizeof(T);
}

}  // namespace

window_kind::window_kind(std::uint32_t words, std::uint64_t kind)
    : length(words), salt((words + 1) * 0x9E3779B97F4A7C15 + kind) {
    for (std::uint32_t i = 0; i < words; ++i) power *= base;
}

std::uint64_t item_index::memory_needed(const item_words& items, const contamination_options& options) {
    const std::uint64_t positions = all_positions(items, options.ngram);
    std::uint64_t longest = 0;
    for (std::uint32_t item = 0; item < items.items(); ++item)
        longest = std::max(longest, items.offsets[item + 1] - items.offsets[item]);
    // For each position: its n-gram, the n-gram's start, length, count, list and its beginning, and what is sorted.
    constexpr std::uint64_t a_position = 4 + 4 + 2 + 4 + 4 + 4 + 4, an_item = 2 * 4,
                            a_word_of_one = 8 + 8 + 4;
    constexpr std::uint64_t searches = 1 + head_words;
    return positions * a_position + items.items() * an_item + longest * a_word_of_one +
           slots_for(positions) * sizeof(slot) + bit_filter::bytes_for(positions) +
           bit_filter::bytes_for(items.words.size()) + 2 * searches * bit_filter::bytes_for(0);
}

item_index::item_index(const item_words& items, const contamination_options& options, const context& ctx)
    : items_(items), ngram_(options.ngram), overlap_(options.overlap) {
    check_ranges(options);
    constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max() - 1;
    if (items.words.size() > max)
        throw out_of_memory("the words of the evaluation set", items.words.size(), max);
    const std::uint64_t positions = all_positions(items, ngram_);
    choose_searches();
    slots_.resize(slots_for(positions));
    start_.reserve(positions);
    length_.reserve(positions);
    at_.reserve(positions);
    at_begin_.reserve(items.offsets.size());
    at_begin_.push_back(0);
    for (std::uint32_t item = 0; item < items.items(); ++item) {
        if (item % items_between_checks == 0) ctx.check_stop();
        add_item(item);
        at_begin_.push_back(static_cast<std::uint32_t>(at_.size()));
    }
    release(prefixes_);
    release(keys_);
    list_items(ctx);
}

/// Items of fewer than head_words words have a search of their length; longer ones that are shorter than an n-gram share
/// one.
void item_index::choose_searches() {
    constexpr std::uint64_t of_windows = 0, of_anchors = 1;
    std::vector<std::uint64_t> items_of(ngram_ + std::size_t{1});  // by length
    std::uint64_t words = 0;                                       // of those with n-grams
    for (std::uint32_t item = 0; item < items_.items(); ++item) {
        const std::uint64_t size = items_.offsets[item + 1] - items_.offsets[item];
        ++items_of[std::min<std::uint64_t>(size, ngram_)];
        if (size >= ngram_) words += size;
    }
    const auto search = [&](std::uint32_t anchor, std::uint32_t stride, std::uint64_t anchors,
                            std::uint64_t windows) {
        searches_.push_back(
            {window_kind(anchor, of_anchors), stride, {}, bit_filter(anchors), bit_filter(windows)});
        return &searches_.back().windows;
    };
    for (std::uint32_t length = 1; length < ngram_ && length < head_words; ++length)
        if (items_of[length] != 0)
            search(length, 1, items_of[length], items_of[length])->emplace_back(length, of_windows);
    std::vector<window_kind> longer;
    std::uint64_t heads = 0;
    for (std::uint32_t length = head_words; length < ngram_; ++length) {
        heads += items_of[length];
        if (items_of[length] != 0) longer.emplace_back(length, of_windows);
    }
    if (!longer.empty()) *search(head_words, 1, heads, heads) = std::move(longer);
    if (items_of[ngram_] == 0) return;
    const std::uint32_t anchor = anchor_of(ngram_);
    search(anchor, ngram_ - anchor + 1, words, words - items_of[ngram_] * (ngram_ - 1))
        ->emplace_back(ngram_, of_windows);
}

/// The search that finds items of so many words.
window_search& item_index::search_for(std::uint64_t words) {
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(words, ngram_));
    return *std::ranges::find_if(searches_, [length](const window_search& s) {
        return std::ranges::find(s.windows, length, &window_kind::length) != s.windows.end();
    });
}

/// Of the item whose hashes are in prefixes_.
void item_index::add_anchors(window_search& search, std::uint64_t words) {
    const std::uint32_t length = search.anchor.length;
    const std::uint64_t end = search.stride == 1 && words < ngram_ ? 1 : words - length + 1;
    for (std::uint64_t i = 0; i < end; ++i)
        search.anchors.add(search.anchor.key(prefixes_[i], prefixes_[i + length]));
}

void item_index::add_item(std::uint32_t item) {
    const std::uint64_t first = items_.offsets[item], size = items_.offsets[item + 1] - first;
    if (size == 0) return;
    prefixes_.assign(1, 0);
    for (std::uint64_t i = 0; i < size; ++i)
        prefixes_.push_back(window_kind::next(prefixes_.back(), items_.hashes[items_.words[first + i]]));
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, ngram_));
    window_search& search = search_for(size);
    const window_kind& kind = *std::ranges::find(search.windows, length, &window_kind::length);
    add_anchors(search, size);
    keys_.clear();
    for (std::uint64_t i = 0; i + length <= size; ++i) {
        keys_.push_back(kind.key(prefixes_[i], prefixes_[i + length]));
        __builtin_prefetch(&slots_[bit_filter::place_of(keys_.back(), slots_.size())]);
    }
    for (std::uint64_t i = 0; i < keys_.size(); ++i) {
        const std::uint64_t key = keys_[i];
        const auto words = items_.words.subspan(first + i, length);
        std::size_t at = bit_filter::place_of(key, slots_.size());
        for (; slots_[at].ngram != none; at = at + 1 == slots_.size() ? 0 : at + 1) {
            const slot& s = slots_[at];
            if (s.fingerprint == static_cast<std::uint32_t>(key) &&
                std::ranges::equal(words, words_of(s.ngram)))
                break;
        }
        if (slots_[at].ngram == none) {
            slots_[at] = {static_cast<std::uint32_t>(key), ngrams()};
            start_.push_back(static_cast<std::uint32_t>(first + i));
            length_.push_back(static_cast<std::uint16_t>(length));
            search.whole.add(key);
        }
        at_.push_back(slots_[at].ngram);
    }
}

void item_index::list_items(const context& ctx) {
    std::vector<std::uint32_t> count(ngrams());
    for (const std::uint32_t ngram : at_) ++count[ngram];
    std::vector<std::uint32_t> chosen, chosen_begin{0}, own;
    chosen.reserve(at_.size());
    chosen_begin.reserve(at_begin_.size());
    const auto rarer = [&](std::uint32_t a, std::uint32_t b) {
        return count[a] != count[b] ? count[a] < count[b] : a < b;
    };
    for (std::uint32_t item = 0; item < items_.items(); ++item) {
        if (item % items_between_checks == 0) ctx.check_stop();
        own.assign(ngrams_of(item).begin(), ngrams_of(item).end());
        if (!own.empty()) {
            const std::uint64_t listed = own.size() - needed(own.size()) + 1;
            std::ranges::nth_element(own, own.begin() + static_cast<std::ptrdiff_t>(listed - 1), rarer);
            own.resize(listed);
            std::ranges::sort(own);
            own.erase(std::unique(own.begin(), own.end()), own.end());
        }
        chosen.insert(chosen.end(), own.begin(), own.end());
        chosen_begin.push_back(static_cast<std::uint32_t>(chosen.size()));
    }
    listed_begin_.assign(ngrams() + std::size_t{1}, 0);
    for (const std::uint32_t ngram : chosen) ++listed_begin_[ngram + std::size_t{1}];
    for (std::size_t i = 1; i < listed_begin_.size(); ++i) listed_begin_[i] += listed_begin_[i - 1];
    std::vector<std::uint32_t>& next = count;
    next.assign(listed_begin_.begin(), listed_begin_.end() - 1);
    listed_.resize(chosen.size());
    for (std::uint32_t item = 0; item < items_.items(); ++item) {
        for (std::uint32_t i = chosen_begin[item]; i < chosen_begin[item + std::size_t{1}]; ++i)
            listed_[next[chosen[i]]++] = item;
    }
}

std::uint64_t item_index::memory_bytes() const {
    std::uint64_t filters = 0;
    for (const window_search& search : searches_)
        filters += search.anchors.memory_bytes() + search.whole.memory_bytes();
    return filters + bytes_of(slots_) + bytes_of(start_) + bytes_of(length_) + bytes_of(at_) +
           bytes_of(at_begin_) + bytes_of(listed_) + bytes_of(listed_begin_);
}

}  // namespace quern::contamination_detail
