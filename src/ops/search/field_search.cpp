// SPDX-License-Identifier: Apache-2.0
// BM25F over several lists for each word: its documents, those with it in the title, and those with it in each other field.
// Windows of 4,096 documents and MaxScore as in search_cpu.cpp; the bound of a word in a window is the part of its largest
// frequencies at the least lengths that the headers of its lists allow there.
#include "quern/ops/field_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/search/document_bits.hpp"
#include "ops/search/field_scoring.hpp"
#include "ops/search/postings.hpp"
#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr std::uint64_t documents_of_longest = 4096;

}  // namespace

field_lengths::field_lengths(std::vector<std::uint32_t> lengths) : lengths_(std::move(lengths)) {
    longest_.resize(lengths_.size() / documents_of_longest + 1);
    for (std::size_t d = 0; d < lengths_.size(); ++d) {
        words_ += lengths_[d];
        auto& longest = longest_[d / documents_of_longest];
        longest = std::max(longest, lengths_[d]);
    }
}

std::uint32_t field_lengths::longest(std::uint64_t begin, std::uint64_t end) const {
    std::uint32_t longest = 0;
    const std::uint64_t last = std::min<std::uint64_t>(end, lengths_.size());
    for (std::uint64_t at = begin / documents_of_longest; at * documents_of_longest < last; ++at)
        longest = std::max(longest, longest_[at]);
    return longest;
}

namespace search_detail {
namespace {

/// The frequencies in a list of documents that are asked for in ascending order.
class frequency_reader {
  public:
    frequency_reader(const posting_list& list, std::span<const std::uint32_t> lengths) {
        if (list.document_frequency != 0) cursor_.emplace(list, lengths);
    }
    /// 0: not in the list.
    std::uint32_t of(std::uint32_t document) {
        if (!cursor_ || cursor_->done()) return 0;
        cursor_->seek_block(document);
        if (cursor_->done()) return 0;
        cursor_->decode();
        const auto all = cursor_->documents();
        const auto at = std::ranges::lower_bound(all, document);
        if (at == all.end() || *at != document) return 0;
        return cursor_->frequencies()[static_cast<std::size_t>(at - all.begin())];
    }
    /// visit(document, frequency) for each one in [begin, end).
    template <typename Visit>
    void each(std::uint64_t begin, std::uint64_t end, Visit visit) {
        if (!cursor_ || cursor_->done()) return;
        cursor_->seek_block(static_cast<std::uint32_t>(begin));
        for (; !cursor_->done() && cursor_->lowest() < end; cursor_->next_block()) {
            cursor_->decode();
            const auto all = cursor_->documents();
            auto i = static_cast<std::size_t>(std::ranges::lower_bound(all, begin) - all.begin());
            for (; i < all.size() && all[i] < end; ++i) visit(all[i], cursor_->frequencies()[i]);
            if (i < all.size()) return;
        }
    }
    void skip_to(std::uint64_t document) {
        if (cursor_) cursor_->seek_block(static_cast<std::uint32_t>(document));
    }
    const std::optional<postings_cursor>& cursor() const { return cursor_; }

  private:
    std::optional<postings_cursor> cursor_;
};

struct field_word {
    field_word(const collection_view& collection, const query_term& term, double k1)
        : scorer(collection, term, k1),
          all(term.list, collection.document_lengths),
          titles(term.titles, collection.document_lengths),
          count(term.count) {
        others.reserve(term.fields.size());
        for (const posting_list& list : term.fields) others.emplace_back(list, collection.document_lengths);
    }

    bool done() const { return all.cursor()->done(); }
    void skip_to(std::uint64_t document) {
        all.skip_to(document);
        titles.skip_to(document);
        for (frequency_reader& other : others) other.skip_to(document);
    }

