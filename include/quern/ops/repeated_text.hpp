// SPDX-License-Identifier: Apache-2.0
// Text that occurs again: lines, paragraphs and substrings that an earlier text, or an earlier place of the same
// text, has already.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern {

/// What is compared, always with the texts as they are given, not with what is left of them.
enum class text_part {
    /// Consecutive lines that are not blank. A blank line has only white space.
    paragraph,
    line,  ///< ends with \n or \r\n
    /// Every substring of at least min_length code points, at any place.
    substring,
};

/// White space is that of ASCII. A code point is a byte and the bytes 0x80 to 0xBF that follow it, which is right for UTF-8 and
/// defined for any bytes.
struct repeated_text_options {
    text_part part = text_part::substring;
    /// In code points; of a line or a paragraph those between white space at both ends.
    std::uint32_t min_length = 50;
};
/// Limit of repeated_text_options::min_length.
inline constexpr std::uint32_t max_part_length = 100'000;

/// Bytes [begin, end) of a text, to be cut. Spans of one text are disjoint.
struct repeated_span {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t text = 0;
    std::uint32_t first = 0;  ///< the text with the first occurrence; may be the same text
    friend bool operator==(const repeated_span&, const repeated_span&) = default;
};

struct repeated_text_counts {
    std::uint64_t compared = 0;  ///< lines, paragraphs, or substrings of min_length code points
    // How much was sorted: differs from run to run.
    std::uint64_t candidates = 0;  ///< of these, those whose hashes were sorted
    std::uint64_t repeated = 0;    ///< of these, those with an earlier one of the same hash
    std::uint64_t spilled = 0;     ///< bytes written to scratch files
};

struct repeated_text_result {
    std::vector<repeated_span> spans;  ///< by text, then by begin; only of texts from `first_new` on
    repeated_text_counts counts;
};

/// Finds what occurs earlier, in the order of the texts and within them.
/// - line, paragraph: a part of at least min_length code points, equal (byte by byte, without white space at both ends) to an
///   earlier one. Its span goes to the beginning of the next part, so that the line end, or the blank lines, after it go
///   too. If all later parts of the text go as well, it goes from the end of the part before it to its own end, so that the text
///   ends as before.
/// - substring: a byte is in a span if it lies in a substring of min_length code points that begins anywhere earlier, within
///   one text, overlapping allowed. Neighbouring such bytes are one span, and `first` belongs to its first min_length code
///   points.
///
/// Texts before `first_new` count as earlier texts and get no spans. Class exact: hashes only propose; texts are compared. On
/// the CPU.
/// Throws usage_error (min_length of 0 or above max_part_length), out_of_memory, io_error, interrupted.
/// Cost: one pass over the texts, with substrings two; the hashes of all parts, with substrings of those that may be
/// repeated, sorted with 16 bytes each, in scratch files beyond ctx.memory_limit(). In memory about 50 bytes a span, and
/// with substrings a bit for every 13 code points (for 50), and 8 bytes for as many if three eighths of the limit hold them.
repeated_text_result repeated_text(const text_list& texts, std::uint32_t first_new,
                                   const repeated_text_options& options, const context& ctx);

}  // namespace quern
