// SPDX-License-Identifier: Apache-2.0
// Look-ups in packed lists (packed_dictionary.hpp), compiled once for each instruction set; Highway chooses at run time. The
// steps of a look-up have no unpredictable branch, so the processor works on the next word while it waits for the memory of
// this one. Many words take each step together and prefetch the memory of the next step.
#include "primitives/dictionary/packed_dictionary.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/dictionary/packed_find.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>

#include "hwy/highway.h"
#include "primitives/dictionary/packed_find.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::primitives {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using packed::fan_out;
using packed::load;

constexpr std::uint64_t byte_masks[9] = {
    0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff, ~std::uint64_t{0}};

/// A word whose letters may be read 64 bytes past their end; the first eight of these are zero.
struct queried_word {
    const std::uint8_t* letters;
    std::uint32_t length;
    std::uint8_t fingerprint;
};

/// The current position in the tree.
struct tree_position {
    std::uint32_t node;  ///< of pages
    std::uint32_t page;
    bool unsure;        ///< a key above was the word's: the next separator may be greater
    bool key_is_equal;  ///< the page's key is the word's: it may be one page earlier
};

/// The number of sixteen ascending keys that are at most `key`.
template <class Key>
HWY_INLINE std::uint32_t count_at_most(const std::uint8_t* keys, Key key) {
    const hn::CappedTag<Key, fan_out> d;
    const auto searched = hn::Set(d, key);
    std::size_t greater = 0;
    for (std::size_t i = 0; i < fan_out; i += hn::Lanes(d)) {
        const auto some = hn::LoadU(d, reinterpret_cast<const Key*>(keys) + i);
        greater += hn::CountTrue(d, hn::Gt(some, searched));
    }
    return fan_out - static_cast<std::uint32_t>(greater);
}

HWY_INLINE std::uint64_t key_at(const queried_word& word, std::uint8_t skip) {
    return __builtin_bswap64(load<std::uint64_t>(word.letters + std::min<std::uint32_t>(skip, word.length)));
}

/// Descends the levels above the pages to the node of pages.
HWY_INLINE void descend(std::span<const packed_dictionary::level> levels, const queried_word& word,
                        tree_position& at) {
    std::uint32_t node = 0;
    bool unsure = false;
    for (std::size_t l = levels.size() - 1; l > 0; --l) {
        const packed_dictionary::level& level = levels[l];
        const std::uint64_t key = key_at(word, level.skips[node]);
        const std::uint32_t below = count_at_most(level.keys + std::uint64_t{node} * fan_out * 8, key);
        node = std::min(node * fan_out + std::max(below, 1U), level.count) - 1;
        unsure |= load<std::uint64_t>(level.keys + std::uint64_t{node} * 8) == key;
    }
    at.node = node;
    at.unsure = unsure;
}

HWY_INLINE void choose_page(const packed_dictionary::level& pages, const queried_word& word,
                            tree_position& at) {
    const auto key = static_cast<std::uint32_t>(key_at(word, pages.skips[at.node]) >> 32);
    const std::uint32_t below = count_at_most(pages.keys + std::uint64_t{at.node} * fan_out * 4, key);
    at.page = std::min(at.node * fan_out + std::max(below, 1U), pages.count) - 1;
    at.key_is_equal = load<std::uint32_t>(pages.keys + std::uint64_t{at.page} * 4) == key;
}

/// Whether the codes at `codes` encode the rest of the word after its first `position` letters.
HWY_INLINE bool goes_on(const queried_word& word, std::uint32_t position, const std::uint8_t* codes,
                        std::uint32_t count, packed::symbols symbols) {
    std::uint64_t differ = 0;
    std::uint64_t some = load<std::uint64_t>(codes);
    some &= count >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * count) - 1;
    std::uint32_t left = count;
    for (;;) {
        // Four at a time; those past the last are code 0, without letters.
        for (unsigned i = 0; i < 4; ++i) {
            const auto code = static_cast<std::uint8_t>(some >> 8 * i);
            const std::uint32_t length = symbols.length(code);
            differ |=
                (symbols.letters(code) ^ load<std::uint64_t>(word.letters + position)) & byte_masks[length];
            position += length;
        }
        if (left <= 4) return differ == 0 && position == word.length;
        if (position > word.length) return false;
        left -= 4;
        codes += 4;
        some = load<std::uint64_t>(codes);
        some &= left >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * left) - 1;
    }
}

/// The position of a word's letters is known once the page's head arrives: prefetches both lines at once.
HWY_INLINE void fetch_page(const std::uint8_t* page) {
    for (std::uint32_t line = 0; line < packed::page_bytes; line += 64) __builtin_prefetch(page + line);
}

