// SPDX-License-Identifier: Apache-2.0
// Collections for the tests of n-grams, and results in the form of the reference.
#pragma once

#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "quern/ops/ngram_likelihood.hpp"
#include "reference/ngram_reference.hpp"

namespace quern {
namespace reference {

inline void PrintTo(const ngram_row& row, std::ostream* out) {
    *out << row.n << "-gram";
    for (const std::uint32_t word : row.words) *out << " " << word;
    *out << " of " << row.document << " at " << row.first << ": " << row.in_document << "/"
         << row.history_in_document << ", " << row.in_collection << "/" << row.history_in_collection << " → "
         << row.weight;
}

}  // namespace reference

using reference::word_list;

/// Documents in the flat form of the operation, also with words as strings, whose bytes are in the order of the ids.
class ngram_texts {
  public:
    ngram_texts(std::vector<word_list> documents, std::uint32_t vocabulary)
        : documents_(std::move(documents)), vocabulary_(vocabulary), offsets_{0} {
        for (const word_list& document : documents_) {
            for (const std::uint32_t word : document) {
                words_.push_back(word);
                starts_.push_back(text_.size());
                const std::string name = name_of(word);
                lengths_.push_back(static_cast<std::uint32_t>(name.size()));
                text_ += name + " ";
            }
            offsets_.push_back(words_.size());
        }
    }

    const std::vector<word_list>& documents() const { return documents_; }
    ngram_collection view() const { return {words_, offsets_, vocabulary_, text_, starts_, lengths_}; }
    bool has_unknown() const { return std::count(words_.begin(), words_.end(), vocabulary_) != 0; }

  private:
    /// a, aa, … aaaaaaa, b, bb, …: prefixes of each other.
    static std::string name_of(std::uint32_t word) {
        std::string name;
        for (std::uint32_t high = word / 7; high >= 25; high -= 25) name += 'z';
        return name + std::string(word % 7 + 1, static_cast<char>('a' + word / 7 % 25));
    }

    std::vector<word_list> documents_;
    std::uint32_t vocabulary_;
    std::vector<std::uint32_t> words_;
    std::vector<std::uint64_t> offsets_;
    std::string text_;
    std::vector<std::uint64_t> starts_;
    std::vector<std::uint32_t> lengths_;
};

enum class text_kind { uniform, skewed, periodic, copied, one_word };
inline constexpr text_kind every_text_kind[] = {text_kind::uniform, text_kind::skewed, text_kind::periodic,
                                                text_kind::copied, text_kind::one_word};

/// Documents of up to `longest` words, some empty, some of one word.
inline ngram_texts make_texts(text_kind kind, std::size_t count, std::size_t longest,
                              std::uint32_t vocabulary, bool unknown, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<word_list> documents(count);
    for (word_list& document : documents) {
        const std::size_t size = random() % 4 == 0 ? random() % 2 : random() % (longest + 1);
        const std::uint64_t period = 1 + random() % 3;
        if (kind == text_kind::copied && random() % 2 == 0) {
            document = documents[random() % documents.size()];
            document.resize(std::min(document.size(), size + 3));
        }
        while (document.size() < size) {
            const std::uint64_t drawn = random() % vocabulary;
            std::uint64_t word = drawn;
            if (kind == text_kind::skewed) word = drawn * (random() % (drawn + 1)) / vocabulary;
            if (kind == text_kind::periodic) word = document.size() % period % vocabulary;
            if (kind == text_kind::one_word) word = 0;
            if (unknown && random() % 9 == 0) word = vocabulary;
            document.push_back(static_cast<std::uint32_t>(word));
        }
    }
    return {std::move(documents), vocabulary};
}

/// In the reference's form.
inline std::vector<reference::ngram_row> rows_of(const ngram_result& result, const ngram_texts& texts,
                                                 bool history_counts) {
    std::vector<reference::ngram_row> rows;
    for (const ngram_table& table : result.tables) {
        const ngram_rows view = table.rows();
        for (std::size_t r = 0; r < view.documents.size(); ++r) {
            const word_list& text = texts.documents()[view.documents[r]];
            const auto first = text.begin() + view.firsts[r];
            rows.push_back({view.n, word_list(first, first + view.n), view.documents[r], view.firsts[r],
                            view.in_document[r], view.in_collection[r],
                            history_counts ? view.history_in_document[r] : 0,
                            history_counts ? view.history_in_collection[r] : 0, view.weights[r]});
        }
    }
    return rows;
}

}  // namespace quern
