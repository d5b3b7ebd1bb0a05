// SPDX-License-Identifier: Apache-2.0
// What a word's postings add to a document's score, in units of 2^-32. The formulas, operation by operation, are part of
// the contract (docs/search_ranking.md): they fix the bits of every score.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/canonical_math.hpp"
#include "ops/search/score_kernels.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// x in units of 2^-32, rounded to nearest, ties to even. |x| < 2^18. Scaling is exact, and in [2^52, 2^53) doubles are the
/// integers, so that one addition rounds.
constexpr std::int64_t to_fixed(double x) {
    constexpr double shift = 0x1.8p52;
    return std::bit_cast<std::int64_t>(x * 0x1p32 + shift) - std::bit_cast<std::int64_t>(shift);
}

/// A part is at least one unit: a document with a word ranks above the same one without it, and a sum of parts is positive
/// exactly if a word occurs.
constexpr std::int64_t positive_part(double x) {
    return std::max<std::int64_t>(1, to_fixed(x));
}

/// A term's addend multiplied by the term's weight.
constexpr std::int64_t weighted(std::int64_t x, std::uint32_t weight) {
    static_assert(weight_one == 1 << 16);
    return weight == weight_one ? x : (x * weight) >> 16;
}
constexpr std::int64_t weighted_part(std::int64_t x, std::uint32_t weight) {
    return std::max<std::int64_t>(1, weighted(x, weight));
}

/// A document's prior; it grows with the rank, up to a unit of rounding.
inline std::int64_t prior_of_rank(std::uint64_t rank, const document_prior& prior) {
    const double of_rank = static_cast<double>(std::max<std::uint64_t>(rank, 1));
    return to_fixed(prior.weight * canonical_log_normal(of_rank * prior.unit));
}

// constexpr functions also run on a GPU. Each scorer has:
// - part() for one posting: it grows with the frequency and falls with the length. Rounding can break this by one unit, so
//   part(most, shortest) + 1 is an upper bound.
// - parts() for a block of postings, with the same bits;
// - background();
// - length_model: what the document's length alone subtracts, once for each word of the query. It grows with the length, up
//   to a unit of rounding, and is used only where `used`.

/// For models that do not score the length by itself.
struct no_length_model {
    static constexpr bool used = false;
    constexpr explicit no_length_model(const ranking_options& /*options*/) {}
    constexpr std::int64_t part(std::uint32_t /*length*/) const { return 0; }
    void parts(const std::uint32_t* /*lengths*/, std::size_t size, std::int64_t* out) const {
        std::fill_n(out, size, 0);
    }
};

/// The idf of a word: ln(1 + (N - df + 1/2) / (df + 1/2)).
constexpr double inverse_document_frequency(const collection_view& collection, const posting_list& list) {
    const double documents = static_cast<double>(collection.scored_documents());
    const double df = static_cast<double>(list.scored_documents());
    return canonical_log(1.0 + (documents - df + 0.5) / (df + 0.5));
}

/// The addend for every document with the word in the title.
constexpr std::int64_t title_part(const collection_view& collection, const posting_list& list,
                                  double weight) {
    return positive_part(weight * inverse_document_frequency(collection, list));
}

/// Okapi BM25.
class bm25_scorer {
  public:
    using length_model = no_length_model;
    constexpr bm25_scorer(const collection_view& collection, const posting_list& list,
                          const ranking_options& options) {
        const double documents = static_cast<double>(collection.scored_documents());
        idf_ = inverse_document_frequency(collection, list);
        const double average = static_cast<double>(collection.scored_words()) / documents;
        flat_ = options.k1 * (1.0 - options.b);
        slope_ = options.k1 * options.b / average;
    }
    constexpr std::int64_t part(std::uint32_t frequency, std::uint32_t length) const {
        const double f = frequency;
        return positive_part((idf_ * f) / (f + (flat_ + slope_ * static_cast<double>(length))));
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
               std::int64_t* out) const {
        bm25_parts(frequencies, lengths, size, idf_, flat_, slope_, out);
    }
    std::int64_t background() const { return 0; }

  private:
    double idf_, flat_, slope_;
};