    /// `longest_besides`: the most words that a document of the window has outside of its text.
    void set_bound(const field_normaliser& norms, std::uint64_t end, std::uint64_t longest_besides) {
        const std::uint32_t in_title = max_frequency_in(titles, end);
        in_others.clear();
        for (const frequency_reader& other : others) in_others.push_back(max_frequency_in(other, end));
        bound = 0;
        all.cursor()->visit_bounds(end, [&](const postings_cursor::bounds& block) {
            const std::uint32_t most = block.max_frequency;
            const auto shortest = static_cast<std::uint32_t>(
                block.min_length - std::min<std::uint64_t>(block.min_length, longest_besides));
            // Either none of `most` occurrences is in the title or as many as possible: in between, the sum is linear.
            const double without = norms.frequency({0, most}, 1, shortest);
            const double with = norms.frequency(frequencies_of(most, in_title), 1, shortest);
            double sum = std::max(without, with);
            for (std::size_t i = 0; i < in_others.size(); ++i)
                sum += norms.of_other(i, std::min(most, in_others[i]));
            bound = std::max(bound, scorer.part(sum) + 1);
        });
        bound *= count;
    }

    /// Of a document that has the word, with the other fields.
    [[gnu::noinline]] double frequency_at(const field_normaliser& norms, std::uint32_t document,
                                          std::uint32_t frequency, std::uint32_t in_title) {
        in_others.clear();
        for (frequency_reader& other : others) in_others.push_back(other.of(document));
        return norms.frequency_with_others(frequencies_of(frequency, in_title, in_others), in_others,
                                           document);
    }

    static std::uint32_t max_frequency_in(const frequency_reader& list, std::uint64_t end) {
        std::uint32_t most = 0;
        if (list.cursor())
            list.cursor()->visit_bounds(end, [&](const postings_cursor::bounds& block) {
                most = std::max(most, block.max_frequency);
            });
        return most;
    }

    field_scorer scorer;
    frequency_reader all, titles;
    std::vector<frequency_reader> others;
    std::vector<std::uint32_t> in_others;  // of one document, or bounds
    std::int64_t count;
    std::int64_t bound = 0;  // maximum that the word can add to a document of the window
};

class field_search {
  public:
    // sums_, documents_ and scores_ are written before they are read.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    field_search(const collection_view& collection, const search_query& query, const field_ranking& ranking,
                 std::size_t k, const strategy& how)
        : ctx_(query.ctx),
          size_(collection.document_lengths.size()),
          norms_(collection, ranking),
          titles_(*ranking.titles),
          allowed_(query.allowed),
          forbidden_(query.forbidden),
          has_passing_(!query.passing.empty()),
          passing_(query.passing),
          boosts_(query.boosts),
          excluded_(query.excluded.value_or(~std::uint64_t{0})),
          prior_(query.prior),
          how_(how),
          best_(k) {
        words_.reserve(query.terms.size());
        for (const query_term& term : query.terms) {
            if (term.list.document_frequency == 0 || term.count == 0) continue;
            words_.emplace_back(collection, term, ranking.k1);
        }
        for (field_word& word : words_) active_.push_back(&word);
        for (const field_ranking::other_field& other : ranking.others) others_.push_back(other.lengths);
        in_others_.resize(others_.size() * strategy::largest_window);
    }

    std::vector<scored_document> run() {
        for (std::uint64_t begin = 0; next_window(begin);) {
            if (ctx_ != nullptr) ctx_->check_stop();
            const std::uint64_t end = std::min<std::uint64_t>(begin + how_.window, size_);
            score_window(begin, end);
            begin = end;
        }
        return best_.take();
    }

  private:
    // If at most one in this many documents may be found, looking words up for them costs less than reading the lists.
    static constexpr std::uint64_t dense_share = 8;

    // Moves `begin` to the lowest document that may be found; false if there is none.
    bool next_window(std::uint64_t& begin) {
        if (begin >= size_ || !move_to_allowed(begin)) return false;
        if (boosts_) return true;
        std::uint64_t lowest = size_;
        for (field_word* word : active_) {
            word->all.skip_to(begin);
            if (!word->done()) lowest = std::min(lowest, std::max(begin, word->all.cursor()->lowest()));
        }
        std::erase_if(active_, [](const field_word* word) { return word->done(); });
        begin = lowest;
        return begin < size_ && move_to_allowed(begin);
    }

    bool move_to_allowed(std::uint64_t& begin) {
        if (has_passing_) begin = passing_.next(begin, size_);
        if (begin >= size_ || !allowed_) return begin < size_;
        *allowed_ = allowed_->subspan(
            static_cast<std::size_t>(std::ranges::lower_bound(*allowed_, begin) - allowed_->begin()));
        if (allowed_->empty()) return false;
        begin = allowed_->front();
        return true;
    }

