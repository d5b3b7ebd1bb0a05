// SPDX-License-Identifier: Apache-2.0
// Makes the rows of ranges of sorted n-grams, shortest first: a range's documents and their counts, the weights from these
// and from the history's counts, and then the ranges of the n-grams one word longer.
//
// A range's positions are in the order of the following words, not of their documents (except for n = order), so documents
// are gathered anew for each range: few by insertion, many in counters. Half of a text's n-grams occur
// once: their rows of all lengths are written at once. A history's counts in each document are kept while the ranges that
// extend it are made.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "ops/ngram_likelihood/rows/formula.hpp"
#include "ops/ngram_likelihood/rows/ordered_rows.hpp"
#include "ops/ngram_likelihood/rows/rows_from_order.hpp"

namespace quern::ngram_detail {

/// Collects the documents of many positions in ascending order, without sorting: one counter per document, and a bitmap of
/// the documents seen, with a summary bitmap 64 times smaller.
class document_counts {
  public:
    static std::uint64_t bytes_for(std::uint64_t documents) {
        return documents * sizeof(seen) + documents / 4 + 64;
    }

    document_counts(cpu_place& place, std::size_t documents)
        : seen_(place, documents, "counters of documents"),
          bits_(place, documents / 64 + 1, "counters of documents"),
          summary_(place, documents / 4096 + 1, "counters of documents") {
        for (std::uint64_t& word : bits_.span()) word = 0;
        for (std::uint64_t& word : summary_.span()) word = 0;
    }

    /// Word `at` of a document begins an occurrence.
    void add_document(std::uint32_t document, std::uint32_t at) {
        std::uint64_t& word = bits_.data()[document / 64];
        const std::uint64_t bit = std::uint64_t{1} << document % 64;
        seen& counted = seen_.data()[document];
        if ((word & bit) == 0) {
            summary_.data()[document / 4096] |= std::uint64_t{1} << document / 64 % 64;
            word |= bit;
            counted = {1, at};
            return;
        }
        ++counted.count;
        if (at < counted.first) counted.first = at;
    }

    /// sink(document, first, count) for the documents seen, ascending; then clears them.
    template <class Sink>
    void take_all(const Sink& sink) {
        for (std::size_t s = 0; s < summary_.size(); ++s) {
            std::uint64_t& words = summary_.data()[s];
            for (; words != 0; words &= words - 1) {
                const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(words));
                std::uint64_t& bits = bits_.data()[w];
                for (; bits != 0; bits &= bits - 1) {
                    const auto document =
                        static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
                    sink(document, seen_.data()[document].first, seen_.data()[document].count);
                }
            }
        }
    }

  private:
    struct seen {
        std::uint32_t count, first;
    };
    cpu_array<seen> seen_;
    cpu_array<std::uint64_t> bits_, summary_;
};

/// Shared by all makers.
template <class Position>
struct collection_stats {
    const sorted_ngrams<Position>& sorted;
    const document_table& documents;
    std::span<const std::uint64_t> offsets;  ///< of documents
    const ngram_options& options;
    std::span<const std::uint32_t> distinct_words;  ///< of each document; empty: unused
    bool tables = false;                            ///< whether memory suffices for counters of all documents
    std::size_t max_places = 0;                     ///< that a maker keeps at once

    std::uint64_t words() const { return sorted.positions.size(); }
    std::uint64_t document_count() const { return offsets.empty() ? 0 : offsets.size() - 1; }
    unsigned first_n() const { return options.only ? options.order : 1; }
    bool is_bm25() const { return options.measure == ngram_measure::bm25; }
    /// The memory of one maker for the documents of a frequent word, besides counters: them, their copy, their counts as
    /// a history.
    static std::uint64_t holder_bytes(std::uint64_t documents) { return documents * 36; }
    /// The memory of one maker's counters.
    static std::uint64_t table_bytes(std::uint64_t documents, unsigned order) {
        return document_counts::bytes_for(documents) + documents * 8 * (order - 1);
    }
};

template <class Position>
class row_maker {
  public:
    row_maker(cpu_place& place, const collection_stats<Position>& stats)
        : place_(place),
          stats_(stats),
          bm25_(stats.options.k1, stats.options.b, stats.words(), stats.document_count()),
          smoother_{stats.options.smoothing, stats.options.lambda, stats.options.mu, stats.options.delta, 1},
          weight_alone_(smoother_.likelihood(1, 1, 1)),
          idf_alone_(inverse_document_frequency(stats.document_count(), 1)),
          histories_(stats.options.order) {
        if (stats.tables && order() > 1)
            counts_of_documents_ = std::make_unique<document_counts>(place, stats.document_count());
    }

