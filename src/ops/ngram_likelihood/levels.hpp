// SPDX-License-Identifier: Apache-2.0
// Ours for places of many threads, written once for every place. Occurrences sorted by n - 1 words, equal ones in order of
// position, are sorted by the next word within equal ones: one stable radix sort of (n-gram, next word), which leaves them in
// order of position again. So at every n documents rise within an n-gram and its rows are runs; the history's counts in each
// document are runs of the order before; and nothing is sorted twice. Occurrences whose n-gram is alone stay where they are,
// and in natural text these are most from n = 4 on.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/ngram_likelihood/level_steps.hpp"
#include "ops/ngram_likelihood/row_blocks.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::ngram_detail {

/// What all pieces of a collection have in common.
template <class Place>
struct level_facts {
    const ngram_options& options;
    std::uint32_t vocabulary;
    std::uint64_t words, document_count;
    span_on<Place, const std::uint64_t> documents;       ///< their offsets
    span_on<Place, const std::uint32_t> distinct_words;  ///< of documents; empty: not needed
};

template <class Place>
class ngram_levels {
    template <class T>
    using array = array_on<Place, T>;
    template <class T>
    using span = span_on<Place, T>;

  public:
    static constexpr std::uint64_t item_bytes = 80;  ///< memory an occurrence, at most

    /// `spots`: the occurrences of whole n = 1 grams, in order of position.
    ngram_levels(Place& place, const level_facts<Place>& facts, const occurrence_table& text,
                 array<std::uint32_t> spots)
        : place_(place), facts_(facts), text_(text), spots_(std::move(spots)) {}

    /// Adds what is given to `totals`, which begin with the first n that is asked for.
    void run(row_blocks<Place>& blocks, std::vector<ngram_totals>& totals) {
        count_occurrences(place_, text_, spots_.data(), spots_.size(), facts_.vocabulary, totals);
        for (unsigned n = 1; n <= facts_.options.order && spots_.size() != 0; ++n) {
            step(n);
            if (n < totals.front().n || spots_.size() == 0) continue;
            give(n, blocks, totals[n - totals.front().n]);
        }
    }

    /// distinct[d] += the distinct words of document d among these occurrences, instead of run().
    void count_distinct(span<std::uint32_t> distinct) {
        if (spots_.size() == 0) return;
        step(1);
        find_rows();
        auto documents = make<std::uint32_t>(row_count_);
        for_each_item(
            place_, row_count_,
            documents_of_rows{row_begins_.data(), spots_.data(), text_.document_of, documents.data()});
        primitives::sort_keys(place_, documents.span());
        auto unique = make<std::uint32_t>(row_count_);
        auto counts = make<std::uint64_t>(row_count_);
        const std::size_t held = primitives::run_length_encode<std::uint32_t>(place_, documents.span(),
                                                                              unique.span(), counts.span());
        for_each_item(place_, held, add_counts{unique.data(), counts.data(), distinct.data()});
    }

  private:
    static constexpr std::string_view what_for = "counting n-grams";
    static constexpr unsigned first_with_many_alone = 3;

    template <class T>
    array<T> make(std::size_t size) {
        return make_array<T>(place_, size, what_for);
    }

    /// The run of each item, and where runs begin.
    struct runs {
        array<std::uint32_t> of_item, begins;
        std::uint32_t count = 0;
    };
    /// From marks where runs begin.
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

    /// Sorts by n words what was sorted by n - 1; keeps what histories count.
    void step(unsigned n) {
        histories_ = {};
        in_documents_ = {};
        if (n > 1) {
            drop_ended(n);
            if (spots_.size() == 0) return;
            if (n >= first_n()) {
                auto marks = make<std::uint32_t>(spots_.size());
                for_each_item(place_, spots_.size(),
                              mark_documents{histories_.of_item.data(), spots_.data(), text_.document_of,
                                             marks.data()});
                in_documents_ = number(std::move(marks));
            }
        }
        const unsigned word_bits = std::bit_width(facts_.vocabulary | 1u);
        const unsigned bits = word_bits + (n > 1 ? std::bit_width(histories_.count) : 0);
        if (bits <= 32)
            sort<std::uint32_t>(n, word_bits, bits);
        else
            sort<std::uint64_t>(n, word_bits, bits);
    }
    unsigned first_n() const { return facts_.options.only ? facts_.options.order : 1; }

