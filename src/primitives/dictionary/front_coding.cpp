// SPDX-License-Identifier: Apache-2.0
#include "primitives/dictionary/front_coding.hpp"

#include <algorithm>
#include <limits>

#include "base/prefix_key.hpp"

namespace quern::primitives {
namespace {

using front_coding::half_limit;

void append_number(std::vector<std::uint8_t>& out, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) out.push_back(static_cast<std::uint8_t>(number | 0x80));
    out.push_back(static_cast<std::uint8_t>(number));
}

}  // namespace

void front_coder::append(std::string_view word) {
    std::vector<std::uint8_t>& out = made_.blocks;
    std::size_t shared = 0;
    if (size_++ % front_coding::words_per_block == 0) {
        made_.wide_offsets.push_back(out.size());
        made_.keys.push_back(prefix_key(word));
        append_number(out, word.size());
    } else {
        const std::size_t max = std::min(previous_.size(), word.size());
        while (shared < max && previous_[shared] == word[shared]) ++shared;
        const std::size_t added =
            word.size() - shared;  // at least 1: the word is greater than the previous one
        const std::size_t low = std::min<std::size_t>(added - 1, half_limit);
        const std::size_t high = std::min<std::size_t>(shared, half_limit);
        out.push_back(static_cast<std::uint8_t>(high << 4 | low));
        if (high == half_limit) append_number(out, shared - half_limit);
        if (low == half_limit) append_number(out, added - 1 - half_limit);
    }
    out.insert(out.end(), word.begin() + static_cast<std::ptrdiff_t>(shared), word.end());
    previous_.assign(word);
}

front_coded front_coder::finish() {
    made_.wide_offsets.push_back(made_.blocks.size());
    if (made_.blocks.size() <= std::numeric_limits<std::uint32_t>::max()) {
        for (const std::uint64_t offset : made_.wide_offsets) {
            made_.offsets.push_back(static_cast<std::uint32_t>(offset));
        }
        made_.wide_offsets.clear();
    }
    return std::move(made_);
}

}  // namespace quern::primitives
