// SPDX-License-Identifier: Apache-2.0
// Ranking by kept lists, window after window as in search_cpu.cpp, with the same exact MaxScore. Three things make it fast
// where lists are short or collections small:
// - a lower bound of the k-th best score is known before the first window: that of the best k documents of one word;
// - bounds are the maxima of the parts themselves;
// - a word of most documents is looked up, or added to all sums, without a search.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "ops/search/document_bits.hpp"
#include "ops/search/kept_list.hpp"
#include "ops/search/kept_reader.hpp"
#include "ops/search/score_kernels.hpp"
#include "ops/search/search_impl.hpp"

namespace quern::search_detail {
namespace {

constexpr std::uint32_t window = kept_list::window;

/// A word, with its part of a window.
struct kept_word {
    const kept_list* list;
    std::int64_t count;
    std::int64_t max;                  // that it can add to any document
    std::int64_t bound = 0;            // that it can add to a document of the window
    std::uint32_t begin = 0, end = 0;  // positions of the window's documents, if the list is not dense

    bool dense() const { return list->form == kept_form::dense; }

    /// The lowest document at or after `from` that may have the word. `from` never falls.
    std::uint64_t next(std::uint64_t from) {
        if (list->form != kept_form::documents) return from;
        move_to(from);
        return begin == list->size ? ~std::uint64_t{0} : list->documents[begin];
    }

    void enter(std::uint64_t first, std::uint64_t past_end) {
        const std::size_t number = static_cast<std::size_t>(first / window);
        if (list->form == kept_form::documents) {
            move_to(first);
            for (end = begin; end < list->size && list->documents[end] < past_end;) ++end;
            bound = end == begin ? 0 : max;
            return;
        }
        bound = count * list->window_max[number];
        if (dense()) return;
        begin = list->window_begin[number];
        end = list->window_begin[number + 1];
    }

  private:
    void move_to(std::uint64_t from) {
        const auto below = [&](std::uint32_t at) { return at < list->size && list->documents[at] < from; };
        std::uint32_t step = 1;
        for (; below(begin + step - 1) && step < 8; ++step) {
        }
        if (!below(begin + step - 1)) {
            while (below(begin)) ++begin;
            return;
        }
        const auto rest = std::span(list->documents).subspan(begin);
        begin += static_cast<std::uint32_t>(std::ranges::lower_bound(rest, from) - rest.begin());
    }
};

/// At least k documents that pass have this part of the list or more; 0 if that is not known.
std::int64_t passing_floor(const kept_list& list, std::size_t k, const bit_reader& passing) {
    for (const scored_document& of : list.best_documents())
        if (passing.contains(of.document) && --k == 0) return of.fixed_score;
    return 0;
}

class kept_search {
  public:
    // The arrays are written before they are read.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    kept_search(std::span<const kept_term> terms, std::uint64_t documents, std::size_t k,
                std::uint64_t* total, const context* ctx, std::span<const std::uint64_t> passing)
        : documents_of_collection_(documents),
          total_(total),
          ctx_(ctx),
          filters_(!passing.empty()),
          passing_(passing),
          best_(std::max<std::size_t>(k, 1)) {
        words_.reserve(terms.size());
        present_.reserve(terms.size());
        std::int64_t floor = 0;
        for (const kept_term& term : terms) {
            nothing_ = nothing_ || (term.required && term.list->size == 0);
            if (!term.excluded) background_ += term.count * term.list->background;
            if (term.list->size == 0 || term.count == 0) continue;
            if (term.excluded) {
                excluded_.push_back(words_.size());
                words_.push_back({term.list, 0, 0});
                continue;
            }
            words_.push_back({term.list, term.count, term.count * term.list->max});
            (term.required ? required_ : optional_).push_back(words_.size() - 1);
            const std::int64_t known =
                filters_ ? passing_floor(*term.list, k, passing_) : term.list->floor_of(k);
            floor = std::max(floor, term.count * known);
        }
        nothing_ = nothing_ || (required_.empty() && optional_.empty());
        // At least k documents score as much as this, and all that do may be among the best.
        if (required_.empty() && excluded_.empty() && floor != 0) best_.begin_above(floor - 1);
        const auto by_size = [&](std::size_t a, std::size_t b) {
            return words_[a].list->size < words_[b].list->size;
        };
        std::ranges::stable_sort(required_, by_size);
        const auto by_max = [&](std::size_t a, std::size_t b) { return words_[a].max < words_[b].max; };
        std::ranges::stable_sort(optional_, by_max);
        if (total_ != nullptr) *total_ = 0;
    }

