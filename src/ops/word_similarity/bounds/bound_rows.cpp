// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/bounds/bound_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr std::size_t rows_at_once = 512;  ///< of a piece of work

template <class Work>
void for_rows(cpu_place& place, std::size_t rows, const Work& work) {
    const std::size_t pieces = pieces_for(place, rows, rows_at_once, 64);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range part = piece_of(rows, pieces, p);
        for (std::size_t position = part.begin; position < part.end; ++position) {
            place.ctx().check_stop();
            work(position);
        }
    });
}

}  // namespace

bound_rows::bound_rows(cpu_place& place, const fixed_rows& rows, similarity_measure measure)
    : words_(rows.words) {
    const auto entries = [&](std::uint32_t w) { return rows.offsets[w + 1] - rows.offsets[w]; };
    std::iota(words_.begin(), words_.end(), 0U);
    std::sort(words_.begin(), words_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return entries(a) != entries(b) ? entries(a) > entries(b) : a < b;
    });
    offsets_.push_back(0);
    for (const std::uint32_t w : words_) {
        if (entries(w) == 0) break;
        offsets_.push_back(offsets_.back() + entries(w));
        ++size_;
    }
    columns_ = spilled_array<std::uint32_t>(place, offsets_.back(), "columns of rows by length");
    values_ = spilled_array<std::uint16_t>(place, offsets_.back(), "weights in 16 bits");
    denominators_.resize(size_);
    slacks_.resize(size_);
    arrays_ = {measure == similarity_measure::cosine,
               offsets_,
               words_,
               denominators_,
               slacks_,
               columns_.span(),
               values_.span()};
    for_rows(place, size_, [&](std::size_t position) {
        const auto from = rows.columns.begin() + static_cast<std::ptrdiff_t>(rows.offsets[word(position)]);
        std::copy_n(from, end(position) - begin(position), columns_.data() + begin(position));
    });
    if (measure == similarity_measure::lin)
        fix_lin(place, rows);
    else
        fix_cosine(place, rows);
}

void bound_rows::fix_lin(cpu_place& place, const fixed_rows& rows) {
    float greatest = 0;
    in_checked_parts(place.ctx(), 0, rows.weights.size(), neighbouring_values,
                     [&](std::uint64_t begin, std::uint64_t end) {
                         for (std::uint64_t i = begin; i < end; ++i)
                             greatest = std::max(greatest, rows.weights[i]);
                     });
    const std::uint64_t max = greatest == 0 ? 0 : to_fixed(static_cast<double>(greatest), rows.bits);
    const std::uint64_t sum = rows.sums.empty() ? 0 : *std::max_element(rows.sums.begin(), rows.sums.end());
    const std::uint64_t longest = size_ == 0 ? 0 : end(0) - begin(0);
    int shift = 0;  // every value has 15 bits, every sum of two rows' values 31
    while (max >> shift >= 0x7fff || 2 * ((sum >> shift) + longest + 1) >= (std::uint64_t{1} << 31)) ++shift;

    const fixed_scale fixed(rows.bits);
    for_rows(place, size_, [&](std::size_t position) {
        const std::uint32_t w = word(position);
        for (std::uint64_t i = begin(position), from = rows.offsets[w]; i < end(position); ++i, ++from) {
            const std::uint64_t value = fixed(static_cast<double>(rows.weights[from]));
            values_.data()[i] = static_cast<std::uint16_t>((value >> shift) + 1);
        }
        const double denominator = std::ldexp(static_cast<double>(rows.sums[w]), -shift);
        denominators_[position] = static_cast<float>(denominator);
        slacks_[position] =
            static_cast<float>(2 * static_cast<double>(end(position) - begin(position)) / denominator);
    });
}

void bound_rows::fix_cosine(cpu_place& place, const fixed_rows& rows) {
    const double unit = std::exp2(rows.product_bits / 2.0);  // in which a product of weights is an integer
    double max_lost = 1;                                     // by a value, δ in the proof
    for (std::size_t position = 0; position < size_; ++position) {
        const auto squares = static_cast<double>(rows.squares[word(position)]);
        max_lost = std::max(max_lost, 1 + 0x1p14 / std::sqrt(squares));
    }
    for_rows(place, size_, [&](std::size_t position) {
        const std::uint32_t w = word(position);
        const double scale = 0x1p14 / std::sqrt(static_cast<double>(rows.squares[w]));
        for (std::uint64_t i = begin(position), from = rows.offsets[w]; i < end(position); ++i, ++from) {
            const double value = (static_cast<double>(rows.weights[from]) * unit + 1) * scale;
            values_.data()[i] = static_cast<std::uint16_t>(static_cast<std::uint32_t>(value) + 1);
        }
        denominators_[position] = 0x1p27F;
        const auto entries = static_cast<double>(end(position) - begin(position));
        slacks_[position] = static_cast<float>(
            (2 * 1.25 * 0x1p14 * max_lost * std::sqrt(entries) + 1.5 * entries * max_lost * max_lost) *
            0x1p-28);
    });
}

