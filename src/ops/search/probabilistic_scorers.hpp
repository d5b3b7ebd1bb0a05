// SPDX-License-Identifier: Apache-2.0
// Scorers, as in scoring.hpp, of the variants of BM25 (Kamphuis, de Vries, Boytsov and Lin 2020, "Which BM25 do you mean?")
// and of divergence from randomness (Amati and van Rijsbergen 2002). CPU only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/search/scoring.hpp"

namespace quern::search_detail {

/// A document's length after Lucene has kept it in a byte: exact below 40, then four bits.
constexpr std::uint32_t lucene_length(std::uint32_t length) {
    constexpr std::uint32_t exact = 24;
    const std::uint32_t rest = length < exact ? 0 : length - exact;
    const int dropped = std::max(0, static_cast<int>(std::bit_width(rest)) - 4);
    return length - rest + (rest >> dropped << dropped);
}

/// Every variant is weight f / (f + (flat + slope length)) + constant:
/// - lucene: bm25, with lengths as lucene_length;
/// - robertson: idf = ln((N - df + 1/2) / (df + 1/2)), at least 0;
/// - atire (Trotman, Jia and Crane 2012): idf = ln(N / df), weight = idf (k1 + 1);
/// - bm25_plus (Lv and Zhai 2011): idf = ln((N + 1) / df), weight = idf (k1 + 1), constant = idf delta;
/// - bm25l (Lv and Zhai 2011): idf = ln((N + 1) / (df + 1/2)), and with c = f / (1 - b + b length / average the part
///   idf (k1 + 1) (c + delta) / (k1 + c + delta), which is of this form.
class bm25_variant_scorer {
  public:
    using length_model = no_length_model;
    bm25_variant_scorer(const collection_view& collection, const posting_list& list,
                        const ranking_options& options) {
        const double n = static_cast<double>(collection.scored_documents());
        const double df = static_cast<double>(list.scored_documents());
        const double average = static_cast<double>(collection.scored_words()) / n;
        double saturation = options.k1, constant = 0;
        switch (options.model) {
            case ranking_model::robertson:
                weight_ = std::max(0.0, canonical_log((n - df + 0.5) / (df + 0.5)));
                break;
            case ranking_model::atire:
                weight_ = canonical_log(n / df) * (options.k1 + 1.0);
                break;
            case ranking_model::bm25_plus: {
                const double idf = canonical_log((n + 1.0) / df);
                weight_ = idf * (options.k1 + 1.0);
                constant = idf * options.delta;
                break;
            }
            case ranking_model::bm25l: {
                const double all = canonical_log((n + 1.0) / (df + 0.5)) * (options.k1 + 1.0);
                saturation = options.k1 + options.delta;
                weight_ = saturation == 0 ? all : (all * options.k1) / saturation;
                constant = saturation == 0 ? 0 : (all * options.delta) / saturation;
                break;
            }
            default:
                lossy_ = true;
                weight_ = inverse_document_frequency(collection, list);
        }
        flat_ = saturation * (1.0 - options.b);
        slope_ = saturation * options.b / average;
        constant_ = to_fixed(constant);
    }
    std::int64_t part(std::uint32_t frequency, std::uint32_t length) const {
        const double f = frequency, l = lossy_ ? lucene_length(length) : length;
        return positive_part((weight_ * f) / (f + (flat_ + slope_ * l))) + constant_;
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
               std::int64_t* out) const {
        if (!lossy_) {
            bm25_parts(frequencies, lengths, size, weight_, flat_, slope_, out);
            for (std::size_t i = 0; i < size; ++i) out[i] += constant_;
            return;
        }
        constexpr std::size_t at_once = 128;
        alignas(64) std::array<std::uint32_t, at_once + kernel_padding> kept{};
        for (std::size_t begin = 0; begin < size; begin += at_once) {
            const std::size_t count = std::min(at_once, size - begin);
            for (std::size_t i = 0; i < count; ++i) kept[i] = lucene_length(lengths[begin + i]);
            bm25_parts(frequencies + begin, kept.data(), count, weight_, flat_, slope_, out + begin);
        }
    }
    std::int64_t background() const { return 0; }

  private:
    double weight_ = 0, flat_ = 0, slope_ = 0;
    std::int64_t constant_ = 0;
    bool lossy_ = false;
};

inline constexpr double log2_of_e = 0x1.71547652b82fep+0, log_of_2_pi = 0x1.d67f1c864beb5p+0;
/// Frequencies after normalisation are not less; parts are not more.
inline constexpr double min_normalised = 0x1p-60, max_divergence = 4095;

/// Normalisation 2: t = f log2(1 + c average / length).
inline double normalised_frequency(double frequency, double length, double norm) {
    return std::max(frequency * (canonical_log_normal(1.0 + norm / std::max(length, 1.0)) * log2_of_e),
                    min_normalised);
}

/// PL2: Poisson with mean cf / N, Laplace's after-effect, normalisation 2. With t the normalised frequency:
/// (t log2(t / mean) + (mean - t) log2 e + log2(2 pi t) / 2) / (t + 1). It may be below 0, where a part is one unit.
class pl2_scorer {
  public:
    using length_model = no_length_model;
    pl2_scorer(const collection_view& collection, const posting_list& list, const ranking_options& options) {
        const double n = static_cast<double>(collection.scored_documents());
        norm_ = options.c * (static_cast<double>(collection.scored_words()) / n);
        mean_ = static_cast<double>(list.scored_occurrences()) / n;
        shift_ = canonical_log(mean_) + 1.0;
        find_peak();
    }
    std::int64_t part(std::uint32_t frequency, std::uint32_t length) const {
        return positive_part(divergence(normalised_frequency(frequency, length, norm_)));
    }
    /// Not less than any part of a lower frequency or a longer document. The divergence grows with t, except that of a
    /// frequent word: from -inf to a peak, down, and up again for ever.
    std::int64_t bound(std::uint32_t frequency, std::uint32_t length) const {
        return std::max(peak_, part(frequency, length));
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
               std::int64_t* out) const {
        pl2_parts(frequencies, lengths, size, norm_, mean_, shift_, out);
    }
    std::int64_t background() const { return 0; }

