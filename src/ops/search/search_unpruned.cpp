// SPDX-License-Identifier: Apache-2.0
// Queries without pruning. The documents of a history were found by reading documents, and a list of all documents by
// comparing them all; both take longer than adding up parts. Whether a document counts as found depends on the words' lists
// and on that list: a part may be negative, and a sum of 0 says nothing.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "ops/search/document_bits.hpp"
#include "ops/search/postings.hpp"
#include "ops/search/probabilistic_scorers.hpp"
#include "ops/search/scoring.hpp"
#include "ops/search/search_impl.hpp"

namespace quern::search_detail {
namespace {

template <typename Scorer>
class unpruned_search {
  public:
    unpruned_search(const collection_view& collection, const search_query& query,
                    const ranking_options& options, std::size_t k, const strategy& how)
        : ctx_(query.ctx),
          lengths_(collection.document_lengths),
          length_model_(options),
          allowed_(query.allowed),
          boosts_(query.boosts),
          forbidden_(query.forbidden),
          has_passing_(!query.passing.empty()),
          passing_(query.passing),
          excluded_(query.excluded.value_or(~std::uint64_t{0})),
          prior_(query.prior),
          window_(how.window),
          best_(k) {
        for (const query_term& term : query.terms) {
            if (term.list.scored_documents() == 0 || term.count == 0) continue;
            const std::int64_t count = std::int64_t{term.count} - term.continued;
            background_ += count * weighted(Scorer(collection, term.list, options).background(), term.weight);
            query_length_.add(term);
            if (term.list.document_frequency == 0) continue;  // only in other parts of the collection
            add_list(collection, term, term.list, count, 0, options);
            if (options.title_weight == 0 || term.titles.document_frequency == 0) continue;
            add_list(collection, term, term.titles, term.count,
                     weighted_part(title_part(collection, term.list, options.title_weight), term.weight),
                     options);
        }
        for (const query_continuation& of : query.continuations) {
            histories_.push_back({continuation_scorer(of, options), of.documents, of.count});
            background_ += histories_.back().count * histories_.back().scorer.background();
        }
    }

    std::vector<scored_document> run() {
        for (std::uint64_t begin = 0; next_window(begin); begin += window_) {
            if (ctx_ != nullptr) ctx_->check_stop();
            score_window(begin, std::min<std::uint64_t>(begin + window_, lengths_.size()));
        }
        return best_.take();
    }

  private:
    using length_model = typename Scorer::length_model;
    struct list {
        Scorer scorer;
        postings_cursor cursor;
        std::int64_t count = 0;  // 0: the documents count as found, without a part
        std::uint32_t weight = 0;
        std::int64_t constant = 0;  // 0: the model's part
    };
    struct history {
        continuation_scorer scorer;
        std::span<const continued_document> rest;
        std::int64_t count;

        history(const continuation_scorer& by, std::span<const continued_document> documents,
                std::int64_t often)
            : scorer(by), rest(documents), count(often) {}
    };

    void add_list(const collection_view& collection, const query_term& term, const posting_list& of,
                  std::int64_t count, std::int64_t constant, const ranking_options& options) {
        lists_.push_back({Scorer(collection, term.list, options),
                          postings_cursor(of, collection.document_lengths), count, term.weight, constant});
    }

    // Moves `begin` to the lowest document that a list may have; false if there is none.
    bool next_window(std::uint64_t& begin) {
        if (boosts_) return begin < lengths_.size();
        std::uint64_t lowest = lengths_.size();
        for (list& of : lists_) {
            if (begin < lengths_.size()) of.cursor.seek_block(static_cast<std::uint32_t>(begin));
            if (!of.cursor.done()) lowest = std::min(lowest, std::max(begin, of.cursor.lowest()));
        }
        begin = lowest;
        return begin < lengths_.size();
    }

