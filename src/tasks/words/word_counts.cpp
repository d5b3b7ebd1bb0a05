// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/word_counts.hpp"

#include <algorithm>
#include <functional>

#include "device/cpu/parallel.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern {

std::uint32_t word_count_table::add(std::string_view word, std::uint64_t hash, std::uint64_t times) {
    if (3 * (entries_.size() + 1) > 2 * slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    const std::uint32_t tag = tag_of(hash);
    std::size_t at = hash & mask;
    for (; slots_[at].number_plus_one != 0; at = (at + 1) & mask) {
        if (slots_[at].tag != tag) continue;
        const std::uint32_t number = slots_[at].number_plus_one - 1;
        if (this->word(number) == word) {
            entries_[number].count += times;
            return number;
        }
    }
    if (entries_.size() >= passage_end) {
        throw out_of_memory("the distinct words", entries_.size(), entries_.size());
    }
    entries_.push_back({letters_.size(), hash, times, static_cast<std::uint32_t>(word.size())});
    letters_ += word;
    slots_[at] = {tag, size()};
    return size() - 1;
}

void word_count_table::add(const word_count_table& other, std::vector<std::uint32_t>& numbers) {
    // Most time is spent waiting for distant slots in memory: they are prefetched some words ahead.
    constexpr std::uint32_t ahead = 12;
    numbers.resize(other.size());
    for (std::uint32_t i = 0; i < other.size(); ++i) {
        if (i + ahead < other.size() && !slots_.empty()) {
            __builtin_prefetch(&slots_[other.entries_[i + ahead].hash & (slots_.size() - 1)]);
        }
        numbers[i] = add(other.word(i), other.entries_[i].hash, other.entries_[i].count);
    }
}

void word_count_table::grow() {
    std::vector<slot> wider(std::max<std::size_t>(64, 2 * slots_.size()));
    const std::size_t mask = wider.size() - 1;
    for (std::uint32_t number = 0; number < size(); ++number) {
        const std::uint64_t hash = entries_[number].hash;
        std::size_t at = hash & mask;
        while (wider[at].number_plus_one != 0) at = (at + 1) & mask;
        wider[at] = {tag_of(hash), number + 1};
    }
    slots_ = std::move(wider);
}

namespace {

/// Of the words below `size` those with at least `min_count`, at most `max`.
template <class Count, class Word, class Before>
chosen_words choose(std::uint32_t size, std::uint64_t min_count, std::uint32_t max, cpu_place& place,
                    const Count& count, const Word& word, const Before& is_before) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t n = 0; n < size; ++n) {
        if (count(n) >= min_count) order.push_back(n);
    }
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        const std::uint64_t left = count(a), right = count(b);
        return left != right ? left > right : is_before(a, b);
    };
    if (order.size() > max) {
        std::ranges::nth_element(order, order.begin() + max, before);
        order.resize(max);
    }
    std::ranges::sort(order, before);

    chosen_words chosen;
    chosen.id_of = {place, size, "the ids of words"};
    std::ranges::fill(chosen.id_of.span(), unknown_word);
    chosen.words.resize(order.size());
    chosen.frequencies.resize(order.size());
    const std::size_t pieces = pieces_for(place, order.size(), std::size_t{1} << 10);
    for_each_piece(place, pieces, [&](std::size_t p) {  // a dictionary unpacks a word
        const item_range part = piece_of(order.size(), pieces, p);
        for (std::size_t i = part.begin; i < part.end; ++i) {
            chosen.id_of.data()[order[i]] = static_cast<std::uint32_t>(i);
            chosen.words[i] = word(order[i]);
            chosen.frequencies[i] = count(order[i]);
        }
    });
    return chosen;
}

}  // namespace

chosen_words choose_words(const word_count_table& distinct, std::uint64_t min_count, std::uint32_t max,
                          cpu_place& place) {
    return choose(
        distinct.size(), min_count, max, place, [&](std::uint32_t n) { return distinct.count(n); },
        [&](std::uint32_t n) { return distinct.word(n); },
        [&](std::uint32_t a, std::uint32_t b) { return distinct.word(a) < distinct.word(b); });
}

chosen_words choose_words(const text::dictionary_view& words, std::span<const std::uint64_t> counts,
                          std::uint64_t min_count, std::uint32_t max, cpu_place& place) {
    return choose(
        words.size(), std::max<std::uint64_t>(min_count, 1), max, place,
        [&](std::uint32_t id) { return counts[id]; }, [&](std::uint32_t id) { return words.word(id); },
        std::less<>());  // ids are in the order of bytes
}

}  // namespace quern
