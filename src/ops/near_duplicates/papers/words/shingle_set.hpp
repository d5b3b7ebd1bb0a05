// SPDX-License-Identifier: Apache-2.0
// The set of shingles of a document, made from its words whenever it is needed: hashes order the shingles, words decide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/cpu_place.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// Sequences of `width` adjacent words. A document with words but fewer than `width` has one shingle: all its words. Two
/// shingles are equal if they are the same words.
struct shingle_rule {
    unsigned width;
    std::uint64_t hash_bits =
        ~std::uint64_t{0};  ///< of a hash that are used; fewer only make a search slower
};

/// How often each shingle occurs, about: shingles share counts that end at 255. A count is at least the number of
/// occurrences, or 255, so a shingle whose count is 1 occurs once in the collection.
class shingle_counts {
  public:
    /// Counts those of all documents. Memory: a byte for each of about twice as many counts as there are words, if a
    /// quarter of the place's memory holds them, else fewer. Cost: one pass over the words.
    shingle_counts(cpu_place& place, const word_list& documents, const shingle_rule& rule);

    const std::uint8_t& of(std::uint64_t hash) const { return counts_.data()[hash >> shift_]; }

  private:
    unsigned shift_ = 0;
    cpu_array<std::uint8_t> counts_;
};

/// A shingle of a document, at a position of its words.
struct shingle {
    std::uint64_t hash;
    std::uint32_t at;
};

/// The shingles of one document after another. One per thread; memory: 24 bytes a word of the longest document.
class shingle_set {
  public:
    /// Without counts (null) every shingle counts as shared.
    shingle_set(const shingle_rule& rule, const shingle_counts* counts) : rule_(rule), counts_(counts) {}

    /// Those of the given words, which must stay valid. Cost: O(words + shared · log shared).
    void make(std::span<const std::uint32_t> words);

    /// The number of different shingles.
    std::uint64_t size() const { return once_ + shared_.size(); }
    /// How many of them are known to occur in no other document, nor again in this one.
    std::uint64_t once() const { return once_; }
    /// The others, ascending by hash, equal hashes by words.
    std::span<const shingle> shared() const { return shared_; }
    /// Equal sets have equal hashes.
    std::uint64_t hash() const { return hash_; }

    /// The number of shingles that two documents share. Stops below `required`, and returns a number below it.
    static std::uint64_t common(const shingle_set& x, const shingle_set& y, std::uint64_t required);
    /// Of two documents, not a document and itself.
    static bool same(const shingle_set& x, const shingle_set& y);
    /// An order in which the same sets are neighbours.
    static bool before(const shingle_set& x, const shingle_set& y);

  private:
    std::span<const std::uint32_t> words_of(const shingle& s) const {
        return words_.subspan(s.at, words_.size() < rule_.width ? words_.size() : rule_.width);
    }
    /// Negative, 0 or positive, as s of x is before, equal to or after t of y.
    static int compare(const shingle_set& x, const shingle& s, const shingle_set& y, const shingle& t);
    void sort_shared();

    shingle_rule rule_;
    const shingle_counts* counts_;
    std::span<const std::uint32_t> words_;
    std::vector<std::uint64_t> hashes_;  ///< by position
    std::vector<shingle> shared_;
    std::uint64_t once_ = 0, hash_ = 0;
};

}  // namespace quern::near_duplicates_detail
