// SPDX-License-Identifier: Apache-2.0
// Our method for places with many threads, written once for all places.
// - Occurrences sorted by n - 1 words (equal ones by position) are sorted by the next word among equal ones: one stable
//   radix sort of (n-gram, next word), which keeps them in order of position.
// - So for every n, documents ascend within an n-gram and its rows are runs; the history's counts in each document are runs
//   of the previous order.
// - Every occurrence has a slot that it keeps once its n-gram is alone. In natural text most are from n = 4 on, and only
//   the others are processed.
// - The end of a document sorts before every word.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/ngram_likelihood/levels/level_kernels.hpp"
#include "ops/ngram_likelihood/rows/row_blocks.hpp"
#include "primitives/histogram/histogram.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::ngram_detail {

/// Shared by all pieces of a collection.
template <class Place>
struct level_params {
    const ngram_options& options;
    std::uint32_t vocabulary;
    std::uint64_t words, document_count;
    span_on<Place, const std::uint64_t> documents;       ///< their offsets
    span_on<Place, const std::uint32_t> distinct_words;  ///< of documents; empty: unused
};

template <class Place>
class ngram_levels {
    template <class T>
    using array = array_on<Place, T>;

  public:
    static constexpr std::uint64_t item_bytes = 80;  ///< maximum memory per occurrence

    /// `spots`: the occurrences of whole n = 1 grams, in order of position.
    ngram_levels(Place& place, const level_params<Place>& stats, const occurrence_table& text,
                 array<std::uint32_t> spots)
        : place_(place),
          stats_(stats),
          text_(text),
          bits_(static_cast<unsigned>(std::bit_width(stats.vocabulary + std::uint64_t{1}))),
          spots_(std::move(spots)),
          shared_(make<std::uint8_t>(spots_.size())) {}

    /// Adds the results to `totals`, which begin with the first requested n.
    void run(row_blocks<Place>& blocks, std::vector<ngram_totals>& totals) {
        if (spots_.size() == 0) return;
        count_occurrences(place_, text_, spots_.data(), spots_.size(), stats_.vocabulary, totals);
        const unsigned first_n = totals.front().n, order = stats_.options.order;
        // One sort covers all lengths without rows, up to the history of the first length with rows.
        unsigned n = std::clamp(first_n - 1, 1u, 64 / bits_);
        sort_first(n);
        if (n >= first_n) give(n, blocks, totals[n - first_n]);
        while (n < order) {
            ++n;
            if (n >= first_n) count_histories(n);
            sort_active(n);
            if (n >= first_n) give(n, blocks, totals[n - first_n]);
        }
    }

    /// distinct[d] += the distinct words of document d among these occurrences; use it instead of run().
    void count_distinct(span_on<Place, std::uint32_t> distinct) {
        if (spots_.size() == 0) return;
        sort_first(1);
        const rows found = find_rows(1, 1);
        auto documents = make<std::uint32_t>(spots_.size());
        for_each_item(place_, spots_.size(),
                      gather<std::uint32_t>{text_.document_of, spots_.data(), documents.data()});
        const array<std::uint64_t> counts = count_rows(found, documents, distinct.size());
        for_each_item(place_, distinct.size(), add_counts{counts.data(), distinct.data()});
    }

  private:
    static constexpr std::string_view what_for = "counting n-grams";

    template <class T>
    array<T> make(std::size_t size) {
        return make_array<T>(place_, size, what_for);
    }

    /// The run of each item, and the start of each run.
    struct runs {
        array<std::uint32_t> of_item, begins;
        std::uint32_t count = 0;
    };
    /// From marks at the starts of runs.
    runs number(array<std::uint32_t> marks) {
        runs made{std::move(marks), {}, 0};
        const std::size_t items = made.of_item.size();
        primitives::inclusive_scan<std::uint32_t, std::uint32_t>(place_, made.of_item.span(),
                                                                 made.of_item.span());
        copy_out<std::uint32_t>(place_, made.of_item.span().subspan(items - 1, 1), std::span(&made.count, 1));
        made.begins = make<std::uint32_t>(std::size_t{made.count} + 1);
        for_each_item(place_, items, find_begins{made.of_item.data(), items, made.begins.data()});
        return made;
    }

    // ---- Sorting ----

    void sort_first(unsigned words) {
        if (words * bits_ <= 32)
            sort_first_by<std::uint32_t>(words);
        else
            sort_first_by<std::uint64_t>(words);
        keep_active(words, spots_.size(), nullptr);
    }
    template <class Key>
    void sort_first_by(unsigned words) {
        auto keys = make<Key>(spots_.size());
        for_each_item(place_, spots_.size(),
                      make_first_keys<Key>{spots_.data(), text_, words, bits_, keys.data()});
        primitives::sort_pairs(place_, keys.span(), spots_.span(), {.key_bits = words * bits_});
        for_each_item(place_, spots_.size(),
                      share_first_keys<Key>{keys.data(), words, bits_, shared_.data()});
    }

