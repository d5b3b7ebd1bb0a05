// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/bounds/bound_tiles.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "device/paced_checks.hpp"
#include "ops/word_similarity/bounds/bound_kernels.hpp"

namespace quern::word_similarity_detail {
namespace {

/// A column is dense in a tile when one in so many of its words has it. A list is then shorter than dense_length().
constexpr std::size_t dense_from = 8;
/// In tiles of so many words: in smaller ones the lists are short, and a dense column mostly what fills it up.
constexpr std::size_t dense_tile_words = 256;

std::uint32_t dense_length_of(std::size_t words) {
    if (words < dense_tile_words) return 0xffffffff;
    return static_cast<std::uint32_t>((words + kernel_group - 1) / kernel_group * kernel_group / 2);
}

}  // namespace

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
        const bool dense = size() >= dense_tile_words && std::size_t{next[c]} * dense_from >= size();
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

std::vector<bound_tile> cut_into_tiles(cpu_place& place, const bound_rows& rows, std::uint32_t columns,
                                       std::uint64_t max_entries) {
    // Of very many words larger ones, so that the tables of columns stay small next to the entries.
    const std::size_t max = std::clamp<std::size_t>(rows.size() / 64 / 1024 * 1024, 16384, 65536);
    std::vector<item_range> words;
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        end = std::min<std::size_t>(rows.size(),
                                    begin + std::clamp<std::size_t>(begin / 1024 * 1024, 1024, max));
        while (end - begin > 1 && rows.end(end - 1) - rows.begin(begin) > max_entries) --end;
        words.push_back({begin, end});
    }
    std::vector<std::unique_ptr<bound_tile>> made(words.size());
    for_each_piece(place, words.size(), [&](std::size_t t) {
        place.ctx().check_stop();
        made[t] = std::make_unique<bound_tile>(place, rows, columns, words[t]);
    });
    std::vector<bound_tile> tiles;
    tiles.reserve(made.size());
    for (auto& tile : made) tiles.push_back(std::move(*tile));
    return tiles;
}

}  // namespace quern::word_similarity_detail
