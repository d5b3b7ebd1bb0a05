// SPDX-License-Identifier: Apache-2.0
// The part of a word by BM25F, operation by operation as in quern/ops/field_search.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/search/part_bounds.hpp"
#include "ops/search/scoring.hpp"
#include "ops/search/search_impl.hpp"
#include "quern/ops/field_search.hpp"

namespace quern::search_detail {

/// Occurrences of a word in a document.
struct field_frequencies {
    std::uint32_t title = 0, text = 0;
};

/// Of a posting with `all` occurrences, `title` of them in the title.
constexpr field_frequencies frequencies_of(std::uint32_t all, std::uint32_t title) {
    const std::uint32_t in_title = std::min(all, title);
    return {in_title, all - in_title};
}
/// The same with `others` of them in further fields.
constexpr field_frequencies frequencies_of(std::uint32_t all, std::uint32_t title,
                                           std::span<const std::uint32_t> others) {
    field_frequencies f = frequencies_of(all, title);
    for (const std::uint32_t other : others) f.text -= std::min(f.text, other);
    return f;
}

/// What is the same for all words of a search.
class field_normaliser {
  public:
    field_normaliser(const collection_view& collection, const field_ranking& ranking)
        : k1_(ranking.k1),
          title_(ranking.title, ranking.titles->words(), collection.document_lengths.size()),
          text_(ranking.text, words_of_text(collection, ranking), collection.document_lengths.size()),
          lengths_(collection.document_lengths),
          titles_(ranking.titles->all()) {
        for (const field_ranking::other_field& other : ranking.others) {
            others_.emplace_back(other.by, other.lengths->words(), collection.document_lengths.size());
            other_lengths_.push_back(other.lengths->all());
        }
    }

    /// The weighted and normalised frequency of a word in a document, where titles and texts are all fields.
    double frequency(field_frequencies f, std::uint32_t document) const {
        const std::uint32_t title = titles_[document], all = lengths_[document];
        return frequency(f, title, all - std::min(all, title));
    }
    double frequency(field_frequencies f, std::uint32_t title_length, std::uint32_t text_length) const {
        return title_.of(f.title, title_length) + text_.of(f.text, text_length);
    }
    /// The same with other fields; `others`: the occurrences in these, or empty if there are none.
    double frequency_with_others(field_frequencies f, std::span<const std::uint32_t> others,
                                 std::uint32_t document) const {
        const std::uint32_t title = titles_[document], all = lengths_[document];
        std::uint32_t text = all - std::min(all, title);
        for (const auto& lengths : other_lengths_) text -= std::min(text, lengths[document]);
        double sum = frequency(f, title, text);
        for (std::size_t i = 0; i < others.size(); ++i)
            sum += others_[i].of(others[i], other_lengths_[i][document]);
        return sum;
    }
    /// Of another field with a single word.
    double of_other(std::size_t number, std::uint32_t frequency) const {
        return others_[number].of(frequency, 1);
    }
    bool has_others() const { return !others_.empty(); }
    double k1() const { return k1_; }

  private:
    static std::uint64_t words_of_text(const collection_view& collection, const field_ranking& ranking) {
        std::uint64_t words = collection.words - std::min(collection.words, ranking.titles->words());
        for (const auto& other : ranking.others) words -= std::min(words, other.lengths->words());
        return words;
    }
    struct field {
        field(const field_weight& by, std::uint64_t words, std::size_t documents)
            : weight(by.weight), flat(1.0 - by.b) {
            const double mean = static_cast<double>(words) / static_cast<double>(documents);
            if (words != 0) slope = by.b / mean;
        }
        /// Grows with the frequency and falls with the length: each operation is monotonic.
        double of(std::uint32_t frequency, std::uint32_t length) const {
            if (frequency == 0) return 0;
            const double n = std::max<std::uint32_t>(length, 1);
            return (weight * static_cast<double>(frequency)) / (flat + slope * n);
        }
        double weight, flat, slope = 1;
    };

    double k1_;
    field title_, text_;
    std::span<const std::uint32_t> lengths_, titles_;
    std::vector<field> others_;
    std::vector<std::span<const std::uint32_t>> other_lengths_;
};

/// A word's part; it grows with the normalised frequency, up to a unit of rounding.
class field_scorer {
  public:
    field_scorer(const collection_view& collection, const query_term& term, double k1)
        : idf_(inverse_document_frequency(collection, term.list)), k1_(k1), weight_(term.weight) {}
    std::int64_t part(double frequency) const {
        return weighted_part(positive_part((idf_ * frequency) / (frequency + k1_)), weight_);
    }

  private:
    double idf_, k1_;
    std::uint32_t weight_;
};

/// search_fields after its checks: k is at least 1.
std::vector<scored_document> rank_fields(const collection_view& collection, const search_query& query,
                                         const field_ranking& ranking, std::size_t k,
                                         const strategy& how = {});

/// explain_fields after its checks.
std::vector<field_score_parts> field_parts_of(const collection_view& collection, const search_query& query,
                                              const field_ranking& ranking, std::uint32_t document);

/// As bounds_of, of the lists of a term as search_fields takes them.
part_bounds field_bounds_of(const collection_view& collection, const query_term& term,
                            const field_ranking& ranking);

}  // namespace quern::search_detail
