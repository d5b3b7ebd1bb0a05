// SPDX-License-Identifier: Apache-2.0
// Code points of a fragment of a text, and windows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/repeated_text/compared_parts.hpp"

namespace quern::repeated_text_detail {

/// Code points of a fragment, all ASCII: bytes.
struct narrow_units {
    const char* bytes = nullptr;
    std::uint64_t position = 0;         ///< of the first one
    std::size_t size = 0, windows = 0;  ///< code points, and windows that begin at the first ones
    std::uint32_t value(std::size_t i) const { return static_cast<unsigned char>(bytes[i]); }
    std::uint64_t start(std::size_t i) const { return i; }
};

/// Code points of a fragment as numbers; `starts` has one more, the end of the last.
struct wide_units {
    const std::uint32_t* values = nullptr;
    const std::uint32_t* starts = nullptr;
    std::uint64_t position = 0;
    std::size_t size = 0, windows = 0;
    std::uint32_t value(std::size_t i) const { return values[i]; }
    std::uint64_t start(std::size_t i) const { return starts[i]; }
};

/// The end of the code point that begins at `at`.
inline std::uint64_t unit_end(const char* bytes, std::uint64_t at, std::uint64_t text_end) {
    for (++at; at < text_end && continues(bytes[at]);) ++at;
    return at;
}

inline std::uint64_t window_end(const char* bytes, std::uint64_t at, std::uint64_t text_end,
                                std::uint32_t length) {
    for (std::uint32_t i = 0; i < length; ++i) at = unit_end(bytes, at, text_end);
    return at;
}

/// Whether bytes [from, length) after both positions are equal, and the window at `q` fits its text and ends where a code
/// point ends.
inline bool is_window(const char* bytes, std::uint64_t p, std::uint64_t q, std::uint64_t from,
                      std::uint64_t length, std::uint64_t text_end) {
    return q + length <= text_end && std::memcmp(bytes + p + from, bytes + q + from, length - from) == 0 &&
           (q + length == text_end || !continues(bytes[q + length]));
}

/// Bytes [begin, end) of the concatenation, within one text.
struct byte_range {
    std::uint64_t begin = 0, end = 0;
};

/// The text that holds this byte.
inline byte_range text_around(const text_list& texts, std::uint64_t position) {
    const std::uint32_t text = text_at(texts, position);
    return {texts.offsets[text], texts.offsets[text + std::size_t{1}]};
}

}  // namespace quern::repeated_text_detail
