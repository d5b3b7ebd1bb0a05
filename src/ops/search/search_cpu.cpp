// SPDX-License-Identifier: Apache-2.0
// Documents are scored in windows of 4,096, whose sums fit the first-level cache.
// - Within a window: word after word (bulk decoding and vectorised parts, no branch per posting).
// - From window to window: MaxScore. Words whose bounds together cannot lift a document into the best k (Turtle and Flood
//   1995; block bounds as in Ding and Suel 2011) are not read, but looked up for the candidates that the other words leave.
//
// Bounds and sums are integers, so pruning is exact. For small collections this is term-at-a-time scoring, for large ones
// pruned search. Nothing is kept between calls.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ops/search/document_bits.hpp"
#include "ops/search/postings.hpp"
#include "ops/search/probabilistic_scorers.hpp"
#include "ops/search/scoring.hpp"
#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

/// A list to score: a word's documents by the model, or those with it in the title by one part for all.
template <typename Scorer>
struct word {
    word(const collection_view& collection, const query_term& term, const ranking_options& options)
        : scorer(collection, term.list, options),
          cursor(term.list, collection.document_lengths),
          count(term.count),
          weight(term.weight),
          holders(term.list.document_frequency) {}
    word(const collection_view& collection, const query_term& term, const ranking_options& options,
         std::int64_t part_for_all)
        : scorer(collection, term.list, options),
          cursor(term.titles, collection.document_lengths),
          count(term.count),
          weight(term.weight),
          constant(weighted_part(part_for_all, term.weight)) {}

    std::int64_t part(std::uint32_t frequency, std::uint32_t length) const {
        return constant != 0 ? constant : weighted_part(scorer.part(frequency, length), weight);
    }
    std::int64_t max_part(std::uint32_t frequency, std::uint32_t length) const {
        return constant != 0 ? constant : weighted_part(bound_of(scorer, frequency, length), weight);
    }
    void parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
               std::int64_t* out) const {
        if (constant != 0) {
            std::fill_n(out, size, constant);
        } else {
            scorer.parts(frequencies, lengths, size, out);
            if (weight == weight_one) return;
            for (std::size_t i = 0; i < size; ++i) out[i] = weighted_part(out[i], weight);
        }
    }

    Scorer scorer;
    postings_cursor cursor;
    std::int64_t count;
    std::uint32_t weight;
    bool required = false;
    std::uint32_t holders = 0;
    std::int64_t constant = 0;  // 0: the model's part
    std::int64_t bound = 0;     // maximum that the word can add to a document of the window
    std::uint32_t shortest = 0;

    /// The lowest document at or after `from` that may have the word.
    std::uint64_t next(std::uint64_t from) const {
        if (!cursor.decoded()) return std::max(from, cursor.lowest());
        const auto documents = cursor.documents();
        const auto found = std::lower_bound(documents.begin(), documents.end(), from);
        return found == documents.end() ? std::uint64_t{cursor.last()} + 1 : *found;
    }

    void set_bound(std::uint64_t end) {
        bound = 0;
        shortest = ~std::uint32_t{0};
        cursor.visit_bounds(end, [&](const postings_cursor::bounds& block) {
            bound = std::max(bound, max_part(block.max_frequency, block.min_length) + 1);
            shortest = std::min(shortest, block.min_length);
        });
        bound *= count;
    }
};