    /// Leaves out what ends with its document before n words, and n-grams too rare; those of n - 1 words become histories.
    void drop_ended(unsigned n) {
        const std::size_t before = spots_.size();
        auto flags = make<std::uint8_t>(before);
        for_each_item(place_, before,
                      flag_followed{spots_.data(), ngrams_.of_item.data(), ngrams_.begins.data(), text_.left,
                                    n, facts_.options.min_count, flags.data()});
        auto positions = make<std::uint32_t>(before);
        const std::size_t items =
            primitives::compact_positions<std::uint32_t>(place_, flags.span(), positions.span());
        flags = {};
        auto spots = make<std::uint32_t>(items), runs_before = make<std::uint32_t>(items);
        for_each_item(place_, items, gather<std::uint32_t>{spots_.data(), positions.data(), spots.data()});
        for_each_item(place_, items,
                      gather<std::uint32_t>{ngrams_.of_item.data(), positions.data(), runs_before.data()});
        spots_ = std::move(spots);
        ngrams_ = {};
        positions = {};
        if (items == 0) return;
        auto marks = make<std::uint32_t>(items);
        for_each_item(place_, items, mark_changes<std::uint32_t>{runs_before.data(), marks.data()});
        histories_ = number(std::move(marks));
    }

    template <class Key>
    void sort(unsigned n, unsigned word_bits, unsigned bits) {
        const std::size_t items = spots_.size();
        auto keys = make<Key>(items);
        for_each_item(place_, items,
                      make_keys<Key>{spots_.data(), n == 1 ? nullptr : histories_.of_item.data(), text_,
                                     n - 1, word_bits, keys.data()});
        order_ = make<std::uint32_t>(items);
        for_each_item(place_, items, count_up{order_.data()});
        const primitives::sort_options by{.key_bits = bits};
        if (n < first_with_many_alone || !sort_together<Key>(keys.span(), by))
            primitives::sort_pairs(place_, keys.span(), order_.span(), by);
        auto spots = make<std::uint32_t>(items);
        for_each_item(place_, items, gather<std::uint32_t>{spots_.data(), order_.data(), spots.data()});
        spots_ = std::move(spots);
        auto marks = make<std::uint32_t>(items);
        for_each_item(place_, items, mark_changes<Key>{keys.data(), marks.data()});
        keys = {};
        ngrams_ = number(std::move(marks));
    }

    /// Sorts those only whose history is not alone; false where that is almost all of them.
    template <class Key>
    bool sort_together(span<Key> keys, const primitives::sort_options& by) {
        const std::size_t items = keys.size();
        auto flags = make<std::uint8_t>(items);
        for_each_item(place_, items,
                      flag_together{histories_.of_item.data(), histories_.begins.data(), flags.data()});
        auto places = make<std::uint32_t>(items);
        const std::size_t together =
            primitives::compact_positions<std::uint32_t>(place_, flags.span(), places.span());
        flags = {};
        if (together > items - items / 8) return false;
        auto some_keys = make<Key>(together);
        auto some = make<std::uint32_t>(together);
        for_each_item(place_, together, gather<Key>{keys.data(), places.data(), some_keys.data()});
        for_each_item(place_, together, gather<std::uint32_t>{order_.data(), places.data(), some.data()});
        primitives::sort_pairs(place_, some_keys.span(), some.span(), by);
        for_each_item(place_, together, scatter<Key>{some_keys.data(), places.data(), keys.data()});
        for_each_item(place_, together, scatter<std::uint32_t>{some.data(), places.data(), order_.data()});
        return true;
    }

