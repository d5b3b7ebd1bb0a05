// SPDX-License-Identifier: Apache-2.0
// Look-ups wait for memory: the key's last group, the block's offset, the block. So a thread takes many words together
// through each of the steps, and asks for the memory of the next step for all of them before it takes it for the first.
#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/parallel.hpp"
#include "primitives/dictionary/dictionary.hpp"
#include "primitives/dictionary/fast_block.hpp"
#include "primitives/doors.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives {
namespace {

std::uint64_t load_key(const char* from) {
    std::uint64_t key;
    std::memcpy(&key, from, sizeof key);
    return key;
}

/// How many of `count` rising keys are less: halves without a branch, since the answer cannot be guessed.
std::uint64_t count_below(const char* keys, std::uint64_t count, std::uint64_t key) {
    std::uint64_t below = 0;
    while (count > 0) {
        const std::uint64_t half = (count + 1) / 2;
        below += load_key(keys + (below + half - 1) * 8) < key ? half : 0;
        count -= half;
    }
    return below;
}
std::uint64_t count_below_of_group(const char* keys, std::uint64_t key) {
    static_assert(key_index::fan_out == 16);
    std::uint64_t below = 0;
#pragma GCC unroll 4
    for (std::uint64_t half = 8; half > 0; half /= 2) {
        below += static_cast<std::uint64_t>(load_key(keys + (below + half - 1) * 8) < key) * half;
    }
    return below + (load_key(keys + below * 8) < key ? 1 : 0);
}

}  // namespace

key_index::key_index(const char* keys, std::uint64_t count) : keys_(keys), count_(count) {
    const auto sampled = [](const char* from, std::uint64_t size) {
        const std::uint64_t groups = (size + fan_out - 1) / fan_out;
        std::vector<std::uint64_t> level((groups + fan_out - 1) / fan_out * fan_out, ~std::uint64_t{0});
        for (std::uint64_t g = 0; g < groups; ++g) level[g] = load_key(from + g * fan_out * 8);
        return level;
    };
    const char* below = keys;
    for (std::uint64_t size = count; size > fan_out;) {
        levels_.push_back(sampled(below, size));
        size = (size + fan_out - 1) / fan_out;
        below = reinterpret_cast<const char*>(levels_.back().data());
    }
    std::ranges::reverse(levels_);
}

std::uint64_t key_index::first_group(std::uint64_t key) const {
    std::uint64_t group = 0;
    for (const std::vector<std::uint64_t>& level : levels_) {
        const auto* const keys = reinterpret_cast<const char*>(level.data() + group * fan_out);
        const std::uint64_t below = group * fan_out + count_below_of_group(keys, key);
        group = below == 0 ? 0 : below - 1;
    }
    return group;
}

std::uint64_t key_index::count_in_group(std::uint64_t group, std::uint64_t key) const {
    const std::uint64_t begin = group * fan_out, left = count_ - begin;
    if (left >= fan_out) [[likely]]
        return begin + count_below_of_group(keys_of(group), key);
    return begin + count_below(keys_of(group), left, key);
}

namespace {

/// One word on its way through the steps.
struct search {
    const std::uint8_t* word;
    std::uint64_t length, key, group;
    std::uint64_t before;  ///< blocks with a lesser key
    std::uint64_t which;   ///< block the word would be in
    front_coding::block_bytes bytes;
    bool fast;  ///< its headers may be read, and the word by eight bytes
};

class finder {
  public:
    finder(const word_list<cpu_place>& list, const key_index& index, std::span<const std::uint8_t> text)
        : list_(list), index_(index), text_(text) {}

    void find(std::span<const std::uint32_t> begins, std::span<const std::uint32_t> ends,
              std::span<std::uint32_t> ids) const {
        search at_once[most_at_once];
        for (std::size_t first = 0; first < ids.size(); first += most_at_once) {
            const std::size_t count = std::min(most_at_once, ids.size() - first);
            for (std::size_t i = 0; i < count; ++i) {
                begin(at_once[i], begins[first + i], ends[first + i]);
            }
            for (std::size_t i = 0; i < count; ++i) narrow(at_once[i]);
            for (std::size_t i = 0; i < count; ++i) choose_block(at_once[i]);
            for (std::size_t i = 0; i < count; i += side_by_side) {
                const std::size_t some = std::min(side_by_side, count - i);
                end({at_once + i, some}, ids.subspan(first + i, some));
            }
        }
    }

