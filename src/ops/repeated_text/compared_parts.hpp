// SPDX-License-Identifier: Apache-2.0
// Parts of texts (windows, lines, paragraphs), each named by the byte at which it begins in the concatenated texts, and
// the search for those that occurred before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "quern/ops/repeated_text.hpp"

namespace quern::repeated_text_detail {

/// What only tests change: results do not depend on it.
struct tuning {
    unsigned hash_bits = 64;        ///< of the hashes of parts; few make unequal parts collide
    std::uint64_t piece_bytes = 0;  ///< of a piece of the texts; 0: chosen by the memory budget
    bool has_firsts = true;         ///< false: as with a small memory budget (text_windows)
};

/// Whether this byte continues the code point of the byte before it.
constexpr bool continues(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

constexpr std::uint64_t hash_of_bits(std::uint64_t hash, unsigned bits) {
    return bits >= 64 ? hash : hash >> (64 - bits);
}

/// The text that holds a byte of the concatenation.
inline std::uint32_t text_at(const text_list& texts, std::uint64_t position) {
    const auto after = std::ranges::upper_bound(texts.offsets, position);
    return static_cast<std::uint32_t>(after - texts.offsets.begin() - 1);
}

/// A part, and the first one that is equal.
struct occurrence {
    std::uint64_t position = 0, first = 0;
};

class compared_parts {
  public:
    using take_hashes =
        std::function<void(std::span<const std::uint64_t> hashes, std::span<const std::uint64_t> positions)>;

    virtual ~compared_parts() = default;
    /// The hashes of all parts that may be repeated and were not proved so during the scan; positions rise over all calls.
    virtual void scan(const take_hashes& take) = 0;
    /// Whether each part at `positions`, which rise, is equal to the one at `firsts`, or to another earlier one.
    virtual void compare(std::span<const std::uint64_t> positions, std::span<const std::uint64_t> firsts,
                         std::span<std::uint8_t> is_repeated) = 0;
    virtual std::string_view part_at(std::uint64_t position) const = 0;
    virtual std::uint64_t hash_at(std::uint64_t position) const = 0;
};

/// More memory makes a sort no faster: it would only be touched for the first time.
inline constexpr std::uint64_t max_sort_bytes = std::uint64_t{2} << 30;

/// How many pieces of `piece` bytes to scan at once; the results of each wait for the pieces before it.
std::size_t pieces_at_once(const cpu_place& place);
std::uint64_t piece_bytes_for(const cpu_place& place, const tuning& tuned, std::uint64_t at_least);

/// Calls take with repeated parts, by position, in one or more calls. Returns those that an equal hash of another part hid,
/// also by position; both lists may have a part. `first` is the first of all equal parts for every part that compare()
/// compared with it.
std::vector<occurrence> find_repeated(cpu_place& place, compared_parts& parts,
                                      const std::function<void(std::span<const occurrence>)>& take,
                                      repeated_text_counts& counts);

/// repeated_text(), as tests call it.
repeated_text_result find_spans(const text_list& texts, std::uint32_t first_new,
                                const repeated_text_options& options, const tuning& tuned,
                                const context& ctx);

}  // namespace quern::repeated_text_detail