    /// The sorted positions [begin, end): whole ranges of n = 1. Calls `relieve` after about every `max_held` rows.
    void make(std::size_t begin, std::size_t end, piece_rows& out, std::size_t max_held,
              const std::function<void()>& relieve) {
        out_ = &out;
        relieve_ = &relieve;
        max_held_ = max_held;
        base_ = begin;
        // For the piece of a frequent word, the places are found again for each length instead of stored.
        placed_ = end - begin <= stats_.max_places ? end - begin : 0;
        if (places_.size() < placed_)
            places_.resize(std::clamp(2 * places_.size(), placed_, stats_.max_places));
        for (std::size_t i = 0; i < placed_; ++i) places_[i] = find_place(begin + i);
        for (std::size_t i = begin; i < end;) {
            const std::size_t next = end_of_range(1, i, end);
            range_of(1, i, next);
            i = next;
        }
    }

  private:
    /// A document that contains the current n-gram.
    struct holder {
        std::uint32_t document, first, count;
    };
    /// A history's counts in one document: its followed occurrences, and the number of distinct followers.
    struct followed_count {
        std::uint32_t followed, followers;
    };
    struct history {
        std::uint64_t followed = 0;
        bool in_table = false;
        std::vector<std::uint32_t> documents;  ///< ascending, unless in the table
        std::vector<followed_count> counts;    ///< of each of them
        cpu_array<followed_count> table;       ///< of every document
    };
    static constexpr std::size_t few_positions = 24, few_holders = 16;

    unsigned order() const { return stats_.options.order; }
    std::uint64_t place_of(std::size_t i) const { return placed_ != 0 ? places_[i - base_] : find_place(i); }
    std::uint64_t find_place(std::size_t i) const {
        const std::uint64_t position = stats_.sorted.positions[i];
        const auto where = stats_.documents.of(position);
        return std::uint64_t{where.document} << 32 | (position - where.begin);
    }
    static std::uint32_t document_of(std::uint64_t place) { return static_cast<std::uint32_t>(place >> 32); }
    static std::uint32_t at(std::uint64_t place) { return static_cast<std::uint32_t>(place); }
    std::uint32_t words_of(std::uint32_t document) const {
        return static_cast<std::uint32_t>(stats_.offsets[document + std::size_t{1}] -
                                          stats_.offsets[document]);
    }

    std::size_t end_of_range(unsigned n, std::size_t i, std::size_t end) const {
        const std::uint8_t* const shared = stats_.sorted.shared.data();
        ++i;
        while (i < end && shared[i] >= n) ++i;
        return i;
    }

    void range_of(unsigned n, std::size_t begin, std::size_t end) {
        if (end - begin < stats_.options.min_count) return;
        if (end - begin == 1) {
            one_occurrence(n, place_of(begin));
            return;
        }
        if (n >= stats_.first_n() || n + 1 == order()) gather(n, begin, end);
        if (n >= stats_.first_n()) give_rows(n, end - begin);
        if (n == order()) return;

        // Positions at the ends of their documents come first: the end sorts before every word.
        const std::size_t first = begin;
        while (begin < end && at(place_of(begin)) + n == words_of(document_of(place_of(begin)))) ++begin;
        if (begin == end) return;
        if (n + 1 >= stats_.first_n()) keep_history(n, first, begin, end);
        while (begin < end) {
            const std::size_t next = end_of_range(n + 1, begin, end);
            range_of(n + 1, begin, next);
            begin = next;
            if (made_ >= max_held_) {
                (*relieve_)();
                made_ = 0;
            }
        }
    }