    std::vector<scored_document> run() {
        if (!nothing_) {
            if (filters_ && few_pass_of_all()) {
                look_up_passing();
            } else {
                score_windows();
            }
        }
        std::vector<scored_document> found = best_.take();
        for (scored_document& document : found) document.fixed_score += background_;
        return found;
    }

  private:
    void score_windows() {
        constexpr std::uint64_t windows_between_checks = 64;
        std::uint64_t begin = 0;
        for (std::uint64_t windows = 0; next_window(begin); ++windows) {
            if (ctx_ != nullptr && windows % windows_between_checks == 0) ctx_->check_stop();
            const std::uint64_t end = std::min<std::uint64_t>(begin + window, documents_of_collection_);
            if (required_.empty()) {
                score_window(begin, end);
            } else {
                score_required(begin, end);
            }
            begin = end;
        }
    }

    /// Whether looking up all words for every document that passes costs less than reading lists, window after window.
    bool few_pass_of_all() const {
        // In nanoseconds, as measured: 1 to read a posting.
        constexpr std::uint64_t look_up_cost = 16, window_cost = 64, dense_share = 8;
        const auto cost_of = [&](std::size_t i) -> std::uint64_t {
            return words_[i].dense() ? documents_of_collection_ / dense_share : words_[i].list->size;
        };
        std::uint64_t cost = documents_of_collection_ / window * window_cost;
        if (required_.empty())
            for (const std::size_t i : optional_) cost += cost_of(i);
        else
            cost += cost_of(required_.front());
        return passing_.has_at_most(cost / ((words_.size() + 1) * look_up_cost), 0, documents_of_collection_);
    }

    void look_up_passing() {
        std::vector<kept_reader> readers;
        readers.reserve(words_.size());
        for (const kept_word& word : words_) readers.emplace_back(*word.list);
        std::size_t candidates = 0;
        const auto look_up_here = [&]<look_up_to Purpose>(std::size_t i) {
            const kept_word& word = words_[i];
            std::size_t kept = 0;
            for (std::size_t c = 0; c < candidates; ++c) {
                const std::uint32_t document = documents_[c];
                const bool has_word = readers[i].contains(document);
                documents_[kept] = document;
                scores_[kept] =
                    scores_[c] + (has_word ? word.count * word.list->parts[readers[i].place(document)] : 0);
                kept += Purpose == look_up_to::add || has_word == (Purpose == look_up_to::require) ? 1 : 0;
            }
            candidates = kept;
        };
        std::int64_t all = 0;
        for (const auto* of : {&required_, &optional_})
            for (const std::size_t i : *of) all += words_[i].max;
        const auto take_all = [&] {
            if (ctx_ != nullptr) ctx_->check_stop();
            std::int64_t rest = all;
            for (const std::size_t i : required_) {
                look_up_here.template operator()<look_up_to::require>(i);
                rest -= words_[i].max;
            }
            for (std::size_t i = optional_.size(); i > 0; --i) {
                look_up_here.template operator()<look_up_to::add>(optional_[i - 1]);
                rest -= words_[optional_[i - 1]].max;
                candidates = keep_above(candidates, limit() - rest);
            }
            for (const std::size_t i : excluded_) look_up_here.template operator()<look_up_to::exclude>(i);
            finish(count(candidates), 0, 0);
            candidates = 0;
        };
        passing_.each(0, documents_of_collection_, [&](std::uint32_t document) {
            documents_[candidates] = document;
            scores_[candidates] = 0;
            if (++candidates == window) take_all();
        });
        take_all();
    }

    /// A document must score more than this, without the background.
    std::int64_t limit() const {
        return total_ != nullptr ? 0 : std::max<std::int64_t>(0, best_.threshold());
    }

    /// Moves `begin` to the first window from there on that may have a document among the best.
    bool next_window(std::uint64_t& begin) {
        if (begin >= documents_of_collection_) return false;
        std::uint64_t next = begin;
        if (!required_.empty()) {
            for (const std::size_t i : required_) next = std::max(next, words_[i].next(begin));
        } else {
            const std::int64_t needed = limit();
            std::int64_t sum = 0;
            next = documents_of_collection_;
            for (const std::size_t i : optional_) {
                sum += words_[i].max;
                if (sum > needed) next = std::min(next, words_[i].next(begin));
            }
        }
        if (filters_) next = passing_.next(next, documents_of_collection_);
        begin = next / window * window;
        return next < documents_of_collection_;
    }