    void find_rows() {
        const std::size_t items = spots_.size();
        auto flags = make<std::uint8_t>(items);
        for_each_item(place_, items,
                      flag_rows{ngrams_.of_item.data(), spots_.data(), text_.document_of, flags.data()});
        row_begins_ = make<std::uint32_t>(items + 1);
        row_count_ = primitives::compact_positions<std::uint32_t>(place_, flags.span(),
                                                                  row_begins_.span().first(items));
        const auto end = static_cast<std::uint32_t>(items);
        copy_in<std::uint32_t>(place_, std::span(&end, 1), row_begins_.span().subspan(row_count_, 1));
    }

    void give(unsigned n, row_blocks<Place>& blocks, ngram_totals& totals) {
        find_rows();
        const ngram_options& options = facts_.options;
        std::uint64_t rows = row_count_, distinct = ngrams_.count;
        array<std::uint32_t> kept, rows_of_ngrams, followers;
        if (options.min_count > 1) kept = keep_frequent(rows, distinct);
        if (options.measure == ngram_measure::bm25) {
            rows_of_ngrams = make<std::uint32_t>(std::size_t{ngrams_.count} + 1);
            for_each_item(place_, row_count_,
                          find_row_begins{row_begins_.data(), ngrams_.of_item.data(), row_count_,
                                          rows_of_ngrams.data()});
        }
        const bool absolute = options.smoothing == ngram_smoothing::absolute;
        if (absolute && n > 1) {
            followers = make<std::uint32_t>(spots_.size());
            for_each_item(place_, spots_.size(), fill<std::uint32_t>{followers.data(), 0});
            for_each_item(place_, row_count_, mark_rows{row_begins_.data(), order_.data(), followers.data()});
            primitives::inclusive_scan<std::uint32_t, std::uint32_t>(place_, followers.span(),
                                                                     followers.span());
        }
        const level_history history{histories_.of_item.data(),
                                    histories_.begins.data(),
                                    in_documents_.of_item.data(),
                                    in_documents_.begins.data(),
                                    followers.data(),
                                    facts_.distinct_words.data(),
                                    facts_.words};
        const row_formula formula{options.measure,
                                  {options.smoothing, options.lambda, options.mu, options.delta},
                                  bm25_constants(options.k1, options.b, facts_.words, facts_.document_count),
                                  facts_.document_count};
        blocks.give(n, rows, [&](const row_columns& to, std::uint64_t first) {
            return write_level_rows{text_,
                                    facts_.documents.data(),
                                    history,
                                    spots_.data(),
                                    order_.data(),
                                    ngrams_.of_item.data(),
                                    ngrams_.begins.data(),
                                    row_begins_.data(),
                                    kept.data(),
                                    rows_of_ngrams.data(),
                                    formula,
                                    to,
                                    first};
        });
        totals.rows += rows;
        totals.distinct += distinct;
        row_begins_ = {};
    }

    /// Which rows are of n-grams that occur often enough; corrects both counts.
    array<std::uint32_t> keep_frequent(std::uint64_t& rows, std::uint64_t& distinct) {
        auto flags = make<std::uint8_t>(row_count_);
        auto kept = make<std::uint32_t>(row_count_);
        for_each_item(
            place_, ngrams_.count,
            flag_frequent<std::uint32_t>{ngrams_.begins.data(), facts_.options.min_count, flags.data()});
        distinct = primitives::compact_positions<std::uint32_t>(place_, flags.span().first(ngrams_.count),
                                                                kept.span());
        for_each_item(
            place_, row_count_,
            flag_frequent_level_rows{row_begins_.data(), ngrams_.of_item.data(), ngrams_.begins.data(),
                                     facts_.options.min_count, flags.data()});
        rows = primitives::compact_positions<std::uint32_t>(place_, flags.span(), kept.span());
        return kept;
    }

    Place& place_;
    const level_facts<Place>& facts_;
    occurrence_table text_;
    array<std::uint32_t> spots_;     ///< of occurrences, sorted
    array<std::uint32_t> order_;     ///< of each, its place before the last sort
    runs ngrams_;                    ///< of sorted occurrences
    runs histories_, in_documents_;  ///< of occurrences before the last sort
    array<std::uint32_t> row_begins_;
    std::size_t row_count_ = 0;
};

}  // namespace quern::ngram_detail
