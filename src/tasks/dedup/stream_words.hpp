// SPDX-License-Identifier: Apache-2.0
// Jaccard similarity of shingles for a stream: a sketch of a document's set for the filter, and the exact
// similarity of two documents.
//
// The sketch counts the shingles of a set in 64 buckets by a hash of their letters. A shingle that is in one of two sets
// changes one bucket by one, so the norm of the difference of two sketches is at most the number of shingles in exactly one
// of the sets. Counts that stop at 255 are only nearer to each other. So no pair fails the filter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/papers/words/shingle_bound.hpp"
#include "ops/near_duplicates/papers/words/shingle_set.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/text_sketches.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/word_table.hpp"

namespace quern {

/// Which sizes and sketches of sets can make a pair.
struct set_bounds {
    near_duplicates_detail::similarity_bound similarity;

    near_duplicates_detail::length_window sizes_near(std::uint64_t size) const {
        return {similarity.min_size(size), similarity.denominator * size / similarity.numerator};
    }
    /// `norm`: of the difference of the sketches.
    bool may_pair(std::uint64_t size, std::uint64_t other, std::uint64_t norm) const {
        return norm + 2 * similarity.required(size + other) <= size + other;
    }
};

/// Texts as sets of shingles, one at a time. Thread-safe.
class stream_words {
  public:
    /// Throws usage_error for invalid options of words.
    stream_words(const duplicate_options& options, const text_options& text,
                 const std::filesystem::path& scratch_file);

    set_bounds bounds() const { return {bound_}; }
    /// With the number of different shingles as its length.
    text_sketch sketch(std::string_view text) const;
    /// Those of all documents of a table, whose texts are mapped, with all threads.
    std::vector<text_sketch> sketches(const document_table& documents, const context& ctx) const;

    /// One text, compared with others. Not thread-safe.
    class comparison {
      public:
        comparison(const stream_words& words, std::string_view text);
        /// Distance and size of the union if the texts are a pair; a and b are 0.
        std::optional<duplicate_pair> with(std::string_view other);

      private:
        const stream_words& words_;
        word_table::piece piece_;
        std::vector<std::uint32_t> own_words_;
        near_duplicates_detail::shingle_set own_, other_;
    };

  private:
    near_duplicates_detail::shingle_rule rule_;
    near_duplicates_detail::similarity_bound bound_;
    mutable word_table table_;  ///< only for analyse(), which is thread-safe
};

}  // namespace quern
