// SPDX-License-Identifier: Apache-2.0
// A stretch's positions are in the order of what follows, not of their documents (but for n = order), so documents are gathered
// for each stretch anew. What a history needs is kept as a list by document while the stretches after it are made.
#include "ops/ngram_likelihood/rows_from_order.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/formula.hpp"
#include "ops/ngram_likelihood/ordered_rows.hpp"

namespace quern::ngram_detail {
namespace {

constexpr std::size_t piece_positions = std::size_t{1} << 14;
constexpr std::size_t most_rows_held = std::size_t{1} << 16, most_rows_waiting = std::size_t{1} << 21;

/// Cuts the order between first words, into pieces of about equal size; where one begins, and the end.
std::vector<std::size_t> cut_at_first_words(std::span<const std::uint8_t> shared) {
    std::vector<std::size_t> begins{0};
    for (std::size_t i = piece_positions; i < shared.size(); i = begins.back() + piece_positions) {
        while (i < shared.size() && shared[i] != 0) ++i;
        if (i < shared.size())
            begins.push_back(i);
        else
            break;
    }
    begins.push_back(shared.size());
    return begins;
}

/// A history's counts in one document: its occurrences that are followed, and by how many distinct words.
struct document_count {
    std::uint32_t document, followed, followers;
};

/// What all pieces have in common.
template <class Position>
struct shared_facts {
    const sorted_ngrams<Position>& sorted;
    const document_table& documents;
    std::uint64_t words, document_count;
    const ngram_options& options;
    std::span<const std::uint32_t> distinct_words;  ///< of each document; empty: not needed
    bm25_constants bm25;
    unsigned first_n;  ///< the shortest that is given out
};

/// Makes the rows of one piece after the other.
template <class Position>
class row_maker {
  public:
    explicit row_maker(const shared_facts<Position>& facts)
        : facts_(facts), histories_(facts.options.order) {}

    /// The sorted positions [begin, end): whole stretches of n = 1.
    void make(std::size_t begin, std::size_t end, piece_rows& out, const std::function<void()>& relieve) {
        out_ = &out;
        base_ = begin;
        places_.clear();
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint64_t position = facts_.sorted.positions[i];
            const auto [document, first, last] = facts_.documents.of(position);
            places_.push_back({document, static_cast<std::uint32_t>(position - first),
                               static_cast<std::uint32_t>(last - first)});
        }
        for (std::size_t i = begin; i < end;) {
            const std::size_t next = end_of_stretch(1, i, end);
            stretch_of(1, i, next);
            i = next;
            if (out.rows() >= most_rows_held) relieve();
        }
    }

  private:
    /// Where a position is: the word `at` of a document of `words`.
    struct place_in_document {
        std::uint32_t document, at, words;
        auto operator<=>(const place_in_document&) const = default;
    };
    /// A document that holds the n-gram at hand.
    struct holder {
        std::uint32_t document, first, count, words;
        bool ended;  ///< the document ends with it
    };

    const place_in_document& place_of(std::size_t i) const { return places_[i - base_]; }
    unsigned order() const { return facts_.options.order; }

    std::size_t end_of_stretch(unsigned n, std::size_t i, std::size_t end) const {
        ++i;
        while (i < end && facts_.sorted.shared[i] >= n) ++i;
        return i;
    }

    /// The documents of a stretch of n, in order.
    void gather(unsigned n, std::size_t begin, std::size_t end) {
        gathered_.assign(places_.begin() + static_cast<std::ptrdiff_t>(begin - base_),
                         places_.begin() + static_cast<std::ptrdiff_t>(end - base_));
        if (n < order()) std::sort(gathered_.begin(), gathered_.end());
        holders_.clear();
        for (const place_in_document& p : gathered_) {
            if (holders_.empty() || holders_.back().document != p.document)
                holders_.push_back({p.document, p.at, 0, p.words, false});
            ++holders_.back().count;
            holders_.back().ended |= p.at + n == p.words;
        }
    }

    void stretch_of(unsigned n, std::size_t begin, std::size_t end) {
        if (end - begin < facts_.options.min_count) return;
        if (n >= facts_.first_n || n + 1 == order()) gather(n, begin, end);
        if (n >= facts_.first_n) give_rows(n, end - begin);
        if (n == order()) return;

        // Those at the end of their documents come first: the end sorts before every word.
        while (begin < end && place_of(begin).at + n == place_of(begin).words) ++begin;
        if (begin == end) return;
        if (n + 1 >= facts_.first_n) keep_history(n, begin, end);
        while (begin < end) {
            const std::size_t next = end_of_stretch(n + 1, begin, end);
            stretch_of(n + 1, begin, next);
            begin = next;
        }
    }

    /// The stretch at hand, without its documents' ends, is the history of what follows.
    void keep_history(unsigned n, std::size_t begin, std::size_t end) {
        history& now = histories_[n];
        now.followed = end - begin;
        now.counts.clear();
        for (const holder& h : holders_) {
            const std::uint32_t followed = h.count - (h.ended ? 1 : 0);
            if (followed != 0) now.counts.push_back({h.document, followed, 0});
        }
        if (facts_.options.smoothing == ngram_smoothing::absolute) count_followers(n, begin, end);
    }

