// SPDX-License-Identifier: Apache-2.0
// The weights are those of ops/ngram_likelihood/back_off.hpp. Single words are discounted by delta whatever the
// smoothing, against a uniform distribution over the vocabulary and <unk>.
//
// The n-grams of each length are a level of a trie: sorted, with a node's children contiguous. The node of an n-gram
// without its first word, which has p', is a child of the corresponding node of its parent, and is found there by its
// last word.
//
// Nearly all time would be spent waiting for memory: the n-gram's position in the text is a random access, and so is
// its shorter node. So both are prefetched, an n-gram's words are read once, and lines are written from the trie: the
// words of a node once for all its children.
#include "tasks/ngrams/arpa_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/canonical_math.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/back_off.hpp"
#include "quern/base/error.hpp"
#include "tasks/ngrams/child_words.hpp"
#include "tasks/ngrams/row_text.hpp"
#include "tasks/ngrams/short_texts.hpp"
#include "tasks/ngrams/text_batches.hpp"

namespace quern {
namespace {

using ngram_detail::back_off_rule, ngram_detail::history_weights;

struct level {
    std::uint64_t size = 0;
    scratch_table<std::uint64_t> positions;  ///< of all levels except the last
    scratch_table<std::uint64_t>
        histories;  ///< of each node's n-gram: h of the words before its last; empty: that of all children
    scratch_table<std::uint64_t> children;  ///< of each node, where they begin in the next level, and the end
    scratch_table<std::uint32_t> last_words;
    scratch_table<std::uint32_t>
        suffixes;  ///< nodes of the preceding level; of all levels except the first and the last
    scratch_table<double> probabilities;  ///< initially counts, which are exact
    scratch_table<double> back_offs;
};

/// How many of a table's rows are prefetched.
constexpr std::uint64_t ahead = 16;

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

class arpa_model {
  public:
    arpa_model(const ngram_corpus& corpus, const ngram_options& options, collection_counts& counts,
               scratch_folder& scratch, table_share& share, const context& ctx)
        : corpus_(corpus),
          options_(options),
          counts_(counts),
          scratch_(scratch),
          share_(share),
          place_(ctx) {}

    std::uint64_t write(const std::function<void(std::string_view)>& sink) {
        write_head(sink);
        level before, parents = root();
        for (unsigned n = 1; n <= options_.order; ++n) {
            level nodes = take(n, parents);
            if (n == 1)
                weight_words(parents, nodes);
            else
                set_weights(before, parents, nodes);
            if (n > 1) write_level(n - 1, before, parents, sink);
            before = std::move(parents);
            parents = std::move(nodes);
        }
        write_level(options_.order, before, parents, sink);
        sink("\n\\end\\\n");
        return ngrams_;
    }

  private:
    template <class T>
    scratch_table<T> table(std::uint64_t size) {
        return scratch_table<T>(share_, scratch_, "model_" + std::to_string(tables_++), size);
    }

    void write_head(const std::function<void(std::string_view)>& sink) {
        std::string head = "\\data\\\n";
        for (unsigned n = 1; n <= options_.order; ++n) {
            // <s>, </s>, and <unk> if it is not counted, which is decided later by the corpus.
            std::uint64_t size = counts_.of(n).size();
            if (n == 1) {
                counts_unknown_ = corpus_.unknown >= options_.min_count && corpus_.unknown != 0;
                size += counts_unknown_ ? 2 : 3;
            }
            head += "ngram " + std::to_string(n) + "=" + std::to_string(size) + "\n";
            ngrams_ += size;
        }
        sink(head);
    }

    level root() {
        level of;
        of.size = 1;
        of.children = table<std::uint64_t>(2);
        of.back_offs = table<double>(1);
        return of;
    }