  private:
    static constexpr std::size_t most_at_once = 32;
    static constexpr std::size_t side_by_side = 4;  // headers: more than that leave the registers

    void begin(search& s, std::uint32_t from, std::uint32_t to) const {
        if (from > to || to > text_.size()) throw usage_error("find_words: a word lies outside the text");
        s.word = text_.data() + from;
        s.length = to - from;
        s.fast = text_.size() - to >= front_coding::read_beyond_word;
        if (s.fast && s.length > 0) {
            static_assert(std::endian::native == std::endian::little);
            std::memcpy(&s.key, s.word, 8);
            s.key = __builtin_bswap64(s.key);
            s.key &= ~std::uint64_t{0} << (64 - 8 * std::min<std::uint64_t>(s.length, 8));
        } else {
            s.key = front_coding::key_of(s.word, s.length);
        }
        s.group = index_.first_group(s.key);
        __builtin_prefetch(index_.keys_of(s.group));
        __builtin_prefetch(index_.keys_of(s.group) + 64);
        const std::uint64_t block = s.group * key_index::fan_out;
        __builtin_prefetch(list_.offsets.empty() ? static_cast<const void*>(list_.wide_offsets.data() + block)
                                                 : list_.offsets.data() + block);
    }

    void narrow(search& s) const {
        s.before = index_.count_in_group(s.group, s.key);
        const std::uint8_t* const likely = block(s.before == 0 ? 0 : s.before - 1).begin;
        __builtin_prefetch(likely);
        __builtin_prefetch(likely + 64);
    }

    void choose_block(search& s) const {
        s.which = front_coding::block_of(
            [this](std::uint64_t i) { return list_.keys[i]; }, [this](std::uint64_t i) { return block(i); },
            front_coding::blocks_for(list_.size), s.before, s.key, s.word, s.length);
        s.bytes = block(s.which);
        s.fast = s.fast && front_coding::may_read_headers(s.bytes, list_end(), words_in(s.which));
    }

    void end(std::span<const search> some, std::span<std::uint32_t> ids) const {
        static constexpr std::uint8_t nothing[front_coding::fast_block_bytes] = {};
        const std::uint8_t* firsts[side_by_side];
        for (std::size_t i = 0; i < side_by_side; ++i) {
            firsts[i] =
                i < some.size() && some[i].fast ? some[i].bytes.begin + 1 + *some[i].bytes.begin : nothing;
        }
        front_coding::block_headers headers[side_by_side];
        front_coding::read_headers<side_by_side>(firsts, headers);
        for (std::size_t i = 0; i < some.size(); ++i) {
            const search& s = some[i];
            const front_coding::bound found = front_coding::in_list(
                s.fast ? front_coding::lower_bound(s.bytes, headers[i], s.word, s.length)
                       : front_coding::lower_bound(s.bytes.begin, s.bytes.end, words_in(s.which), s.word,
                                                   s.length),
                s.which);
            ids[i] = found.equal ? found.rank : list_.size;
        }
    }

    std::uint32_t words_in(std::uint64_t block) const { return front_coding::words_in(block, list_.size); }
    const std::uint8_t* list_end() const { return list_.blocks.data() + list_.blocks.size(); }

    front_coding::block_bytes block(std::uint64_t i) const {
        const std::uint8_t* const all = list_.blocks.data();
        if (!list_.offsets.empty()) return {all + list_.offsets[i], all + list_.offsets[i + 1]};
        return {all + list_.wide_offsets[i], all + list_.wide_offsets[i + 1]};
    }

    const word_list<cpu_place>& list_;
    const key_index& index_;
    std::span<const std::uint8_t> text_;
};

}  // namespace

void find_words(cpu_place& place, const word_list<cpu_place>& list, const key_index& index,
                std::span<const std::uint8_t> text, std::span<const std::uint32_t> begins,
                std::span<const std::uint32_t> ends, std::span<std::uint32_t> ids) {
    check_same_size("find_words", "begins", begins.size(), "ends", ends.size());
    check_same_size("find_words", "begins", begins.size(), "ids", ids.size());
    if (list.size == 0) {
        std::ranges::fill(ids, 0);
        return;
    }
    const finder find(list, index, text);
    const std::size_t pieces = pieces_for(place, ids.size(), 1 << 12, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(ids.size(), pieces, p);
        const std::size_t count = end - begin;
        find.find(begins.subspan(begin, count), ends.subspan(begin, count), ids.subspan(begin, count));
    });
}

}  // namespace quern::primitives