    /// Writes an n-gram that occurs once, and the longer ones that it begins.
    void one_occurrence(unsigned n, std::uint64_t place) {
        const std::uint32_t document = document_of(place), words = words_of(document);
        const unsigned last = std::min(order(), words - at(place));
        const auto write = [&](unsigned length, const followed_count& of_history,
                               std::uint64_t history_in_collection, double weight) {
            if (length < stats_.first_n()) return;
            const row_block::columns to = add(length, 1);
            *to.documents = document;
            *to.firsts = at(place);
            *to.in_document = 1;
            *to.in_collection = 1;
            *to.weights = stats_.is_bm25() ? bm25_.weight(idf_alone_, 1, words) : weight;
            ++out_->distinct[length - stats_.first_n()];
            if (to.history_in_document == nullptr) return;
            *to.history_in_document = of_history.followed;
            *to.history_in_collection = history_in_collection;
        };
        if (n >= stats_.first_n()) {
            std::size_t cursor = 0;
            const followed_count of_history = history_of(n, document, cursor);
            smoother_.set_background(1, history_total(n));
            write(n, of_history, history_total(n),
                  smoother_.likelihood(1, of_history.followed, of_history.followers));
        }
        while (n++ < last) write(n, {1, 1}, 1, weight_alone_);
    }

    /// Gathers the documents of a range of n, in order, in holders_.
    void gather(unsigned n, std::size_t begin, std::size_t end) {
        const std::size_t size = end - begin;
        holders_.clear();
        if (n < order() && size > few_positions && counts_of_documents_ != nullptr &&
            size > stats_.document_count() >> 11) {
            for (std::size_t i = begin; i < end; ++i) {
                const std::uint64_t place = place_of(i);
                counts_of_documents_->add_document(document_of(place), at(place));
            }
            counts_of_documents_->take_all(
                [&](std::uint32_t document, std::uint32_t first, std::uint32_t count) {
                    holders_.push_back({document, first, count});
                });
        } else if (n < order()) {
            for (std::size_t i = begin; i < end; i += std::min(end - i, stats_.max_places))
                hold_sorted(i, i + std::min(end - i, stats_.max_places));
        } else {
            for (std::size_t i = begin; i < end; ++i) hold(place_of(i));
        }
    }
    /// Adds the documents of sorted positions to those that holders_ has.
    void hold_sorted(std::size_t begin, std::size_t end) {
        sorted_.clear();
        sorted_.reserve(end - begin);
        for (std::size_t i = begin; i < end; ++i) sorted_.push_back(place_of(i));
        if (end - begin <= few_positions)
            insertion_sort(sorted_);
        else
            std::sort(sorted_.begin(), sorted_.end());
        if (holders_.empty()) {
            for (const std::uint64_t place : sorted_) hold(place);
            return;
        }
        earlier_.swap(holders_);
        holders_.clear();
        auto next = earlier_.begin();
        for (const std::uint64_t place : sorted_) {
            const std::uint32_t document = document_of(place);
            if (holders_.empty() || holders_.back().document != document) {
                while (next != earlier_.end() && next->document < document) holders_.push_back(*next++);
                if (next != earlier_.end() && next->document == document) holders_.push_back(*next++);
            }
            hold(place);
            holders_.back().first = std::min(holders_.back().first, at(place));
        }
        holders_.insert(holders_.end(), next, earlier_.end());
    }
    /// Takes the next occurrence in the order of documents.
    void hold(std::uint64_t place) {
        const std::uint32_t document = document_of(place);
        if (holders_.empty() || holders_.back().document != document)
            holders_.push_back({document, at(place), 0});
        ++holders_.back().count;
    }
    static void insertion_sort(std::vector<std::uint64_t>& values) {
        for (std::size_t i = 1; i < values.size(); ++i) {
            const std::uint64_t value = values[i];
            std::size_t to = i;
            for (; to != 0 && values[to - 1] > value; --to) values[to] = values[to - 1];
            values[to] = value;
        }
    }

