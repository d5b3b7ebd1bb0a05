// SPDX-License-Identifier: Apache-2.0
// Near-duplicate documents: exactly all pairs whose texts differ by few edits; and methods of the literature
// for comparison.
//
// edit_rate(a, b) = edit_distance(a, b) / (length(a) + length(b)), Levenshtein distance; 0 for two empty texts.
// The result is all pairs with edit_rate < threshold, compared as integers. Contract class: exact. Method
// `automatic` is provably complete: it misses no pair (docs/near_duplicates.md). Pairs have the same order, (a,
// b), a < b, on every device and for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/decimal.hpp"

namespace quern {

/// Concatenated texts: text i is bytes[offsets[i] .. offsets[i + 1]). Any bytes; views only.
struct text_list {
    std::span<const char> bytes;
    std::span<const std::uint64_t> offsets;  ///< one more than texts; empty: no texts

    std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
    std::uint64_t length(std::size_t i) const { return offsets[i + 1] - offsets[i]; }
    std::string_view operator[](std::size_t i) const {
        return {bytes.data() + offsets[i], static_cast<std::size_t>(length(i))};
    }
};

/// Documents as word ids; same layout as text_list.
struct word_list {
    std::span<const std::uint32_t> words;
    std::span<const std::uint64_t> offsets;
    /// Hash of each word by id, for simhash; empty: hashes of the ids.
    std::span<const std::uint64_t> hashes = {};

    std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
    std::span<const std::uint32_t> operator[](std::size_t i) const {
        return words.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    }
};

enum class duplicate_method {
    automatic,      ///< provably complete: filters that lose no pair, then the bounded edit distance
    exhaustive,     ///< the edit rate of all pairs that the lengths allow: slow ground truth
    signature,      ///< fuzzy hashing (CTPH; Kornblum 2006), all pairs of signatures, then the edit rate
    shared_memory,  ///< the same with Wang's (2015) first kernel: one thread per pair, rows in shared memory
    global_memory,  ///< its second kernel: rows in global memory
    shingle,        ///< Jaccard similarity of the sets of w-word shingles, exact
    simhash,        ///< 64-bit fingerprints within a Hamming distance (Charikar 2002; Manku et al. 2007)
    i_match,        ///< equal hashes of the words in a band of idf (Chowdhury et al. 2002)
};

/// Names as on the command line, in the order of the values.
inline constexpr std::string_view duplicate_method_names[] = {
    "auto", "exhaustive", "signature", "shared-memory", "global-memory", "shingle", "simhash", "i-match"};

/// The unit that an edit inserts, deletes or replaces.
enum class edit_unit {
    byte,
    character,  ///< a code point of UTF-8; a byte outside of any is a separate unit
};

/// What shingles are made of, where texts become words (quern/tasks/dedup.hpp).
enum class shingle_unit {
    word,
    character,  ///< a code point of the text as it is, as edit_unit::character
};

struct duplicate_options {
    duplicate_method method = duplicate_method::automatic;
    decimal threshold{5, 100};  ///< of the edit rate: 0 < threshold <= 0.5
    edit_unit unit = edit_unit::byte;
    unsigned signature_length = 100;  ///< maximum number of letters, 1 to 1000
    decimal slack{3, 1};              ///< signatures are candidates below slack · threshold
    unsigned shingle = 4;             ///< words, or characters, per shingle, 1 to 100
    shingle_unit of_shingles = shingle_unit::word;
    decimal similarity{8, 10};  ///< shingle: minimum Jaccard similarity of a pair, in (0, 1]
    unsigned hamming = 3;       ///< simhash: maximum number of differing bits, 0 to 16
    std::int64_t cut = 0;       ///< simhash: a bit is 1 if its sum exceeds this
};

/// Throws usage_error if an option of any method is out of range (quern/ops/duplicate_option_table.hpp).
void validate(const duplicate_options& options);

/// The requested pairs. Texts before `first_new` are never compared with each other.
struct duplicate_scope {
    std::uint32_t first_new = 0;
    bool within_new = true;  ///< false: only pairs of an old and a new text
    /// Returns only links that connect the same texts as the pairs: duplicate_groups() forms the same groups
    /// from them. There are fewer links than texts, whereas n near-duplicates of one text make n (n - 1) / 2
    /// pairs. Method `automatic` then compares no two texts that are already connected, and links each text of
    /// a group to the group's first one, even if these are not a pair, with the numbers 0 of 0. The other
    /// methods return some or all of the pairs.
    bool links_only = false;
    /// With `links_only`: omits only the pairs of equal texts. All pairs of two texts that are each the first
    /// of their equals are among the links, with their numbers; pairs_of_equals() derives the others from them.
    bool all_firsts = false;
};

/// A pair, the earlier document first. The meaning of the numbers depends on the method:
///   edit rate: distance = edits, of = sum of the two lengths in units
///   shingle:   distance = shingles in exactly one of the sets, of = shingles in their union
///   simhash:   distance = differing bits, of = 64
///   i-match:   distance = 0, of = 1
struct duplicate_pair {
    std::uint32_t a = 0, b = 0;
    std::uint64_t distance = 0, of = 0;

