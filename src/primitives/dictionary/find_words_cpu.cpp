// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/cpu/parallel.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/dictionary/packed_find.hpp"
#include "primitives/dictionary/text_to_ids.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives {

void find_words(cpu_place& place, const packed_dictionary& list, std::span<const std::uint8_t> text,
                std::span<const std::uint32_t> begins, std::span<const std::uint32_t> ends,
                std::span<std::uint32_t> ids) {
    check_same_size("find_words", "begins", begins.size(), "ends", ends.size());
    check_same_size("find_words", "begins", begins.size(), "ids", ids.size());
    const std::size_t pieces = pieces_for(place, ids.size(), 1 << 12, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(ids.size(), pieces, p);
        const auto from = begins.subspan(begin, end - begin), to = ends.subspan(begin, end - begin);
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (from[i] > to[i] || to[i] > text.size()) {
                throw usage_error("find_words: a word is outside the text");
            }
        }
        packed_find::some(list, text.data(), from, to, ids.subspan(begin, end - begin));
    });
}

}  // namespace quern::primitives
