// SPDX-License-Identifier: Apache-2.0
// The paper's method over a dictionary's ids (PPD), written once for every place: data-parallel primitives, and the small steps
// of steps.hpp between them.
//
// Sorting is prefix doubling (Karp, Miller and Rosenberg 1972; Manber and Myers 1993): positions sorted by their first p words
// have ranks, and sorted within equal ones by the rank of the position k ≤ p words behind they are sorted by p + k words. The
// algorithm as printed forgets where earlier rounds cut; here a stretch stays cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ops/ngram_likelihood/steps.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::ngram_detail {

/// Gives out the rows of one n but for rare n-grams; first_rows[r]: whether row r is the first of its n-gram.
ngram_totals give_table(ngram_table& table, std::span<const std::uint8_t> first_rows,
                        const ngram_options& options, const std::function<void(const ngram_rows&)>& take);

template <class Place>
class dictionary_method {
    template <class T>
    using array = array_on<Place, T>;
    template <class T>
    using span = span_on<Place, T>;

  public:
    dictionary_method(Place& place, const ngram_collection& collection, const ngram_options& options)
        : place_(place),
          options_(options),
          size_(collection.words.size()),
          document_count_(collection.documents.empty() ? 0 : collection.documents.size() - 1),
          words_(array_from(place, collection.words, "words")),
          documents_(array_from(place, collection.documents, "documents")),
          document_of_(make<std::uint32_t>(size_)),
          left_(make<std::uint8_t>(size_)),
          positions_(make<std::uint32_t>(size_)),
          shared_(make<std::uint8_t>(size_)) {}

    std::vector<ngram_totals> run(const std::function<void(const ngram_rows&)>& take) {
        if (size_ != 0) sort_positions();
        std::vector<ngram_totals> totals;
        for (unsigned n = options_.only ? options_.order : 1; n <= options_.order; ++n)
            totals.push_back(size_ == 0 ? ngram_totals{.n = n} : count(n, take));
        return totals;
    }

  private:
    template <class T>
    array<T> make(std::size_t size) {
        return make_array<T>(place_, size, "counting n-grams");
    }
    template <class T>
    array<T> zeros(std::size_t size) {
        return array_from(place_, std::span<const T>(std::vector<T>(size)), "counting n-grams");
    }
    array<std::uint32_t> copy_of(span<const std::uint32_t> values) {
        auto made = make<std::uint32_t>(values.size());
        copy(place_, values, made.span());
        return made;
    }

    /// Stretches of items that begin where flags are, and the stretch of each item.
    struct stretches {
        array<std::uint64_t> offsets;
        array<std::uint32_t> of_item;
        std::size_t count = 0;
        stretches_on<Place> view() const { return {offsets.span(), of_item.span(), count}; }
    };
    array<std::uint64_t> offsets_of(span<const std::uint8_t> flags, std::size_t& count) {
        auto offsets = make<std::uint64_t>(flags.size() + 1);
        count =
            primitives::compact_positions<std::uint64_t>(place_, flags, offsets.span().first(flags.size()));
        const std::uint64_t end = flags.size();
        copy_in<std::uint64_t>(place_, std::span(&end, 1), offsets.span().subspan(count, 1));
        return offsets;
    }
    stretches cut(span<const std::uint8_t> flags) {
        stretches made;
        made.offsets = offsets_of(flags, made.count);
        made.of_item = make<std::uint32_t>(flags.size());
        primitives::load_balancing_search<std::uint32_t>(place_, made.offsets.span().first(made.count + 1),
                                                         made.of_item.span());
        return made;
    }

    void sort_positions() {
        locate(place_, documents_.span(), options_.order, document_of_.span(), left_.span());
        auto keys = copy_of(words_.span());
        count_up(place_, positions_.span());
        primitives::sort_pairs(place_, keys.span(), positions_.span());
        auto flags = zeros<std::uint8_t>(size_);
        auto sums = make<std::uint64_t>(size_);
        auto ranks = make<std::uint32_t>(size_);
        for (unsigned sorted = 1, behind = 1; sorted < options_.order;
             sorted += behind, behind = std::min(2 * behind, options_.order - sorted)) {
            flag_changes(place_, keys.span(), flags.span());
            primitives::inclusive_scan<std::uint8_t, std::uint64_t>(place_, flags.span(), sums.span());
            scatter_ranks(place_, sums.span(), positions_.span(), ranks.span());
            ranks_behind(place_, positions_.span(), left_.span(), behind, ranks.span(), keys.span());
            std::size_t count = 0;
            const auto offsets = offsets_of(flags.span(), count);
            primitives::segmented_sort_pairs<std::uint32_t, std::uint32_t>(
                place_, keys.span(), positions_.span(), offsets.span().first(count + 1));
        }
        count_shared(place_, words_.span(), left_.span(), positions_.span(), shared_.span());
    }

    /// Items of stretches in the order of their positions, and with them of their documents.
    struct by_position {
        array<std::uint32_t> positions, items;
    };
    by_position sorted_within(const stretches& cut, span<std::uint32_t> positions, bool sorted_already) {
        by_position made{copy_of(positions), make<std::uint32_t>(positions.size())};
        count_up(place_, made.items.span());
        if (!sorted_already)
            primitives::segmented_sort_pairs<std::uint32_t, std::uint32_t>(
                place_, made.positions.span(), made.items.span(), cut.offsets.span().first(cut.count + 1));
        return made;
    }

