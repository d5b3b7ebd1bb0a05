// SPDX-License-Identifier: Apache-2.0
// Sorting runs on disk would write each position twice, with its key, and then compare words all over a mapped text.
// Instead the words are read again and again, in order, at the speed of a copy: each time the positions of a range of first
// words are gathered with all words of their n-grams, and sorted where they are. Ranges are cut between first words, and
// within the most frequent ones between the second.
#include "ops/ngram_likelihood/order/counted_pieces.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/order/packed_keys.hpp"
#include "ops/ngram_likelihood/order/tie_sorter.hpp"
#include "ops/ngram_likelihood/rows/rows_from_order.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::ngram_detail {
namespace {

/// The first two words of an n-gram as one number: the id, and the id + 1, or 0 past the end of the document.
using beginning = std::uint64_t;
constexpr beginning beginning_of(std::uint32_t first, std::uint64_t second) {
    return std::uint64_t{first} << 32 | second;
}

/// The words of a collection in chunks for threads, each read in order.
class word_chunks {
  public:
    word_chunks(cpu_place& place, const ngram_collection& collection)
        : place_(place),
          words_(collection.words),
          ends_(collection.documents.subspan(1)),
          chunks_(pieces_for(place, words_.size(), std::size_t{1} << 16)) {}

    std::size_t count() const { return chunks_; }

    /// work(position, chunk) for every position.
    template <class Work>
    void for_each(const Work& work) const {
        for_each_piece(place_, chunks_, [&](std::size_t chunk) {
            const auto [first, last] = piece_of(words_.size(), chunks_, chunk);
            in_checked_parts(place_.ctx(), first, last, neighbouring_values,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 for (std::uint64_t i = begin; i < end; ++i) work(i, chunk);
                             });
        });
    }
    /// work(position, end of its document, chunk) for the positions whose word `takes`.
    template <class Takes, class Work>
    void for_each_of(const Takes& takes, const Work& work) const {
        for_each_piece(place_, chunks_, [&](std::size_t chunk) {
            const auto [first, last] = piece_of(words_.size(), chunks_, chunk);
            auto end_of = std::upper_bound(ends_.begin(), ends_.end(), first);
            in_checked_parts(place_.ctx(), first, last, neighbouring_values,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 for (std::uint64_t i = begin; i < end; ++i) {
                                     if (!takes(words_[i])) continue;
                                     while (*end_of <= i) ++end_of;
                                     work(i, *end_of, chunk);
                                 }
                             });
        });
    }

    std::uint32_t word(std::uint64_t position) const { return words_[position]; }
    beginning begins(std::uint64_t position, std::uint64_t end) const {
        return beginning_of(words_[position],
                            position + 1 == end ? 0 : std::uint64_t{words_[position + 1]} + 1);
    }

  private:
    cpu_place& place_;
    std::span<const std::uint32_t> words_;
    std::span<const std::uint64_t> ends_;
    std::size_t chunks_;
};

