// SPDX-License-Identifier: Apache-2.0
// Drops and stems words. One pass over a finished token list writes the kept words into a second buffer, so that the
// segmenters need no filters. Stems are cached in a fixed table of recent words: text repeats its words, and the
// stemmer costs some hundred times the look-up.
#include "text/word_filter.hpp"

#include <libstemmer.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace quern::text {
namespace {

constexpr std::size_t stem_slots = std::size_t{1} << 14;
/// Longer words are stemmed each time: they are rare, and the table's memory stays bounded.
constexpr std::size_t longest_remembered = 64;
/// In code points. Porter's program leaves shorter words unchanged; his rules would reduce "s" to "", and "is" to "i".
constexpr unsigned shortest_of_porter = 3;

std::uint64_t mix(std::string_view word) {
    // Multiply-and-fold over eight bytes at a time; the length distinguishes zero filling from zero bytes.
    std::uint64_t hash = word.size() * 0x9E3779B97F4A7C15U;
    const char* at = word.data();
    std::size_t left = word.size();
    const auto take = [&hash](std::uint64_t bytes) {
        const auto product = static_cast<unsigned __int128>(hash ^ bytes) * 0xD6E8FEB86659FD93U;
        hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t bytes;
        std::memcpy(&bytes, at, 8);
        take(bytes);
    }
    std::uint64_t tail = 0;
    for (std::size_t i = 0; i < left; ++i)
        tail |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    take(tail);
    return hash ^ hash >> 32;
}

/// Copies a word, from `words` or elsewhere, to `capacity` free bytes; a fixed number of bytes at a time if both sides have
/// that many.
void copy_word(std::string_view word, std::string_view words, char* to, std::size_t capacity) {
    constexpr std::size_t step = 16;
    const bool within = word.data() >= words.data() && word.data() + step <= words.data() + words.size();
    if (word.size() <= step && capacity >= step && within) {
        std::memcpy(to, word.data(), step);
    } else {
        std::memcpy(to, word.data(), word.size());
    }
}

bool has_at_least(std::string_view word, unsigned code_points) {
    if (word.size() < code_points) return false;
    if (word.size() >= std::size_t{4} * code_points) return true;
    const auto starts =
        std::count_if(word.begin(), word.end(), [](char byte) { return (byte & 0xC0) != 0x80; });
    return static_cast<std::size_t>(starts) >= code_points;
}

}  // namespace

std::size_t word_set::slot_of(std::string_view word) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t slot = mix(word) & mask;; slot = (slot + 1) & mask) {
        if (slots_[slot] == 0 || words_[slots_[slot] - 1] == word) return slot;
    }
}

void word_set::insert(std::string_view word) {
    if (slots_.size() < 2 * (words_.size() + 1)) {
        slots_.assign(std::max<std::size_t>(16, slots_.size() * 2), 0);
        for (std::size_t i = 0; i < words_.size(); ++i) {
            slots_[slot_of(words_[i])] = static_cast<std::uint32_t>(i + 1);
        }
    }
    std::uint32_t& slot = slots_[slot_of(word)];
    if (slot != 0) return;
    words_.emplace_back(word);
    slot = static_cast<std::uint32_t>(words_.size());
    lengths_ |= std::uint64_t{1} << std::min<std::size_t>(word.size(), 63);
}

word_filter::word_filter(const text_options& options, word_set stop_words)
    : min_length_(options.min_length), stop_words_(std::move(stop_words)) {
    if (const stemmer of = stemmer_of(options); of != stemmer::none) {
        cache_.resize(stem_slots);
        if (of == stemmer::porter) shortest_ = shortest_of_porter;
        stemmer_ = sb_stemmer_new(std::string(stemmer_names[static_cast<std::size_t>(of)]).c_str(), "UTF_8");
        if (stemmer_ == nullptr) throw std::bad_alloc();
    }
}

word_filter::~word_filter() {
    if (stemmer_ != nullptr) sb_stemmer_delete(stemmer_);
}

std::string_view word_filter::stem(std::string_view word) {
    const auto run = [this](std::string_view w) {
        if (!has_at_least(w, shortest_)) return w;
        const sb_symbol* out = sb_stemmer_stem(stemmer_, reinterpret_cast<const sb_symbol*>(w.data()),
                                               static_cast<int>(w.size()));
        if (out == nullptr) throw std::bad_alloc();
        return std::string_view(reinterpret_cast<const char*>(out),
                                static_cast<std::size_t>(sb_stemmer_length(stemmer_)));
    };
    // The stemmer counts in int, and no real word is that long.
    if (word.size() > longest_remembered) return word.size() > (1U << 20) ? word : run(word);
    stemmed& slot = cache_[mix(word) & (stem_slots - 1)];
    if (slot.word != word) {
        slot.stem = run(word);
        slot.word = word;
    }
    return slot.stem;
}

void word_filter::apply(token_list& list, dropped_words dropped) {
    const bool all_stay = dropped == dropped_words::keep_place;
    const bool passages = !all_stay && (!list.sentence_ends.empty() || !list.paragraph_ends.empty());
    kept_before_.clear();
    if (passages) kept_before_.reserve(list.tokens.size() + 1);
    kept_.resize(list.words.size());
    std::size_t count = 0, used = 0;
    for (const token& t : list.tokens) {
        if (passages) kept_before_.push_back(static_cast<std::uint32_t>(count));
        std::string_view word = list.word(t);
        const bool drop = (min_length_ > 1 && !has_at_least(word, min_length_)) || stop_words_.contains(word);
        if (drop) {
            word = {};
        } else if (stemmer_ != nullptr) {
            word = stem(word);
        }
        if (word.empty()) {
            const auto nowhere = static_cast<std::uint32_t>(used);
            if (all_stay) list.tokens[count++] = {nowhere, nowhere, t.source_begin, t.source_end};
            continue;
        }
        // A stem may be longer than its word.
        if (kept_.size() - used < word.size()) kept_.resize(kept_.size() + kept_.size() / 4 + word.size());
        copy_word(word, list.words, kept_.data() + used, kept_.size() - used);
        const auto begin = static_cast<std::uint32_t>(used);
        used += word.size();
        list.tokens[count++] = {begin, static_cast<std::uint32_t>(used), t.source_begin, t.source_end};
    }
    kept_before_.push_back(static_cast<std::uint32_t>(count));
    list.tokens.resize(count);
    kept_.resize(used);
    list.words.swap(kept_);
    if (passages) {
        move_passage_ends(list.sentence_ends);
        move_passage_ends(list.paragraph_ends);
    }
}

void word_filter::move_passage_ends(std::vector<std::uint32_t>& ends) const {
    std::size_t kept = 0;
    for (const std::uint32_t end : ends) {
        const std::uint32_t now = kept_before_[end];
        if (now > (kept == 0 ? 0 : ends[kept - 1])) ends[kept++] = now;
    }
    ends.resize(kept);
}

}  // namespace quern::text