    bool prunes() const {
        return how_.prune && !boosts_ && best_.threshold() != best_documents::no_threshold;
    }

    // The documents of the window that may be found, if they are few, to documents_.
    std::optional<std::size_t> few(std::uint64_t begin, std::uint64_t end) {
        std::size_t size = 0;
        if (allowed_) {
            const auto last = std::ranges::lower_bound(*allowed_, end);
            if (static_cast<std::uint64_t>(last - allowed_->begin()) * dense_share >= end - begin) return {};
            for (auto at = allowed_->begin(); at != last; ++at)
                if (!has_passing_ || passing_.contains(*at)) documents_[size++] = *at;
            return size;
        }
        if (!has_passing_ || passing_.count(begin, end) * dense_share >= end - begin) return {};
        passing_.each(begin, end, [&](std::uint32_t document) { documents_[size++] = document; });
        return size;
    }

    void score_window(std::uint64_t begin, std::uint64_t end) {
        // Words [0, optional) together add at most `optional_bound`: not enough without the others.
        std::size_t optional = 0;
        std::int64_t optional_bound = 0;
        const std::int64_t of_prior = prior_.max(begin, end);
        if (prunes()) {
            std::uint64_t longest = titles_.longest(begin, end);
            for (const field_lengths* other : others_) longest += other->longest(begin, end);
            for (field_word* word : active_) {
                word->skip_to(begin);
                word->set_bound(norms_, end, longest);
            }
            std::ranges::sort(active_, {}, &field_word::bound);
            const std::int64_t needed = best_.threshold() - of_prior;
            while (optional < active_.size() && optional_bound + active_[optional]->bound <= needed)
                optional_bound += active_[optional++]->bound;
            if (optional == active_.size()) return;
        }
        std::size_t candidates = 0;
        if (const auto allowed = few(begin, end)) {
            candidates = *allowed;
            std::fill_n(scores_.begin(), candidates, 0);
            for (std::size_t i = active_.size(); i > optional; --i) look_up(*active_[i - 1], candidates);
            if (!boosts_ && optional == 0) candidates = keep_above(candidates, 0);
        } else {
            candidates = add_up(begin, end, optional);
        }
        if (boosts_) candidates = add_boosts(candidates);
        prior_.add({documents_.data(), candidates}, scores_.data());
        while (optional > 0 && candidates > 0) {
            candidates = keep_above(candidates, best_.threshold() - optional_bound);
            field_word& word = *active_[--optional];
            optional_bound -= word.bound;
            look_up(word, candidates);
        }
        offer(candidates);
    }

    // The sums of the words from `optional` on, of all documents of the window that have one, to documents_ and scores_.
    std::size_t add_up(std::uint64_t begin, std::uint64_t end, std::size_t optional) {
        std::fill_n(sums_.begin(), end - begin, 0);
        for (std::size_t i = optional; i < active_.size(); ++i) add_all(*active_[i], begin, end);
        std::size_t size = 0;
        for (std::uint64_t d = begin; d < end; ++d) {
            const auto document = static_cast<std::uint32_t>(d);
            if (sums_[d - begin] == 0 && !boosts_) continue;
            if (has_passing_ && !passing_.contains(document)) continue;
            if (allowed_ && !std::ranges::binary_search(*allowed_, document)) continue;
            documents_[size] = document;
            scores_[size++] = sums_[d - begin];
        }
        return size;
    }

    void add_all(field_word& word, std::uint64_t begin, std::uint64_t end) {
        std::size_t with_title = 0;
        word.titles.each(begin, end, [&](std::uint32_t document, std::uint32_t frequency) {
            documents_[with_title++] = document;
            in_title_[document - begin] = frequency;
        });
        if (norms_.has_others())
            add_all_fields(word, begin, end);
        else
            word.all.each(begin, end, [&](std::uint32_t document, std::uint32_t frequency) {
                const auto f = frequencies_of(frequency, in_title_[document - begin]);
                sums_[document - begin] += word.count * word.scorer.part(norms_.frequency(f, document));
            });
        for (std::size_t i = 0; i < with_title; ++i) in_title_[documents_[i] - begin] = 0;
    }