    double rate() const { return of == 0 ? 0 : static_cast<double>(distance) / static_cast<double>(of); }
    friend bool operator==(const duplicate_pair&, const duplicate_pair&) = default;
};

/// Statistics for the record and the benchmarks: what each filter passed. With links of `automatic` the numbers
/// differ between runs, because early finds make later comparisons unnecessary, and pairs are not counted.
struct duplicate_counts {
    std::uint64_t compared = 0;    ///< pairs allowed by lengths and scope
    std::uint64_t candidates = 0;  ///< pairs that passed every filter
    std::uint64_t verified = 0;    ///< edit distances computed
    std::uint64_t pairs = 0;       ///< requested pairs, listed or not; 0 if not counted
    /// Wall seconds of the steps of method `automatic` on GPUs, in order; then those of each GPU ("gpu 0", and in them
    /// "gpu 0/decide"), which run at once.
    std::vector<std::pair<std::string, double>> steps;
};

struct duplicate_result {
    std::vector<duplicate_pair> pairs;  ///< ascending by (a, b)
    duplicate_counts counts;
    std::string place;  ///< the device, with the reason
};

/// All pairs below the threshold, by an edit-rate method (automatic to global_memory). Throws usage_error for
/// options out of range and for more than 2^32 - 2 texts or units of a text, out_of_memory, interrupted,
/// device_error. Memory of `automatic`: 130 bytes per text in addition to the budget; within it 1,088 bytes per
/// text, or less if the budget is smaller; and the pairs. The texts are not copied. Other methods: see docs.
/// text_sketches.hpp does the same without reading the old texts.
duplicate_result near_duplicates(const text_list& texts, const duplicate_options& options,
                                 const duplicate_scope& scope, const context& ctx);

/// All pairs by a word-based method (shingle, simhash, i_match). Word ids are below `vocabulary`.
duplicate_result near_duplicates(const word_list& documents, std::uint32_t vocabulary,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 const context& ctx);

/// The fuzzy-hash signature of a text (defined in docs/near_duplicates.md): letters at block size B, the
/// smallest power of two that gives at most `length` letters, and at 2B. Always of bytes. Throws usage_error
/// for a length out of range.
struct fuzzy_signature {
    std::uint64_t block_size = 1;
    std::string letters, letters_at_double;
    friend bool operator==(const fuzzy_signature&, const fuzzy_signature&) = default;
};
fuzzy_signature signature_of(std::string_view text, unsigned length);

enum class keep_policy { first, last, longest, shortest };
inline constexpr std::string_view keep_policy_names[] = {"first", "last", "longest", "shortest"};
/// Whether a document of this length is preferred to an earlier one.
bool is_rather_kept(keep_policy keep, std::uint64_t length, std::uint64_t length_of_earlier);

/// A connected component of at least two documents.
struct duplicate_group {
    std::vector<std::uint32_t> members;  ///< ascending
    std::uint32_t kept = 0;              ///< by the policy; the first of equal lengths
};

/// Groups in order of their first members. `lengths`: of every document (a pair's numbers are below its size).
/// Cost: almost O(documents + pairs).
std::vector<duplicate_group> duplicate_groups(std::span<const duplicate_pair> pairs,
                                              std::span<const std::uint64_t> lengths, keep_policy keep);

}  // namespace quern
