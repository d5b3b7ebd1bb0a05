// SPDX-License-Identifier: Apache-2.0
// make-corpus SIZE [SEED]: writes about SIZE bytes (suffix K, M or G) of JSON lines to standard output, for
// measurements on collections larger than memory. The same SIZE and SEED give the same bytes.
//
// What makes an index large is kept as in real text: the n-th word of the collection is new with the chance
// that lets the vocabulary grow as 50 n^0.56 (Heaps' law), and otherwise an earlier one, by rank, with a
// chance of 1/rank (Zipf's law); document lengths are log-normal; links go to earlier documents, to few of
// them often. Words are spelled from syllables, the common ones short, one in 32 of them with letters beyond
// ASCII.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014).
class random_numbers {
  public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// In [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>(uniform() * static_cast<double>(bound));
    }
    /// Rank 0 … bound-1 with a chance of about 1 / (rank + 1).
    std::uint64_t ranked(std::uint64_t bound) {
        const double rank = std::exp(uniform() * std::log(static_cast<double>(bound) + 1));
        return std::min(static_cast<std::uint64_t>(rank) - 1, bound - 1);
    }
    double normal() {
        return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
    }

  private:
    std::uint64_t state_;
};

/// Word number n, spelled; different numbers give different words.
std::string spell(std::uint64_t number) {
    static constexpr std::array<std::string_view, 16> heads = {"b", "c",  "d", "f", "g", "h", "l",  "m",
                                                               "n", "pr", "r", "s", "t", "v", "st", "w"};
    static constexpr std::array<std::string_view, 8> tails = {"a", "e", "i", "o", "u", "en", "or", "al"};
    static constexpr std::array<std::string_view, 8> accented = {"ä", "é", "í", "ö", "ü", "ñ", "ž", "ø"};
    std::string word;
    const bool beyond_ascii = number % 32 == 31;
    for (std::uint64_t rest = number + 1; rest != 0; rest = (rest - 1) / 128) {
        const std::uint64_t syllable = (rest - 1) % 128;
        word += heads[syllable / 8];
        word += beyond_ascii ? accented[syllable % 8] : tails[syllable % 8];
    }
    return word;
}

class vocabulary {
  public:
    explicit vocabulary(random_numbers& chance) : chance_(chance) {}

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
    /// Derivative of 50 n^0.56; computed anew once in 1,024 words, for its power is slow.
    double growth() {
        if (occurrences_ % 1024 == 0) growth_ = 28 * std::pow(static_cast<double>(occurrences_), -0.44);
        return growth_;
    }

    random_numbers& chance_;
    std::vector<std::string> spelled_;
    std::uint64_t occurrences_ = 0, size_ = 0, seen_ = 0;
    double growth_ = 1;
};

class corpus {
  public:
    explicit corpus(std::uint64_t seed) : chance_(seed), words_(chance_) {}

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
    vocabulary words_;
    std::string line_;
    std::uint64_t documents_ = 0;
};

std::uint64_t bytes_of(const char* text) {
    char* end = nullptr;
    const double number = std::strtod(text, &end);
    const double unit = *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
    return number > 0 ? static_cast<std::uint64_t>(number * unit) : 0;
}

}  // namespace

int main(int count, char** arguments) {
    const std::uint64_t wanted = count >= 2 ? bytes_of(arguments[1]) : 0;
    if (wanted == 0 || count > 3) {
        std::fputs("usage: make-corpus SIZE[K|M|G] [SEED] > corpus.jsonl\n", stderr);
        return 2;
    }
    corpus documents(count == 3 ? std::strtoull(arguments[2], nullptr, 10) : 1);
    for (std::uint64_t written = 0; written < wanted;) {
        const std::string& line = documents.next_document();
        if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) return 1;
        written += line.size();
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
}
