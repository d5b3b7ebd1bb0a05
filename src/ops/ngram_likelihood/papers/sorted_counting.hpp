// SPDX-License-Identifier: Apache-2.0
// DEIM 2018: counting of sorted positions (for PP and PPD), written once for all places: data-parallel primitives, and the
// small steps of counting_kernels.hpp between them.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ops/ngram_likelihood/levels/occurrences.hpp"
#include "ops/ngram_likelihood/rows/row_blocks.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::ngram_detail {

template <class Place>
class sorted_counting {
    template <class T>
    using array = array_on<Place, T>;
    template <class T>
    using span = span_on<Place, T>;

  public:
    /// `documents`: their offsets among the words, on the host.
    sorted_counting(Place& place, std::uint64_t words, std::span<const std::uint64_t> documents,
                    const ngram_options& options)
        : place_(place),
          options_(options),
          size_(words),
          document_count_(documents.empty() ? 0 : documents.size() - 1),
          documents_(array_from(place, documents, what_for)),
          document_of_(make<std::uint32_t>(size_)),
          left_(make<std::uint8_t>(size_)),
          positions_(make<std::uint32_t>(size_)),
          shared_(make<std::uint8_t>(size_)) {
        if (size_ == 0) return;
        primitives::load_balancing_search<std::uint32_t>(place, documents_.span(), document_of_.span());
        for_each_item(place, size_,
                      count_left{documents_.data(), document_of_.data(), options.order, left_.data()});
        for_each_item(place, size_, count_up{positions_.data()});
    }

    /// To be sorted by the words at these positions; equal ones keep their order.
    span<std::uint32_t> positions() const { return positions_.span(); }
    /// For each position, the words up to its document's end, at most the order.
    span<const std::uint8_t> left() const { return left_.span(); }

    /// The positions of these words.
    occurrence_table table(const std::uint32_t* words) const {
        return {words, 1, document_of_.data(), nullptr, left_.data()};
    }

    /// `words`: compares the words at two positions for equality. Passes rows to `sink` in order.
    template <class Words>
    std::vector<ngram_totals> count(const Words& words, const std::function<void(const ngram_rows&)>& sink) {
        for_each_item(place_, size_,
                      count_shared<Words>{words, left_.data(), positions_.data(), shared_.data()});
        std::vector<ngram_totals> totals;
        row_blocks<Place> blocks(place_, options_.history_counts, size_, sink);
        for (unsigned n = options_.only ? options_.order : 1; n <= options_.order; ++n)
            totals.push_back(count_length(n, blocks));
        return totals;
    }

  private:
    static constexpr std::string_view what_for = "counting n-grams";

    template <class T>
    array<T> make(std::size_t size) {
        return make_array<T>(place_, size, what_for);
    }
    template <class T>
    array<T> zeros(std::size_t size) {
        auto made = make<T>(size);
        for_each_item(place_, size, fill<T>{made.data(), T{0}});
        return made;
    }

    /// Ranges of items that begin at flags, and the range of each item.
    struct ranges {
        array<std::uint64_t> offsets;
        array<std::uint32_t> of_item;
        std::size_t count = 0;
        range_table table() const { return {offsets.data(), of_item.data()}; }
    };
    ranges cut(span<const std::uint8_t> flags) {
        ranges made;
        made.offsets = make<std::uint64_t>(flags.size() + 1);
        made.count = primitives::compact_positions<std::uint64_t>(place_, flags,
                                                                  made.offsets.span().first(flags.size()));
        const std::uint64_t end = flags.size();
        copy_in<std::uint64_t>(place_, std::span(&end, 1), made.offsets.span().subspan(made.count, 1));
        made.of_item = make<std::uint32_t>(flags.size());
        primitives::load_balancing_search<std::uint32_t>(place_, made.offsets.span().first(made.count + 1),
                                                         made.of_item.span());
        return made;
    }

    /// The items of ranges ordered by position, and therefore by document.
    struct by_position {
        array<std::uint32_t> positions, items;
    };
    by_position sorted_within(const ranges& cut, const array<std::uint32_t>& positions, std::size_t items,
                              bool sorted_already) {
        by_position made{make<std::uint32_t>(items), make<std::uint32_t>(items)};
        for_each_item(place_, items, count_up{made.items.data()});
        for_each_item(place_, items,
                      gather<std::uint32_t>{positions.data(), made.items.data(), made.positions.data()});
        if (!sorted_already)
            primitives::segmented_sort_pairs<std::uint32_t, std::uint32_t>(
                place_, made.positions.span(), made.items.span(), cut.offsets.span().first(cut.count + 1));
        return made;
    }

