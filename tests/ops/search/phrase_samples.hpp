// SPDX-License-Identifier: Apache-2.0
// A small collection with its words in order: in the reference's form, and encoded as in a store.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ops/search/phrases.hpp"
#include "ops/search/search_samples.hpp"
#include "reference/phrase_reference.hpp"

namespace quern::search_samples {

class worded_collection {
  public:
    worded_collection(reference::documents_of_words documents, std::uint32_t vocabulary)
        : documents_(std::move(documents)),
          frequent_(words_by_frequency(documents_, vocabulary)),
          code_(frequent_, vocabulary) {
        std::vector<reference::word_documents> words(vocabulary);
        for (std::uint32_t d = 0; d < documents_.size(); ++d) {
            for (const std::uint32_t word : documents_[d]) {
                ++words[word][d];
                bytes_ += code_.of(word).text();
            }
            ends_.push_back(bytes_.size());
            lengths_.push_back(static_cast<std::uint32_t>(documents_[d].size()));
            total_ += documents_[d].size();
        }
        for (const auto& word : words) lists_.emplace_back(word, lengths_);
    }
    worded_collection(const worded_collection&) = delete;
    worded_collection& operator=(const worded_collection&) = delete;

    const reference::documents_of_words& documents() const { return documents_; }
    const search_detail::token_code& code() const { return code_; }
    collection_view view() const { return {lengths_, total_}; }
    posting_list list(std::uint32_t word) const { return lists_[word].view(); }
    std::string_view words_of(std::uint32_t document) const {
        const std::uint64_t begin = document == 0 ? 0 : ends_[document - 1];
        return std::string_view(bytes_).substr(begin, ends_[document] - begin);
    }
    search_detail::token_stream tokens() const {
        return {&code_, [this](std::uint32_t document) { return words_of(document); }};
    }
    std::vector<search_detail::phrase_word> phrase(const std::vector<std::uint32_t>& words) const {
        std::vector<search_detail::phrase_word> result;
        for (const std::uint32_t word : words) result.push_back({word, list(word)});
        return result;
    }

  private:
    static std::vector<std::uint32_t> words_by_frequency(const reference::documents_of_words& documents,
                                                         std::uint32_t vocabulary) {
        std::vector<std::uint64_t> frequencies(vocabulary);
        for (const auto& words : documents)
            for (const std::uint32_t word : words) ++frequencies[word];
        search_detail::frequent_words frequent;
        for (const std::uint64_t frequency : frequencies) frequent.add(frequency);
        return frequent.finish();
    }

    reference::documents_of_words documents_;
    std::vector<std::uint32_t> frequent_;
    search_detail::token_code code_;
    std::string bytes_;
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint32_t> lengths_;
    std::uint64_t total_ = 0;
    std::vector<encoded_list> lists_;
};

}  // namespace quern::search_samples
