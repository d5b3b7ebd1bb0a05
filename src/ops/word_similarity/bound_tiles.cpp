// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/bound_tiles.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/word_similarity/bound_kernels.hpp"

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

bound_tile::bound_tile(cpu_place& place, const bound_rows& rows, std::uint32_t columns, stretch which)
    : words(which),
      dense_length_(dense_length_of(size())),
      starts_(place, std::size_t{columns} + 1, "columns of a tile") {
    std::vector<std::uint32_t> next(columns);
    const std::uint64_t begin = rows.begin(words.begin), end = rows.end(words.end - 1);
    for (std::uint64_t i = begin; i < end; ++i) ++next[rows.columns()[i]];
    std::uint32_t* const starts = starts_.data();
    starts[0] = 0;
    for (std::size_t c = 0; c < columns; ++c) {
        const bool dense = size() >= dense_tile_words && std::size_t{next[c]} * dense_from >= size();
        starts[c + 1] = starts[c] + (dense ? dense_length_ : next[c]);
        next[c] = starts[c];
    }
    postings_ = cpu_array<packed_posting>(place, starts[columns], "entries of a tile");
    packed_posting* const postings = postings_.data();
    std::fill_n(postings, starts[columns], 0U);
    const std::uint16_t mark = rows.products() ? 0 : dense_mark;
    for (std::size_t position = words.begin; position < words.end; ++position) {
        const auto word = static_cast<std::uint32_t>(position - words.begin);
        for (std::uint64_t i = rows.begin(position); i < rows.end(position); ++i) {
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
                                       std::uint64_t most_entries) {
    // Of very many words larger ones, so that the tables of columns stay small beside the entries.
    const std::size_t most = std::clamp<std::size_t>(rows.size() / 64 / 1024 * 1024, 16384, 65536);
    std::vector<stretch> words;
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        end = std::min<std::size_t>(rows.size(),
                                    begin + std::clamp<std::size_t>(begin / 1024 * 1024, 1024, most));
        while (end - begin > 1 && rows.end(end - 1) - rows.begin(begin) > most_entries) --end;
        words.push_back({begin, end});
    }
    std::vector<std::unique_ptr<bound_tile>> made(words.size());
    for_each_piece(place, words.size(), [&](std::size_t t) {
        place.run().check_stop();
        made[t] = std::make_unique<bound_tile>(place, rows, columns, words[t]);
    });
    std::vector<bound_tile> tiles;
    tiles.reserve(made.size());
    for (auto& tile : made) tiles.push_back(std::move(*tile));
    return tiles;
}

}  // namespace quern::word_similarity_detail