    void score_window(std::uint64_t begin, std::uint64_t end) {
        begin_listed(begin, end);
        for (list& of : lists_) add_list_parts(of, begin, end);
        for (history& of : histories_) add_history_parts(of, begin, end);
        std::size_t found = 0;
        const auto find = [&](std::uint64_t document) {
            if (!held_[document - begin] || document == excluded_) return;
            if (has_passing_ && !passing_.contains(static_cast<std::uint32_t>(document))) return;
            if (forbidden_.contains(static_cast<std::uint32_t>(document))) return;
            documents_[found] = static_cast<std::uint32_t>(document);
            scores_[found++] = sums_[document - begin];
        };
        if (!allowed_) {
            for (std::uint64_t d = begin; d < end; ++d) find(d);
        } else {
            const auto first = std::ranges::lower_bound(*allowed_, begin);
            const auto last = std::ranges::lower_bound(first, allowed_->end(), end);
            for (auto at = first; at != last; ++at) find(*at);
            *allowed_ = {last, allowed_->end()};
        }
        offer(found);
    }

    void begin_listed(std::uint64_t begin, std::uint64_t end) {
        std::fill_n(sums_.begin(), end - begin, background_);
        std::fill_n(held_.begin(), end - begin, false);
        if (!boosts_) return;
        for (std::uint64_t d = begin; d < end; ++d) {
            if ((*boosts_)[d] == no_boost) continue;
            held_[d - begin] = true;
            sums_[d - begin] += (*boosts_)[d];
        }
    }

    void offer(std::size_t found) {
        if constexpr (length_model::used) {
            for (std::size_t i = 0; i < found; ++i)
                scores_[i] -= query_length_.times(length_model_.part(lengths_[documents_[i]]));
        }
        prior_.add({documents_.data(), found}, scores_.data());
        for (std::size_t i = 0; i < found; ++i) best_.add(documents_[i], scores_[i]);
        best_.settle();
    }

    void add_list_parts(list& of, std::uint64_t begin, std::uint64_t end) {
        for (auto& cursor = of.cursor; !cursor.done() && cursor.lowest() < end; cursor.next_block()) {
            cursor.decode();
            for (std::size_t i = 0; i < cursor.documents().size(); ++i) {
                const std::uint32_t document = cursor.documents()[i];
                if (document < begin) continue;
                if (document >= end) return;
                held_[document - begin] = true;
                if (of.count == 0) continue;
                const std::int64_t part =
                    of.constant != 0
                        ? of.constant
                        : weighted_part(of.scorer.part(cursor.frequencies()[i], lengths_[document]),
                                        of.weight);
                sums_[document - begin] += of.count * part;
            }
            if (cursor.last() >= end) return;
        }
    }

    static void pass(history& of, std::uint64_t begin) {
        const auto first = std::ranges::lower_bound(of.rest, begin, {}, &continued_document::document);
        of.rest = {first, of.rest.end()};
    }
    void add_history_parts(history& of, std::uint64_t begin, std::uint64_t end) {
        pass(of, begin);
        for (; !of.rest.empty() && of.rest.front().document < end; of.rest = of.rest.subspan(1))
            sums_[of.rest.front().document - begin] += of.count * of.scorer.part(of.rest.front());
    }

    const context* ctx_;
    std::span<const std::uint32_t> lengths_;
    length_model length_model_;
    std::optional<std::span<const std::uint32_t>> allowed_;  // those not yet passed
    std::optional<std::span<const std::int64_t>> boosts_;
    ascending_set forbidden_;
    bool has_passing_;
    bit_reader passing_;
    std::uint64_t excluded_;  // past all documents: none
    prior_scorer prior_;
    std::uint64_t window_;
    best_documents best_;
    std::vector<list> lists_;
    std::vector<history> histories_;
    std::int64_t background_ = 0;
    query_length query_length_;
    std::array<std::int64_t, strategy::largest_window> sums_{};
    std::array<bool, strategy::largest_window> held_{};                // whether a list has the document
    std::array<std::uint32_t, strategy::largest_window> documents_{};  // those found, ascending
    std::array<std::int64_t, strategy::largest_window> scores_{};      // their scores
};

}  // namespace

std::vector<scored_document> rank_unpruned(const collection_view& collection, const search_query& query,
                                           const ranking_options& options, std::size_t k,
                                           const strategy& how) {
    return with_scorer(options.model, [&]<typename Scorer>() {
        return unpruned_search<Scorer>(collection, query, options, k, how).run();
    });
}

}  // namespace quern::search_detail