    /// With the other fields; `in_title_` has the occurrences in titles. Apart, so that the loop without them stays short.
    [[gnu::noinline]] void add_all_fields(field_word& word, std::uint64_t begin, std::uint64_t end) {
        const std::size_t fields = word.others.size();
        with_others_.clear();
        for (std::size_t i = 0; i < fields; ++i)
            word.others[i].each(begin, end, [&](std::uint32_t document, std::uint32_t frequency) {
                with_others_.push_back((document - begin) * fields + i);
                in_others_[with_others_.back()] = frequency;
            });
        word.all.each(begin, end, [&](std::uint32_t document, std::uint32_t frequency) {
            const auto others = std::span(in_others_).subspan((document - begin) * fields, fields);
            const auto f = frequencies_of(frequency, in_title_[document - begin], others);
            sums_[document - begin] +=
                word.count * word.scorer.part(norms_.frequency_with_others(f, others, document));
        });
        for (const std::size_t at : with_others_) in_others_[at] = 0;
    }

    void look_up(field_word& word, std::size_t candidates) {
        for (std::size_t i = 0; i < candidates; ++i) {
            const std::uint32_t all = word.all.of(documents_[i]);
            if (all == 0) continue;
            const std::uint32_t in_title = word.titles.of(documents_[i]);
            const double t = norms_.has_others()
                                 ? word.frequency_at(norms_, documents_[i], all, in_title)
                                 : norms_.frequency(frequencies_of(all, in_title), documents_[i]);
            scores_[i] += word.count * word.scorer.part(t);
        }
    }

    // A document that is not listed must have a word.
    std::size_t add_boosts(std::size_t candidates) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates; ++i) {
            const std::int64_t boost = (*boosts_)[documents_[i]];
            if (boost == no_boost && scores_[i] == 0) continue;
            documents_[kept] = documents_[i];
            scores_[kept++] = scores_[i] + (boost == no_boost ? 0 : boost);
        }
        return kept;
    }

    std::size_t keep_above(std::size_t candidates, std::int64_t limit) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates; ++i) {
            documents_[kept] = documents_[i];
            scores_[kept] = scores_[i];
            kept += scores_[i] > limit ? 1 : 0;
        }
        return kept;
    }

    void offer(std::size_t candidates) {
        for (std::size_t i = 0; i < candidates; ++i) {
            if (scores_[i] <= best_.threshold() || forbidden_.contains(documents_[i])) continue;
            if (documents_[i] != excluded_) best_.add(documents_[i], scores_[i]);
        }
        best_.settle();
    }

    const context* ctx_;
    std::uint64_t size_;
    field_normaliser norms_;
    const field_lengths& titles_;
    std::optional<std::span<const std::uint32_t>> allowed_;  // those not yet passed
    ascending_set forbidden_;
    bool has_passing_;
    bit_reader passing_;
    std::optional<std::span<const std::int64_t>> boosts_;
    std::uint64_t excluded_;  // past all documents: none
    prior_scorer prior_;
    strategy how_;
    best_documents best_;
    std::vector<const field_lengths*> others_;
    std::vector<field_word> words_;
    std::vector<field_word*> active_;  // those with postings left; by their bounds if pruned

    std::array<std::int64_t, strategy::largest_window> sums_;         // of the window's documents
    std::array<std::uint32_t, strategy::largest_window> documents_;   // the candidates, ascending
    std::array<std::int64_t, strategy::largest_window> scores_;       // their scores
    std::array<std::uint32_t, strategy::largest_window> in_title_{};  // of one word; 0 between words
    std::vector<std::uint32_t> in_others_;  // likewise, of each document its other fields
    std::vector<std::size_t> with_others_;  // places in it that are not 0
};

void check_field(const field_weight& field, const std::string& name) {
    constexpr double smallest = 0x1p-20, largest = 0x1p20;
    if (!(field.weight >= smallest && field.weight <= largest))
        throw usage_error(std::string("the weight of the field ") + name + " must be between 2^-20 and 2^20");
    if (!(field.b >= 0 && field.b <= 1))
        throw usage_error(std::string("b of the field ") + name + " must be between 0 and 1");
}