    /// The words that are not required and that the window may have, those with the least bounds first.
    std::int64_t find_present(std::uint64_t begin, std::uint64_t end) {
        present_.clear();
        std::int64_t sum = 0;
        for (const std::size_t i : optional_) {
            words_[i].enter(begin, end);
            if (words_[i].bound == 0) continue;
            sum += words_[i].bound;
            present_.push_back(&words_[i]);
        }
        std::ranges::sort(present_, {}, &kept_word::bound);
        return sum;
    }

    void score_window(std::uint64_t begin, std::uint64_t end) {
        const std::int64_t sum = find_present(begin, end);
        if (sum <= limit()) return;
        if (filters_ && few_pass(begin, end)) return score_passing(begin, end, sum);
        // Words [0, optional) together add at most `rest`: not enough without the others.
        std::size_t optional = 0;
        std::int64_t rest = 0;
        while (rest + present_[optional]->bound <= limit()) rest += present_[optional++]->bound;
        const std::int64_t needed = limit() - rest;
        const kept_word& last = *present_.back();
        std::size_t candidates = 0;
        if (optional + 1 == present_.size() && !last.dense()) {
            candidates = take_those_of(last, needed);
        } else if (optional + 1 == present_.size() && last.count == 1) {
            candidates = collect(last.list->parts.data() + begin, begin, end, needed);
        } else {
            std::fill_n(sums_.begin(), end - begin, 0);
            for (std::size_t i = optional; i < present_.size(); ++i) add(*present_[i], begin, end);
            candidates = collect(sums_.data(), begin, end, needed);
        }
        candidates = count(without_excluded(only_passing(candidates), begin, end));
        finish(candidates, optional, rest);
    }

    /// Whether looking up the window's words for the documents that pass costs less than adding all their parts.
    bool few_pass(std::uint64_t begin, std::uint64_t end) const {
        // As in few_pass_of_all; a look-up within a window costs less.
        constexpr std::uint64_t dense_cost = window / 8, look_up_cost = 4;
        std::uint64_t cost = 0;
        for (const kept_word* word : present_) cost += word->dense() ? dense_cost : word->end - word->begin;
        return passing_.has_at_most(cost / (present_.size() * look_up_cost), begin, end);
    }

    /// `rest`: what the window's words can add.
    void score_passing(std::uint64_t begin, std::uint64_t end, std::int64_t rest) {
        std::size_t candidates = take_passing(begin, end);
        for (std::size_t i = present_.size(); i > 0 && candidates != 0; --i) {
            rest -= present_[i - 1]->bound;
            look_up<look_up_to::add>(*present_[i - 1], candidates);
            candidates = keep_above(candidates, limit() - rest);
        }
        finish(count(without_excluded(candidates, begin, end)), 0, 0);
    }

    /// The window's documents that pass, without a score.
    std::size_t take_passing(std::uint64_t begin, std::uint64_t end) {
        std::size_t taken = 0;
        passing_.each(begin, end, [&](std::uint32_t document) {
            documents_[taken] = document;
            scores_[taken++] = 0;
        });
        return taken;
    }

    std::size_t only_passing(std::size_t candidates) {
        if (!filters_) return candidates;
        return keep_if(candidates, [this](std::size_t i) { return passing_.contains(documents_[i]); });
    }