    void count_followers(unsigned n, std::size_t begin, std::size_t end) {
        while (begin < end) {
            const std::size_t next = end_of_stretch(n + 1, begin, end);
            gather(n + 1, begin, next);
            for (const holder& h : holders_) ++find(n, h.document)->followers;
            begin = next;
        }
    }

    document_count* find(unsigned n, std::uint32_t document) {
        auto& counts = histories_[n].counts;
        return &*std::lower_bound(counts.begin(), counts.end(), document,
                                  [](const document_count& c, std::uint32_t d) { return c.document < d; });
    }

    void give_rows(unsigned n, std::uint64_t in_collection) {
        const ngram_options& options = facts_.options;
        const double idf = options.measure == ngram_measure::bm25
                               ? inverse_document_frequency(facts_.document_count, holders_.size())
                               : 0;
        ngram_counts counts{.in_collection = in_collection,
                            .history_in_collection = n == 1 ? facts_.words : histories_[n - 1].followed};
        row_block& block = out_->blocks[n - facts_.first_n];
        for (const holder& h : holders_) {
            counts.in_document = h.count;
            if (n == 1) {
                counts.history_in_document = h.words;
                counts.followers = facts_.distinct_words.empty() ? 0 : facts_.distinct_words[h.document];
            } else {
                const document_count* const of_history = find(n - 1, h.document);
                counts.history_in_document = of_history->followed;
                counts.followers = of_history->followers;
            }
            const double weight =
                options.measure == ngram_measure::bm25
                    ? facts_.bm25.weight(idf, h.count, h.words)
                    : likelihood(counts, options.smoothing, options.lambda, options.mu, options.delta);
            block.add({h.document, h.first, h.count, static_cast<std::uint32_t>(counts.history_in_document),
                       in_collection, counts.history_in_collection, weight});
        }
        ++out_->distinct[n - facts_.first_n];
    }

    struct history {
        std::uint64_t followed = 0;
        std::vector<document_count> counts;  ///< by document
    };

    const shared_facts<Position>& facts_;
    piece_rows* out_ = nullptr;
    std::size_t base_ = 0;
    std::vector<place_in_document> places_, gathered_;
    std::vector<holder> holders_;
    std::vector<history> histories_;  ///< [n]: of the stretch of n that is being cut
};

/// Of each document, how many distinct words it has.
template <class Position>
cpu_array<std::uint32_t> distinct_words(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                        const document_table& documents, std::uint64_t document_count) {
    cpu_array<std::uint32_t> distinct(place, document_count, "distinct words of documents");
    cpu_array<std::uint64_t> seen_in(place, document_count, "distinct words of documents");
    std::fill_n(distinct.data(), distinct.size(), 0);
    std::fill_n(seen_in.data(), seen_in.size(), ~std::uint64_t{0});
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sorted.positions.size(); ++i) {
        if (i != 0 && sorted.shared[i] == 0) ++word;
        const std::uint32_t document = documents.of(sorted.positions[i]).document;
        if (std::exchange(seen_in.data()[document], word) != word) ++distinct.data()[document];
    }
    return distinct;
}

}  // namespace

template <class Position>
std::vector<ngram_totals> rows_from_order(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                          const document_table& documents, std::uint64_t document_count,
                                          const ngram_options& options,
                                          const std::function<void(const ngram_rows&)>& take) {
    const std::uint64_t words = sorted.positions.size();
    cpu_array<std::uint32_t> distinct;
    if (options.smoothing == ngram_smoothing::absolute)
        distinct = distinct_words(place, sorted, documents, document_count);
    const shared_facts<Position> facts{sorted,
                                       documents,
                                       words,
                                       document_count,
                                       options,
                                       distinct.span(),
                                       bm25_constants(options.k1, options.b, words, document_count),
                                       options.only ? options.order : 1};
    const std::vector<std::size_t> begins = cut_at_first_words(sorted.shared);
    ordered_rows out(facts.first_n, options, take, most_rows_waiting);
    std::atomic<std::size_t> next{0};
    const std::size_t pieces = words == 0 ? 0 : begins.size() - 1;
    for_each_piece(place, std::min<std::size_t>(pieces, place.threads()), [&](std::size_t) {
        row_maker<Position> maker(facts);
        try {
            // Pieces are taken in order, so that the one whose turn it is never waits.
            for (std::size_t p = next++; p < pieces; p = next++) {
                place.run().check_stop();
                piece_rows rows = out.room();
                maker.make(begins[p], begins[p + 1], rows, [&] { out.relieve(p, rows); });
                if (!out.complete(p, std::move(rows))) break;
            }
        } catch (...) {
            out.fail();
            throw;
        }
    });
    return out.totals();
}

template std::vector<ngram_totals> rows_from_order(cpu_place&, const sorted_ngrams<std::uint32_t>&,
                                                   const document_table&, std::uint64_t, const ngram_options&,
                                                   const std::function<void(const ngram_rows&)>&);
template std::vector<ngram_totals> rows_from_order(cpu_place&, const sorted_ngrams<std::uint64_t>&,
                                                   const document_table&, std::uint64_t, const ngram_options&,
                                                   const std::function<void(const ngram_rows&)>&);

}  // namespace quern::ngram_detail
