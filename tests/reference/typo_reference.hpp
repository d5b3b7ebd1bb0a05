// SPDX-License-Identifier: Apache-2.0
// Words with typos and unfinished words the slow, obvious way: each word of each document is compared with each word of the
// query by the whole table of distances.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reference/query_reference.hpp"

namespace quern::reference {

/// Optimal string alignment of ASCII words, or of others as std::u32string; `beginning`: of the nearest beginning of `word`.
template <class Text>
unsigned typos_between(const Text& typed, const Text& word, bool beginning = false) {
    std::vector<std::vector<unsigned>> d(word.size() + 1, std::vector<unsigned>(typed.size() + 1));
    unsigned nearest = std::numeric_limits<unsigned>::max();
    for (std::size_t i = 0; i <= word.size(); ++i) {
        for (std::size_t j = 0; j <= typed.size(); ++j) {
            d[i][j] = static_cast<unsigned>(i == 0 ? j : i);
            if (i == 0 || j == 0) continue;
            const bool same = word[i - 1] == typed[j - 1];
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && word[i - 1] == typed[j - 2] && word[i - 2] == typed[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
        nearest = std::min(nearest, d[i].back());
    }
    return beginning ? nearest : d.back().back();
}

struct typed_word {
    using sign = operator_query::sign;
    using field = operator_query::field;
    std::string word;
    sign has = sign::none;
    field in = field::any;
    unsigned edits = 0;  ///< word~1
    bool unfinished = false;
};

enum class typo_mode { never, automatic, one, two };

/// The least and the largest part of a word, titles included; 0 and 0 of a word without documents.
inline std::pair<std::int64_t, std::int64_t> part_bounds_of(const query_word& of,
                                                            const std::vector<std::uint32_t>& lengths,
                                                            std::uint64_t words,
                                                            const ranking_options& options) {
    const double n = static_cast<double>(lengths.size()), total = static_cast<double>(words);
    const double df = static_cast<double>(of.documents.size());
    double cf = 0;
    for (const auto& [_, f] : of.documents) cf += f;
    const double idf = canonical_log(1.0 + (n - df + 0.5) / (df + 0.5));
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), largest = 0;
    const auto rounded = [](double x) { return std::max<std::int64_t>(1, fixed(x)); };
    for (const auto& [d, frequency] : of.documents) {
        const double f = frequency, length = lengths[d], rest = 1.0 - options.lambda;
        double part = 0;
        switch (options.model) {
            case ranking_model::bm25:
                part = idf * f /
                       (f + (options.k1 * (1.0 - options.b) + options.k1 * options.b / (total / n) * length));
                break;
            case ranking_model::ql:
                part = canonical_log(1.0 + options.lambda * total / (rest * cf) * f / length);
                break;
            case ranking_model::two_stage:
                part = canonical_log(1.0 + options.lambda * total / cf * f / (options.mu + rest * length));
                break;
            case ranking_model::dirichlet:
                part = canonical_log(1.0 + f / (options.mu * cf / total));
                break;
            default:
                throw std::logic_error("the reference does not have this model");
        }
        least = std::min(least, rounded(part));
        largest = std::max(largest, rounded(part));
    }
    if (options.title_weight != 0 && !of.titles.empty()) {
        least = std::min(least, rounded(options.title_weight * idf));
        largest += rounded(options.title_weight * idf);
    }
    return {largest == 0 ? 0 : least, largest};
}

/// The weight of a tier of variants, so that none of its parts reaches the least of the word itself.
inline std::uint32_t weight_of_tier(unsigned distance, std::int64_t least, std::int64_t largest) {
    const std::int64_t max = weight_one >> std::max(distance, 1U);
    if (least == 0 || largest == 0) return static_cast<std::uint32_t>(max);
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(std::max<std::int64_t>(least - 2, 0) * 65536 / largest, 1, max));
}

class typo_search {
  public:
    typo_search(const std::vector<worded_document>& documents, const ranking_options& options, typo_mode mode)
        : documents_(documents), options_(options), mode_(mode) {
        for (const worded_document& of : documents) {
            const text_words all = of.all();
            vocabulary_.insert(all.begin(), all.end());
            lengths_.push_back(static_cast<std::uint32_t>(all.size()));
            total_ += all.size();
        }
    }

