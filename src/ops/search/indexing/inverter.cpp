// SPDX-License-Identifier: Apache-2.0
#include "ops/search/indexing/inverter.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/hash.hpp"
#include "base/prefix_key.hpp"
#include "base/release.hpp"
#include "base/varint.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

constexpr std::uint64_t tag_mask = 0xffffffff00000000;

}  // namespace

inverter::inverter(word_order order) : slots_(1 << 14), keeps_order_(order == word_order::kept) {}

void inverter::add(std::string_view word) {
    add(word, hash64(word));
}

void inverter::add(std::span<const std::string_view> words) {
    std::array<std::uint64_t, 64> hashes{};
    while (!words.empty()) {
        const auto batch = words.first(std::min(words.size(), hashes.size()));
        words = words.subspan(batch.size());
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            hashes[i] = hash64(batch[i]);
            __builtin_prefetch(&slots_[hashes[i] & mask]);
        }
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto number_plus_one = static_cast<std::uint32_t>(slots_[hashes[i] & mask]);
            if (number_plus_one != 0) __builtin_prefetch(&entries_[number_plus_one - 1], 1);
        }
        for (std::size_t i = 0; i < batch.size(); ++i) add(batch[i], hashes[i]);
    }
}

void inverter::add(std::string_view word, std::uint64_t hash) {
    const std::uint32_t number = find_or_insert(word, hash);
    entry& e = entries_[number];
    if (e.last_document != documents_ + 1) {
        e.last_document = documents_ + 1;
        e.frequency = 0;
        words_in_document_.push_back(number);
    }
    ++e.frequency;
    ++length_;
    if (keeps_order_) tokens_.add(number);
}

void inverter::add_repeated(std::string_view word, std::uint32_t times) {
    add(word, hash64(word));
    const std::uint32_t number = find_or_insert(word, hash64(word));
    entries_[number].frequency += times - 1;
    length_ += times - 1;
    if (!keeps_order_) return;
    for (std::uint32_t i = 1; i < times; ++i) tokens_.add(number);
}

void inverter::add_valued(std::string_view word, std::uint32_t frequency) {
    add(word, hash64(word));
    entries_[find_or_insert(word, hash64(word))].frequency = frequency;
}

std::uint32_t inverter::find_or_insert(std::string_view word, std::uint64_t hash) {
    const std::uint64_t prefix = prefix_key(word);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
        const std::uint64_t slot = slots_[at];
        if (slot == 0) {
            entries_.push_back({prefix, letters_.size(), static_cast<std::uint32_t>(word.size()), 0, 0, 0});
            letters_.append(word);
            slots_[at] = (hash & tag_mask) | entries_.size();
            if (entries_.size() * 2 > slots_.size()) grow();
            return static_cast<std::uint32_t>(entries_.size() - 1);
        }
        if ((slot & tag_mask) == (hash & tag_mask)) {
            const auto number = static_cast<std::uint32_t>(slot) - 1;
            const entry& e = entries_[number];
            if (e.prefix == prefix && e.word_bytes == word.size() &&
                (word.size() <= sizeof prefix || word_of(e) == word)) {
                return number;
            }
        }
    }
}

void inverter::grow() {
    std::vector<std::uint64_t> wider(slots_.size() * 2);
    const std::size_t mask = wider.size() - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const std::uint64_t hash = hash64(word_of(entries_[i]));
        std::size_t at = hash & mask;
        while (wider[at] != 0) at = (at + 1) & mask;
        wider[at] = (hash & tag_mask) | (i + 1);
    }
    slots_ = std::move(wider);
}

std::uint32_t inverter::end_document() {
    for (const std::uint32_t word : words_in_document_) {
        postings_.push_back({word, entries_[word].frequency});
        ++entries_[word].postings;
    }
    words_in_document_.clear();
    document_ends_.push_back(postings_.size());
    ++documents_;
    return std::exchange(length_, 0);
}

sorted_run inverter::finish() {
    release(slots_);
    // Words in byte order: the first eight bytes distinguish most.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order(entries_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = {entries_[i].prefix, i};
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first
                                  : word_of(entries_[a.second]) < word_of(entries_[b.second]);
    });

    // Postings by word, with ascending documents: a counting sort.
    std::vector<std::uint64_t> begin(entries_.size() + 1);
    for (std::size_t i = 0; i < entries_.size(); ++i) begin[i + 1] = begin[i] + entries_[i].postings;
    std::vector<std::uint64_t> next(begin.begin(), begin.end() - 1);
    struct document_frequency {
        std::uint32_t document, frequency;
    };
    std::vector<document_frequency> by_word(postings_.size());
    std::uint64_t i = 0;
    for (std::uint32_t d = 0; d < documents_; ++d) {
        for (; i < document_ends_[d]; ++i) {
            if (i + 16 < postings_.size()) __builtin_prefetch(&next[postings_[i + 16].word], 1);
            by_word[next[postings_[i].word]++] = {d, postings_[i].frequency};
        }
    }

    sorted_run run;
    if (keeps_order_) {
        std::vector<std::uint32_t> numbers;
        numbers.reserve(order.size());
        for (const auto& [_, number] : order) numbers.push_back(number);
        run.tokens = tokens_.finish(numbers);
    }
    run.documents = documents_;
    run.postings = postings_.size();
    release(postings_);
    std::string list;
    std::string_view previous;
    for (i = 0; i < order.size(); ++i) {
        const std::uint32_t number = order[i].second;
        const std::string_view word = word_of(entries_[number]);
        std::size_t shared = 0;
        if (i % restart_interval == 0) {
            run.restart_offsets.push_back(run.bytes.size());
            run.restart_words.emplace_back(word);
        } else {
            shared = static_cast<std::size_t>(std::ranges::mismatch(word, previous).in1 - word.begin());
        }
        previous = word;
        list.clear();
        std::uint32_t last = 0;
        for (std::uint64_t p = begin[number]; p < begin[number + 1]; ++p) {
            append_varint(list, by_word[p].document - last);
            append_varint(list, by_word[p].frequency);
            last = by_word[p].document;
        }
        append_varint(run.bytes, shared);
        append_varint(run.bytes, word.size() - shared);
        run.bytes.append(word.substr(shared));
        append_varint(run.bytes, list.size());
        run.bytes.append(list);
    }
    run.bytes.shrink_to_fit();
    run.size = run.bytes.size();
    return run;
}

}  // namespace quern::search_detail
