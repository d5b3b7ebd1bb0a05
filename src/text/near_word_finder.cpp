// SPDX-License-Identifier: Apache-2.0
// The scan over the sketches is compiled once for each instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "text/near_word_finder.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "base/utf8.hpp"
#include "hwy/highway.h"
#include "text/near_word_finder.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::text {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void scan(const std::uint64_t* letters, const std::uint8_t* lengths, std::size_t size, word_sketch of,
          std::uint32_t bound, std::vector<std::uint32_t>& positions) {
    const hn::CappedTag<std::uint64_t, 8> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto own = hn::Set(d, of.letters), most = hn::Set(d, bound);
    const auto take = [&](std::size_t i) {
        const std::uint32_t apart = lengths[i] > of.length ? std::uint32_t{lengths[i]} - of.length
                                                           : std::uint32_t{of.length} - lengths[i];
        if (apart <= bound) positions.push_back(static_cast<std::uint32_t>(i));
    };
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes) {
        const auto other = hn::LoadU(d, letters + i);
        const auto added = hn::PopulationCount(hn::AndNot(own, other));
        const auto removed = hn::PopulationCount(hn::AndNot(other, own));
        const auto far = hn::Gt(hn::Max(added, removed), most);
        if (HWY_LIKELY(hn::AllTrue(d, far))) continue;
        std::uint8_t bits[8] = {};
        hn::StoreMaskBits(d, hn::Not(far), bits);
        for (unsigned rest = bits[0] & ((1U << lanes) - 1); rest != 0; rest &= rest - 1)
            take(i + static_cast<std::size_t>(std::countr_zero(rest)));
    }
    for (; i < size; ++i) {
        const auto count = [](std::uint64_t set) { return static_cast<std::uint32_t>(std::popcount(set)); };
        if (count(letters[i] & ~of.letters) <= bound && count(of.letters & ~letters[i]) <= bound) take(i);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::text
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::text {
namespace {

HWY_EXPORT(scan);

/// A character as a number: its bytes.
std::uint32_t next_character(std::string_view text, std::size_t& at) {
    const std::size_t begin = at;
    next_utf8(text, at);
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, text.data() + begin, std::min(at - begin, sizeof bytes));
    return bytes;
}

/// One of 32 places; letters from a to z have their own.
std::uint32_t place_of(std::uint32_t character) {
    return character < 0x80 ? character & 31U : (character * 0x9E3779B1U) >> 27;
}

/// The distance to one word, by the last three rows of the table.
class distance_to {
  public:
    explicit distance_to(std::string_view word) {
        for (std::size_t at = 0; at < word.size();) word_.push_back(next_character(word, at));
        for (auto& row : rows_) row.resize(word_.size() + 1);
    }

    /// More than `bound` if it is.
    std::uint32_t of(std::string_view other, std::uint32_t bound) {
        for (std::size_t j = 0; j <= word_.size(); ++j) rows_[0][j] = static_cast<std::uint32_t>(j);
        std::uint32_t before = 0;  // the character before
        std::uint32_t min_above = 0;
        std::size_t i = 0;
        for (std::size_t at = 0; at < other.size();) {
            const std::uint32_t character = next_character(other, at);
            const std::uint32_t least = fill_row(++i, character, before);
            // Two characters transposed skip a row.
            if (least > bound && min_above >= bound) return bound + 1;
            min_above = least;
            before = character;
        }
        return rows_[i % 3].back();
    }

  private:
    std::uint32_t fill_row(std::size_t i, std::uint32_t character, std::uint32_t before) {
        auto& row = rows_[i % 3];
        const auto& above = rows_[(i + 2) % 3];
        const auto& second = rows_[(i + 1) % 3];
        std::uint32_t least = row[0] = static_cast<std::uint32_t>(i);
        for (std::size_t j = 1; j < row.size(); ++j) {
            std::uint32_t cell = std::min(
                {above[j] + 1, row[j - 1] + 1, above[j - 1] + (character == word_[j - 1] ? 0U : 1U)});
            if (i > 1 && j > 1 && character == word_[j - 2] && before == word_[j - 1])
                cell = std::min(cell, second[j - 2] + 1);
            row[j] = cell;
            least = std::min(least, cell);
        }
        return least;
    }

    std::vector<std::uint32_t> word_;
    std::array<std::vector<std::uint32_t>, 3> rows_;
};

}  // namespace

word_sketch sketch_of(std::string_view word) {
    constexpr std::uint64_t longest = 255;
    std::uint32_t once = 0, twice = 0;
    std::uint64_t length = 0;
    for (std::size_t at = 0; at < word.size(); ++length) {
        const std::uint32_t bit = std::uint32_t{1} << place_of(next_character(word, at));
        twice |= once & bit;
        once |= bit;
    }
    return {std::uint64_t{twice} << 32 | once, static_cast<std::uint8_t>(std::min(length, longest))};
}

void collect_near(const std::uint64_t* letters, const std::uint8_t* lengths, std::size_t size, word_sketch of,
                  std::uint32_t bound, std::vector<std::uint32_t>& positions) {
    HWY_DYNAMIC_DISPATCH(scan)(letters, lengths, size, of, bound, positions);
}

const near_word_finder::sketches& near_word_finder::made(const context& ctx) const {
    if (const auto* const all = made_.load(std::memory_order_acquire)) return *all;
    const std::scoped_lock lock(making_);
    if (owned_) return *owned_;
    auto all = std::make_unique<sketches>();
    all->letters.reserve(words_.size());
    all->lengths.reserve(words_.size());
    dictionary_view::walker walker(words_, 0);
    for (std::optional<std::string_view> word = walker.next(); word; word = walker.next()) {
        if (all->letters.size() % 4096 == 0) ctx.check_stop();
        const word_sketch of = sketch_of(*word);
        all->letters.push_back(of.letters);
        all->lengths.push_back(of.length);
    }
    owned_ = std::move(all);
    made_.store(owned_.get(), std::memory_order_release);
    return *owned_;
}

std::vector<near_word> near_word_finder::find(std::string_view word, std::uint32_t bound,
                                              const context& ctx) const {
    if (words_.size() == 0) return {};
    if (words_.size() > max_words) return near_words(words_, word, bound, ctx);
    const sketches& all = made(ctx);
    std::vector<std::uint32_t> positions;
    collect_near(all.letters.data(), all.lengths.data(), all.letters.size(), sketch_of(word), bound,
                 positions);
    ctx.check_stop();
    distance_to distance(word);
    std::vector<near_word> near;
    std::optional<dictionary_view::walker> walker;
    std::uint32_t next = 0;  // of the walker
    constexpr std::uint32_t cheaper_to_read = 16;
    for (const std::uint32_t id : positions) {
        if (!walker || id - next > cheaper_to_read) {
            walker.emplace(words_, id);
            next = id;
        }
        std::string_view other;
        for (; next <= id; ++next) other = *walker->next();
        if (const std::uint32_t edits = distance.of(other, bound); edits <= bound)
            near.push_back({id, edits});
    }
    return near;
}

}  // namespace quern::text
#endif
