// SPDX-License-Identifier: Apache-2.0
// Near-duplicate documents: all pairs whose texts differ by few edits, exactly; and the methods of the literature
// beside them.
//
// edit_rate(a, b) = edit_distance(a, b) / (length(a) + length(b)), Levenshtein distance; 0 for two empty texts.
// Wanted are all pairs with edit_rate < threshold, compared as integers. Contract class: exact; method `automatic` is
// complete: no pair is missed, by proof (docs/near_duplicates.md). Pairs come in one order, (a, b), a < b, on every
// place and thread count.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/decimal.hpp"

namespace quern {

/// Texts, one behind the other: text i is bytes[offsets[i] .. offsets[i + 1]). Any bytes; views only.
struct text_list {
    std::span<const char> bytes;
    std::span<const std::uint64_t> offsets;  ///< one more than there are texts; empty: no texts

    std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
    std::uint64_t length(std::size_t i) const { return offsets[i + 1] - offsets[i]; }
    std::string_view operator[](std::size_t i) const {
        return {bytes.data() + offsets[i], static_cast<std::size_t>(length(i))};
    }
};

/// Documents as the words they are made of, by id; laid out as text_list.
struct word_list {
    std::span<const std::uint32_t> words;
    std::span<const std::uint64_t> offsets;
    std::span<const std::uint64_t> hashes = {};  ///< of every word by its id, for simhash; empty: of the ids

    std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
    std::span<const std::uint32_t> operator[](std::size_t i) const {
        return words.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    }
};

enum class duplicate_method {
    automatic,      ///< complete by proof: filters that lose no pair, then the bounded edit distance
    exhaustive,     ///< the edit rate of all pairs that their lengths allow: the truth, slowly
    signature,      ///< fuzzy hashing (CTPH; Kornblum 2006), all pairs of signatures, then the edit rate
    shared_memory,  ///< the same by the thesis's first kernel: a thread a pair, rows in shared memory
    global_memory,  ///< its second: rows in global memory
    shingle,        ///< Jaccard similarity of the sets of w-word shingles, exact
    simhash,        ///< 64-bit fingerprints within a Hamming distance (Charikar 2002; Manku et al. 2007)
    i_match,        ///< equal hashes of the words in a band of idf (Chowdhury et al. 2002)
};

/// As on the command line: "auto", "exhaustive", "signature", "shared-memory", …, in the order of the values.
inline constexpr std::string_view duplicate_method_names[] = {
    "auto", "exhaustive", "signature", "shared-memory", "global-memory", "shingle", "simhash", "i-match"};

/// What an edit inserts, deletes or replaces.
enum class edit_unit {
    byte,
    character,  ///< a code point of UTF-8; a byte that belongs to none is a unit of its own
};

struct duplicate_options {
    duplicate_method method = duplicate_method::automatic;
    decimal threshold{5, 100};  ///< of the edit rate: 0 < threshold <= 0.5
    edit_unit unit = edit_unit::byte;
    unsigned signature_length = 100;  ///< letters at most, 1 to 1000
    decimal slack{3, 1};              ///< signatures are candidates below slack · threshold
    unsigned shingle = 4;             ///< words of a shingle, 1 to 100
    decimal similarity{8, 10};        ///< shingle: pairs of at least this Jaccard similarity, in (0, 1]
    unsigned hamming = 3;             ///< simhash: bits that may differ, 0 to 16
    std::int64_t cut = 0;             ///< simhash: a bit is 1 where its sum exceeds this
};

/// Which pairs are asked for. Texts before `first_new` are never compared with each other.
struct duplicate_scope {
    std::uint32_t first_new = 0;
    bool within_new = true;  ///< false: only pairs of an old and a new text
    /// Only so many of these pairs that the same texts are connected: duplicate_groups() makes the same groups of them.
    /// Equal texts are then no more links than there are texts; n of them make n (n - 1) / 2 pairs. Methods that compare
    /// all texts one by one (exhaustive to global_memory) give all pairs all the same.
    bool links_only = false;
};

/// A pair, the earlier document first. What the numbers mean depends on the method:
///   edit rate: distance = edits, of = the two lengths in units together
///   shingle:   distance = shingles that one of the sets has and the other has not, of = shingles of both together
///   simhash:   distance = bits that differ, of = 64
///   i-match:   distance = 0, of = 1
struct duplicate_pair {
    std::uint32_t a = 0, b = 0;
    std::uint64_t distance = 0, of = 0;

    double rate() const { return of == 0 ? 0 : static_cast<double>(distance) / static_cast<double>(of); }
    friend bool operator==(const duplicate_pair&, const duplicate_pair&) = default;
};

/// How the work went: what each filter let through, for the record and the benchmarks.
struct duplicate_counts {
    std::uint64_t compared = 0;    ///< pairs that lengths and scope allow
    std::uint64_t candidates = 0;  ///< pairs that every filter let through
    std::uint64_t verified = 0;    ///< edit distances computed
    std::uint64_t pairs = 0;       ///< pairs that were asked for, listed or not
};

struct duplicate_result {
    std::vector<duplicate_pair> pairs;  ///< rising by (a, b)
    duplicate_counts counts;
    std::string place;  ///< where it ran, and why there
};

/// All pairs below the threshold, by a method of the edit rate (automatic to global_memory).
/// Throws usage_error for options out of range and for more than 2^32 - 2 texts or units of a text, out_of_memory,
/// interrupted, device_error. Memory of `automatic`: 130 bytes a text beside the budget; within it 1,088 bytes a text or,
/// where there is less, what there is; and the pairs. The texts are read where they are. Other methods: docs.
/// text_sketches.hpp: the same without reading the old texts.
duplicate_result near_duplicates(const text_list& texts, const duplicate_options& options,
                                 const duplicate_scope& scope, const context& run);

/// All pairs by a method of words (shingle, simhash, i_match). Word ids are below `vocabulary`.
duplicate_result near_duplicates(const word_list& documents, std::uint32_t vocabulary,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 const context& run);

/// The fuzzy-hash signature of a text (docs/near_duplicates.md gives the definition): letters at block size B, the
/// least power of two that gives at most `length` letters, and at 2B. Bytes whatever the unit. Throws usage_error for
/// a length out of range.
struct fuzzy_signature {
    std::uint64_t block_size = 1;
    std::string letters, letters_at_double;
    friend bool operator==(const fuzzy_signature&, const fuzzy_signature&) = default;
};
fuzzy_signature signature_of(std::string_view text, unsigned length);

enum class keep_policy { first, last, longest, shortest };
inline constexpr std::string_view keep_policy_names[] = {"first", "last", "longest", "shortest"};
/// Whether a document of this length is kept rather than an earlier one.
bool is_rather_kept(keep_policy keep, std::uint64_t length, std::uint64_t length_of_earlier);

/// The connected components of two and more documents.
struct duplicate_group {
    std::vector<std::uint32_t> members;  ///< rising
    std::uint32_t kept = 0;              ///< by the policy; equal lengths: the first
};

/// In order of their first members. `lengths`: of every document (a pair's numbers are below its size).
/// Cost: O(documents + pairs), nearly.
std::vector<duplicate_group> duplicate_groups(std::span<const duplicate_pair> pairs,
                                              std::span<const std::uint64_t> lengths, keep_policy keep);

}  // namespace quern
