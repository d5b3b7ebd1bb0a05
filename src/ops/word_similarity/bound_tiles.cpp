// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/bound_tiles.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

namespace quern::word_similarity_detail {

bound_tile::bound_tile(cpu_place& place, const bound_rows& rows, std::uint32_t columns, stretch which)
    : words(which),
      starts_(place, std::size_t{columns} + 2, "columns of a tile"),
      postings_(place, rows.end(which.end - 1) - rows.begin(which.begin), "entries of a tile") {
    // starts_[c + 2] counts column c, then starts_[c + 1] is where its next posting goes, and ends as its end.
    std::uint32_t* const next = starts_.data() + 1;
    std::fill_n(starts_.data(), std::size_t{columns} + 2, 0U);
    for (std::uint64_t i = rows.begin(words.begin); i < rows.end(words.end - 1); ++i)
        ++next[rows.columns()[i] + 1];
    std::inclusive_scan(next, next + columns + 1, next);
    for (std::size_t position = words.begin; position < words.end; ++position)
        for (std::uint64_t i = rows.begin(position); i < rows.end(position); ++i)
            postings_.data()[next[rows.columns()[i]]++] =
                static_cast<std::uint32_t>(position - words.begin) | std::uint32_t{rows.values()[i]} << 16;
}

std::vector<bound_tile> cut_into_tiles(cpu_place& place, const bound_rows& rows, std::uint32_t columns) {
    // Of very many words larger ones, so that the tables of columns stay small beside the entries.
    const std::size_t most = std::clamp<std::size_t>(rows.size() / 64 / 1024 * 1024, 8192, 65536);
    std::vector<stretch> words;
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        end = std::min<std::size_t>(rows.size(),
                                    begin + std::clamp<std::size_t>(begin / 2048 * 1024, 1024, most));
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