    ngram_totals count(unsigned n, const std::function<void(const ngram_rows&)>& take) {
        // The occurrences of n-grams, in their order.
        auto flags = make<std::uint8_t>(size_);
        flag_long(place_, positions_.span(), left_.span(), n, flags.span());
        auto places = make<std::uint32_t>(size_);
        const std::size_t items =
            primitives::compact_positions<std::uint32_t>(place_, flags.span(), places.span());
        if (items == 0) return {.n = n};
        const span<std::uint32_t> at = places.span().first(items);
        const span<std::uint8_t> heads = flags.span().first(items);
        auto positions = make<std::uint32_t>(items);
        gather(place_, positions_.span(), at, positions.span());

        // The history's counts. Within its stretch documents are in no order: sorted there, counted, scattered back.
        flag_ngrams(place_, shared_.span(), at, n - 1, heads);
        const stretches histories = cut(heads);
        const by_position in_history = sorted_within(histories, positions.span(), false);
        flag_documents(place_, in_history.positions.span(), document_of_.span(), heads);
        const stretches history_documents = cut(heads);
        auto history_in_document = make<std::uint32_t>(items);
        scatter_lengths(place_, history_documents.view(), in_history.items.span(),
                        history_in_document.span());

        // The n-gram's.
        flag_ngrams(place_, shared_.span(), at, n, heads);
        const stretches ngrams = cut(heads);
        const by_position in_ngram = sorted_within(ngrams, positions.span(), n == options_.order);
        flag_documents(place_, in_ngram.positions.span(), document_of_.span(), heads);
        const stretches rows = cut(heads);
        array<std::uint32_t> followers;
        if (options_.smoothing == ngram_smoothing::absolute)
            followers = count_followers(rows, in_ngram, history_documents, in_history);

        const row_sources<Place> from{ngrams.view(),         rows.view(),
                                      histories.view(),      in_ngram.positions.span(),
                                      in_ngram.items.span(), history_in_document.span(),
                                      followers.span(),      document_of_.span(),
                                      documents_.span()};
        return give(n, from, take);
    }

    /// A row is one distinct word after its history in its document.
    array<std::uint32_t> count_followers(const stretches& rows, const by_position& in_ngram,
                                         const stretches& history_documents, const by_position& in_history) {
        const std::size_t items = in_ngram.items.size();
        auto begins = zeros<std::uint8_t>(items);
        flag_begins(place_, rows.offsets.span(), rows.count, in_ngram.items.span(), begins.span());
        auto in_order = make<std::uint8_t>(items);
        gather(place_, begins.span(), in_history.items.span(), in_order.span());
        auto sums = make<std::uint64_t>(items);
        primitives::inclusive_scan<std::uint8_t, std::uint64_t>(place_, in_order.span(), sums.span());
        auto followers = make<std::uint32_t>(items);
        scatter_sums(place_, history_documents.view(), sums.span(), in_history.items.span(),
                     followers.span());
        return followers;
    }

    /// The rows on the host, and given out but for rare n-grams.
    ngram_totals give(unsigned n, const row_sources<Place>& from,
                      const std::function<void(const ngram_rows&)>& take) {
        const std::size_t rows = from.rows.count;
        auto documents = make<std::uint32_t>(rows), firsts = make<std::uint32_t>(rows),
             in_document = make<std::uint32_t>(rows), history_in_document = make<std::uint32_t>(rows);
        auto in_collection = make<std::uint64_t>(rows), history_in_collection = make<std::uint64_t>(rows);
        auto weights = make<double>(rows);
        auto begins = make<std::uint8_t>(rows);
        const row_formula formula{options_.measure,
                                  {options_.smoothing, options_.lambda, options_.mu, options_.delta},
                                  bm25_constants(options_.k1, options_.b, size_, document_count_),
                                  document_count_};
        write_rows(place_, from, formula,
                   {documents.span(), firsts.span(), in_document.span(), history_in_document.span(),
                    in_collection.span(), history_in_collection.span(), weights.span(), begins.span()});
        ngram_table table{n,
                          to_host(place_, documents.span()),
                          to_host(place_, firsts.span()),
                          to_host(place_, in_document.span()),
                          to_host(place_, in_collection.span()),
                          to_host(place_, weights.span()),
                          to_host(place_, history_in_document.span()),
                          to_host(place_, history_in_collection.span())};
        const std::vector<std::uint8_t> first_rows = to_host(place_, begins.span());
        return give_table(table, first_rows, options_, take);
    }

    Place& place_;
    const ngram_options& options_;
    std::size_t size_, document_count_;
    array<std::uint32_t> words_;
    array<std::uint64_t> documents_;
    array<std::uint32_t> document_of_;
    array<std::uint8_t> left_;
    array<std::uint32_t> positions_;  ///< sorted
    array<std::uint8_t> shared_;
};

}  // namespace quern::ngram_detail