    void give_rows(unsigned n, std::uint64_t in_collection) {
        ++out_->distinct[n - stats_.first_n()];
        const std::uint64_t of_all = history_total(n);
        smoother_.set_background(in_collection, of_all);
        const double idf =
            stats_.is_bm25() ? inverse_document_frequency(stats_.document_count(), holders_.size()) : 0;
        std::size_t cursor = 0;
        for (std::size_t begin = 0; begin < holders_.size();) {
            // All documents may hold a frequent word: their rows are output in parts.
            const std::size_t count = std::min(holders_.size() - begin, std::max<std::size_t>(1, max_held_));
            give_rows_of(n, std::span(holders_).subspan(begin, count), in_collection, of_all, idf, cursor);
            begin += count;
            if (begin < holders_.size()) {
                (*relieve_)();
                made_ = 0;
            }
        }
    }
    void give_rows_of(unsigned n, std::span<const holder> holders, std::uint64_t in_collection,
                      std::uint64_t of_all, double idf, std::size_t& cursor) {
        const row_block::columns to = add(n, holders.size());
        for (std::size_t r = 0; r < holders.size(); ++r) {
            const holder& h = holders[r];
            const followed_count of_history = history_of(n, h.document, cursor);
            to.documents[r] = h.document;
            to.firsts[r] = h.first;
            to.in_document[r] = h.count;
            to.in_collection[r] = in_collection;
            to.weights[r] = stats_.is_bm25()
                                ? bm25_.weight(idf, h.count, words_of(h.document))
                                : smoother_.likelihood(h.count, of_history.followed, of_history.followers);
            if (to.history_in_document == nullptr) continue;
            to.history_in_document[r] = of_history.followed;
            to.history_in_collection[r] = of_all;
        }
    }

    /// Keeps the current range, without the documents' ends [first, begin), as the history of its extensions.
    void keep_history(unsigned n, std::size_t first, std::size_t begin, std::size_t end) {
        history& now = histories_[n];
        now.followed = end - begin;
        now.in_table = counts_of_documents_ != nullptr && holders_.size() > few_holders;
        if (now.in_table && now.table.size() == 0)
            now.table = cpu_array<followed_count>(place_, stats_.document_count(), "counters of documents");
        now.documents.clear();
        now.counts.clear();
        for (const holder& h : holders_) {
            if (now.in_table) {
                now.table.data()[h.document] = {h.count, 0};
            } else {
                now.documents.push_back(h.document);
                now.counts.push_back({h.count, 0});
            }
        }
        for (std::size_t i = first; i < begin; ++i) --count_in(now, document_of(place_of(i))).followed;
        if (stats_.options.smoothing != ngram_smoothing::absolute) return;
        while (begin < end) {
            const std::size_t next = end_of_range(n + 1, begin, end);
            gather(n + 1, begin, next);
            for (const holder& h : holders_) ++count_in(now, h.document).followers;
            begin = next;
        }
    }
    static followed_count& count_in(history& of, std::uint32_t document) {
        if (of.in_table) return of.table.data()[document];
        const auto found = std::lower_bound(of.documents.begin(), of.documents.end(), document);
        return of.counts[static_cast<std::size_t>(found - of.documents.begin())];
    }

    std::uint64_t history_total(unsigned n) const {
        return n == 1 ? stats_.words() : histories_[n - 1].followed;
    }
    /// The counts of an n-gram's history in a document. For one cursor, starting at 0, documents ascend from call to call.
    followed_count history_of(unsigned n, std::uint32_t document, std::size_t& cursor) const {
        if (n == 1)
            return {words_of(document), stats_.distinct_words.empty() ? 0 : stats_.distinct_words[document]};
        const history& of = histories_[n - 1];
        if (of.in_table) return of.table.data()[document];
        if (of.documents.size() > few_holders) {
            cursor = static_cast<std::size_t>(
                std::lower_bound(of.documents.begin() + static_cast<std::ptrdiff_t>(cursor),
                                 of.documents.end(), document) -
                of.documents.begin());
        } else {
            while (of.documents[cursor] != document) ++cursor;
        }
        return of.counts[cursor];
    }

    row_block::columns add(unsigned n, std::size_t rows) {
        made_ += rows;
        return out_->blocks[n - stats_.first_n()].add(rows);
    }

    cpu_place& place_;
    const collection_stats<Position>& stats_;
    bm25_constants bm25_;
    smoother smoother_;
    double weight_alone_, idf_alone_;  ///< of n-grams that occur once, after a history that does
    piece_rows* out_ = nullptr;
    const std::function<void()>* relieve_ = nullptr;
    std::size_t max_held_ = 0, made_ = 0;  ///< rows since the last output
    std::size_t base_ = 0, placed_ = 0;    ///< start of the piece; how many of its positions have places_
    std::vector<std::uint64_t> places_, sorted_;  ///< document and word in it, as one number
    std::vector<holder> holders_, earlier_;
    std::unique_ptr<document_counts> counts_of_documents_;
    std::vector<history> histories_;  ///< [n]: of the range of n that is being cut
};

}  // namespace quern::ngram_detail
