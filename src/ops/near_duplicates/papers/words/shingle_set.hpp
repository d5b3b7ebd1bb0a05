// SPDX-License-Identifier: Apache-2.0
// The set of shingles of a document, made from its words whenever it is needed: hashes order the shingles, words decide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quern::near_duplicates_detail {

/// Sequences of `width` adjacent words. A document with words but fewer than `width` has one shingle: all its words. Two
/// shingles are equal if they are the same words.
struct shingle_rule {
    unsigned width;
    std::uint64_t hash_bits =
        ~std::uint64_t{0};  ///< of a hash that are used; fewer only make a search slower
};

/// A shingle of a document, at a position of its words.
struct shingle {
    std::uint64_t hash;
    std::uint32_t at;
};

/// The shingles of one document after another. One per thread; memory: 16 bytes a word of the longest document.
class shingle_set {
  public:
    explicit shingle_set(const shingle_rule& rule) : rule_(rule) {}

    /// Those of the given words, which must stay valid. Cost: O(words · log words).
    void make(std::span<const std::uint32_t> words);
    /// Different ones, ascending by hash, equal hashes by words.
    std::span<const shingle> all() const { return all_; }

    /// Calls take(hash) for each position, including repeated shingles. Cost: O(words).
    template <class Take>
    static void for_each_hash(const shingle_rule& rule, std::span<const std::uint32_t> words,
                              const Take& take) {
        if (words.empty()) return;
        const std::size_t width = words.size() < rule.width ? words.size() : rule.width;
        // Polynomials of hashed words, modulo 2^64; then mixed, since their low bits depend on low bits alone.
        std::uint64_t sum = 0, lead = 1;
        for (std::size_t i = 0; i < width; ++i) sum = sum * base + mixed(words[i]);
        for (std::size_t i = 0; i + 1 < width; ++i) lead *= base;
        const auto hash = [&](std::uint64_t x) { return mixed(x + width) & rule.hash_bits; };
        take(hash(sum));
        for (std::size_t i = width; i < words.size(); ++i) {
            sum = (sum - mixed(words[i - width]) * lead) * base + mixed(words[i]);
            take(hash(sum));
        }
    }

    /// The number of equal shingles of two sets. Stops below `required`, and returns a number below it.
    static std::uint64_t common(const shingle_set& x, const shingle_set& y, std::uint64_t required);
    static bool same(const shingle_set& x, const shingle_set& y);
    /// An order of sets in which equal ones are neighbours.
    static bool before(const shingle_set& x, const shingle_set& y);
    /// A hash of the set.
    std::uint64_t hash() const;

  private:
    static constexpr std::uint64_t base = 0x9e3779b97f4a7c15u;
    static std::uint64_t mixed(std::uint64_t x) {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u + base;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }
    std::span<const std::uint32_t> words_of(const shingle& s) const {
        return words_.subspan(s.at, words_.size() < rule_.width ? words_.size() : rule_.width);
    }
    /// Negative, 0 or positive, as x is before, equal to or after y.
    static int compare(const shingle_set& x, const shingle& s, const shingle_set& y, const shingle& t);

    shingle_rule rule_;
    std::span<const std::uint32_t> words_;
    std::vector<shingle> all_;
};

}  // namespace quern::near_duplicates_detail