    void score_required(std::uint64_t begin, std::uint64_t end) {
        std::int64_t rest = find_present(begin, end);
        const std::int64_t of_optional = rest;
        for (const std::size_t i : required_) {
            words_[i].enter(begin, end);
            if (words_[i].bound == 0) return;
            rest += words_[i].bound;
        }
        if (rest <= limit()) return;
        const kept_word& leader = words_[required_.front()];
        // If most pass, as of the first, the others are left out when all words have been looked up.
        const bool filter_last = !filters_ || passing_.count(begin, begin + 64) > 32;
        std::size_t candidates = 0, r = 1;
        if (!filter_last &&
            passing_.has_at_most(leader.dense() ? window / 8 : leader.end - leader.begin, begin, end)) {
            candidates = take_passing(begin, end);
            r = 0;  // the leader is looked up like the others
        } else if (rest -= leader.bound; !leader.dense()) {
            candidates = take_those_of(leader, limit() - rest);
        } else {
            candidates = collect(leader.list->parts.data() + begin, begin, end, 0);
            for (std::size_t i = 0; i < candidates; ++i) scores_[i] *= leader.count;
        }
        if (!filter_last && r == 1) candidates = only_passing(candidates);
        for (; r < required_.size() && candidates != 0; ++r) {
            const kept_word& word = words_[required_[r]];
            if (r > 1 || (r == 1 && leader.dense())) candidates = keep_above(candidates, limit() - rest);
            rest -= word.bound;
            candidates = look_up<look_up_to::require>(word, candidates);
        }
        if (filter_last) candidates = only_passing(candidates);
        candidates = count(without_excluded(candidates, begin, end));
        finish(candidates, present_.size(), of_optional);
    }

    std::size_t count(std::size_t candidates) {
        if (total_ != nullptr) *total_ += candidates;
        return candidates;
    }

    std::size_t without_excluded(std::size_t candidates, std::uint64_t begin, std::uint64_t end) {
        for (const std::size_t i : excluded_) {
            if (candidates == 0) break;
            words_[i].enter(begin, end);
            candidates = look_up<look_up_to::exclude>(words_[i], candidates);
        }
        return candidates;
    }

    /// Looks up the first `optional` words for the candidates, which they can give `rest`, and offers these.
    void finish(std::size_t candidates, std::size_t optional, std::int64_t rest) {
        while (optional != 0 && candidates != 0) {
            const kept_word& word = *present_[--optional];
            rest -= word.bound;
            look_up<look_up_to::add>(word, candidates);
            if (optional != 0 && best_.threshold() > 0)
                candidates = keep_above(candidates, best_.threshold() - rest);
        }
        for (std::size_t i = 0; i < candidates; ++i) best_.add(documents_[i], scores_[i]);
        best_.settle();
    }

    /// The word's documents in the window with a score above `limit`.
    std::size_t take_those_of(const kept_word& word, std::int64_t limit) {
        std::size_t kept = 0;
        for (std::uint32_t i = word.begin; i < word.end; ++i) {
            documents_[kept] = word.list->documents[i];
            scores_[kept] = word.count * word.list->parts[i];
            kept += scores_[kept] > limit ? 1 : 0;
        }
        return kept;
    }

    /// The documents of the window with a sum above `limit`, which is at least 0.
    std::size_t collect(const std::int64_t* sums, std::uint64_t begin, std::uint64_t end,
                        std::int64_t limit) {
        const std::size_t found = collect_above(sums, end - begin, limit, documents_.data());
        for (std::size_t i = 0; i < found; ++i) {
            scores_[i] = sums[documents_[i]];
            documents_[i] += static_cast<std::uint32_t>(begin);
        }
        return found;
    }

    void add(const kept_word& word, std::uint64_t begin, std::uint64_t end) {
        const std::int64_t* const parts = word.list->parts.data();
        if (word.dense() && word.count == 1) {  // vectorised
            for (std::size_t i = 0; i < end - begin; ++i) sums_[i] += parts[begin + i];
            return;
        }
        if (word.dense()) {
            for (std::size_t i = 0; i < end - begin; ++i) sums_[i] += word.count * parts[begin + i];
            return;
        }
        for (std::uint32_t i = word.begin; i < word.end; ++i)
            sums_[word.list->documents[i] - begin] += word.count * parts[i];
    }

    enum class look_up_to { add, require, exclude };

    /// Adds the word's parts to the candidates' scores; keeps only those that have it, or lack it, if they have to.
    template <look_up_to Purpose>
    std::size_t look_up(const kept_word& word, std::size_t candidates) {
        std::size_t kept = 0;
        const auto take = [&](std::size_t i, std::int64_t part) {
            documents_[kept] = documents_[i];
            scores_[kept] = scores_[i] + word.count * part;
            const bool keeps = Purpose == look_up_to::add || (Purpose == look_up_to::require) == (part != 0);
            kept += keeps ? 1 : 0;
        };
        const std::vector<std::int64_t>& parts = word.list->parts;
        if (word.dense()) {
            for (std::size_t i = 0; i < candidates; ++i) take(i, parts[documents_[i]]);
            return kept;
        }
        const std::uint32_t* at = word.list->documents.data() + word.begin;
        const std::uint32_t* const end = word.list->documents.data() + word.end;
        for (std::size_t i = 0; i < candidates; ++i) {
            if (end - at > 16) at = std::lower_bound(at, end, documents_[i]);
            while (at != end && *at < documents_[i]) ++at;
            const bool has_word = at != end && *at == documents_[i];
            take(i, has_word ? parts[static_cast<std::size_t>(at - word.list->documents.data())] : 0);
        }
        return kept;
    }