    /// Keeps those of these slots (null: all) that n words do not distinguish.
    void keep_active(unsigned n, std::size_t size, const std::uint32_t* slots) {
        auto flags = make<std::uint8_t>(size);
        for_each_item(
            place_, size,
            flag_active{slots, spots_.data(), shared_.data(), text_.left, spots_.size(), n, flags.data()});
        auto kept = make<std::uint32_t>(size);
        const std::size_t count =
            primitives::compact_positions<std::uint32_t>(place_, flags.span(), kept.span());
        flags = {};
        auto active = make<std::uint32_t>(count);
        if (slots == nullptr)
            for_each_item(place_, count, copy_values{kept.data(), active.data()});
        else
            for_each_item(place_, count, gather<std::uint32_t>{slots, kept.data(), active.data()});
        active_ = std::move(active);
    }

    /// Sorts by n words what is sorted by n - 1.
    void sort_active(unsigned n) {
        const std::size_t size = active_.size();
        if (size == 0) return;
        auto marks = make<std::uint32_t>(size);
        for_each_item(place_, size, mark_ngrams{active_.data(), shared_.data(), marks.data()});
        primitives::inclusive_scan<std::uint32_t, std::uint32_t>(place_, marks.span(), marks.span());
        std::uint32_t ngrams = 0;
        copy_out<std::uint32_t>(place_, marks.span().subspan(size - 1, 1), std::span(&ngrams, 1));
        const unsigned bits = bits_ + static_cast<unsigned>(std::bit_width(ngrams));
        if (bits <= 32)
            sort_active_by<std::uint32_t>(n, marks, bits);
        else
            sort_active_by<std::uint64_t>(n, marks, bits);
        marks = {};
        keep_active(n, size, active_.data());
    }
    template <class Key>
    void sort_active_by(unsigned n, const array<std::uint32_t>& ngrams, unsigned bits) {
        const std::size_t size = active_.size();
        auto keys = make<Key>(size);
        auto order = make<std::uint32_t>(size);
        for_each_item(
            place_, size,
            make_keys<Key>{active_.data(), spots_.data(), ngrams.data(), text_, n - 1, bits_, keys.data()});
        for_each_item(place_, size, copy_values{active_.data(), order.data()});
        primitives::sort_pairs(place_, keys.span(), order.span(), {.key_bits = bits});
        for_each_item(place_, size,
                      share_keys<Key>{keys.data(), active_.data(), bits_, static_cast<std::uint8_t>(n - 1),
                                      shared_.data()});
        keys = {};
        for (array<std::uint32_t>* const moved :
             {&spots_, &history_in_document_, &history_in_collection_, &history_runs_})
            move(*moved, order);
    }
    /// Moves the values of slots with their occurrences.
    void move(array<std::uint32_t>& values, const array<std::uint32_t>& order) {
        if (values.size() == 0) return;
        auto moved = make<std::uint32_t>(order.size());
        for_each_item(place_, order.size(), gather<std::uint32_t>{values.data(), order.data(), moved.data()});
        for_each_item(place_, order.size(),
                      scatter<std::uint32_t>{moved.data(), active_.data(), values.data()});
    }

    // ---- Counting ----

    /// The data that n-grams of n words need about their first n - 1, by which slots are sorted.
    void count_histories(unsigned n) {
        const std::size_t size = spots_.size();
        auto followed = make<std::uint32_t>(size);
        for_each_item(place_, size, mark_followed{spots_.data(), text_.left, n, followed.data()});
        primitives::inclusive_scan<std::uint32_t, std::uint32_t>(place_, followed.span(), followed.span());
        history_in_collection_ = make<std::uint32_t>(size);
        {
            auto marks = make<std::uint32_t>(size);
            for_each_item(place_, size, mark_ngrams{nullptr, shared_.data(), marks.data()});
            const runs histories = number(std::move(marks));
            for_each_item(place_, size,
                          count_followed{histories.of_item.data(), histories.begins.data(), followed.data(),
                                         history_in_collection_.data()});
        }
        auto marks = make<std::uint32_t>(size);
        for_each_item(
            place_, size,
            mark_documents<std::uint32_t>{spots_.data(), text_.document_of, shared_.data(), marks.data()});
        runs in_documents = number(std::move(marks));
        history_in_document_ = make<std::uint32_t>(size);
        for_each_item(place_, size,
                      count_followed{in_documents.of_item.data(), in_documents.begins.data(), followed.data(),
                                     history_in_document_.data()});
        if (stats_.options.smoothing != ngram_smoothing::absolute) return;
        history_runs_ = std::move(in_documents.of_item);
        history_run_count_ = in_documents.count;
    }