template <typename Scorer>
class window_search {
  public:
    // sums_, documents_ and scores_ are written before they are read; zeros would cost a short query a percent or two.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    window_search(const collection_view& collection, const search_query& query,
                  const ranking_options& options, std::size_t k, const strategy& how,
                  std::span<const std::uint8_t> required = {})
        : ctx_(query.ctx),
          allowed_(query.allowed),
          forbidden_(query.forbidden),
          has_passing_(!query.passing.empty()),
          passing_(query.passing),
          excluded_(query.excluded.value_or(~std::uint64_t{0})),
          lengths_(collection.document_lengths),
          length_model_(options),
          prior_(query.prior),
          how_(how),
          best_(k) {
        words_.reserve(2 * query.terms.size());
        for (std::size_t i = 0; i < query.terms.size(); ++i) {
            const query_term& term = query.terms[i];
            const bool is_required = !required.empty() && required[i] != 0;
            nothing_ = nothing_ || (is_required && term.list.document_frequency == 0);
            if (term.list.scored_documents() == 0 || term.count == 0) continue;
            background_ += std::int64_t{term.count} *
                           weighted(Scorer(collection, term.list, options).background(), term.weight);
            query_length_.add(term);
            if (term.list.document_frequency == 0) continue;  // only in other parts of the collection
            words_.emplace_back(collection, term, options);
            words_.back().required = is_required;
            postings_ += term.list.document_frequency;
            if (options.title_weight == 0 || term.titles.document_frequency == 0) continue;
            postings_ += term.titles.document_frequency;
            words_.emplace_back(collection, term, options,
                                title_part(collection, term.list, options.title_weight));
        }
        for (auto& word : words_) (word.required ? required_ : active_).push_back(&word);
        std::ranges::stable_sort(required_, {}, &word<Scorer>::holders);
    }

    std::vector<scored_document> run() {
        if (nothing_) return {};
        if (!required_.empty()) return run_required();
        std::uint64_t begin = 0;
        while (next_window(begin)) {
            if (ctx_ != nullptr) ctx_->check_stop();
            const std::uint64_t end = std::min<std::uint64_t>(begin + how_.window, lengths_.size());
            score_window(begin, end);
            begin = end;
        }
        return best_.take();
    }

  private:
    static constexpr std::uint64_t piece_size = 512;
    // If at most one in this many documents is allowed, looking words up for them costs less than reading the lists.
    static constexpr std::uint64_t dense_share = 8;
    // In postings that are read: a look-up, and how many documents of a window to clear and collect.
    static constexpr std::uint64_t look_up_cost = 32, documents_per_posting = 8;
    using length_model = typename Scorer::length_model;

    // The maximum that the length of a document with `shortest` words or more can add to its score.
    std::int64_t max_from_length(std::uint32_t shortest) const {
        // Rounding of the logarithm may break the order of lengths by a unit.
        return length_model::used ? -query_length_.times(length_model_.part(shortest) - 1) : 0;
    }

    // Some words are required: the blocks of the shortest list in turn, without the documents that another list lacks.
    std::vector<scored_document> run_required() {
        frequencies_.resize(required_.size());
        auto& leader = required_.front()->cursor;
        for (; !leader.done(); leader.next_block()) {
            if (ctx_ != nullptr) ctx_->check_stop();
            std::uint64_t begin = leader.lowest();
            if (!move_to_allowed(begin)) break;
            leader.seek_block(static_cast<std::uint32_t>(begin));
            if (leader.done()) break;
            if (!can_reach_best(leader.lowest(), std::uint64_t{leader.last()} + 1)) continue;
            std::size_t candidates = candidates_of(leader);
            for (std::size_t r = 1; r < required_.size() && candidates != 0; ++r)
                candidates = keep_those_of(r, candidates);
            if (candidates != 0) score_required(candidates);
        }
        return best_.take();
    }

    // Whether a document in [begin, end) may be among the best; sets the bounds of words that are not required.
    bool can_reach_best(std::uint64_t begin, std::uint64_t end) {
        if (!prunes()) return true;
        std::int64_t bound = background_ + max_from_length(0) +
                             prior_.max(begin, std::min<std::uint64_t>(end, lengths_.size()));
        for (auto* words : {&required_, &active_})
            for (auto* word : *words) {
                word->cursor.seek_block(static_cast<std::uint32_t>(begin));
                word->set_bound(end);
                bound += word->bound;
            }
        return bound > best_.threshold();
    }

    std::size_t candidates_of(const postings_cursor& leader) {
        required_.front()->cursor.decode();
        std::size_t candidates = 0;
        for (std::size_t i = 0; i < leader.documents().size(); ++i) {
            const std::uint32_t document = leader.documents()[i];
            if (allowed_ && !std::ranges::binary_search(*allowed_, document)) continue;
            if (has_passing_ && !passing_.contains(document)) continue;
            documents_[candidates] = document;
            frequencies_[0][candidates++] = leader.frequencies()[i];
        }
        return candidates;
    }

    // Removes the candidates that the list of required word r lacks.
    std::size_t keep_those_of(std::size_t r, std::size_t candidates) {
        auto& cursor = required_[r]->cursor;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates;) {
            cursor.seek_block(documents_[i]);
            if (cursor.done()) break;
            cursor.decode();
            const auto all = cursor.documents();
            for (std::size_t from = 0; i < candidates && documents_[i] <= cursor.last(); ++i) {
                // The next one is usually near.
                while (from + 8 < all.size() && all[from + 7] < documents_[i]) from += 8;
                while (all[from] < documents_[i]) ++from;  // the block's last document is not below
                if (all[from] != documents_[i]) continue;
                documents_[kept] = documents_[i];
                for (std::size_t before = 0; before < r; ++before)
                    frequencies_[before][kept] = frequencies_[before][i];
                frequencies_[r][kept++] = cursor.frequencies()[from];
            }
        }
        return kept;
    }

    void score_required(std::size_t candidates) {
        for (std::size_t i = 0; i < candidates; ++i) block_lengths_[i] = lengths_[documents_[i]];
        std::fill_n(scores_.begin(), candidates, background_);
        for (std::size_t r = 0; r < required_.size(); ++r) {
            required_[r]->parts(frequencies_[r].data(), block_lengths_.data(), candidates, parts_.data());
            for (std::size_t i = 0; i < candidates; ++i) scores_[i] += required_[r]->count * parts_[i];
        }
        if constexpr (length_model::used) subtract_lengths(candidates);
        prior_.add({documents_.data(), candidates}, scores_.data());
        if (prunes()) {
            std::int64_t rest = 0;
            for (const auto* word : active_) rest += word->bound;
            candidates = keep_above(candidates, best_.threshold() - rest);
        }
        for (auto* word : active_) look_up(*word, candidates);
        offer(candidates);
    }

    // Moves `begin` to the lowest allowed document that may have a word; false if there is none.
    bool next_window(std::uint64_t& begin) {
        if (begin >= lengths_.size() || !move_to_allowed(begin)) return false;
        std::uint64_t lowest = lengths_.size();
        for (auto* word : active_) {
            word->cursor.seek_block(static_cast<std::uint32_t>(begin));
            if (!word->cursor.done()) lowest = std::min(lowest, word->next(begin));
        }
        std::erase_if(active_, [](const auto* word) { return word->cursor.done(); });
        begin = lowest;
        return !active_.empty() && begin < lengths_.size() && move_to_allowed(begin);
    }

    bool move_to_allowed(std::uint64_t& begin) {
        if (has_passing_) {
            begin = passing_.next(begin, lengths_.size());
            return begin < lengths_.size();
        }
        if (!allowed_) return true;
        *allowed_ = allowed_->subspan(
            static_cast<std::size_t>(std::ranges::lower_bound(*allowed_, begin) - allowed_->begin()));
        if (allowed_->empty()) return false;
        begin = allowed_->front();
        return true;
    }
    std::span<const std::uint32_t> allowed_below(std::uint64_t end) const {
        return allowed_->first(
            static_cast<std::size_t>(std::ranges::lower_bound(*allowed_, end) - allowed_->begin()));
    }

    bool prunes() const { return how_.prune && best_.threshold() != best_documents::no_threshold; }

    // Bounds what each word and everything else can add to a document of the window, and sorts the words by their bounds.
    void bound_words(std::uint64_t begin, std::uint64_t end) {
        std::uint32_t shortest = ~std::uint32_t{0};
        for (auto* word : active_) {
            word->set_bound(end);
            shortest = std::min(shortest, word->shortest);
        }
        std::sort(active_.begin(), active_.end(),
                  [](const auto* a, const auto* b) { return a->bound < b->bound; });
        max_besides_ = max_from_length(shortest) + prior_.max(begin, end);
    }

    void score_window(std::uint64_t begin, std::uint64_t end) {
        max_besides_ = max_from_length(0) + prior_.max(begin, end);
        if (allowed_) {
            const auto allowed = allowed_below(end);
            if (allowed.size() * dense_share < end - begin) {
                std::ranges::copy(allowed, documents_.begin());
                return score_few(allowed.size(), begin, end);
            }
        } else if (has_passing_ && few_pass(begin, end)) {
            std::size_t few = 0;
            passing_.each(begin, end, [&](std::uint32_t document) { documents_[few++] = document; });
            return score_few(few, begin, end);
        }
        // Words [0, optional) together add at most `optional_bound`: not enough without the others.
        std::size_t optional = 0;
        std::int64_t optional_bound = 0;
        if (prunes()) {
            bound_words(begin, end);
            const std::int64_t needed = best_.threshold() - background_ - max_besides_;
            while (optional < active_.size() && optional_bound + active_[optional]->bound <= needed)
                optional_bound += active_[optional++]->bound;
            if (optional == active_.size()) return;
        }
        std::fill_n(sums_.begin(), end - begin, 0);
        for (std::size_t i = optional; i < active_.size(); ++i) add_all(*active_[i], begin, end);
        if (allowed_) clear_others(begin, end);

        // In pieces, so that the first window's best documents soon exclude others.
        for (std::uint64_t piece = begin; piece < end; piece += piece_size)
            finish(begin, piece, std::min(end, piece + piece_size), optional, optional_bound);
    }

    // Whether looking words up for the documents that pass costs less than reading the lists.
    bool few_pass(std::uint64_t begin, std::uint64_t end) const {
        const std::uint64_t postings = postings_ * (end - begin) / lengths_.size();
        return passing_.count(begin, end) * active_.size() * look_up_cost <
               postings + (end - begin) / documents_per_posting;
    }

    // Few documents are allowed, the candidates: looks words up for them, those with the largest bounds first.
    void score_few(std::size_t candidates, std::uint64_t begin, std::uint64_t end) {
        const bool pruned = prunes();
        std::int64_t rest = 0;  // maximum from the words not yet looked up
        if (pruned) {
            bound_words(begin, end);
            for (const auto* word : active_) rest += word->bound;
        }
        std::fill_n(scores_.begin(), candidates, background_);
        for (std::size_t i = active_.size(); i > 0 && candidates > 0; --i) {
            if (pruned) candidates = keep_above(candidates, best_.threshold() - max_besides_ - rest);
            rest -= active_[i - 1]->bound;
            look_up(*active_[i - 1], candidates);
        }
        candidates = keep_above(candidates, background_);  // a document must contain a word
        if constexpr (length_model::used) subtract_lengths(candidates);
        prior_.add({documents_.data(), candidates}, scores_.data());
        offer(candidates);
    }

    // A document without a sum is not a candidate.
    void clear_others(std::uint64_t begin, std::uint64_t end) {
        std::int64_t* const sums = sums_.data();
        std::uint64_t next = begin;
        for (const std::uint32_t document : allowed_below(end)) {
            std::fill(sums + (next - begin), sums + (document - begin), 0);
            next = std::uint64_t{document} + 1;
        }
        std::fill(sums + (next - begin), sums + (end - begin), 0);
    }

    // Turns the sums of documents [from, to) into scores and offers those that may be among the best.
    void finish(std::uint64_t begin, std::uint64_t from, std::uint64_t to, std::size_t optional,
                std::int64_t optional_bound) {
        std::int64_t limit = 0;
        if (prunes())
            limit = std::max(limit, best_.threshold() - background_ - max_besides_ - optional_bound);
        std::size_t candidates =
            collect_above(sums_.data() + (from - begin), to - from, limit, documents_.data());
        if (has_passing_) candidates = keep_passing(candidates, from);
        for (std::size_t i = 0; i < candidates; ++i) {
            scores_[i] = sums_[documents_[i] + (from - begin)] + background_;
            documents_[i] += static_cast<std::uint32_t>(from);
        }
        if constexpr (length_model::used) subtract_lengths(candidates);
        prior_.add({documents_.data(), candidates}, scores_.data());

        while (optional > 0 && candidates > 0) {
            candidates = keep_above(candidates, best_.threshold() - optional_bound);
            auto& word = *active_[--optional];
            optional_bound -= word.bound;
            look_up(word, candidates);
        }
        offer(candidates);
    }

    // Of candidates as distances from `from`.
    std::size_t keep_passing(std::size_t candidates, std::uint64_t from) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates; ++i) {
            const std::uint32_t distance = documents_[i];
            documents_[kept] = distance;
            kept += passing_.contains(static_cast<std::uint32_t>(from + distance)) ? 1 : 0;
        }
        return kept;
    }

    void offer(std::size_t candidates) {
        for (std::size_t i = 0; i < candidates; ++i) {
            // The list is long, the candidates with a chance are few.
            if (scores_[i] <= best_.threshold() || forbidden_.contains(documents_[i])) continue;
            if (documents_[i] != excluded_) best_.add(documents_[i], scores_[i]);
        }
        best_.settle();
    }

    // Adds the word's parts for all documents of the window to the sums.
    void add_all(word<Scorer>& word, std::uint64_t begin, std::uint64_t end) {
        auto& cursor = word.cursor;
        while (!cursor.done() && cursor.lowest() < end) {
            cursor.decode();
            const auto all = cursor.documents();
            const auto* first = all.data();
            const auto* last = all.data() + all.size();
            const bool ends_within = cursor.last() < end;
            if (*first < begin) first = std::lower_bound(first, last, begin);
            if (!ends_within) last = std::lower_bound(first, last, end);
            const std::size_t size = static_cast<std::size_t>(last - first);
            for (std::size_t i = 0; i < size; ++i) block_lengths_[i] = lengths_[first[i]];
            word.parts(cursor.frequencies().data() + (first - all.data()), block_lengths_.data(), size,
                       parts_.data());
            std::int64_t* const sums = sums_.data();
            for (std::size_t i = 0; i < size; ++i) sums[first[i] - begin] += word.count * parts_[i];
            if (!ends_within) return;
            cursor.next_block();
        }
    }

    // Adds the word's part to the scores of the candidates that hold it.
    void look_up(word<Scorer>& word, std::size_t candidates) {
        auto& cursor = word.cursor;
        for (std::size_t i = 0; i < candidates;) {
            cursor.seek_block(documents_[i]);
            if (cursor.done()) return;
            cursor.decode();
            const auto all = cursor.documents();
            auto at = all.begin();
            for (; i < candidates && documents_[i] <= cursor.last(); ++i) {
                at = std::lower_bound(at, all.end(), documents_[i]);
                if (*at != documents_[i]) continue;  // at is valid: the block's last document is not below
                const std::uint32_t frequency =
                    cursor.frequencies()[static_cast<std::size_t>(at - all.begin())];
                scores_[i] += word.count * word.part(frequency, lengths_[documents_[i]]);
            }
        }
    }

    void subtract_lengths(std::size_t candidates) {
        for (std::size_t from = 0; from < candidates; from += block_size) {
            const std::size_t size = std::min(block_size, candidates - from);
            for (std::size_t i = 0; i < size; ++i) block_lengths_[i] = lengths_[documents_[from + i]];
            length_model_.parts(block_lengths_.data(), size, parts_.data());
            for (std::size_t i = 0; i < size; ++i) scores_[from + i] -= query_length_.times(parts_[i]);
        }
    }

    std::size_t keep_above(std::size_t candidates, std::int64_t limit) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates; ++i) {
            documents_[kept] = documents_[i];
            scores_[kept] = scores_[i];
            kept += scores_[i] > limit;
        }
        return kept;
    }

    const context* ctx_;
    std::optional<std::span<const std::uint32_t>> allowed_;  // those not yet passed
    ascending_set forbidden_;
    bool has_passing_;  // then there is no list of those allowed
    bit_reader passing_;
    std::uint64_t excluded_;  // past all documents: none
    std::span<const std::uint32_t> lengths_;
    length_model length_model_;
    prior_scorer prior_;
    strategy how_;
    best_documents best_;
    std::vector<word<Scorer>> words_;
    std::vector<word<Scorer>*> active_;    // those with postings left; ordered by their bounds if pruned
    std::vector<word<Scorer>*> required_;  // the shortest list first
    std::vector<std::array<std::uint32_t, block_size + kernel_padding>>
        frequencies_;             // of these, in the candidates
    bool nothing_ = false;        // a required word is in no document
    std::uint64_t postings_ = 0;  // of all words
    std::int64_t background_ = 0;
    query_length query_length_;
    std::int64_t max_besides_ = 0;  // maximum from length and prior for a document of the window, or more

    alignas(64) std::array<std::int64_t, strategy::largest_window> sums_;  // of the window's documents
    std::array<std::uint32_t, strategy::largest_window> documents_;        // the candidates, ascending
    std::array<std::int64_t, strategy::largest_window> scores_;            // their scores
    alignas(64) std::array<std::uint32_t, block_size + kernel_padding> block_lengths_{};
    alignas(64) std::array<std::int64_t, block_size + kernel_padding> parts_{};
};