/// The number of codes of the words before word i of a page, and of word i, from counts of four bits.
struct code_range {
    std::uint32_t before, count;
};
HWY_INLINE code_range codes_of_four_bits(const std::uint8_t* counts, std::uint32_t i) {
    const hn::CappedTag<std::uint8_t, 32> d;
    const hn::Repartition<std::uint64_t, decltype(d)> sums_d;
    auto sums = hn::Zero(sums_d);
    for (std::size_t from = 0; from < (packed::max_words + 1) / 2; from += hn::Lanes(d)) {
        const auto below = hn::FirstN(d, i / 2 > from ? i / 2 - from : 0);
        const auto pairs = hn::IfThenElseZero(below, hn::LoadU(d, counts + from));
        sums = hn::Add(sums, hn::SumsOf8(hn::Add(hn::And(pairs, hn::Set(d, 15)), hn::ShiftRight<4>(pairs))));
    }
    const std::uint32_t own = counts[i / 2];
    return {
        static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(sums_d, sums))) + (i % 2 != 0 ? own & 15U : 0),
        own >> i % 2 * 4 & 15U};
}
HWY_INLINE code_range codes_of_eight_bits(const std::uint8_t* counts, std::uint32_t i) {
    std::uint32_t before = 0;
    for (std::uint32_t w = 0; w < i; ++w) before += counts[w];
    return {before, counts[i]};
}

/// Whether the word begins with the `count` letters at `letters`.
HWY_INLINE bool begins_with(const queried_word& word, const std::uint8_t* letters, std::uint32_t count) {
    if (count > word.length) return false;
    if (count > 16) return std::memcmp(letters, word.letters, count) == 0;
    const std::uint64_t low = load<std::uint64_t>(letters) ^ load<std::uint64_t>(word.letters);
    const std::uint64_t high = load<std::uint64_t>(letters + 8) ^ load<std::uint64_t>(word.letters + 8);
    const std::uint32_t in_low = std::min(count, 8U);
    return ((low & byte_masks[in_low]) | (high & byte_masks[count - in_low])) == 0;
}

/// The word's id, or `none` if it is not on this page, or undetermined if the page has no codes.
HWY_INLINE std::uint32_t look_up(const std::uint8_t* page, packed::symbols symbols, const queried_word& word,
                                 std::uint32_t none) {
    const hn::CappedTag<std::uint8_t, packed::max_words> d;
    const std::uint32_t count = page[4] & 63U, begins = page[5];
    const auto what = static_cast<packed::form>(page[4] >> 6);
    if (what > packed::form::many_codes) [[unlikely]]
        return packed_find::undetermined;
    const auto queried = hn::Set(d, word.fingerprint);
    std::uint64_t alike = 0;
    for (std::size_t i = 0; i < packed::max_words; i += hn::Lanes(d)) {
        std::uint8_t bits[8] = {};
        const auto some = hn::LoadU(d, page + packed::page_head + i);
        hn::StoreMaskBits(d, hn::Eq(some, queried), bits);
        alike |= load<std::uint64_t>(bits) << i;
    }
    alike &= ~std::uint64_t{0} >> (64 - count);
    const bool few = what == packed::form::few_codes;
    const std::uint8_t* const counts = page + packed::page_head + count;
    const std::uint8_t* const beginning = counts + (few ? (count + 1) / 2 : count);
    if (alike == 0 || !begins_with(word, beginning, begins)) return none;
    for (; alike != 0; alike &= alike - 1) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(alike));
        const code_range codes = few ? codes_of_four_bits(counts, i) : codes_of_eight_bits(counts, i);
        if (goes_on(word, begins, beginning + begins + codes.before, codes.count, symbols))
            return load<std::uint32_t>(page) + i;
    }
    return none;
}

/// Searches the previous pages for a word not on the page of its key: needed if keys are too short to distinguish.
std::uint32_t look_before(const packed_dictionary& list, const queried_word& word, tree_position at) {
    if (at.unsure) return packed_find::undetermined;
    const packed_dictionary::level& pages = list.levels()[0];
    while (at.key_is_equal && at.page % fan_out != 0) {
        const auto key = load<std::uint32_t>(pages.keys + std::uint64_t{at.page} * 4);
        --at.page;
        const std::uint32_t id = look_up(list.page(at.page), list.symbols_of(at.page), word, list.size());
        if (id != list.size()) return id;
        at.key_is_equal = load<std::uint32_t>(pages.keys + std::uint64_t{at.page} * 4) == key;
    }
    return list.size();
}

HWY_INLINE std::uint32_t finish(const packed_dictionary& list, const queried_word& word,
                                const tree_position& at) {
    const std::uint32_t id = look_up(list.page(at.page), list.symbols_of(at.page), word, list.size());
    if (id != list.size() || !(at.key_is_equal || at.unsure)) return id;
    return look_before(list, word, at);
}

