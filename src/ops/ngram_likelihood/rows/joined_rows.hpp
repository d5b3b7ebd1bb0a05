// SPDX-License-Identifier: Apache-2.0
// From rows of documents to n-grams of the collection, each once: the rows of an n-gram are consecutive.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

class joined_rows {
  public:
    /// `documents`: their offsets, which outlive this.
    joined_rows(std::span<const std::uint64_t> documents, unsigned order,
                std::function<void(const collection_ngrams&)> sink)
        : documents_(documents), take_(std::move(sink)), left_(order + std::size_t{1}) {}

    /// Adds rows of one n, in the order of n-grams over all calls. The rows of an n-gram end when its counts in documents
    /// add up to its count in the collection.
    void add(const ngram_rows& rows) {
        positions_.clear();
        counts_.clear();
        history_counts_.clear();
        std::uint64_t& left = left_[rows.n];
        for (std::size_t r = 0; r < rows.documents.size(); ++r) {
            if (left == 0) {
                left = rows.in_collection[r];
                positions_.push_back(documents_[rows.documents[r]] + rows.firsts[r]);
                counts_.push_back(left);
                if (!rows.history_in_collection.empty())
                    history_counts_.push_back(rows.history_in_collection[r]);
            }
            left -= rows.in_document[r];
        }
        if (!positions_.empty()) take_({rows.n, positions_, counts_, history_counts_});
    }

  private:
    std::span<const std::uint64_t> documents_;
    std::function<void(const collection_ngrams&)> take_;
    std::vector<std::uint64_t> left_;  ///< [n]: occurrences of the last n-gram still to come
    std::vector<std::uint64_t> positions_, counts_, history_counts_;
};

}  // namespace quern::ngram_detail