/// Query likelihood, Jelinek-Mercer: every document gets the background; an occurrence adds the part.
class jelinek_mercer_scorer {
  public:
    using length_model = no_length_model;
    constexpr jelinek_mercer_scorer(const collection_view& collection, const posting_list& list,
                                    const ranking_options& options) {
        const double words = static_cast<double>(collection.scored_words());
        const double weighted = (1.0 - options.lambda) * static_cast<double>(list.scored_occurrences());
        ratio_ = (options.lambda * words) / weighted;
        background_ = to_fixed(canonical_log(weighted / words));
    }
    constexpr std::int64_t part(std::uint32_t frequency, std::uint32_t length) const {
        // A document with a word has a length; if it is 0 in a damaged store, it counts as 1.
        const double d = std::max<std::uint32_t>(length, 1);
        return positive_part(canonical_log_normal(1.0 + (ratio_ * static_cast<double>(frequency)) / d));
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
               std::int64_t* out) const {
        jelinek_mercer_parts(frequencies, lengths, size, ratio_, out);
    }
    std::int64_t background() const { return background_; }

  private:
    double ratio_;
    std::int64_t background_;
};

/// Query likelihood, Dirichlet.
class dirichlet_scorer {
  public:
    struct length_model {
        static constexpr bool used = true;
        double mu;
        constexpr explicit length_model(const ranking_options& options) : mu(options.mu) {}
        constexpr std::int64_t part(std::uint32_t length) const {
            return to_fixed(canonical_log(static_cast<double>(length) + mu));
        }
        void parts(const std::uint32_t* lengths, std::size_t size, std::int64_t* out) const {
            dirichlet_lengths(lengths, size, mu, out);
        }
    };
    constexpr dirichlet_scorer(const collection_view& collection, const posting_list& list,
                               const ranking_options& options) {
        prior_ = (options.mu * static_cast<double>(list.scored_occurrences())) /
                 static_cast<double>(collection.scored_words());
        background_ = to_fixed(canonical_log(prior_));
    }
    constexpr std::int64_t part(std::uint32_t frequency, std::uint32_t /*length*/) const {
        return positive_part(canonical_log_normal(1.0 + static_cast<double>(frequency) / prior_));
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* /*lengths*/, std::size_t size,
               std::int64_t* out) const {
        dirichlet_parts(frequencies, size, prior_, out);
    }
    std::int64_t background() const { return background_; }

  private:
    double prior_;
    std::int64_t background_;
};

/// Query likelihood, two-stage: the document is smoothed as by Dirichlet, then mixed with the collection as by
/// Jelinek-Mercer. With p = cf/|C| a document without the word gives it p (μ + (1-λ)|d|) / (|d| + μ), and f occurrences
/// multiply that by 1 + λ/p f / (μ + (1-λ)|d|).
class two_stage_scorer {
  public:
    struct length_model {
        static constexpr bool used = true;
        double mu, rest;
        constexpr explicit length_model(const ranking_options& options)
            : mu(options.mu), rest(1.0 - options.lambda) {}
        constexpr std::int64_t part(std::uint32_t length) const {
            const double d = length;
            return to_fixed(canonical_log_normal((d + mu) / (mu + rest * d)));
        }
        void parts(const std::uint32_t* lengths, std::size_t size, std::int64_t* out) const {
            two_stage_lengths(lengths, size, mu, rest, out);
        }
    };
    constexpr two_stage_scorer(const collection_view& collection, const posting_list& list,
                               const ranking_options& options)
        : mu_(options.mu), rest_(1.0 - options.lambda) {
        const double words = static_cast<double>(collection.scored_words());
        const double occurrences = static_cast<double>(list.scored_occurrences());
        ratio_ = (options.lambda * words) / occurrences;
        background_ = to_fixed(canonical_log(occurrences / words));
    }
    constexpr std::int64_t part(std::uint32_t frequency, std::uint32_t length) const {
        const double odds =
            (ratio_ * static_cast<double>(frequency)) / (mu_ + rest_ * static_cast<double>(length));
        return positive_part(canonical_log_normal(1.0 + odds));
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
               std::int64_t* out) const {
        two_stage_parts(frequencies, lengths, size, ratio_, mu_, rest_, out);
    }
    std::int64_t background() const { return background_; }

  private:
    double mu_, rest_, ratio_;
    std::int64_t background_;
};

