// SPDX-License-Identifier: Apache-2.0
// With f the counts of the collection, h = the occurrences of a history that a word follows, and p' the probability after the
// history without its first word, a word w that is seen after a history has
//
//     jm          p(w) = lambda f / h + g p'(w)
//     dirichlet   p(w) = f / (h + mu) + g p'(w)
//     absolute    p(w) = max(f - delta, 0) / h + g p'(w)
//
// and one that is not g p'(w): g, the back-off weight, is what the first terms of all that are seen leave of 1. So the
// probabilities after every history sum to 1, also where rare n-grams are left out. Single words are discounted by delta
// whatever the smoothing, against a uniform distribution over the vocabulary and <unk>.
//
// The n-grams of each length are a level of a trie: sorted, the children of a node stand together. The node of an n-gram
// without its first word, where p' is, is a child of its parent's such node; both have their children in order, so that it is
// found by going through them side by side, and no n-gram is looked up.
#include "tasks/ngrams/arpa_model.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/canonical_math.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/base/error.hpp"
#include "tasks/ngrams/row_text.hpp"
#include "tasks/ngrams/text_batches.hpp"

namespace quern {
namespace {

struct level {
    std::uint64_t size = 0;
    scratch_table<std::uint64_t> positions, counts;
    scratch_table<std::uint64_t>
        histories;  ///< of each node's n-gram: h of the words before its last; empty: all children's
    scratch_table<std::uint64_t> children;  ///< of each node, where they begin in the next level, and the end
    scratch_table<std::uint32_t> last_words, suffixes;  ///< suffixes: nodes of the level before
    scratch_table<double> probabilities, back_offs;
};

void append_log10(std::string& out, double probability) {
    constexpr double least = -99;  // as SRILM writes zero
    constexpr double ln10 = 0x1.26bb1bbb55516p+1;
    const double log10 =
        probability > 0 ? std::max(least, canonical_log(std::min(1.0, probability)) / ln10) : least;
    char digits[32];
    const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, static_cast<float>(log10));
    out.append(digits, static_cast<std::size_t>(end - digits));
}

class arpa_model {
  public:
    arpa_model(const ngram_corpus& corpus, const ngram_options& options, collection_counts& counts,
               scratch_folder& scratch, table_share& share, const context& run)
        : corpus_(corpus),
          options_(options),
          counts_(counts),
          scratch_(scratch),
          share_(share),
          place_(run) {}

    std::uint64_t write(const std::function<void(std::string_view)>& write) {
        write_head(write);
        level before, parents = root();
        for (unsigned n = 1; n <= options_.order; ++n) {
            level nodes = take(n);
            adopt(n, parents, nodes);
            weigh(n, before, parents, nodes);
            if (n > 1) write_level(n - 1, parents, write);
            before = std::move(parents);
            parents = std::move(nodes);
        }
        write_level(options_.order, parents, write);
        write("\n\\end\\\n");
        return ngrams_;
    }

  private:
    template <class T>
    scratch_table<T> table(std::uint64_t size) {
        return scratch_table<T>(share_, scratch_, "model_" + std::to_string(tables_++), size);
    }

    void write_head(const std::function<void(std::string_view)>& write) {
        std::string head = "\\data\\\n";
        for (unsigned n = 1; n <= options_.order; ++n) {
            // <s>, </s>, and <unk> where it is not among those counted, which is known later: told by the corpus.
            std::uint64_t size = counts_.of(n).size();
            if (n == 1) {
                counts_unknown_ = corpus_.unknown >= options_.min_count && corpus_.unknown != 0;
                size += counts_unknown_ ? 2 : 3;
            }
            head += "ngram " + std::to_string(n) + "=" + std::to_string(size) + "\n";
            ngrams_ += size;
        }
        write(head);
    }

    level root() {
        level of;
        of.size = 1;
        of.children = table<std::uint64_t>(2);
        of.back_offs = table<double>(1);
        return of;
    }

