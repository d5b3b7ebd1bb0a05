// SPDX-License-Identifier: Apache-2.0
#include "ops/text_quality/repetition.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/hash.hpp"
#include "ops/text_quality/characters.hpp"

namespace quern::text_quality {
namespace {

constexpr std::size_t short_bytes = 7;

/// Of at most seven bytes: the bytes and their number, so that equal keys are equal words. Longer: a hash, with a last byte
/// that no short word has.
std::uint64_t key_of(std::string_view text, std::size_t begin, std::size_t bytes) {
    if (bytes > short_bytes) return hash64(text.substr(begin, bytes)) | 0xFFull << 56;
    std::uint64_t key = 0;
    if (begin + sizeof key <= text.size()) {
        std::memcpy(&key, text.data() + begin, sizeof key);
        if constexpr (std::endian::native == std::endian::big) key = __builtin_bswap64(key);
        key &= (std::uint64_t{1} << (8 * bytes)) - 1;
    } else {
        for (std::size_t i = 0; i < bytes; ++i)
            key |= std::uint64_t{static_cast<unsigned char>(text[begin + i])} << (8 * i);
    }
    return key | std::uint64_t{bytes} << 56;
}

}  // namespace

void key_numbers::begin(std::size_t keys) {
    constexpr std::size_t max_expected = 1 << 14;  // a long text has fewer different words than words
    entries_.clear();
    make_slots(std::bit_ceil(std::max<std::size_t>(16, 2 * std::min(keys, max_expected))));
}

void key_numbers::make_slots(std::size_t slots) {
    slots_.assign(slots, 0);
    mask_ = slots - 1;
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots));
}

void key_numbers::grow() {
    make_slots(2 * slots_.size());
    std::uint32_t number = 0;
    for (const entry& each : entries_) {
        std::size_t slot = slot_of(each.key);
        while (slots_[slot] != 0) slot = (slot + 1) & mask_;
        slots_[slot] = ++number;
    }
}

void repeated_parts::find() {
    numbers_.begin(parts_.size());
    first_.clear();
    repeated_ = characters_ = 0;
    for (const std::string_view part : parts_) {
        const auto number =
            numbers_.number(hash64(part), [&](std::uint32_t known) { return first_[known] == part; });
        if (number == first_.size()) {
            first_.push_back(part);
        } else {
            ++repeated_;
            characters_ += characters(part);
        }
    }
}

void repeated_ngrams::begin(std::string_view text) {
    constexpr std::size_t bytes_a_word = 4;
    n_ = 1;
    text_ = text;
    numbers_.begin(text.size() / bytes_a_word);
    before_.assign(1, 0);
    at_.clear();
    first_.clear();
}

void repeated_ngrams::add(std::span<const quality_word> words) {
    for (const quality_word& word : words) {
        const std::uint32_t bytes = word.end - word.begin;
        const auto is_same = [&](std::uint32_t known) {
            const word_place& other = first_[known];
            return bytes <= short_bytes ||
                   text_.substr(other.begin, other.bytes) == text_.substr(word.begin, bytes);
        };
        at_.push_back(numbers_.number(key_of(text_, word.begin, bytes), is_same));
        if (at_.back() == first_.size()) first_.push_back({word.begin, bytes});
        before_.push_back(before_.back() + word.characters);
    }
}

void repeated_ngrams::end_words() {
    repeats_.resize(at_.size());
    std::iota(repeats_.begin(), repeats_.end(), std::uint32_t{0});
    drop_single();
}

void repeated_ngrams::drop_single() {
    std::size_t kept = 0;
    for (const std::uint32_t word : repeats_) {
        if (numbers_.count(at_[word]) > 1) {
            repeats_[kept++] = word;
        } else {
            at_[word] = key_numbers::none;
        }
    }
    repeats_.resize(kept);
}

void repeated_ngrams::go_to(unsigned n) {
    while (n_ < n) {
        ++n_;
        numbers_.begin(repeats_.size());
        std::size_t kept = 0;
        for (std::size_t i = 0; i < repeats_.size(); ++i) {
            const std::uint32_t word = repeats_[i];
            // The next entry is still that of an (n-1)-gram: entries change from left to right.
            const bool both =
                word + std::size_t{1} < at_.size() && at_[word + std::size_t{1}] != key_numbers::none;
            if (both) {
                const std::uint64_t key = std::uint64_t{at_[word]} << 32 | at_[word + std::size_t{1}];
                at_[word] = numbers_.number(key, [](std::uint32_t) { return true; });
                repeats_[kept++] = word;
            } else {
                at_[word] = key_numbers::none;
            }
        }
        repeats_.resize(kept);
        drop_single();
    }
}

std::uint64_t repeated_ngrams::top_characters() const {
    if (at_.size() < n_) return 0;
    std::uint32_t best = 1;
    std::size_t word = 0;
    for (const std::uint32_t i : repeats_) {
        const std::uint32_t count = numbers_.count(at_[i]);
        if (count <= best) continue;
        best = count;
        word = i;
    }
    return (characters(word) + n_ - 1) * best;
}

std::uint64_t repeated_ngrams::duplicate_characters() {
    if (repeats_.empty()) return 0;
    read_.assign(numbers_.size(), false);
    std::uint64_t sum = 0;
    std::size_t next = 0;
    for (const std::uint32_t word : repeats_) {
        if (word < next) continue;
        if (read_[at_[word]]) {
            sum += characters(word);
            next = word + std::size_t{n_};
        } else {
            read_[at_[word]] = true;
        }
    }
    return sum;
}

}  // namespace quern::text_quality