    ngram_totals count_length(unsigned n, row_blocks<Place>& blocks) {
        // The occurrences of n-grams, in their order.
        auto flags = make<std::uint8_t>(size_);
        for_each_item(place_, size_, flag_long{positions_.data(), left_.data(), n, flags.data()});
        auto places = make<std::uint32_t>(size_);
        const std::size_t items =
            primitives::compact_positions<std::uint32_t>(place_, flags.span(), places.span());
        if (items == 0) return {.n = n};
        const span<std::uint8_t> heads = flags.span().first(items);
        auto positions = make<std::uint32_t>(items);
        for_each_item(place_, items,
                      gather<std::uint32_t>{positions_.data(), places.data(), positions.data()});

        // The history's counts. Documents are unordered within its range: sorted there, counted, scattered back.
        for_each_item(place_, items, flag_ngrams{shared_.data(), places.data(), n - 1, heads.data()});
        const ranges histories = cut(heads);
        const by_position in_history = sorted_within(histories, positions, items, false);
        for_each_item(place_, items,
                      flag_documents{in_history.positions.data(), document_of_.data(), heads.data()});
        const ranges history_documents = cut(heads);
        auto history_in_document = make<std::uint32_t>(items);
        for_each_item(
            place_, items,
            scatter_lengths{history_documents.table(), in_history.items.data(), history_in_document.data()});

        // The n-gram's counts.
        for_each_item(place_, items, flag_ngrams{shared_.data(), places.data(), n, heads.data()});
        const ranges ngrams = cut(heads);
        const by_position in_ngram = sorted_within(ngrams, positions, items, n == options_.order);
        for_each_item(place_, items,
                      flag_documents{in_ngram.positions.data(), document_of_.data(), heads.data()});
        const ranges rows = cut(heads);
        array<std::uint32_t> followers;
        if (options_.smoothing == ngram_smoothing::absolute)
            followers = count_followers(rows, in_ngram, history_documents, in_history);

        ngram_totals given{.n = n, .distinct = ngrams.count, .rows = rows.count};
        array<std::uint32_t> kept;
        if (options_.min_count > 1) kept = keep_frequent(ngrams, rows, given);
        blocks.give(n, given.rows, [&](const row_columns& to, std::uint64_t first) {
            return write_sorted_rows{
                ngrams.table(),
                rows.table(),
                histories.table(),
                in_ngram.positions.data(),
                in_ngram.items.data(),
                history_in_document.data(),
                followers.data(),
                document_of_.data(),
                documents_.data(),
                kept.data(),
                row_formula{options_.measure,
                            {options_.smoothing, options_.lambda, options_.mu, options_.delta},
                            bm25_constants(options_.k1, options_.b, size_, document_count_),
                            document_count_},
                to,
                first};
        });
        return given;
    }

    /// The rows of n-grams that occur often enough; corrects the totals.
    array<std::uint32_t> keep_frequent(const ranges& ngrams, const ranges& rows, ngram_totals& given) {
        auto flags = make<std::uint8_t>(rows.count);
        auto kept = make<std::uint32_t>(rows.count);
        for_each_item(place_, ngrams.count,
                      flag_frequent{ngrams.offsets.data(), options_.min_count, flags.data()});
        given.distinct = primitives::compact_positions<std::uint32_t>(
            place_, flags.span().first(ngrams.count), kept.span());
        for_each_item(
            place_, rows.count,
            flag_frequent_rows{ngrams.table(), rows.offsets.data(), options_.min_count, flags.data()});
        given.rows = primitives::compact_positions<std::uint32_t>(place_, flags.span(), kept.span());
        return kept;
    }

    /// A row is one distinct word after its history in its document.
    array<std::uint32_t> count_followers(const ranges& rows, const by_position& in_ngram,
                                         const ranges& history_documents, const by_position& in_history) {
        const std::size_t items = in_ngram.items.size();
        auto begins = zeros<std::uint8_t>(items);
        for_each_item(place_, rows.count,
                      flag_begins{rows.offsets.data(), in_ngram.items.data(), begins.data()});
        auto in_order = make<std::uint8_t>(items);
        for_each_item(place_, items,
                      gather<std::uint8_t>{begins.data(), in_history.items.data(), in_order.data()});
        auto sums = make<std::uint64_t>(items);
        primitives::inclusive_scan<std::uint8_t, std::uint64_t>(place_, in_order.span(), sums.span());
        auto followers = make<std::uint32_t>(items);
        for_each_item(
            place_, items,
            scatter_sums{history_documents.table(), sums.data(), in_history.items.data(), followers.data()});
        return followers;
    }

    Place& place_;
    const ngram_options& options_;
    std::uint64_t size_, document_count_;
    array<std::uint64_t> documents_;
    array<std::uint32_t> document_of_;
    array<std::uint8_t> left_;
    array<std::uint32_t> positions_;
    array<std::uint8_t> shared_;
};

}  // namespace quern::ngram_detail