    level take(unsigned n) {
        number_stream<counted_ngram>& from = counts_.of(n);
        level of;
        of.size = from.size();
        if (of.size >= std::numeric_limits<std::uint32_t>::max())
            throw out_of_memory("the numbers of n-grams", of.size, std::numeric_limits<std::uint32_t>::max());
        of.positions = table<std::uint64_t>(of.size);
        of.counts = table<std::uint64_t>(of.size);
        of.last_words = table<std::uint32_t>(of.size);
        std::uint64_t i = 0;
        from.drain([&](std::span<const counted_ngram> part) {
            place_.run().check_stop();
            for (const counted_ngram& g : part) {
                of.positions[i] = g.position;
                of.counts[i] = g.count;
                of.last_words[i++] = corpus_.words[g.position + n - 1];
            }
        });
        if (number_stream<std::uint64_t>* const histories = counts_.histories_of(n)) {
            of.histories = table<std::uint64_t>(of.size);
            std::uint64_t* to = of.histories.span().data();
            histories->drain(
                [&](std::span<const std::uint64_t> part) { to = std::ranges::copy(part, to).out; });
        }
        if (n < options_.order) {
            of.children = table<std::uint64_t>(of.size + 1);
            of.back_offs = table<double>(of.size);
        }
        if (n > 1) of.suffixes = table<std::uint32_t>(of.size);
        of.probabilities = table<double>(of.size);
        return of;
    }

    /// Finds the children of each parent: both are in order.
    void adopt(unsigned n, level& parents, const level& nodes) {
        std::uint64_t i = 0;
        for (std::uint64_t q = 0; q < parents.size; ++q) {
            if (q % 65536 == 0) place_.run().check_stop();
            parents.children[q] = i;
            while (i < nodes.size && (n == 1 || is_child(n, parents, q, nodes.positions[i]))) ++i;
        }
        parents.children[parents.size] = i;
        if (i != nodes.size) throw std::logic_error("an n-gram without its history");
    }
    bool is_child(unsigned n, const level& parents, std::uint64_t q, std::uint64_t position) const {
        const std::uint32_t* const child = &corpus_.words[position];
        if (child[n - 2] != parents.last_words[q]) return false;
        return std::equal(child, child + (n - 2), &corpus_.words[parents.positions[q]]);
    }