/// How many positions begin in which way, more precisely where there are too many for a piece.
class piece_cuts {
  public:
    /// `max_positions`: of a piece.
    piece_cuts(const word_chunks& words, std::uint32_t vocabulary, std::uint64_t max_positions)
        : words_(words), max_positions_(max_positions), vocabulary_(vocabulary) {
        const unsigned shift = shift_to(14);
        const auto group = [shift](std::uint32_t word) { return word >> shift; };
        const counts groups = counted((vocabulary >> shift) + std::size_t{1}, [&](const auto& add) {
            words_.for_each([&](std::uint64_t i, std::size_t chunk) { add(chunk, group(words_.word(i))); });
        });
        std::vector<std::size_t> heavy_groups = beyond(groups);
        std::vector<std::size_t> heavy_words;
        const counts of_words = shift == 0 ? groups : words_of(heavy_groups, shift);
        for (const std::size_t g : heavy_groups)
            for (std::size_t w = g << shift;
                 w < std::min<std::size_t>((g + 1) << shift, vocabulary + std::size_t{1}); ++w)
                if (count_in(of_words, heavy_groups, shift, w) > max_positions_) heavy_words.push_back(w);
        const unsigned second_shift = shift_to(12);
        const std::size_t seconds = ((vocabulary + std::size_t{1}) >> second_shift) + 1;
        const counts of_seconds = seconds_of(heavy_words, second_shift, seconds);

        for (std::size_t g = 0, word = 0; g < groups.size(); ++g) {
            if (groups[g] <= max_positions_) {
                add(beginning_of(static_cast<std::uint32_t>(g << shift), 0), groups[g]);
                continue;
            }
            for (std::size_t w = g << shift;
                 w < std::min<std::size_t>((g + 1) << shift, vocabulary + std::size_t{1}); ++w) {
                const auto first = static_cast<std::uint32_t>(w);
                const std::uint64_t all = count_in(of_words, heavy_groups, shift, w);
                if (all <= max_positions_) {
                    add(beginning_of(first, 0), all);
                    continue;
                }
                for (std::size_t s = 0; s < seconds; ++s)
                    add(beginning_of(first, s << second_shift), of_seconds[word * seconds + s]);
                ++word;
            }
        }
        begins_.push_back(std::numeric_limits<beginning>::max());
    }

    /// Whether every piece has `max_positions` at most.
    bool fit() const { return fit_; }
    /// Where each piece begins, and a number beyond the last.
    std::span<const beginning> begins() const { return begins_; }
    std::size_t piece(beginning of) const {
        return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), of) -
                                        begins_.begin()) -
               1;
    }

  private:
    using counts = std::vector<std::uint64_t>;

    unsigned shift_to(unsigned bits) const {
        return std::max(bits, static_cast<unsigned>(std::bit_width(vocabulary_))) - bits;
    }
    /// visit(add) calls add(chunk, place) for each position.
    template <class Visit>
    counts counted(std::size_t size, const Visit& visit) const {
        std::vector<counts> of_chunks(words_.count());
        visit([&](std::size_t chunk, std::size_t at) {
            if (of_chunks[chunk].empty()) of_chunks[chunk].resize(size);
            ++of_chunks[chunk][at];
        });
        counts sum(size);
        for (const counts& of_chunk : of_chunks)
            for (std::size_t i = 0; i < of_chunk.size(); ++i) sum[i] += of_chunk[i];
        return sum;
    }
    std::vector<std::size_t> beyond(const counts& of) const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < of.size(); ++i)
            if (of[i] > max_positions_) found.push_back(i);
        return found;
    }
    /// Of each word of these groups, one group after the other.
    counts words_of(std::span<const std::size_t> groups, unsigned shift) const {
        if (groups.empty()) return {};
        return counted(groups.size() << shift, [&](const auto& add) {
            words_.for_each([&](std::uint64_t i, std::size_t chunk) {
                const std::uint32_t word = words_.word(i);
                const auto at = std::ranges::lower_bound(groups, std::size_t{word >> shift});
                if (at == groups.end() || *at != word >> shift) return;
                const auto group = static_cast<std::size_t>(at - groups.begin());
                add(chunk, (group << shift) + (word & ((std::uint32_t{1} << shift) - 1)));
            });
        });
    }
    static std::uint64_t count_in(const counts& of_words, std::span<const std::size_t> groups, unsigned shift,
                                  std::size_t word) {
        if (shift == 0) return of_words[word];
        const auto group =
            static_cast<std::size_t>(std::ranges::lower_bound(groups, word >> shift) - groups.begin());
        return of_words[(group << shift) + (word & ((std::size_t{1} << shift) - 1))];
    }
    /// Of each of these words, the groups of the words after it.
    counts seconds_of(std::span<const std::size_t> firsts, unsigned shift, std::size_t seconds) const {
        if (firsts.empty()) return {};
        const auto takes = [&](std::uint32_t word) {
            return std::ranges::binary_search(firsts, std::size_t{word});
        };
        return counted(firsts.size() * seconds, [&](const auto& add) {
            words_.for_each_of(takes, [&](std::uint64_t i, std::uint64_t end, std::size_t chunk) {
                const auto first = static_cast<std::size_t>(
                    std::ranges::lower_bound(firsts, std::size_t{words_.word(i)}) - firsts.begin());
                const auto second = static_cast<std::uint32_t>(words_.begins(i, end));
                add(chunk, first * seconds + (second >> shift));
            });
        });
    }
    void add(beginning begin, std::uint64_t count) {
        fit_ = fit_ && count <= max_positions_;
        if (begins_.empty() || held_ + count > max_positions_) {
            begins_.push_back(begins_.empty() ? 0 : begin);
            held_ = 0;
        }
        held_ += count;
    }

    const word_chunks& words_;
    std::uint64_t max_positions_;
    std::uint32_t vocabulary_;
    std::vector<beginning> begins_;
    std::uint64_t held_ = 0;
    bool fit_ = true;
};