    std::size_t keep_above(std::size_t candidates, std::int64_t limit) {
        return keep_if(candidates, [=, this](std::size_t i) { return scores_[i] > limit; });
    }

    template <class Keeps>
    std::size_t keep_if(std::size_t candidates, const Keeps& keeps) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates; ++i) {
            const bool keep = keeps(i);
            documents_[kept] = documents_[i];
            scores_[kept] = scores_[i];
            kept += keep ? 1 : 0;
        }
        return kept;
    }

    std::uint64_t documents_of_collection_;
    std::uint64_t* total_;
    const context* ctx_;
    bool filters_;
    bit_reader passing_;  // if filters_
    best_documents best_;
    std::vector<kept_word> words_;
    std::vector<std::size_t> required_, optional_,
        excluded_;  // positions in words_: the shortest first; by their maxima; in any order
    std::vector<kept_word*> present_;
    std::int64_t background_ = 0;
    bool nothing_ = false;  // a required word is in no document

    alignas(64) std::array<std::int64_t, window + kernel_padding> sums_;
    std::array<std::uint32_t, window + 1> documents_;  // the candidates, ascending
    std::array<std::int64_t, window + 1> scores_;      // their scores
};

/// Whether the order of a list's k best documents is known, or of all of them.
bool knows_order(const kept_list& list, std::size_t k) {
    return k <= kept_list::known_best || list.size <= kept_list::known_best;
}

bool has_document(const kept_list& list, std::uint32_t document) {
    if (list.form == kept_form::dense) return bit_reader(list.bits).contains(document);
    return std::ranges::binary_search(list.documents, document);
}

/// The best k documents of one word that pass and that no excluded word has: the best of the word in turn. Nothing if several
/// words are searched, or if too many of the documents whose order is known are left out.
std::optional<std::vector<scored_document>> best_left(std::span<const kept_term> terms, std::size_t k,
                                                      std::span<const std::uint64_t> passing) {
    const kept_term* scored = nullptr;
    for (const kept_term& term : terms) {
        if (term.excluded) continue;
        if (scored != nullptr || term.count == 0) return {};
        scored = &term;
    }
    if (scored == nullptr || !knows_order(*scored->list, k)) return {};
    std::vector<scored_document> found;
    found.reserve(std::min<std::size_t>(k, scored->list->size));
    for (const scored_document& of : scored->list->best_documents()) {
        if (found.size() == k) break;
        const auto excludes = [&](const kept_term& term) {
            return term.excluded && has_document(*term.list, of.document);
        };
        if (!passing.empty() && !bit_reader(passing).contains(of.document)) continue;
        if (std::ranges::any_of(terms, excludes)) continue;
        found.push_back({of.document, scored->count * (of.fixed_score + scored->list->background)});
    }
    if (found.size() < k && scored->list->size > kept_list::known_best) return {};
    return found;
}

/// Whether the documents found are those of one list.
bool one_list_counts(std::span<const kept_term> terms) {
    return std::ranges::count_if(terms, &kept_term::required) == 1 &&
           std::ranges::none_of(terms, &kept_term::excluded);
}

}  // namespace

std::vector<scored_document> rank_kept(std::span<const kept_term> terms, std::uint64_t documents,
                                       std::size_t k, std::uint64_t* total, const context* ctx,
                                       std::span<const std::uint64_t> passing) {
    const bool any_required = std::ranges::any_of(terms, &kept_term::required);
    // While all of several required words are looked up, their documents can be counted; else counting apart costs less.
    if (total != nullptr && (k == 0 || !any_required || one_list_counts(terms))) {
        *total = count_kept(terms, documents, passing);
        total = nullptr;
    }
    if (k == 0) return {};
    if (auto best = best_left(terms, k, passing)) {
        if (total != nullptr) *total = count_kept(terms, documents, passing);
        return std::move(*best);
    }
    return kept_search(terms, documents, k, total, ctx, passing).run();
}

}  // namespace quern::search_detail
