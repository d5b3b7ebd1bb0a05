// SPDX-License-Identifier: Apache-2.0
#include "ops/text_quality/repetition.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

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
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(16, 2 * keys));
    slots_.assign(slots, 0);
    entries_.clear();
    mask_ = slots - 1;
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots));
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

void repeated_ngrams::begin(std::string_view text, std::span<const quality_word> words) {
    n_ = 1;
    numbers_.begin(words.size());
    before_.resize(words.size() + 1);
    before_[0] = 0;
    at_.resize(words.size());
    first_.clear();
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t bytes = words[i].end - words[i].begin;
        const auto is_same = [&](std::uint32_t known) {
            const quality_word& other = words[first_[known]];
            return bytes <= short_bytes ||
                   text.substr(other.begin, other.end - other.begin) == text.substr(words[i].begin, bytes);
        };
        at_[i] = numbers_.number(key_of(text, words[i].begin, bytes), is_same);
        if (at_[i] == first_.size()) first_.push_back(static_cast<std::uint32_t>(i));
        before_[i + 1] = before_[i] + words[i].characters;
    }
    repeats_.resize(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) repeats_[i] = static_cast<std::uint32_t>(i);
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