    std::vector<scored_document> search(const std::vector<typed_word>& query,
                                        const std::set<std::uint32_t>& passing) const {
        using sign = typed_word::sign;
        std::map<std::pair<std::string, typed_word::field>, query_word> exact;
        std::map<std::tuple<std::string, typed_word::field, unsigned, bool>, std::vector<query_word>>
            variants;
        std::set<std::uint32_t> allowed;
        bool has_required = false;
        for (const typed_word& of : query) has_required = has_required || of.has == sign::plus;
        for (std::uint32_t d = 0; d < documents_.size(); ++d) {
            bool fits = passing.contains(d), any = has_required;
            for (const typed_word& of : query) {
                const bool holds = tier_of(of, d).has_value();
                if (of.has == sign::minus ? holds : of.has == sign::plus && !holds) fits = false;
                any = any || (of.has == sign::none && holds);
            }
            if (fits && any) allowed.insert(d);
        }
        for (const typed_word& of : query) {
            if (of.has == sign::minus) continue;
            auto [at, added] = exact.try_emplace({of.word, of.in});
            if (added) at->second = term_of({.word = of.word, .in = of.in}, -1);
            at->second.count += added ? 0 : 1;
            const auto tiers = tiers_of(of);
            if (tiers.empty()) continue;
            const auto key = std::tuple(of.word, of.in, edits_of(of), of.unfinished);
            auto& terms = variants[key];
            if (!terms.empty()) {
                for (query_word& term : terms) ++term.count;
                continue;
            }
            const std::int64_t least = bounds(at->second).first;
            for (std::size_t i = 0; i < tiers.size(); ++i) {
                terms.push_back(term_of(of, static_cast<int>(i)));
                terms.back().weight = weight_of_tier(tiers[i].first, least, bounds(terms.back()).second);
            }
        }
        std::vector<query_word> words;
        for (const auto& [_, word] : exact) words.push_back(word);
        for (const auto& [_, terms] : variants) words.insert(words.end(), terms.begin(), terms.end());
        return reference::search(lengths_, total_, words, options_, documents_.size() + 1, {}, &allowed);
    }

    unsigned edits_of(const typed_word& of) const {
        if (of.edits != 0 || mode_ == typo_mode::never || of.has == typed_word::sign::minus) return of.edits;
        const bool known = vocabulary_.contains(of.word) || (of.unfinished && begins(of.word));
        if (mode_ == typo_mode::automatic && known) return 0;
        const unsigned by_length = of.word.size() < 4 ? 0 : of.word.size() < 8 ? 1 : 2;
        return mode_ == typo_mode::one ? std::min(by_length, 1U) : by_length;
    }

  private:
    bool begins(const std::string& beginning) const {
        return std::ranges::any_of(vocabulary_,
                                   [&](const std::string& word) { return word.starts_with(beginning); });
    }

    /// Distances and words, the nearest first.
    std::vector<std::pair<unsigned, std::set<std::string>>> tiers_of(const typed_word& of) const {
        std::vector<std::pair<unsigned, std::set<std::string>>> tiers;
        const bool beginnings = of.unfinished && !vocabulary_.contains(of.word) && !begins(of.word);
        const unsigned edits = edits_of(of);
        if (of.unfinished) {
            tiers.push_back({0, {}});
            for (const std::string& word : vocabulary_)
                if (word.starts_with(of.word) && word != of.word) tiers.back().second.insert(word);
        }
        for (unsigned distance = 1; distance <= edits; ++distance) {
            tiers.push_back({distance, {}});
            for (const std::string& word : vocabulary_)
                if (typos_between(of.word, word, beginnings) == distance) tiers.back().second.insert(word);
        }
        return tiers;
    }

    std::uint32_t count_in(std::uint32_t d, typed_word::field in, const std::set<std::string>& words) const {
        const worded_document& of = documents_[d];
        const text_words all = in == typed_word::field::any     ? of.all()
                               : in == typed_word::field::title ? of.title
                                                                : of.text;
        return static_cast<std::uint32_t>(
            std::ranges::count_if(all, [&](const std::string& word) { return words.contains(word); }));
    }

    /// -1 for the word itself.
    std::optional<int> tier_of(const typed_word& of, std::uint32_t d) const {
        if (count_in(d, of.in, {of.word}) != 0) return -1;
        const auto tiers = tiers_of(of);
        for (std::size_t i = 0; i < tiers.size(); ++i)
            if (count_in(d, of.in, tiers[i].second) != 0) return static_cast<int>(i);
        return {};
    }

    query_word term_of(const typed_word& of, int tier) const {
        const auto tiers = tiers_of(of);
        const std::set<std::string> words =
            tier < 0 ? std::set{of.word} : tiers[static_cast<std::size_t>(tier)].second;
        query_word made;
        for (std::uint32_t d = 0; d < documents_.size(); ++d) {
            if (tier_of(of, d) != tier) continue;
            made.documents[d] = count_in(d, of.in, words);
            if (of.in != typed_word::field::text && count_in(d, typed_word::field::title, words) != 0)
                made.titles[d] = 1;
        }
        return made;
    }

    std::pair<std::int64_t, std::int64_t> bounds(const query_word& of) const {
        return part_bounds_of(of, lengths_, total_, options_);
    }

    const std::vector<worded_document>& documents_;
    ranking_options options_;
    typo_mode mode_;
    std::set<std::string> vocabulary_;
    std::vector<std::uint32_t> lengths_;
    std::uint64_t total_ = 0;
};

}  // namespace quern::reference