/// The n-grams of a piece, in the order of the text: their first words as keys, and the others.
class piece_keys {
  public:
    piece_keys(cpu_place& place, std::uint32_t vocabulary, unsigned order, std::uint64_t max_positions)
        : order_(order),
          packing_(vocabulary, order),
          columns_(order - packing_.words),
          rest_(place, max_positions * columns_, "n-grams") {}

    /// For each position, besides the arrays of piece_counter.
    static std::uint64_t bytes_of_rest(std::uint32_t vocabulary, unsigned order) {
        return (order - word_packing(vocabulary, order).words) * sizeof(std::uint32_t);
    }

    const word_packing& packing() const { return packing_; }
    unsigned order() const { return order_; }
    unsigned words_after(unsigned known) const { return std::min(packing_.words, order_ - known); }
    std::uint64_t key_after(std::uint64_t i, unsigned known) const {
        std::uint64_t key = 0;
        for (unsigned k = known; k < known + packing_.words; ++k)
            key = key << packing_.bits | (k < order_ ? rest(i)[k - packing_.words] : 0);
        return key;
    }
    void fetch(std::uint64_t i, unsigned known) const {
        __builtin_prefetch(rest(i) + (known - packing_.words));
    }

    /// Sets the rest of n-gram i, that of these words up to the order; returns its key.
    std::uint64_t set(std::uint64_t i, const std::uint32_t* words, unsigned left) {
        const auto field = [&](unsigned k) { return k < left ? words[k] + 1 : 0; };
        for (unsigned k = packing_.words; k < order_; ++k) rest(i)[k - packing_.words] = field(k);
        std::uint64_t key = 0;
        for (unsigned k = 0; k < packing_.words; ++k) key = key << packing_.bits | field(k);
        return key;
    }

  private:
    std::uint32_t* rest(std::uint64_t i) const { return rest_.data() + i * columns_; }

    unsigned order_;
    word_packing packing_;
    unsigned columns_;
    cpu_array<std::uint32_t> rest_;
};

class piece_counter {
  public:
    /// `max_positions`: of a piece.
    piece_counter(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                  std::uint64_t max_positions)
        : place_(place),
          collection_(collection),
          options_(options),
          none_(place, {}),
          ngrams_(place, collection.vocabulary, options.order, max_positions),
          keys_(place, max_positions, "n-grams"),
          positions_(place, max_positions, "n-grams"),
          numbers_(place, max_positions, "n-grams"),
          left_(place, max_positions, "n-grams"),
          sorted_left_(place, max_positions, "n-grams"),
          shared_(place, max_positions, "n-grams") {}

    static std::uint64_t bytes_of_position(const ngram_collection& collection, const ngram_options& options) {
        constexpr std::uint64_t arrays = 8 + 8 + 4 + 1 + 1 + 1, sorting = 16;
        return arrays + sorting + piece_keys::bytes_of_rest(collection.vocabulary, options.order);
    }