    /// Runs of slots of one n-gram and one document.
    struct rows {
        array<std::uint32_t> begins;  ///< and the end of the last one
        runs ngrams;                  ///< of rows
        array<std::uint32_t> kept;    ///< those that are given
        std::size_t count = 0, given = 0, distinct = 0;
    };
    rows find_rows(unsigned n, std::uint64_t least) {
        const std::size_t size = spots_.size();
        rows found;
        auto flags = make<std::uint8_t>(size);
        for_each_item(
            place_, size,
            mark_documents<std::uint8_t>{spots_.data(), text_.document_of, shared_.data(), flags.data()});
        auto begins = make<std::uint32_t>(size + 1);
        found.count =
            primitives::compact_positions<std::uint32_t>(place_, flags.span(), begins.span().first(size));
        const auto end = static_cast<std::uint32_t>(size);
        copy_in<std::uint32_t>(place_, std::span(&end, 1), begins.span().subspan(found.count, 1));
        found.begins = std::move(begins);
        auto marks = make<std::uint32_t>(found.count);
        for_each_item(place_, found.count, mark_ngrams{found.begins.data(), shared_.data(), marks.data()});
        found.ngrams = number(std::move(marks));
        const auto of_rows = flags.span().first(found.count);
        for_each_item(place_, found.count,
                      flag_given_rows{found.begins.data(), spots_.data(), found.ngrams.of_item.data(),
                                      found.ngrams.begins.data(), text_.left, n, least, of_rows.data()});
        found.kept = make<std::uint32_t>(found.count);
        auto of_ngrams = make<std::uint8_t>(found.ngrams.count);
        for_each_item(place_, found.ngrams.count,
                      gather<std::uint8_t>{of_rows.data(), found.ngrams.begins.data(), of_ngrams.data()});
        found.distinct = primitives::compact_positions<std::uint32_t>(
            place_, of_ngrams.span(), found.kept.span().first(found.ngrams.count));
        found.given = primitives::compact_positions<std::uint32_t>(place_, of_rows, found.kept.span());
        return found;
    }

    /// For each run, the number of output rows whose slots are in it; runs count from 0.
    array<std::uint64_t> count_rows(const rows& found, const array<std::uint32_t>& run_of_slots,
                                    std::size_t runs_held) {
        auto of_rows = make<std::uint32_t>(found.given);
        for_each_item(
            place_, found.given,
            take_of_rows{found.kept.data(), found.begins.data(), run_of_slots.data(), of_rows.data()});
        auto counts = make<std::uint64_t>(runs_held);
        primitives::histogram<std::uint32_t>(place_, of_rows.span(), counts.span());
        return counts;
    }

    void give(unsigned n, row_blocks<Place>& blocks, ngram_totals& totals) {
        const ngram_options& options = stats_.options;
        const rows found = find_rows(n, options.min_count);
        array<std::uint64_t> followers;
        if (history_runs_.size() != 0) {
            // Counts all rows with n words, frequent or not.
            const bool all = options.min_count == 1;
            followers = all ? count_rows(found, history_runs_, history_run_count_ + std::size_t{1})
                            : count_rows(find_rows(n, 1), history_runs_, history_run_count_ + std::size_t{1});
        }
        const slot_histories history{history_in_document_.data(),  history_in_collection_.data(),
                                     history_runs_.data(),         followers.data(),
                                     stats_.distinct_words.data(), stats_.words};
        const row_formula formula{options.measure,
                                  {options.smoothing, options.lambda, options.mu, options.delta},
                                  bm25_constants(options.k1, options.b, stats_.words, stats_.document_count),
                                  stats_.document_count};
        blocks.give(n, found.given, [&](const row_columns& to, std::uint64_t first) {
            return write_level_rows{text_,
                                    stats_.documents.data(),
                                    history,
                                    spots_.data(),
                                    found.begins.data(),
                                    found.ngrams.of_item.data(),
                                    found.ngrams.begins.data(),
                                    found.kept.data(),
                                    formula,
                                    to,
                                    first};
        });
        totals.rows += found.given;
        totals.distinct += found.distinct;
        history_in_document_ = {};
        history_in_collection_ = {};
        history_runs_ = {};
    }

    Place& place_;
    const level_params<Place>& stats_;
    occurrence_table text_;
    unsigned bits_;                ///< of a word in a key
    array<std::uint32_t> spots_;   ///< of slots
    array<std::uint8_t> shared_;   ///< number of words shared with the previous slot, or still_equal
    array<std::uint32_t> active_;  ///< slots that are not distinguished yet, in order
    /// Of slots, while n-grams of the next length are made.
    array<std::uint32_t> history_in_document_, history_in_collection_, history_runs_;
    std::uint32_t history_run_count_ = 0;
};

}  // namespace quern::ngram_detail