/// A word after a history, Jelinek-Mercer: the likelihood of quern/ops/ngram_likelihood.hpp, with the same bits. A document
/// with the history but not the word after it ranks below one without the history: parts may be negative.
class continuation_scorer {
  public:
    continuation_scorer(const query_continuation& continuation, const ranking_options& options)
        : lambda_(options.lambda),
          share_(static_cast<double>(continuation.frequency) / static_cast<double>(continuation.history)),
          background_(to_fixed(canonical_log(share_))) {}
    std::int64_t part(const continued_document& of) const {
        const double in_document = static_cast<double>(of.frequency) / static_cast<double>(of.history);
        return to_fixed(canonical_log(lambda_ * in_document + (1.0 - lambda_) * share_)) - background_;
    }
    std::int64_t background() const { return background_; }

  private:
    double lambda_, share_;
    std::int64_t background_;
};

/// The number of words of a query, for the charge on a document's length.
class query_length {
  public:
    void add(const query_term& term) {
        const std::int64_t count = std::int64_t{term.count} - term.continued;
        if (term.weight == weight_one) {
            whole_ += count;
        } else {
            weighted_.push_back({count, term.weight});
        }
    }
    /// A value for every word, weighted by the word's weight. Monotonic in the value.
    std::int64_t times(std::int64_t of_word) const {
        std::int64_t sum = whole_ * of_word;
        for (const auto& [count, weight] : weighted_) sum += count * weighted(of_word, weight);
        return sum;
    }

  private:
    struct words {
        std::int64_t count;
        std::uint32_t weight;
    };
    std::int64_t whole_ = 0;
    std::vector<words> weighted_;
};

/// The models whose scorers also run on a GPU; queries by the others run on the CPU.
constexpr bool runs_on_device(ranking_model model) {
    return model == ranking_model::bm25 || model == ranking_model::ql || model == ranking_model::dirichlet ||
           model == ranking_model::two_stage;
}

/// Calls `use` with the scorer of one of these models as its template argument; with_scorer
/// (probabilistic_scorers.hpp) takes every model.
template <typename Use>
decltype(auto) with_device_scorer(ranking_model model, Use&& use) {
    switch (model) {
        case ranking_model::ql:
            return use.template operator()<jelinek_mercer_scorer>();
        case ranking_model::dirichlet:
            return use.template operator()<dirichlet_scorer>();
        case ranking_model::two_stage:
            return use.template operator()<two_stage_scorer>();
        default:
            break;
    }
    return use.template operator()<bm25_scorer>();
}

// The prior of a query's documents, or none.

inline constexpr std::uint64_t documents_of_max_ranks = 4096;

class prior_scorer {
  public:
    explicit prior_scorer(const std::optional<document_prior>& prior)
        : prior_(prior && prior->weight != 0 ? prior : std::nullopt) {
        if (!prior_ || !prior_->max.empty()) return;
        made_ = max_ranks(prior_->ranks);
        prior_->max = made_;
    }
    prior_scorer(const prior_scorer&) = delete;  // `max` may point into itself
    prior_scorer& operator=(const prior_scorer&) = delete;

    /// An upper bound of the prior of a document in [begin, end), which is not empty.
    std::int64_t max(std::uint64_t begin, std::uint64_t end) const {
        if (!prior_) return 0;
        const auto first = prior_->max.begin() + static_cast<std::ptrdiff_t>(begin / documents_of_max_ranks);
        const auto last =
            prior_->max.begin() + static_cast<std::ptrdiff_t>((end - 1) / documents_of_max_ranks) + 1;
        return prior_of_rank(*std::max_element(first, last), *prior_) + 1;
    }

    void add(std::span<const std::uint32_t> documents, std::int64_t* scores) const {
        if (!prior_) return;
        constexpr std::size_t at_once = 128;
        alignas(64) std::array<std::uint64_t, at_once + kernel_padding> ranks{};
        alignas(64) std::array<std::int64_t, at_once + kernel_padding> parts{};
        for (; !documents.empty(); documents = documents.subspan(std::min(at_once, documents.size()))) {
            const std::size_t size = std::min(at_once, documents.size());
            for (std::size_t i = 0; i < size; ++i) ranks[i] = prior_->ranks[documents[i]];
            prior_parts(ranks.data(), size, prior_->unit, prior_->weight, parts.data());
            for (std::size_t i = 0; i < size; ++i) *scores++ += parts[i];
        }
    }

  private:
    std::optional<document_prior> prior_;
    std::vector<std::uint64_t> made_;
};

}  // namespace quern::search_detail