void check(const collection_view& collection, const search_query& query, const field_ranking& ranking) {
    ranking_options plain;
    plain.k1 = ranking.k1;
    // Words of near-duplicates' titles are in lists, but not among the words of the collection.
    check_query({collection.document_lengths, std::numeric_limits<std::uint64_t>::max()}, query, plain);
    check_field(ranking.title, "title");
    check_field(ranking.text, "text");
    if (ranking.titles == nullptr || ranking.titles->all().size() != collection.document_lengths.size())
        throw usage_error("a search in fields must have a title length for each document");
    for (std::size_t i = 0; i < ranking.others.size(); ++i) {
        const auto& [by, lengths] = ranking.others[i];
        check_field(by, "number " + std::to_string(i));
        if (lengths == nullptr || lengths->all().size() != collection.document_lengths.size())
            throw usage_error("a search in fields must have a length of each field for each document");
    }
    for (const query_term& term : query.terms)
        if (!term.fields.empty() && term.fields.size() != ranking.others.size())
            throw usage_error("a term must have a list for each field, or none");
    if (!query.continuations.empty()) throw usage_error("words with histories cannot be searched in fields");
}

}  // namespace

std::vector<scored_document> rank_fields(const collection_view& collection, const search_query& query,
                                         const field_ranking& ranking, std::size_t k, const strategy& how) {
    return field_search(collection, query, ranking, k, how).run();
}

std::vector<field_score_parts> field_parts_of(const collection_view& collection, const search_query& query,
                                              const field_ranking& ranking, std::uint32_t document) {
    const field_normaliser norms(collection, ranking);
    std::vector<field_score_parts> parts;
    parts.reserve(query.terms.size());
    for (const query_term& term : query.terms) {
        field_score_parts& of = parts.emplace_back();
        of.others.resize(ranking.others.size());
        if (term.list.document_frequency == 0 || term.count == 0) continue;
        const auto in = [&](const posting_list& list) {
            return frequency_reader(list, collection.document_lengths).of(document);
        };
        of.frequency = in(term.list);
        if (of.frequency == 0) continue;
        std::vector<std::uint32_t> others;
        for (const posting_list& list : term.fields) others.push_back(in(list));
        const auto f = frequencies_of(of.frequency, in(term.titles), others);
        const field_scorer scorer(collection, term, norms.k1());
        // Of the text, the title and the first `fields` of the others.
        const auto part_of = [&](field_frequencies in_both, std::size_t fields) {
            const double t = norms.frequency_with_others(in_both, std::span(others).first(fields), document);
            return t == 0 ? 0 : term.count * scorer.part(t);
        };
        of.part = part_of({0, f.text}, 0);
        std::int64_t before = part_of(f, 0);
        of.title = before - of.part;
        for (std::size_t i = 0; i < others.size(); ++i) {
            const std::int64_t with = part_of(f, i + 1);
            of.others[i].frequency = others[i];
            of.others[i].part = with - before;
            before = with;
        }
    }
    return parts;
}

part_bounds field_bounds_of(const collection_view& collection, const query_term& term,
                            const field_ranking& ranking) {
    part_bounds bounds{};
    if (term.list.document_frequency == 0) return bounds;
    bounds.least = std::numeric_limits<std::int64_t>::max();
    const field_normaliser norms(collection, ranking);
    field_word word(collection, term, ranking.k1);
    word.all.each(
        0, collection.document_lengths.size(), [&](std::uint32_t document, std::uint32_t frequency) {
            const std::int64_t part =
                word.scorer.part(word.frequency_at(norms, document, frequency, word.titles.of(document)));
            bounds.least = std::min(bounds.least, part);
            bounds.largest = std::max(bounds.largest, part);
        });
    return bounds;
}

}  // namespace search_detail

std::vector<scored_document> search_fields(const collection_view& collection, const search_query& query,
                                           const field_ranking& ranking, std::size_t k) {
    search_detail::check(collection, query, ranking);
    if (k == 0) return {};
    return search_detail::rank_fields(collection, query, ranking, k);
}

std::vector<field_score_parts> explain_fields(const collection_view& collection, const search_query& query,
                                              const field_ranking& ranking, std::uint32_t document) {
    search_detail::check(collection, query, ranking);
    if (document >= collection.document_lengths.size()) throw usage_error("no such document");
    return search_detail::field_parts_of(collection, query, ranking, document);
}

}  // namespace quern
