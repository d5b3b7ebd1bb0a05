// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/gram_sketch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/parallel.hpp"

namespace quern::near_duplicates_detail {
namespace {

// A gram is rare if an average text of the scale holds at most so many. Found by trying (docs/near_duplicates.md).
constexpr double max_expected(unsigned scale) {
    return scale < long_scale ? 0.5 : 1;
}
constexpr unsigned max_length(unsigned scale) {
    return scale <= long_scale ? 5 : max_gram_length;
}

std::uint64_t load(const std::uint8_t* at) {
    std::uint64_t units;
    std::memcpy(&units, at, sizeof(units));
    return units;
}

}  // namespace

gram_rules::gram_rules(cpu_place& place, std::span<const std::uint8_t> sample, unsigned first_scale,
                       unsigned last_scale)
    : first_(first_scale) {
    constexpr std::size_t leads = std::size_t{1} << gram_table::lead_bits;
    by_scale_.resize(last_scale - first_scale + 1);
    for (gram_table& table : by_scale_) {
        table.three.resize(gram_table::three_words);
        table.longer.assign(gram_table::longer_words, 0xaaaaaaaa);  // 5 units
    }
    if (sample.size() < min_sample) return;
    const std::size_t positions = sample.size() - 7;
    const unsigned count_bits = std::min(static_cast<unsigned>(std::bit_width(positions)), 20u);
    // How often each gram occurs, by length; several grams share a count.
    std::array<std::vector<std::uint32_t>, max_gram_length + 1> counts;
    // For each lead of 4 units: its occurrences, and the counts of the grams there, added up.
    std::array<std::vector<std::uint64_t>, max_gram_length + 1> sums;
    std::vector<std::uint32_t> of_three(leads), occurrences(leads);
    for_each_piece(place, max_gram_length - 1, [&](std::size_t p) {
        if (p == 0) {
            for (std::size_t i = 0; i < positions; ++i) {
                ++of_three[gram_table::lead_of_three(load(sample.data() + i))];
                ++occurrences[gram_table::lead_of_four(load(sample.data() + i))];
            }
            return;
        }
        const unsigned length = 2 + static_cast<unsigned>(p);
        const auto slot = [&](std::uint64_t units) {
            return static_cast<std::size_t>(gram_hash(units, length) >> (32 - count_bits));
        };
        counts[length].resize(std::size_t{1} << count_bits);
        for (std::size_t i = 0; i < positions; ++i) ++counts[length][slot(load(sample.data() + i))];
        sums[length].resize(leads);
        for (std::size_t i = 0; i < positions; ++i) {
            const std::uint64_t units = load(sample.data() + i);
            const std::size_t at =
                length == 3 ? gram_table::lead_of_three(units) : gram_table::lead_of_four(units);
            sums[length][at] += counts[length][slot(units)];
        }
    });
    for_each_piece(place, by_scale_.size(), [&](std::size_t p) {
        const unsigned scale = first_scale + static_cast<unsigned>(p);
        gram_table& table = by_scale_[p];
        const double typical = 1.5 * static_cast<double>(std::uint64_t{1} << scale);
        const double most = std::max(1.0, max_expected(scale) * static_cast<double>(positions) / typical);
        const auto is_rare = [&](std::uint64_t sum, std::uint32_t times) {
            return static_cast<double>(sum) <= most * times;  // unseen grams are rare
        };
        std::ranges::fill(table.longer, 0);
        for (std::size_t l = 0; l < leads; ++l) {
            if (is_rare(sums[3][l], of_three[l])) table.three[l / 32] |= 1u << (l % 32);
            for (unsigned length = 4; length <= max_length(scale); ++length) {
                if (!is_rare(sums[length][l], occurrences[l])) continue;
                table.longer[l / 16] |= (length - 3) << (2 * (l % 16));
                break;
            }
        }
    });
}

template <class Unit>
void gram_sketcher::set(std::span<const Unit> text) {
    text_.resize(text.size() + 8);
    for (std::size_t i = 0; i < text.size(); ++i) text_[i] = folded(text[i]);
    std::fill(text_.end() - 8, text_.end(), 0);
    scale_ = 0;
}

template void gram_sketcher::set(std::span<const std::uint8_t>);
template void gram_sketcher::set(std::span<const std::uint32_t>);

void gram_sketcher::cut(unsigned scale) {
    if (scale_ == scale) return;
    scale_ = scale;
    const unsigned bits = number_bits(scale);
    if (seen_.size() < std::size_t{1} << bits) seen_.resize(std::size_t{1} << bits);
    const std::size_t n = text_.size() - 8;
    if (at_.size() < n) {
        at_.resize(n);
        numbers_.resize(n);
        chosen_.resize(n);
    }
    count_ = cut_grams(text_.data(), n, rules_->at(scale), bits, at_.data(), numbers_.data());
}

namespace {

/// Sets the bits of keys in a bitmap. Numbers must be forgotten before the next bitmap.
class key_bits {
  public:
    key_bits(std::uint8_t* seen, unsigned scale, std::uint64_t* to)
        : seen_(seen), mask_(bitmap_bits(scale) - 1), to_(to) {
        std::fill_n(to, bitmap_words(scale), 0);
    }
    /// Whether the bit is new.
    bool add(std::uint32_t number) {
        const std::uint32_t times = seen_[number];
        seen_[number] = static_cast<std::uint8_t>(times + (times != max_times ? 1 : 0));
        const std::size_t bit = key_bit(number, times, mask_);
        const std::uint64_t flag = std::uint64_t{1} << (bit % 64), word = to_[bit / 64];
        to_[bit / 64] = word | flag;
        return (word & flag) == 0;
    }
    void forget(std::uint32_t number) { seen_[number] = 0; }

  private:
    std::uint8_t* seen_;
    std::size_t mask_;
    std::uint64_t* to_;
};

}  // namespace

void gram_sketcher::write_all(unsigned scale, std::uint64_t* to) {
    cut(scale);
    key_bits bits(seen_.data(), scale, to);
    for (std::size_t i = 0; i < count_; ++i) bits.add(numbers_[i]);
    for (std::size_t i = 0; i < count_; ++i) bits.forget(numbers_[i]);
}

std::uint32_t gram_sketcher::write_disjoint(unsigned scale, std::uint64_t* to) {
    cut(scale);
    key_bits bits(seen_.data(), scale, to);
    // Without branches, which would be unpredictable.
    const std::size_t n = text_.size() - 8;
    std::size_t count = 0;
    for (std::size_t i = 0; i < n;) {
        const unsigned length = gram_length(at_[i]);
        chosen_[count] = gram_number(at_[i]);
        count += length != 0 ? 1 : 0;
        i += length != 0 ? length : 1;
    }
    std::uint32_t population = 0;
    for (std::size_t i = 0; i < count; ++i) population += bits.add(chosen_[i]) ? 1 : 0;
    for (std::size_t i = 0; i < count; ++i) bits.forget(chosen_[i]);
    return population;
}

}  // namespace quern::near_duplicates_detail