    level take(unsigned n, level& parents) {
        number_stream<counted_ngram>& from = counts_.of(n);
        level of;
        of.size = from.size();
        if (of.size >= std::numeric_limits<std::uint32_t>::max())
            throw out_of_memory("the numbers of n-grams", of.size, std::numeric_limits<std::uint32_t>::max());
        of.last_words = table<std::uint32_t>(of.size);
        of.probabilities = table<double>(of.size);
        if (n < options_.order) {
            of.positions = table<std::uint64_t>(of.size);
            of.children = table<std::uint64_t>(of.size + 1);
            of.back_offs = table<double>(of.size);
            if (n > 1) of.suffixes = table<std::uint32_t>(of.size);
        }
        std::uint64_t taken = 0, adopted = 0;
        from.drain([&](std::span<const counted_ngram> part) {
            if (part.empty()) return;
            const std::size_t pieces = pieces_for(place_, part.size(), 1 << 12);
            std::vector<std::uint64_t> ends(pieces);
            for_each_piece(place_, pieces, [&](std::size_t p) {
                place_.ctx().check_stop();
                const auto [begin, end] = piece_of(part.size(), pieces, p);
                const std::uint64_t first =
                    p == 0 ? adopted : parent_of(n, parents, part[begin - 1].position) + 1;
                ends[p] = take_piece(n, parents, first, part.subspan(begin, end - begin), of, taken + begin);
            });
            taken += part.size();
            adopted = ends.back();
        });
        std::fill(parents.children.span().begin() + static_cast<std::ptrdiff_t>(adopted),
                  parents.children.span().end(), of.size);
        if (number_stream<std::uint64_t>* const histories = counts_.histories_of(n)) {
            of.histories = table<std::uint64_t>(of.size);
            std::uint64_t* to = of.histories.span().data();
            histories->drain(
                [&](std::span<const std::uint64_t> part) { to = std::ranges::copy(part, to).out; });
        }
        return of;
    }

    /// Takes the nodes from `at` on, and assigns them to their parents: both are in order. Parents before `adopted` are
    /// known to begin earlier; returns the number of those known now.
    std::uint64_t take_piece(unsigned n, const level& parents, std::uint64_t adopted,
                             std::span<const counted_ngram> part, level& of, std::uint64_t at) const {
        const std::uint32_t* const words = corpus_.words.span().data();
        const auto fetch = [&](std::uint64_t position) {
            __builtin_prefetch(words + position);
            __builtin_prefetch(words + position + n - 1);
        };
        for (std::size_t i = 0; i < std::min<std::size_t>(ahead, part.size()); ++i) fetch(part[i].position);
        for (std::size_t i = 0; i < part.size(); ++i, ++at) {
            if (i + ahead < part.size()) fetch(part[i + ahead].position);
            const std::uint32_t* const ngram = words + part[i].position;
            of.last_words[at] = ngram[n - 1];
            of.probabilities[at] = static_cast<double>(part[i].count);
            if (of.positions.size() != 0) of.positions[at] = part[i].position;
            if (adopted != 0 && is_child(n, parents, adopted - 1, ngram)) continue;
            for (bool found = false; !found; ++adopted) {
                if (adopted == parents.size) throw std::logic_error("an n-gram without its history");
                if (n > 1 && adopted + ahead < parents.size) fetch(parents.positions[adopted + ahead]);
                found = is_child(n, parents, adopted, ngram);
                parents.children[adopted] = at;
            }
        }
        return adopted;
    }
    bool is_child(unsigned n, const level& parents, std::uint64_t q, const std::uint32_t* ngram) const {
        if (n == 1) return true;
        if (ngram[n - 2] != parents.last_words[q]) return false;
        const std::uint32_t* const parent = corpus_.words.span().data() + parents.positions[q];
        for (unsigned i = 0; i + 2 < n; ++i)
            if (ngram[i] != parent[i]) return false;
        return true;
    }
    /// The parent of the n-gram at `position`.
    std::uint64_t parent_of(unsigned n, const level& parents, std::uint64_t position) const {
        if (n == 1) return 0;
        const std::uint32_t* const words = corpus_.words.span().data();
        const std::span<const std::uint64_t> among = parents.positions.span();
        const auto found = std::lower_bound(
            among.begin(), among.end(), position, [&](std::uint64_t parent, std::uint64_t ngram) {
                return std::lexicographical_compare(words + parent, words + parent + (n - 1), words + ngram,
                                                    words + ngram + (n - 1));
            });
        return static_cast<std::uint64_t>(found - among.begin());
    }

