// SPDX-License-Identifier: Apache-2.0
// Documents for an index, with the properties of real text that determine its size: the n-th word of the collection is new
// with the probability that makes the vocabulary grow as 50 n^0.56 (Heaps' law), and otherwise an earlier one, with a
// probability of 1/rank (Zipf's law); document lengths are log-normal; links go to earlier documents, to few of them often.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/random_numbers.hpp"
#include "generator/spelling.hpp"

namespace quern::generator {

class growing_vocabulary {
  public:
    explicit growing_vocabulary(random_numbers& chance) : chance_(chance) {}

    /// Appends the next word of the collection.
    void append_next(std::string& text) {
        ++occurrences_;
        if (size_ < 1000 || chance_.uniform() < growth()) ++size_;
        const bool fresh = size_ != seen_;
        const std::uint64_t number = fresh ? size_ - 1 : chance_.ranked(size_);
        seen_ = size_;
        if (number < kept) {
            if (number == spelled_.size()) spelled_.push_back(spell(number));
            text += spelled_[number];
        } else {
            text += spell(number);
        }
    }

  private:
    static constexpr std::uint64_t kept = 1 << 20;
    /// Derivative of 50 n^0.56; recomputed once in 1,024 words, since the power is slow.
    double growth() {
        if (occurrences_ % 1024 == 0) growth_ = 28 * std::pow(static_cast<double>(occurrences_), -0.44);
        return growth_;
    }

    random_numbers& chance_;
    std::vector<std::string> spelled_;
    std::uint64_t occurrences_ = 0, size_ = 0, seen_ = 0;
    double growth_ = 1;
};

class growing_corpus {
  public:
    explicit growing_corpus(std::uint64_t seed) : chance_(seed), words_(chance_) {}

    const std::string& next_document() {
        line_ = "{\"id\": \"doc-" + std::to_string(documents_) + "\", \"title\": \"";
        append_words(1 + chance_.below(4));
        line_ += "\", \"text\": \"";
        const double length = std::exp(5.7 + 1.1 * chance_.normal());  // median about 300 words
        append_text(static_cast<std::uint64_t>(std::min(length, 200000.0)) + 1);
        line_ += "\", \"links\": [";
        const std::uint64_t links = documents_ == 0 ? 0 : chance_.ranked(40);
        for (std::uint64_t i = 0; i < links; ++i) {
            if (i > 0) line_ += ", ";
            line_ += "\"doc-" + std::to_string(chance_.ranked(documents_)) + '"';
        }
        line_ += "]}\n";
        ++documents_;
        return line_;
    }

  private:
    void append_words(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            if (i > 0) line_ += ' ';
            words_.append_next(line_);
        }
    }

    void append_text(std::uint64_t words) {
        while (words > 0) {
            const std::uint64_t sentence = std::min(words, 4 + chance_.below(24));
            const std::size_t begin = line_.size();
            append_words(sentence);
            if (line_[begin] >= 'a' && line_[begin] <= 'z')
                line_[begin] = static_cast<char>(line_[begin] - 32);
            line_ += '.';
            words -= sentence;
            if (words > 0) line_ += chance_.below(5) == 0 ? "\\n\\n" : " ";
        }
    }

    random_numbers chance_;
    growing_vocabulary words_;
    std::string line_;
    std::uint64_t documents_ = 0;
};

}  // namespace quern::generator