namespace {

/// A column is dense in a tile if at least one in this many of its words has it. So every list is shorter than
/// dense_length().
constexpr std::size_t dense_from = 8;
/// Only in tiles of at least this many words: in smaller ones lists are short, and a dense column is mostly padding.
constexpr std::size_t dense_tile_words = 256;

}  // namespace

bool is_dense(std::size_t words, std::size_t that_have_it) {
    return words >= dense_tile_words && that_have_it * dense_from >= words;
}

std::uint32_t dense_length_of(std::size_t words) {
    if (words < dense_tile_words) return 0xffffffff;
    return static_cast<std::uint32_t>((words + kernel_group - 1) / kernel_group * kernel_group / 2);
}

bound_tile::bound_tile(cpu_place& place, const bound_rows& rows, std::uint32_t columns, item_range which)
    : words(which),
      dense_length_(dense_length_of(size())),
      starts_(place, std::size_t{columns} + 1, "columns of a tile") {
    std::vector<std::uint32_t> next(columns);
    const std::uint64_t begin = rows.begin(words.begin), end = rows.end(words.end - 1);
    in_checked_parts(place.ctx(), begin, end, neighbouring_values, [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t i = from; i < to; ++i) ++next[rows.columns()[i]];
    });
    std::uint32_t* const starts = starts_.data();
    starts[0] = 0;
    for (std::size_t c = 0; c < columns; ++c) {
        const bool dense = is_dense(size(), next[c]);
        starts[c + 1] = starts[c] + (dense ? dense_length_ : next[c]);
        next[c] = starts[c];
    }
    postings_ = spilled_array<packed_posting>(place, starts[columns], "entries of a tile");
    packed_posting* const postings = postings_.data();
    in_checked_parts(
        place.ctx(), 0, starts[columns], neighbouring_values,
        [&](std::uint64_t from, std::uint64_t to) { std::fill(postings + from, postings + to, 0U); });
    paced_checks checks(place.ctx(), scattered_values);
    const std::uint16_t mark = rows.products() ? 0 : dense_mark;
    for (std::size_t position = words.begin; position < words.end; ++position) {
        const auto word = static_cast<std::uint32_t>(position - words.begin);
        for (std::uint64_t i = rows.begin(position); i < rows.end(position); ++i) {
            checks.after(1);
            const std::uint32_t c = rows.columns()[i];
            if (starts[c + 1] - starts[c] == dense_length_) {
                const std::uint16_t value = rows.values()[i] | mark;
                std::memcpy(reinterpret_cast<char*>(postings + starts[c]) + word * sizeof value, &value,
                            sizeof value);
            } else {
                postings[next[c]++] = word | std::uint32_t{rows.values()[i]} << 16;
            }
        }
    }
}

std::vector<item_range> ranges_of_tiles(const bound_rows& rows, std::uint64_t max_entries) {
    // Larger for very many words, so that the tables of columns stay small compared with the entries.
    const std::size_t max = std::clamp<std::size_t>(rows.size() / 64 / 1024 * 1024, 8192, 65536);
    std::vector<item_range> words;
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        end = std::min<std::size_t>(rows.size(),
                                    begin + std::clamp<std::size_t>(begin / 1024 * 1024, 1024, max));
        while (end - begin > 1 && rows.end(end - 1) - rows.begin(begin) > max_entries) --end;
        words.push_back({begin, end});
    }
    return words;
}

std::vector<bound_tile> make_tiles(cpu_place& place, const bound_rows& rows, std::uint32_t columns,
                                   std::span<const item_range> words) {
    std::vector<std::unique_ptr<bound_tile>> filled(words.size());
    for_each_piece(place, words.size(), [&](std::size_t t) {
        place.ctx().check_stop();
        filled[t] = std::make_unique<bound_tile>(place, rows, columns, words[t]);
    });
    std::vector<bound_tile> tiles;
    tiles.reserve(filled.size());
    for (auto& tile : filled) tiles.push_back(std::move(*tile));
    return tiles;
}

std::vector<bound_tile> cut_into_tiles(cpu_place& place, const bound_rows& rows, std::uint32_t columns,
                                       std::uint64_t max_entries) {
    return make_tiles(place, rows, columns, ranges_of_tiles(rows, max_entries));
}

}  // namespace quern::word_similarity_detail