    back_off_rule rule_of(ngram_smoothing smoothing) const {
        return {smoothing, options_.lambda, options_.mu, options_.delta};
    }
    static std::uint64_t sum(std::span<const double> counts) {
        std::uint64_t all = 0;
        for (const double count : counts) all += static_cast<std::uint64_t>(count);
        return all;
    }

    void weight_words(level& parents, level& nodes) {
        const back_off_rule rule = rule_of(ngram_smoothing::absolute);
        const history_weights root =
            rule.after(corpus_.words.size(), sum(nodes.probabilities.span()), nodes.size);
        parents.back_offs[0] = root.rest;
        const double uniform = 1 / static_cast<double>(nodes.size + (counts_unknown_ ? 0 : 1));
        unknown_ = root.rest * uniform;
        for (double& of : nodes.probabilities.span()) of = rule.own(of, root.h) + root.rest * uniform;
    }

    void set_weights(const level& before, level& parents, level& nodes) {
        const child_words shorter(place_, before.children.span(), parents.last_words.span(),
                                  corpus_.vocabulary,
                                  table<std::uint32_t>(parents.size / child_words::words_an_entry + 1));
        const std::size_t pieces = pieces_for(place_, parents.size, 1 << 12, 16);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            place_.ctx().check_stop();
            const auto [begin, end] = piece_of(parents.size, pieces, p);
            weight_children(before, parents, begin, end, shorter, nodes);
        });
    }

    /// Of the parents [begin, end).
    void weight_children(const level& before, level& parents, std::uint64_t begin, std::uint64_t end,
                         const child_words& shorter, level& nodes) const {
        const bool from_root = parents.suffixes.size() == 0;
        const back_off_rule rule = rule_of(options_.smoothing);
        struct waiting_node {
            std::uint64_t node;
            child_words::range among;
            double own, rest;
        };
        std::array<waiting_node, 2 * ahead> waiting = {};
        std::size_t count = 0;
        const auto weight_waiting = [&] {
            const std::span all(waiting.data(), count);
            for (waiting_node& w : all) w.among = shorter.narrow(w.among, nodes.last_words[w.node]);
            for (waiting_node& w : all) {
                const std::uint32_t word = nodes.last_words[w.node];
                w.among.begin = shorter.find(w.among, word);
                if (w.among.begin == w.among.end || parents.last_words[w.among.begin] != word)
                    throw std::logic_error("an n-gram without its end");
                __builtin_prefetch(&parents.probabilities[w.among.begin]);
                if (nodes.suffixes.size() != 0)
                    nodes.suffixes[w.node] = static_cast<std::uint32_t>(w.among.begin);
            }
            for (const waiting_node& w : all)
                nodes.probabilities[w.node] = w.own + w.rest * parents.probabilities[w.among.begin];
            count = 0;
        };
        for (std::uint64_t q = begin; q < end; ++q) {
            if (!from_root && q + ahead < end)
                __builtin_prefetch(&before.children[parents.suffixes[q + ahead]]);
            const std::uint64_t first = parents.children[q], last = parents.children[q + 1];
            parents.back_offs[q] = 1;
            if (first == last) continue;
            const std::uint64_t seen = sum(nodes.probabilities.span().subspan(first, last - first));
            const history_weights of =
                rule.after(nodes.histories.size() != 0 ? nodes.histories[first] : seen, seen, last - first);
            parents.back_offs[q] = of.rest;
            const std::uint64_t from = from_root ? 0 : parents.suffixes[q];
            const child_words::range among{before.children[from], before.children[from + 1]};
            for (std::uint64_t i = first; i < last; ++i) {
                shorter.fetch_entry(among, nodes.last_words[i]);
                waiting[count++] = {i, among, rule.own(nodes.probabilities[i], of.h), of.rest};
                if (count == waiting.size()) weight_waiting();
            }
        }
        weight_waiting();
    }

