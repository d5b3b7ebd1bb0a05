// SPDX-License-Identifier: Apache-2.0
#include "generator/corpus_with_copies.hpp"

#include <algorithm>
#include <cmath>

#include "generator/spelling.hpp"

namespace quern::generator {
namespace {

constexpr double spread = 1.5;           // of lengths, in octaves: standard deviation
constexpr double mean_to_median = 0.78;  // octaves: spread^2 ln(2) / 2
constexpr double max_edits =
    0.06;  // relative to both lengths: copies are on both sides of a threshold of 0.05

/// 2^x: an integer power of two times the roots 2^(1/2), 2^(1/4), … selected by the bits of the fraction.
double power_of_two(double x) {
    const double whole = std::floor(x);
    double result = std::ldexp(1.0, static_cast<int>(whole)), root = 2, rest = x - whole;
    for (int bit = 0; bit < 16; ++bit) {
        root = std::sqrt(root);
        rest *= 2;
        if (rest >= 1) {
            result *= root;
            rest -= 1;
        }
    }
    return result;
}

/// The logarithm to base 2 of x >= 1, by bisection: the number of octaves between 1 and x.
double octaves_of(double x) {
    double low = 0, high = 60;
    for (int step = 0; step < 40; ++step) {
        const double middle = (low + high) / 2;
        (power_of_two(middle) <= x ? low : high) = middle;
    }
    return low;
}

/// Mean 0, variance 1: the sum of twelve uniform numbers (Irwin and Hall).
double nearly_normal(random_numbers& chance) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += chance.uniform();
    return sum;
}

char letter(random_numbers& chance) {
    return static_cast<char>('a' + chance.below(26));
}

/// Inserts, deletes and replaces single letters, up to max_edits of both lengths; characters beyond ASCII stay intact.
std::string edited(const std::string& text, random_numbers& chance) {
    const double both_lengths = 2 * static_cast<double>(text.size());
    const auto count = static_cast<std::uint64_t>(chance.uniform() * max_edits * both_lengths);
    std::vector<std::uint64_t> positions(count);
    for (std::uint64_t& position : positions) position = chance.below(text.size());
    std::ranges::sort(positions);
    std::string result;
    result.reserve(text.size() + count);
    std::size_t done = 0;
    for (const std::uint64_t position : positions) {
        if (static_cast<unsigned char>(text[position]) >= 128 || position < done) continue;
        result.append(text, done, position - done);
        const std::uint64_t edit = chance.below(3);
        if (edit > 0) result += letter(chance);  // inserted, or in its place
        if (edit == 1) result += text[position];
        done = position + 1;
    }
    return result.append(text, done);
}

}  // namespace

corpus_with_copies::corpus_with_copies(const options& wanted)
    : options_(wanted), median_octaves_(octaves_of(wanted.mean_length) - mean_to_median) {
    for (std::uint64_t n = 0; n < (std::uint64_t{1} << octaves) - 1; ++n) {
        begins_.push_back(static_cast<std::uint32_t>(letters_.size()));
        letters_ += spell(n);
    }
    begins_.push_back(static_cast<std::uint32_t>(letters_.size()));
}

std::uint64_t corpus_with_copies::length(random_numbers& chance) const {
    const double drawn = power_of_two(std::max(0.0, median_octaves_ + spread * nearly_normal(chance)));
    return static_cast<std::uint64_t>(std::min(drawn, 32 * options_.mean_length));
}

std::string_view corpus_with_copies::word(random_numbers& chance, std::uint64_t topic) const {
    constexpr std::uint64_t everybodys = 5;  // octaves of words shared by all topics
    constexpr std::uint64_t favourites = 3;  // of a topic, in each of the other octaves
    const std::uint64_t octave = chance.below(octaves), words = std::uint64_t{1} << octave;
    std::uint64_t position = chance.next();
    if (octave >= everybodys && chance.below(4) != 0)
        position = random_numbers(topic + octave * favourites + position % favourites).next();
    const std::uint64_t number = words - 1 + position % words;
    return std::string_view(letters_).substr(begins_[number], begins_[number + 1] - begins_[number]);
}

std::string corpus_with_copies::fresh_text(random_numbers& chance) const {
    const std::uint64_t wanted = length(chance), topic = chance.next();
    std::string text;
    text.reserve(wanted + 64);
    while (text.size() < wanted) {
        const std::size_t begin = text.size();
        for (std::uint64_t words = 4 + chance.below(24); words > 0 && text.size() < wanted; --words) {
            if (text.size() != begin) text += ' ';
            text += word(chance, topic);
        }
        if (text[begin] >= 'a' && text[begin] <= 'z') text[begin] = static_cast<char>(text[begin] - 32);
        text += '.';
        if (text.size() < wanted) text += chance.below(5) == 0 ? "\n\n" : " ";
    }
    return text;
}

std::string corpus_with_copies::fresh_prose(random_numbers& chance) const {
    constexpr double median = 3.6, spread_of_counts = 0.87;  // octaves
    const double drawn = power_of_two(std::max(0.0, median + spread_of_counts * nearly_normal(chance)));
    std::string text;
    for (auto count = std::max<std::uint64_t>(3, static_cast<std::uint64_t>(drawn)); count > 0; --count) {
        if (!text.empty()) text += ' ';
        text += options_.sentences[chance.below(options_.sentences.size())];
    }
    return text;
}

std::string corpus_with_copies::text(std::uint64_t number) const {
    random_numbers chance = numbers_of(options_.seed, number);
    if (number == 0 || chance.uniform() >= options_.copies)
        return options_.sentences.empty() ? fresh_text(chance) : fresh_prose(chance);
    const std::string original = text(chance.below(number));
    return edited(original, chance);
}

void corpus_with_copies::append_line(std::uint64_t number, std::string& lines) const {
    lines += "{\"id\": \"doc-" + std::to_string(number) + "\", \"text\": \"";
    for (const char c : text(number)) {
        if (c == '\n') {
            lines += "\\n";
        } else if (c == '\t') {
            lines += "\\t";
        } else {
            if (c == '"' || c == '\\') lines += '\\';
            lines += c;
        }
    }
    lines += "\"}\n";
}

}  // namespace quern::generator
