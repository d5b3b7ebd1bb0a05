// SPDX-License-Identifier: Apache-2.0
// N-gram counts and weights by their definitions: maps from words to counts, filled occurrence by occurrence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/canonical_math.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::reference {

using word_list = std::vector<std::uint32_t>;

struct ngram_row {
    unsigned n = 0;
    word_list words;
    std::uint32_t document = 0, first = 0;
    std::uint64_t in_document = 0, in_collection = 0, history_in_document = 0, history_in_collection = 0;
    double weight = 0;
    bool operator==(const ngram_row&) const = default;
};

/// How often an n-gram occurs, and how often another word follows it.
struct occurrences {
    std::uint64_t all = 0, followed = 0;
    std::set<std::uint32_t> followers;
};

class ngram_counter {
  public:
    ngram_counter(const std::vector<word_list>& documents, unsigned order) : documents_(documents) {
        for (std::uint32_t d = 0; d < documents.size(); ++d) {
            const word_list& text = documents[d];
            for (std::uint32_t i = 0; i <= text.size(); ++i) {
                for (unsigned n = 0; n <= order && i + n <= text.size(); ++n) {
                    const word_list ngram(text.begin() + i, text.begin() + i + n);
                    for (occurrences* counted : {&in_collection_[ngram], &in_document_[ngram][d]}) {
                        ++counted->all;
                        if (i + n == text.size()) continue;
                        ++counted->followed;
                        counted->followers.insert(text[i + n]);
                    }
                    first_[ngram].emplace(d, i);
                }
            }
        }
    }

    const occurrences& of(const word_list& ngram) const { return in_collection_.at(ngram); }
    /// Zero if the document does not contain it.
    occurrences of(const word_list& ngram, std::uint32_t document) const {
        const auto found = in_document_.find(ngram);
        if (found == in_document_.end() || !found->second.contains(document)) return {};
        return found->second.at(document);
    }

    ngram_counts counts(const word_list& ngram, std::uint32_t document) const {
        const word_list history(ngram.begin(), ngram.end() - 1);
        const occurrences in_document = of(history, document);
        return {of(ngram, document).all, in_document.followed, of(ngram).all, of(history).followed,
                in_document.followers.size()};
    }

    /// By n, words, document.
    std::vector<ngram_row> rows(const ngram_options& options) const {
        std::vector<ngram_row> all;
        for (const auto& [words, holders] : in_document_) {
            if (words.empty() || (options.only && words.size() != options.order)) continue;
            if (of(words).all < options.min_count) continue;
            for (const auto& [document, counted] : holders) {
                const ngram_counts c = counts(words, document);
                const auto n = static_cast<unsigned>(words.size());
                all.push_back({n, words, document, first_.at(words).at(document), c.in_document,
                               c.in_collection, c.history_in_document, c.history_in_collection,
                               options.measure == ngram_measure::bm25
                                   ? bm25(c, document, holders.size(), options)
                                   : likelihood(c, options)});
            }
        }
        std::sort(all.begin(), all.end(), [](const ngram_row& a, const ngram_row& b) {
            if (a.n != b.n) return a.n < b.n;
            return a.words != b.words ? a.words < b.words : a.document < b.document;
        });
        return all;
    }

    static double likelihood(const ngram_counts& c, const ngram_options& options) {
        const double fd = static_cast<double>(c.in_document), hd = static_cast<double>(c.history_in_document);
        const double pc = static_cast<double>(c.in_collection) / static_cast<double>(c.history_in_collection);
        if (hd == 0) return pc;
        if (options.smoothing == ngram_smoothing::dirichlet)
            return (fd + options.mu * pc) / (hd + options.mu);
        if (options.smoothing == ngram_smoothing::absolute)
            return std::max(fd - options.delta, 0.0) / hd +
                   options.delta * static_cast<double>(c.followers) / hd * pc;
        return options.lambda * (fd / hd) + (1 - options.lambda) * pc;
    }

  private:
    double bm25(const ngram_counts& c, std::uint32_t document, std::size_t holders,
                const ngram_options& options) const {
        double words = 0;
        for (const word_list& text : documents_) words += static_cast<double>(text.size());
        const auto documents = static_cast<double>(documents_.size());
        const double average = words / documents, df = static_cast<double>(holders);
        const double idf = canonical_log(1 + (documents - df + 0.5) / (df + 0.5));
        const double f = static_cast<double>(c.in_document);
        return (idf * f) /
               (f + (options.k1 * (1 - options.b) +
                     options.k1 * options.b / average * static_cast<double>(documents_[document].size())));
    }

    const std::vector<word_list>& documents_;
    std::map<word_list, occurrences> in_collection_;
    std::map<word_list, std::map<std::uint32_t, occurrences>> in_document_;
    std::map<word_list, std::map<std::uint32_t, std::uint32_t>> first_;
};

}  // namespace quern::reference