/// Space for a word and what may be read after it.
struct padded_word {
    static constexpr std::uint32_t longest = 32;
    std::uint8_t letters[longest + 32];
};

HWY_INLINE queried_word copied(const std::uint8_t* letters, std::uint32_t length, padded_word& to) {
    const hn::CappedTag<std::uint8_t, padded_word::longest> d;
    if constexpr (HWY_TARGET <= HWY_AVX3) {  // masked bytes are not read
        hn::StoreU(hn::MaskedLoad(hn::FirstN(d, length), d, letters), d, to.letters);
        hn::StoreU(hn::Zero(d), d, to.letters + padded_word::longest);
    } else {
        std::memset(to.letters, 0, sizeof to.letters);
        std::memcpy(to.letters, letters, length);
    }
    return {to.letters, length, packed::fingerprint(to.letters, length)};
}

HWY_INLINE std::uint32_t find_padded(const packed_dictionary& list, const queried_word& word) {
    tree_position at{};
    descend(list.levels(), word, at);
    choose_page(list.levels()[0], word, at);
    fetch_page(list.page(at.page));
    return finish(list, word, at);
}

std::uint32_t find_one(const packed_dictionary& list, const std::uint8_t* letters, std::uint32_t length) {
    if (length <= padded_word::longest) [[likely]] {
        padded_word words[2];  // codes of another word may continue by 32 letters
        return find_padded(list, copied(letters, length, words[0]));
    }
    std::uint8_t padded[packed_find::longest + 64] = {};
    std::memcpy(padded, letters, length);
    return find_padded(list, {padded, length, packed::fingerprint(padded, length)});
}

void find_some(const packed_dictionary& list, const std::uint8_t* text, const std::uint32_t* begins,
               const std::uint32_t* ends, std::size_t count, std::uint32_t* ids) {
    padded_word capacity[packed_find::at_once + 1];
    queried_word words[packed_find::at_once];
    tree_position at[packed_find::at_once];
    const std::span<const packed_dictionary::level> levels = list.levels();
    const packed_dictionary::level& pages = levels[0];
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t length = ends[i] - begins[i];
        words[i] = copied(text + begins[i], length <= padded_word::longest ? length : 0, capacity[i]);
        descend(levels, words[i], at[i]);
        __builtin_prefetch(pages.keys + std::uint64_t{at[i].node} * fan_out * 4);
        __builtin_prefetch(pages.skips + at[i].node);
    }
    for (std::size_t i = 0; i < count; ++i) {
        choose_page(pages, words[i], at[i]);
        const std::uint8_t* const page = list.page(at[i].page);
        fetch_page(page);
        if (at[i].key_is_equal) fetch_page(page - packed::page_bytes);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t length = ends[i] - begins[i];
        if (length <= padded_word::longest) [[likely]] {
            ids[i] = finish(list, words[i], at[i]);
        } else {
            ids[i] = length <= packed_find::longest ? find_one(list, text + begins[i], length)
                                                    : packed_find::undetermined;
        }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives {

HWY_EXPORT(find_one);
HWY_EXPORT(find_some);

std::optional<std::uint32_t> packed_dictionary::find(std::string_view word) const {
    if (size_ == 0) return std::nullopt;
    const auto* const letters = reinterpret_cast<const std::uint8_t*>(word.data());
    if (word.size() <= packed_find::longest) {
        const std::uint32_t id =
            HWY_DYNAMIC_DISPATCH(find_one)(*this, letters, static_cast<std::uint32_t>(word.size()));
        if (id < size_) return id;
        if (id == size_) return std::nullopt;
    }
    const bound found = lower_bound(word);
    if (!found.equal) return std::nullopt;
    return found.rank;
}

void packed_find::some(const packed_dictionary& list, const std::uint8_t* text,
                       std::span<const std::uint32_t> begins, std::span<const std::uint32_t> ends,
                       std::span<std::uint32_t> ids) {
    if (list.size() == 0) std::ranges::fill(ids, 0U);
    if (list.size() == 0) return;
    for (std::size_t first = 0; first < ids.size(); first += at_once) {
        const std::size_t count = std::min(at_once, ids.size() - first);
        HWY_DYNAMIC_DISPATCH(find_some)
        (list, text, begins.data() + first, ends.data() + first, count, ids.data() + first);
        for (std::size_t i = first; i < first + count; ++i) {
            if (ids[i] <= list.size()) continue;
            const auto* const letters = reinterpret_cast<const char*>(text + begins[i]);
            const packed_dictionary::bound found = list.lower_bound({letters, ends[i] - begins[i]});
            ids[i] = found.equal ? found.rank : list.size();
        }
    }
}

}  // namespace quern::primitives
#endif