    std::vector<ngram_totals> run(const word_chunks& words, const piece_cuts& cuts,
                                  const collection_sink& sink) {
        const std::size_t pieces = cuts.begins().size() - 1;
        std::vector<std::vector<std::uint64_t>> begins(words.count(), std::vector<std::uint64_t>(pieces));
        words.for_each_of([](std::uint32_t) { return true; },
                          [&](std::uint64_t i, std::uint64_t end, std::size_t chunk) {
                              ++begins[chunk][cuts.piece(words.begins(i, end))];
                          });
        const std::vector<split_word> split = split_words(words, cuts);
        std::vector<ngram_totals> totals;
        for (std::size_t p = 0; p < pieces; ++p) {
            std::uint64_t size = 0;
            for (std::vector<std::uint64_t>& of_chunk : begins) {
                const std::uint64_t begin = size;
                size += of_chunk[p];
                of_chunk[p] = begin;
            }
            gather(words, cuts.begins()[p], cuts.begins()[p + 1], begins, p);
            const part_of_order part{collection_.words.size(), split[p], split[p + 1]};
            add(totals, count(size, part, sink));
        }
        return totals;
    }

  private:
    /// For each beginning of a piece the word within which it lies, if it does.
    std::vector<split_word> split_words(const word_chunks& words, const piece_cuts& cuts) {
        std::vector<std::uint32_t> firsts;  // of beginnings within a word
        for (const beginning begin : cuts.begins())
            if (is_within_word(begin)) firsts.push_back(static_cast<std::uint32_t>(begin >> 32));
        firsts.erase(std::ranges::unique(firsts).begin(), firsts.end());
        std::vector<std::vector<split_word>> of_chunks(words.count(), std::vector<split_word>(firsts.size()));
        if (!firsts.empty()) {
            words.for_each_of([&](std::uint32_t word) { return std::ranges::binary_search(firsts, word); },
                              [&](std::uint64_t i, std::uint64_t end, std::size_t chunk) {
                                  const auto at =
                                      std::ranges::lower_bound(firsts, words.word(i)) - firsts.begin();
                                  split_word& of = of_chunks[chunk][static_cast<std::size_t>(at)];
                                  if (of.count++ == 0) of.position = i;
                                  of.followed += i + 1 != end ? 1 : 0;
                              });
        }
        std::vector<split_word> result;
        for (const beginning begin : cuts.begins()) {
            split_word& of = result.emplace_back();
            if (!is_within_word(begin)) continue;
            const auto at =
                std::ranges::lower_bound(firsts, static_cast<std::uint32_t>(begin >> 32)) - firsts.begin();
            for (const std::vector<split_word>& of_chunk : of_chunks) {
                const split_word& more = of_chunk[static_cast<std::size_t>(at)];
                if (of.count == 0) of.position = more.position;
                of.count += more.count;
                of.followed += more.followed;
            }
        }
        return result;
    }
    static bool is_within_word(beginning begin) {
        return begin != std::numeric_limits<beginning>::max() && static_cast<std::uint32_t>(begin) != 0;
    }

    /// The positions of a piece, those of a chunk from begins[chunk][piece] on.
    void gather(const word_chunks& words, beginning first, beginning last,
                std::vector<std::vector<std::uint64_t>>& begins, std::size_t piece) {
        const auto first_word = static_cast<std::uint32_t>(first >> 32);
        const std::uint32_t others = static_cast<std::uint32_t>((last - 1) >> 32) - first_word;
        const auto may_be = [=](std::uint32_t word) { return word - first_word <= others; };
        words.for_each_of(may_be, [&](std::uint64_t position, std::uint64_t end, std::size_t chunk) {
            const beginning begin = words.begins(position, end);
            if (begin < first || begin >= last) return;
            const std::uint64_t i = begins[chunk][piece]++;
            const auto left = static_cast<unsigned>(std::min<std::uint64_t>(end - position, options_.order));
            keys_.data()[i] = ngrams_.set(i, collection_.words.data() + position, left);
            positions_.data()[i] = position;
            numbers_.data()[i] = static_cast<std::uint32_t>(i);
            left_.data()[i] = static_cast<std::uint8_t>(left);
        });
    }

