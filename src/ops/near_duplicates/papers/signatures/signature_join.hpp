// SPDX-License-Identifier: Apache-2.0
// All pairs of signatures that are few edits apart: shared by CPU and CUDA. docs/near_duplicates_signature.md defines
// candidates and proves that the filter loses none.
//
// The filter. A signature's code has one bit for each letter c and each n up to `levels`: whether c occurs n times or more.
// Where signatures of lengths x and y are d edits apart, their codes differ in at most 2 d − |x − y| bits. So a Hamming
// distance of 256 bits precedes the edit distance.
//
// The comparisons. Every signature is a row, sorted by length within a segment. Segment 0 holds the signatures at their own
// block size, each compared with each. Segment 1 + k holds the signatures made at block size 2^k: the doubles of one text
// and the signatures of another. Two of the latter were compared in segment 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/array.hpp"
#include "device/place_set.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/papers/signatures/fuzzy_signature.hpp"

namespace quern::near_duplicates_detail {

inline constexpr unsigned row_segments = signature_levels + 1;

/// Three rows per text are numbered in 32 bits.
inline constexpr std::uint64_t max_signatures = std::uint64_t{1} << 30;
/// Throws usage_error if there are more.
void check_texts(std::size_t texts);

/// Bits of a code for each letter: enough to truncate few counts of signatures with at most `length` letters.
constexpr unsigned code_levels(unsigned length) {
    unsigned levels = 4;
    while (levels * 32 < length) levels *= 2;
    return levels;
}

/// The distances that slack · threshold allows, for every sum of two lengths.
class signature_bounds {
  public:
    signature_bounds(const decimal& slack, const decimal& threshold, unsigned length);

    unsigned length() const { return length_; }
    /// The largest distance d with d / total < slack · threshold, at most `total`; −1 if there is none.
    int at(unsigned total) const { return largest_[total]; }
    /// The longest signature that can be a candidate with one of `shorter` letters; −1 if there is none.
    int longest(unsigned shorter) const { return longest_[shorter]; }

    /// slack · threshold, approximately.
    double rate() const { return rate_; }
    const std::vector<std::int32_t>& largest() const { return largest_; }
    const std::vector<std::int32_t>& longest() const { return longest_; }

  private:
    unsigned length_;
    double rate_;
    std::vector<std::int32_t> largest_, longest_;
};

/// The candidates among signatures in host memory: ascending (a, b), no repeats.
std::vector<candidate> join_signatures(cpu_place& place, const signature_view& signatures,
                                       const signature_bounds& bounds, const duplicate_scope& scope,
                                       duplicate_counts& counts);

/// Whether candidates are found by the segments that signatures share, where these are long enough, or by comparing all.
enum class segments_use { where_cheaper, always, never };
struct segments_choice {
    segments_use use = segments_use::where_cheaper;
    unsigned parts =
        0;  ///< in so many parts, at most max_gram_parts; 0: as memory and the number of places demand
    bool grouped = false;  ///< the steps that take 32 rows at a time
};
inline constexpr unsigned max_gram_parts = 32;
/// The fewest parts, a power of two, whose lists fit into so much memory if they are equally long. Every letter is in two
/// rows at most: two grams of 16 bytes with the copy that sorting takes, and a third of a segment of 24.
constexpr unsigned gram_parts(std::uint64_t letters, std::uint64_t bytes) {
    constexpr std::uint64_t bytes_of_letter = 2 * 16 + 2 * 24 / 3;
    unsigned parts = 1;
    while (parts < max_gram_parts && letters > bytes / bytes_of_letter * parts) parts *= 2;
    return parts;
}

/// Signatures in device memory, laid out as signature_view.
struct device_signatures {
    device_span<const std::uint8_t> letters;
    device_span<const std::uint64_t> offsets;
    device_span<const std::uint8_t> levels;
};
/// The same on CUDA. Synchronises. Memory: 200 bytes per text for signatures of up to 128 letters, and a queue; 3.3 KB
/// per text more by segments in one part, 0.5 KB in 32; they are not used if that is not left.
std::vector<candidate> join_signatures(cuda_place& place, const device_signatures& signatures,
                                       const signature_bounds& bounds, const duplicate_scope& scope,
                                       duplicate_counts& counts, const segments_choice& choice = {});

/// One join in tiles. Places of one type cut it alike, so each tile may be joined on any of them.
class signature_tiles {
  public:
    virtual ~signature_tiles() = default;
    virtual std::uint64_t size() const = 0;
    virtual std::uint64_t compared() const = 0;  ///< pairs, in all tiles
    /// The candidates of tiles [begin, end), in any order, some repeated. Synchronises.
    virtual std::vector<candidate> join(std::uint64_t begin, std::uint64_t end) = 0;
    /// The fewest parts of segments whose lists fit into the memory of the place.
    virtual unsigned fewest_parts() { return 1; }
    /// Appends the candidates that a part of all segments finds. The number of parts in `choice` is the same in every call, not
    /// 0. False if tiles are to be joined instead; then some may have been found.
    virtual bool join_by_segments(unsigned /*part*/, const segments_choice& /*choice*/,
                                  std::vector<candidate>& /*all*/) {
        return false;
    }
    /// Leaves the tiles of those pairs that segments do not find. Places must agree on it.
    virtual void keep_short_rows() {}
};
/// The signatures, in host memory, and what else is passed outlive the tiles. There are some texts.
std::unique_ptr<signature_tiles> tiles_of_join(cpu_place& place, const signature_view& signatures,
                                               const signature_bounds& bounds, const duplicate_scope& scope);
std::unique_ptr<signature_tiles> tiles_of_join(cuda_place& place, const signature_view& signatures,
                                               const signature_bounds& bounds, const duplicate_scope& scope);
/// As join_signatures(), by several places. Each holds all signatures and takes one range of tiles, or of segments, after
/// another.
std::vector<candidate> join_signatures(place_set& places, const signature_view& signatures,
                                       const signature_bounds& bounds, const duplicate_scope& scope,
                                       duplicate_counts& counts, const segments_choice& choice = {});

/// Sorts and drops repeats.
inline void sort_candidates(std::vector<candidate>& all) {
    const auto key = [](const candidate& c) { return std::uint64_t{c.a} << 32 | c.b; };
    std::sort(all.begin(), all.end(),
              [&](const candidate& x, const candidate& y) { return key(x) < key(y); });
    all.erase(std::unique(all.begin(), all.end(),
                          [&](const candidate& x, const candidate& y) { return key(x) == key(y); }),
              all.end());
}

}  // namespace quern::near_duplicates_detail
