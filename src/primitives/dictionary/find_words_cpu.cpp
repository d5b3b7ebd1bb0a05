// SPDX-License-Identifier: Apache-2.0
// Look-ups wait for memory: the key's last group, the block's offset, the block. So a thread takes many words together
// through each of the steps, and asks for the memory of the next step for all of them before it takes it for the first.
#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/parallel.hpp"
#include "primitives/dictionary/dictionary.hpp"
#include "primitives/doors.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives {
namespace {

std::uint64_t load_key(const char* from) {
    std::uint64_t key;
    std::memcpy(&key, from, sizeof key);
    return key;
}

/// How many of `count` keys are less: without a branch, since the answer cannot be guessed.
std::uint64_t count_below(const char* keys, std::uint64_t count, std::uint64_t key) {
    std::uint64_t below = 0;
    for (std::uint64_t i = 0; i < count; ++i) below += load_key(keys + i * 8) < key ? 1 : 0;
    return below;
}
std::uint64_t count_below_of_group(const char* keys, std::uint64_t key) {
    return count_below(keys, key_index::fan_out, key);
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
                at_once[i] = begin(begins[first + i], ends[first + i]);
            }
            for (std::size_t i = 0; i < count; ++i) narrow(at_once[i]);
            for (std::size_t i = 0; i < count; ++i) ids[first + i] = end(at_once[i]);
        }
    }

  private:
    static constexpr std::size_t most_at_once = 32;

    search begin(std::uint32_t from, std::uint32_t to) const {
        if (from > to || to > text_.size()) throw usage_error("find_words: a word lies outside the text");
        search s{text_.data() + from, to - from, 0, 0, 0};
        if (text_.size() - from >= 8 &&
            s.length > 0) {  // eight bytes may be read, whatever of them is the word's
            static_assert(std::endian::native == std::endian::little);
            std::memcpy(&s.key, s.word, 8);
            s.key = __builtin_bswap64(s.key);
            if (s.length < 8) s.key &= ~std::uint64_t{0} << (64 - 8 * s.length);
        } else {
            s.key = front_coding::key_of(s.word, s.length);
        }
        s.group = index_.first_group(s.key);
        __builtin_prefetch(index_.keys_of(s.group));
        __builtin_prefetch(index_.keys_of(s.group) + 64);
        const std::uint64_t block = s.group * key_index::fan_out;
        __builtin_prefetch(list_.offsets.empty() ? static_cast<const void*>(list_.wide_offsets.data() + block)
                                                 : list_.offsets.data() + block);
        return s;
    }

    void narrow(search& s) const {
        s.before = index_.count_in_group(s.group, s.key);
        const std::uint8_t* const likely = block(s.before == 0 ? 0 : s.before - 1).begin;
        __builtin_prefetch(likely);
        __builtin_prefetch(likely + 64);
        __builtin_prefetch(likely + 127);
    }

    std::uint32_t end(const search& s) const {
        const front_coding::bound found = front_coding::find_from(
            [this](std::uint64_t i) { return list_.keys[i]; }, [this](std::uint64_t i) { return block(i); },
            list_.size, s.before, s.key, s.word, s.length);
        return found.equal ? found.rank : list_.size;
    }

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