  private:
    double divergence(double t) const {
        const double log_t = canonical_log_normal(t);
        const double nats = t * (log_t - shift_) + (mean_ + 0.5 * (log_t + log_of_2_pi));
        return std::min((nats * log2_of_e) / (t + 1.0), max_divergence);
    }
    /// The derivative has the sign of ln(t / mean) + 1/2 + 1 / (2t) - mean + t - ln(2 pi t) / 2, which falls until t = 1/2 and
    /// then rises: the peak is its zero below 1/2, if there is one.
    void find_peak() {
        const auto slope = [&](double t) {
            const double log_t = canonical_log_normal(t);
            return (log_t - shift_) + 1.5 + 0.5 / t - mean_ + t - 0.5 * (log_t + log_of_2_pi);
        };
        if (slope(0.5) > 1e-6) return;
        double low = min_normalised, high = 0.5;
        for (int i = 0; i < 80; ++i) {
            const double middle = (low + high) / 2;
            (slope(middle) > 0 ? low : high) = middle;
        }
        // Rounding: the peak is flat.
        peak_ = positive_part(std::min(divergence(high) * (1 + 1e-9) + 1e-9, max_divergence));
    }

    double norm_ = 0, mean_ = 0, shift_ = 0;
    std::int64_t peak_ = 0;
};

/// InL2: inverse document frequency, Laplace's after-effect, normalisation 2: t / (t + 1) log2((N + 1) / (df + 1/2)).
class inl2_scorer {
  public:
    using length_model = no_length_model;
    inl2_scorer(const collection_view& collection, const posting_list& list, const ranking_options& options) {
        const double n = static_cast<double>(collection.scored_documents());
        norm_ = options.c * (static_cast<double>(collection.scored_words()) / n);
        idf_ = canonical_log((n + 1.0) / (static_cast<double>(list.scored_documents()) + 0.5)) * log2_of_e;
    }
    std::int64_t part(std::uint32_t frequency, std::uint32_t length) const {
        const double t = normalised_frequency(frequency, length, norm_);
        return positive_part((idf_ * t) / (t + 1.0));
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
               std::int64_t* out) const {
        inl2_parts(frequencies, lengths, size, norm_, idf_, out);
    }
    std::int64_t background() const { return 0; }

  private:
    double norm_ = 0, idf_ = 0;
};

/// Learned weights: the product of a posting's weight and the query's (posting_list::unit), both exact.
class impact_scorer {
  public:
    using length_model = no_length_model;
    impact_scorer(const collection_view& /*collection*/, const posting_list& list,
                  const ranking_options& /*options*/)
        : unit_(list.unit) {}
    std::int64_t part(std::uint32_t frequency, std::uint32_t /*length*/) const {
        return positive_part(unit_ * static_cast<double>(frequency));
    }
    /// A block of large weights has the largest in place of a length (postings_writer::values).
    std::int64_t bound(std::uint32_t frequency, std::uint32_t length) const {
        return part(frequency == ~std::uint32_t{0} ? length : frequency, 0);
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* /*lengths*/, std::size_t size,
               std::int64_t* out) const {
        impact_parts(frequencies, size, unit_, out);
    }
    std::int64_t background() const { return 0; }

  private:
    double unit_;
};

/// What the part of a posting with at most this frequency and at least this length cannot exceed, up to a unit of rounding.
template <typename Scorer>
std::int64_t bound_of(const Scorer& scorer, std::uint32_t frequency, std::uint32_t length) {
    if constexpr (requires { scorer.bound(frequency, length); })
        return scorer.bound(frequency, length);
    else
        return scorer.part(frequency, length);
}

/// Calls `use` with the model's scorer as its template argument: every model.
template <typename Use>
decltype(auto) with_scorer(ranking_model model, Use&& use) {
    switch (model) {
        case ranking_model::pl2:
            return use.template operator()<pl2_scorer>();
        case ranking_model::inl2:
            return use.template operator()<inl2_scorer>();
        case ranking_model::impact:
            return use.template operator()<impact_scorer>();
        default:
            break;
    }
    if (runs_on_device(model)) return with_device_scorer(model, use);
    return use.template operator()<bm25_variant_scorer>();
}

}  // namespace quern::search_detail