    std::vector<ngram_totals> count(std::uint64_t size, part_of_order part, const collection_sink& sink) {
        part.first.is_noted = true;
        const std::span<std::uint64_t> keys = keys_.span().first(size);
        const std::span<std::uint32_t> numbers = numbers_.span().first(size);
        const std::span<std::uint8_t> shared = shared_.span().first(size);
        const word_packing& packing = ngrams_.packing();
        primitives::sort_pairs(place_, keys, numbers, {.key_bits = packing.key_bits()});
        in_pieces(size, [&](std::size_t i) {
            shared[i] = i == 0 ? 0 : static_cast<std::uint8_t>(packing.shared(keys[i - 1], keys[i]));
        });
        if (options_.order > packing.words) {
            constexpr std::size_t few_megabytes = std::size_t{1} << 18, none_of_a_thread = 1;
            const std::size_t of_thread =
                std::max(none_of_a_thread, place_.memory().left() / place_.threads() / (2 * sizeof(tie)));
            using sorter = tie_sorter<std::uint32_t, piece_keys>;
            sorter(place_, ngrams_, numbers, shared, std::min(few_megabytes, of_thread)).sort();
        }
        in_pieces(size, [&](std::size_t i) {
            keys[i] = positions_.data()[numbers[i]];
            sorted_left_.data()[i] = left_.data()[numbers[i]];
        });
        const sorted_ngrams<std::uint64_t> sorted{keys, shared, sorted_left_.span().first(size)};
        return collection_from_order(place_, sorted, none_, options_, sink, &part);
    }

    template <class Work>
    void in_pieces(std::size_t size, const Work& work) {
        const std::size_t pieces = pieces_for(place_, size, std::size_t{1} << 16);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(size, pieces, p);
            in_checked_parts(place_.ctx(), begin, end, neighbouring_values,
                             [&](std::uint64_t from, std::uint64_t to) {
                                 for (std::uint64_t i = from; i < to; ++i) work(i);
                             });
        });
    }

    static void add(std::vector<ngram_totals>& totals, const std::vector<ngram_totals>& of_piece) {
        if (totals.empty()) {
            totals = of_piece;
            return;
        }
        for (std::size_t t = 0; t < totals.size(); ++t) totals[t].distinct += of_piece[t].distinct;
    }

    cpu_place& place_;
    const ngram_collection& collection_;
    const ngram_options& options_;
    document_table none_;
    piece_keys ngrams_;
    cpu_array<std::uint64_t> keys_;       ///< then the positions, sorted
    cpu_array<std::uint64_t> positions_;  ///< in the order of the text
    cpu_array<std::uint32_t> numbers_;    ///< places in this order, sorted
    cpu_array<std::uint8_t> left_, sorted_left_, shared_;
};

}  // namespace

bool count_by_pieces(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                     const collection_sink& sink, ngram_record& record) {
    constexpr std::size_t max_pieces = 96;  // reading a word costs 1 to 2 ns, sorting it on disk about 150
    constexpr std::uint64_t sorting_of_thread = std::uint64_t{5} << 20;
    const std::uint64_t memory = place.memory().left() / 4 * 3;
    const std::uint64_t of_threads = std::min(memory / 2, place.threads() * sorting_of_thread);
    const std::uint64_t max_positions = std::min<std::uint64_t>(
        {(memory - of_threads) / piece_counter::bytes_of_position(collection, options),
         collection.words.size(), std::numeric_limits<std::uint32_t>::max()});
    const word_chunks words(place, collection);
    const piece_cuts cuts(words, collection.vocabulary, max_positions);
    const std::size_t pieces = cuts.begins().size() - 1;
    if (!cuts.fit() || pieces > max_pieces) return false;
    record.totals = piece_counter(place, collection, options, max_positions).run(words, cuts, sink);
    record.pieces = pieces;
    return true;
}

}  // namespace quern::ngram_detail