    /// `parents`: the preceding level.
    void write_level(unsigned n, const level& parents, const level& of,
                     const std::function<void(std::string_view)>& sink) const {
        std::string head = "\n\\" + std::to_string(n) + "-grams:\n";
        if (n == 1) {
            short_texts lines(head);
            back_off_texts back_offs;
            const auto line = [&](double probability, std::string_view word) {
                lines.append_with(number_letters,
                                  [&](char* to) { return put_number(to, log10_of(probability)); });
                lines.append("\t").append(word);
                if (n < options_.order) lines.append("\t").append(back_offs.of(1));
                lines.append("\n");
            };
            line(0, "<s>");
            line(0, "</s>");
            if (!counts_unknown_) line(unknown_, unknown_ngram_word);
            lines.flush();
        }
        sink(head);
        text_batches(place_.ctx())
            .write(
                of.size,
                [&](std::string& out, std::uint64_t begin, std::uint64_t end) {
                    write_lines(n, parents, of, begin, end, out);
                },
                sink);
    }

    void write_lines(unsigned n, const level& parents, const level& of, std::uint64_t begin,
                     std::uint64_t end, std::string& out) const {
        const std::span<const std::uint64_t> children = parents.children.span();
        const auto after = std::upper_bound(children.begin(), children.end(), begin);
        auto q = static_cast<std::uint64_t>(after - children.begin()) - 1;
        const bool backs_off = n < options_.order;
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
                append_words(text, corpus_, parents.positions[q], n - 1);
                text += ' ';
            });
            for (; i < std::min(end, children[q + 1]); ++i) {
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

    const ngram_corpus& corpus_;
    const ngram_options& options_;
    collection_counts& counts_;
    scratch_folder& scratch_;
    table_share& share_;
    cpu_place place_;
    unsigned tables_ = 0;
    std::uint64_t ngrams_ = 0;
    bool counts_unknown_ = false;
    double unknown_ = 1;  ///< of <unk>, if it is not counted
};

}  // namespace

std::uint64_t leave_out_unwritable_words(const ngram_corpus& corpus, collection_counts& counts,
                                         const context& ctx) {
    constexpr std::string_view white = std::string_view("\0\t\n\v\f\r ", 7);
    std::vector<bool> unwritable;  // by id; empty if there are none
    std::uint64_t words = 0;
    std::string first;
    counts.of(1).for_each([&](std::span<const counted_ngram> part) {
        for (const counted_ngram& of : part) {
            const std::uint32_t id = corpus.words[of.position];
            if (id == corpus.vocabulary) continue;  // <unk> itself
            const std::string_view word = corpus.word(id);
            const bool own = word == "<s>" || word == "</s>" || word == unknown_ngram_word;
            if (!own && word.find_first_of(white) == std::string_view::npos) continue;
            if (words++ == 0) {
                first = word;
                unwritable.resize(corpus.vocabulary + std::size_t{1});
            }
            unwritable[id] = true;
        }
    });
    if (words == 0) return 0;
    counts.remove_if([&](std::uint64_t position, unsigned n) {
        const std::span<const std::uint32_t> ngram = corpus.words.span().subspan(position, n);
        return std::ranges::any_of(ngram, [&](std::uint32_t id) { return unwritable[id]; });
    });
    ctx.log(log_level::warning,
            fmt::format(
                "the ARPA file lacks {} word{} that the format cannot hold (white space, <s>, </s>, <unk>), "
                "such as '{}', and the n-grams with {}",
                words, words == 1 ? "" : "s", first, words == 1 ? "it" : "them"));
    return words;
}

std::uint64_t write_arpa_model(const ngram_corpus& corpus, const ngram_options& options,
                               collection_counts& counts, scratch_folder& scratch, table_share& share,
                               const context& ctx, const std::function<void(std::string_view)>& sink) {
    return arpa_model(corpus, options, counts, scratch, share, ctx).write(sink);
}

}  // namespace quern