    void weigh(unsigned n, const level& before, level& parents, level& nodes) {
        const std::size_t pieces = pieces_for(place_, parents.size, 1 << 12, 16);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            place_.run().check_stop();
            const auto [begin, end] = piece_of(parents.size, pieces, p);
            for (std::size_t q = begin; q < end; ++q) weigh_children(n, before, parents, q, nodes);
        });
    }

    void weigh_children(unsigned n, const level& before, level& parents, std::uint64_t q, level& nodes) {
        const std::uint64_t begin = parents.children[q], end = parents.children[q + 1];
        parents.back_offs[q] = 1;
        if (begin == end && n > 1) return;
        std::uint64_t seen = 0;
        for (std::uint64_t i = begin; i < end; ++i) seen += nodes.counts[i];
        const std::uint64_t all = n == 1                        ? corpus_.words.size()
                                  : nodes.histories.size() != 0 ? nodes.histories[begin]
                                                                : seen;
        const double h = static_cast<double>(all);
        const ngram_smoothing rule = n == 1 ? ngram_smoothing::absolute : options_.smoothing;
        const auto own = [&](double f) {
            switch (rule) {
                case ngram_smoothing::dirichlet:
                    return f / (h + options_.mu);
                case ngram_smoothing::absolute:
                    return std::max(f - options_.delta, 0.0) / h;
                default:
                    return options_.lambda * f / h;
            }
        };
        // What all of them have together: the sum of their counts is exact, the sum of their shares would not be.
        const double f = static_cast<double>(seen);
        const double together = rule == ngram_smoothing::absolute
                                    ? (f - options_.delta * static_cast<double>(end - begin)) / h
                                    : own(f);
        const double rest = all == 0 ? 1 : std::max(0.0, 1 - together);
        parents.back_offs[q] = rest;
        if (n == 1) {
            const double uniform = 1 / static_cast<double>(nodes.size + (counts_unknown_ ? 0 : 1));
            unknown_ = rest * uniform;
            for (std::uint64_t i = begin; i < end; ++i)
                nodes.probabilities[i] = own(static_cast<double>(nodes.counts[i])) + rest * uniform;
            return;
        }
        const std::uint64_t from = n == 2 ? 0 : parents.suffixes[q];
        std::uint64_t at = before.children[from];
        const std::uint64_t last = before.children[from + 1];
        for (std::uint64_t i = begin; i < end; ++i) {
            at = find_word(parents.last_words.span(), at, last, nodes.last_words[i]);
            nodes.suffixes[i] = static_cast<std::uint32_t>(at);
            nodes.probabilities[i] =
                own(static_cast<double>(nodes.counts[i])) + rest * parents.probabilities[at];
        }
    }

    /// Where `word` stands among rising words from `at` on, near which it is likely to be.
    static std::uint64_t find_word(std::span<const std::uint32_t> words, std::uint64_t at, std::uint64_t end,
                                   std::uint32_t word) {
        std::uint64_t step = 1;
        while (at + step < end && words[at + step] <= word) {
            at += step;
            step *= 2;
        }
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = words.begin() + static_cast<std::ptrdiff_t>(std::min(end, at + step));
        const auto found = std::lower_bound(first, last, word);
        if (found == last || *found != word) throw std::logic_error("an n-gram without its end");
        return static_cast<std::uint64_t>(found - words.begin());
    }

    void write_level(unsigned n, const level& of, const std::function<void(std::string_view)>& write) const {
        const bool backs_off = n < options_.order;
        const auto line = [&](std::string& out, double probability, std::string_view word, double back_off) {
            append_log10(out, probability);
            out += '\t';
            out += word;
            if (backs_off) {
                out += '\t';
                append_log10(out, back_off);
            }
            out += '\n';
        };
        std::string head = "\n\\" + std::to_string(n) + "-grams:\n";
        if (n == 1) {
            line(head, 0, "<s>", 1);
            line(head, 0, "</s>", 1);
            if (!counts_unknown_) line(head, unknown_, unknown_ngram_word, 1);
        }
        write(head);
        write_in_batches(
            place_.run(), of.size,
            [&](std::string& out, std::uint64_t begin, std::uint64_t end) {
                std::string words;
                for (std::uint64_t i = begin; i < end; ++i) {
                    words.clear();
                    append_words(words, corpus_, of.positions[i], n);
                    line(out, of.probabilities[i], words, backs_off ? of.back_offs[i] : 1);
                }
            },
            write);
    }

    const ngram_corpus& corpus_;
    const ngram_options& options_;
    collection_counts& counts_;
    scratch_folder& scratch_;
    table_share& share_;
    cpu_place place_;
    unsigned tables_ = 0;
    std::uint64_t ngrams_ = 0;
    bool counts_unknown_ = false;
    double unknown_ = 1;  ///< of <unk>, where it is not counted
};

}  // namespace

void check_arpa_words(const ngram_corpus& corpus, collection_counts& counts, std::string_view input) {
    constexpr std::string_view white = std::string_view("\0\t\n\v\f\r ", 7);
    counts.of(1).for_each([&](std::span<const counted_ngram> part) {
        for (const counted_ngram& of : part) {
            const std::uint32_t id = corpus.words[of.position];
            if (id == corpus.vocabulary) continue;  // <unk> itself
            const std::string_view word = corpus.word(id);
            const bool own = word == "<s>" || word == "</s>" || word == unknown_ngram_word;
            if (own || word.find_first_of(white) != std::string_view::npos)
                throw invalid_input(
                    input, 0, "holds the word '" + std::string(word) + "', which an ARPA file cannot hold");
        }
    });
}

std::uint64_t write_arpa_model(const ngram_corpus& corpus, const ngram_options& options,
                               collection_counts& counts, scratch_folder& scratch, table_share& share,
                               const context& run, const std::function<void(std::string_view)>& write) {
    return arpa_model(corpus, options, counts, scratch, share, run).write(write);
}

}  // namespace quern