/// A query with at most one of `allowed` and `passing`: of both, a list of those in both.
class one_restriction {
  public:
    explicit one_restriction(const search_query& query) : query_(query) {
        if (!query.allowed || query.passing.empty()) return;
        const bit_reader passing(query.passing);
        std::ranges::copy_if(*query.allowed, std::back_inserter(both_),
                             [&](std::uint32_t document) { return passing.contains(document); });
        query_.allowed = both_;
        query_.passing = {};
    }
    one_restriction(const one_restriction&) = delete;  // the query points into it
    one_restriction& operator=(const one_restriction&) = delete;
    const search_query& query() const { return query_; }

  private:
    search_query query_;
    std::vector<std::uint32_t> both_;
};

}  // namespace

std::vector<scored_document> rank_cpu(const collection_view& collection, const search_query& requested,
                                      const ranking_options& options, std::size_t k, const strategy& how) {
    const one_restriction one(requested);
    const search_query& query = one.query();
    const auto continued = [](const query_term& term) { return term.continued != 0; };
    if (query.boosts || !query.continuations.empty() || std::ranges::any_of(query.terms, continued))
        return rank_unpruned(collection, query, options, k, how);
    return with_scorer(options.model, [&]<typename Scorer>() {
        return window_search<Scorer>(collection, query, options, k, how).run();
    });
}

std::vector<scored_document> search_requiring(const collection_view& collection,
                                              const search_query& requested,
                                              std::span<const std::uint8_t> required,
                                              const ranking_options& options, std::size_t k,
                                              const strategy& how) {
    check_query(collection, requested, options);
    const one_restriction one(requested);
    const search_query& query = one.query();
    if (required.size() != query.terms.size()) throw usage_error("a query must have a flag for each term");
    if (query.boosts || !query.continuations.empty())
        throw usage_error("terms cannot be required with histories or a list of documents");
    if (k == 0) return {};
    return with_scorer(options.model, [&]<typename Scorer>() {
        return window_search<Scorer>(collection, query, options, k, how, required).run();
    });
}

}  // namespace quern::search_detail
