// SPDX-License-Identifier: Apache-2.0
// BM25F: ranked search with a weight for each field of the documents: title, text, and others (Robertson, Zaragoza and Taylor
// 2004, "Simple BM25 extension to multiple weighted fields"). A word's occurrences are weighted by field and added up before
// they are saturated. Contract class: exact, as search (quern/ops/search.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/ops/search.hpp"

namespace quern {

struct field_weight {
    double weight = 1;  ///< 2^-20 to 2^20
    double b = 0.4;     ///< length normalisation, 0 to 1

    friend bool operator==(const field_weight&, const field_weight&) = default;
};

/// The number of words in a field of every document, such as the title, for many searches.
class field_lengths {
  public:
    field_lengths() = default;
    explicit field_lengths(std::vector<std::uint32_t> lengths);

    std::span<const std::uint32_t> all() const { return lengths_; }
    std::uint64_t words() const { return words_; }  ///< their sum
    /// The longest in documents [begin, end) or more.
    std::uint32_t longest(std::uint64_t begin, std::uint64_t end) const;

  private:
    std::vector<std::uint32_t> lengths_, longest_;
    std::uint64_t words_ = 0;
};

/// A word's part in a document's score: with f occurrences in a field of n words, where a is the mean of n over all documents,
///     t = sum over title, text, other fields in order, of (weight f) / ((1 - b) + (b / a) max(1, n))
///     part = max(1, fixed((idf t) / (t + k1))), idf = ln(1 + (N - df + 1/2) / (df + 1/2))
struct field_ranking {
    double k1 = 0.9;  ///< 0 to 2^64
    field_weight title, text;
    /// Must outlive the search.
    const field_lengths* titles = nullptr;
    struct other_field {
        field_weight by;
        const field_lengths* lengths = nullptr;  ///< must outlive the search
    };
    /// The fields of query_term::fields. The other words of a document are those of its text.
    std::vector<other_field> others;
};

/// The k best documents, as `search` finds them, by BM25F. Of each term, `list` has the documents with it in any field, with
/// the occurrences in all fields together (df is its size), and `titles` those with it in the title, with the occurrences
/// there: never more than in `list`, where every one of them is; `fields` likewise, for each of ranking.others, or it is empty.
/// Throws as `search` does, and usage_error for values out of range, without a length of each field for each document, and for
/// continuations.
/// Cost: at most O(postings of the terms + k log k) time, less where block bounds allow skipping parts of lists (never with
/// `boosts`); O(terms + k) scratch memory.
std::vector<scored_document> search_fields(const collection_view& collection, const search_query& query,
                                           const field_ranking& ranking, std::size_t k);

/// The parts of a term's score: `part` is what its occurrences in the text would add alone, `title` what those in the title add
/// to that.
struct field_score_parts : score_parts {
    /// Of each of field_ranking::others: `frequency`, and as `part` what the occurrences there add to all before.
    std::vector<score_parts> others;
    std::int64_t sum() const {
        std::int64_t all = score_parts::sum();
        for (const score_parts& of : others) all += of.part;
        return all;
    }
};

/// Explains a document's score, term by term; the sums add up to it exactly. Throws as search_fields does, and usage_error for
/// an invalid document.
std::vector<field_score_parts> explain_fields(const collection_view& collection, const search_query& query,
                                              const field_ranking& ranking, std::uint32_t document);

}  // namespace quern
