// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/arpa_lines.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/canonical_math.hpp"
#include "tasks/ngrams/row_text.hpp"
#include "tasks/ngrams/short_texts.hpp"
#include "tasks/ngrams/text_batches.hpp"

namespace quern {
namespace {

/// A probability as its decimal logarithm, as written.
float log10_of(double probability) {
    constexpr double least = -99;  // as SRILM writes zero
    constexpr double ln10 = 0x1.26bb1bbb55516p+1;
    constexpr double smallest = std::numeric_limits<double>::min();  // its logarithm is below the minimum
    return static_cast<float>(probability >= smallest
                                  ? std::max(least, canonical_log_normal(std::min(1.0, probability)) / ln10)
                                  : least);
}

constexpr std::size_t number_letters = 16;  // at most
constexpr std::uint64_t ahead = model_levels::ahead;

char* put_number(char* to, float value) {
    return std::to_chars(to, to + number_letters, value).ptr;
}

/// Back-off weights derive from few counts, so that the same ones recur.
class back_off_texts {
  public:
    /// A view of an array of number_letters.
    std::string_view of(double back_off) {
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(back_off);
        entry& e = entries_[(bits * 0x9e3779b97f4a7c15u) >> 56];
        if (e.size == 0 || e.bits != bits) {
            e.bits = bits;
            e.size = static_cast<std::uint64_t>(put_number(e.text, log10_of(back_off)) - e.text);
        }
        return {e.text, e.size};
    }

  private:
    struct entry {
        std::uint64_t bits, size;
        char text[number_letters];
    };
    std::array<entry, 256> entries_{};
};

}  // namespace

void arpa_lines::write_head(std::span<const std::uint64_t> sizes) const {
    std::string head = "\\data\\\n";
    for (std::size_t i = 0; i < sizes.size(); ++i)
        head += "ngram " + std::to_string(i + 1) + "=" + std::to_string(sizes[i]) + "\n";
    sink_(head);
}

void arpa_lines::write_level(unsigned n, const model_level& parents, const model_level& of,
                             std::span<const arpa_word> more) const {
    std::string head = "\n\\" + std::to_string(n) + "-grams:\n";
    short_texts lines(head);
    for (const arpa_word& w : more) {
        lines.append_with(number_letters, [&](char* to) { return put_number(to, log10_of(w.probability)); });
        lines.append("\t").append(w.word).append(n < order_ ? "\t0\n" : "\n");
    }
    lines.flush();
    sink_(head);
    cpu_place place(with_threads_that_sort(ctx_));
    ngram_words of_parents(corpus_, n - 1, ctx_);
    const std::size_t at_once = ngram_words::block_within(ctx_.memory_limit() / 16, n);
    for (std::uint64_t done = 0, size = 0; done < of.size; done += size) {
        const std::uint64_t first = parent_of(parents, done);
        size = of.size - done;
        if (n > 1 && of_parents.is_copied()) {
            const std::uint64_t last = std::min<std::uint64_t>(parents.size, first + at_once);
            size = std::min<std::uint64_t>(at_once, parents.children[last] - done);
            of_parents.take(place, parent_of(parents, done + size - 1) - first + 1,
                            [&](std::size_t i) { return parents.positions[first + i]; });
        }
        text_batches(ctx_).write(
            size,
            [&](std::string& out, std::uint64_t begin, std::uint64_t end) {
                write_nodes(n, parents, of, {of_parents, first}, done + begin, done + end, out);
            },
            sink_);
    }
}

/// Of a node.
std::uint64_t arpa_lines::parent_of(const model_level& parents, std::uint64_t node) {
    const std::span<const std::uint64_t> children = parents.children.span();
    return static_cast<std::uint64_t>(std::ranges::upper_bound(children, node) - children.begin()) - 1;
}

void arpa_lines::write_nodes(unsigned n, const model_level& parents, const model_level& of,
                             const words_of_parents& words, std::uint64_t begin, std::uint64_t end,
                             std::string& out) const {
    const std::span<const std::uint64_t> children = parents.children.span();
    std::uint64_t q = parent_of(parents, begin);
    const bool backs_off = n < order_;
    std::vector<float> logarithms(end - begin);
    for (std::uint64_t i = begin; i < end; ++i) logarithms[i - begin] = log10_of(of.probabilities[i]);
    short_texts lines(out);
    back_off_texts back_offs;
    padded_text words_before;
    for (std::uint64_t i = begin; i < end; ++q) {
        if (n > 1 && q + ahead < parents.size)
            __builtin_prefetch(&corpus_.words[parents.positions[q + ahead]]);
        if (children[q + 1] <= i) continue;
        words_before.make([&](std::string& text) {
            if (n == 1) return;
            append_words(text, corpus_,
                         std::span(words.copied.is_copied() ? words.copied[q - words.first]
                                                            : &corpus_.words[parents.positions[q]],
                                   n - 1));
            text += ' ';
        });
        for (; i < std::min(end, children[q + 1]); ++i) {
            if (of.probabilities[i] == model_level::excluded) continue;
            const std::string_view word = corpus_.word(of.last_words[i]);
            const std::size_t max = 2 * number_letters + words_before.capacity() + word.size() + 3;
            lines.append_with(max, [&](char* to) {
                to = put_number(to, logarithms[i - begin]);
                *to++ = '\t';
                to = words_before.put(to);
                std::memcpy(to, word.data(), word.size());
                to += word.size();
                if (backs_off) {
                    const std::string_view back_off = back_offs.of(of.back_offs[i]);
                    *to++ = '\t';
                    std::memcpy(to, back_off.data(), number_letters);
                    to += back_off.size();
                }
                *to++ = '\n';
                return to;
            });
        }
    }
    lines.flush();
}

}  // namespace quern
