// SPDX-License-Identifier: Apache-2.0
// Suffix-σ (Berberich and Bedathur, "Computing n-gram statistics in MapReduce", EDBT 2013), the paper's baseline on CPUs.
// - Map: every position emits its suffix truncated to σ words, to the reducer of its first word.
// - Reduce: suffixes in reverse order, and one stack with the n-grams that begin the last suffix. When the next suffix
//   leaves an n-gram, its counts are final and are added to those of the n-gram below. Its probabilities follow when that
//   one, its history, is left too.
#include "ops/ngram_likelihood/ngram_methods.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/rows/formula.hpp"
#include "ops/ngram_likelihood/rows/ordered_rows.hpp"

namespace quern::ngram_detail {
namespace {

constexpr std::size_t reducers_for_each_thread = 16, max_rows_waiting = std::size_t{1} << 21;

struct ngram_row {
    std::uint32_t document, first;
    std::uint32_t in_document, history_in_document;
    std::uint64_t in_collection, history_in_collection;
    double weight;
};

void add(row_block& block, const ngram_row& row) {
    const row_block::columns to = block.add(1);
    *to.documents = row.document;
    *to.firsts = row.first;
    *to.in_document = row.in_document;
    *to.in_collection = row.in_collection;
    *to.weights = row.weight;
    if (to.history_in_document != nullptr) *to.history_in_document = row.history_in_document;
    if (to.history_in_collection != nullptr) *to.history_in_collection = row.history_in_collection;
}

/// An n-gram in one document.
struct holder {
    std::uint32_t document, first, count, followed, followers, words;
};

/// A finished n-gram that waits for its history's counts: its holders end at `end` in a list.
struct finished_ngram {
    std::uint64_t in_collection;
    std::size_t end;
};
struct finished_list {
    std::vector<finished_ngram> ngrams;
    std::vector<holder> holders;
    void clear() {
        ngrams.clear();
        holders.clear();
    }
};

/// An n-gram on the stack.
struct level {
    std::uint64_t in_collection = 0, followed = 0;
    std::vector<holder> holders;  ///< one per addend, merged by document at the end
    finished_list children;
    void clear() {
        in_collection = followed = 0;
        holders.clear();
        children.clear();
    }
};

class reducer {
  public:
    reducer(const ngram_collection& collection, const document_table& documents, const ngram_options& options,
            std::span<const std::uint32_t> distinct_words)
        : collection_(collection),
          documents_(documents),
          options_(options),
          distinct_words_(distinct_words),
          bm25_(options.k1, options.b, collection.words.size(), collection.documents.size() - 1),
          first_n_(options.only ? options.order : 1),
          levels_(options.order + 1) {
        for (unsigned n = first_n_; n <= options.order; ++n) reversed_.emplace_back();
    }

    void reduce(std::span<std::uint64_t> positions, piece_rows& out) {
        std::sort(positions.begin(), positions.end(),
                  [this](std::uint64_t a, std::uint64_t b) { return compare(a, b) > 0; });
        std::uint64_t last = 0;
        unsigned depth = 0;
        for (std::size_t i = 0; i < positions.size(); ++i) {
            const unsigned kept = i == 0 ? 0 : shared(last, positions[i]);
            while (depth > kept) leave(depth--);
            last = positions[i];
            const auto where = documents_.of(last);
            depth = length(last);
            level& top = levels_[depth];
            ++top.in_collection;
            top.holders.push_back({where.document, static_cast<std::uint32_t>(last - where.begin), 1, 0, 0,
                                   static_cast<std::uint32_t>(where.end - where.begin)});
        }
        while (depth > 0) leave(depth--);
        weight_children(0);
        give(out);
    }

  private:
    unsigned length(std::uint64_t position) const {
        return static_cast<unsigned>(
            std::min<std::uint64_t>(options_.order, documents_.of(position).end - position));
    }
    unsigned shared(std::uint64_t a, std::uint64_t b) const {
        const unsigned both = std::min(length(a), length(b));
        unsigned n = 0;
        while (n < both && collection_.words[a + n] == collection_.words[b + n]) ++n;
        return n;
    }
    int compare(std::uint64_t a, std::uint64_t b) const {
        const unsigned a_length = length(a), b_length = length(b), n = shared(a, b);
        if (n < a_length && n < b_length) return collection_.words[a + n] < collection_.words[b + n] ? -1 : 1;
        if (a_length != b_length) return a_length < b_length ? -1 : 1;
        return a < b ? -1 : a > b ? 1 : 0;
    }

    /// The n-gram on level n is complete: merges its counts by document, and passes them to the n-gram below.
    void leave(unsigned n) {
        level& top = levels_[n];
        level& below = levels_[n - 1];
        merge_by_document(top.holders);
        weight_children(n);
        below.in_collection += top.in_collection;
        below.followed += top.in_collection;
        for (const holder& h : top.holders) {
            if (n > 1) below.holders.push_back({h.document, h.first, h.count, h.count, 1, h.words});
            below.children.holders.push_back(h);
        }
        below.children.ngrams.push_back({top.in_collection, below.children.holders.size()});
        top.clear();
    }

    static void merge_by_document(std::vector<holder>& holders) {
        std::sort(holders.begin(), holders.end(), [](const holder& a, const holder& b) {
            return a.document != b.document ? a.document < b.document : a.first < b.first;
        });
        std::size_t merged = 0;
        for (std::size_t i = 1; i < holders.size(); ++i) {
            holder& to = holders[merged];
            if (to.document != holders[i].document) {
                holders[++merged] = holders[i];
                continue;
            }
            to.count += holders[i].count;
            to.followed += holders[i].followed;
            to.followers += holders[i].followers;
        }
        if (!holders.empty()) holders.resize(merged + 1);
    }

    /// Weighs the n-grams after the history on level `of`, whose counts are now known.
    void weight_children(unsigned of) {
        const level& history = levels_[of];
        const unsigned n = of + 1;
        if (n < first_n_ || n > options_.order) return;
        reversed& out = reversed_[n - first_n_];
        std::size_t begin = 0;
        for (const finished_ngram& ngram : history.children.ngrams) {
            if (ngram.in_collection >= options_.min_count)
                set_weights(history, n, ngram.in_collection,
                            std::span(history.children.holders).subspan(begin, ngram.end - begin), out);
            begin = ngram.end;
        }
        levels_[of].children.clear();
    }

    struct reversed {
        std::vector<ngram_row> rows;
        std::vector<std::size_t> ends;
    };

    void set_weights(const level& history, unsigned n, std::uint64_t in_collection,
                     std::span<const holder> holders, reversed& out) const {
        const double idf = inverse_document_frequency(collection_.documents.size() - 1, holders.size());
        ngram_counts counts{.in_collection = in_collection,
                            .history_in_collection = n == 1 ? collection_.words.size() : history.followed};
        auto of_history = history.holders.begin();
        for (const holder& h : holders) {
            counts.in_document = h.count;
            if (n == 1) {
                counts.history_in_document = h.words;
                counts.followers = distinct_words_.empty() ? 0 : distinct_words_[h.document];
            } else {
                of_history =
                    std::lower_bound(of_history, history.holders.end(), h.document,
                                     [](const holder& of, std::uint32_t d) { return of.document < d; });
                counts.history_in_document = of_history->followed;
                counts.followers = of_history->followers;
            }
            const double weight =
                options_.measure == ngram_measure::bm25
                    ? bm25_.weight(idf, h.count, h.words)
                    : likelihood(counts, {options_.smoothing, options_.lambda, options_.mu, options_.delta});
            out.rows.push_back({h.document, h.first, h.count,
                                static_cast<std::uint32_t>(counts.history_in_document), in_collection,
                                counts.history_in_collection, weight});
        }
        out.ends.push_back(out.rows.size());
    }

    /// The last n-gram first.
    void give(piece_rows& out) {
        for (std::size_t b = 0; b < reversed_.size(); ++b) {
            reversed& of_n = reversed_[b];
            for (std::size_t g = of_n.ends.size(); g-- > 0;) {
                for (std::size_t r = g == 0 ? 0 : of_n.ends[g - 1]; r < of_n.ends[g]; ++r)
                    add(out.blocks[b], of_n.rows[r]);
            }
            out.distinct[b] += of_n.ends.size();
            of_n = {};
        }
        levels_[0].clear();
    }

    const ngram_collection& collection_;
    const document_table& documents_;
    const ngram_options& options_;
    std::span<const std::uint32_t> distinct_words_;
    bm25_constants bm25_;
    unsigned first_n_;
    std::vector<level> levels_;
    std::vector<reversed> reversed_;
};

/// The number of distinct words of each document.
std::vector<std::uint32_t> count_distinct_words(const context& ctx, const ngram_collection& collection) {
    paced_checks checks(ctx, neighbouring_values);
    std::vector<std::uint32_t> distinct(collection.documents.size() - 1),
        seen_in(std::size_t{collection.vocabulary} + 1, static_cast<std::uint32_t>(distinct.size()));
    for (std::uint32_t d = 0; d < distinct.size(); ++d) {
        checks.after(collection.documents[d + 1] - collection.documents[d]);
        for (std::uint64_t i = collection.documents[d]; i < collection.documents[d + 1]; ++i)
            if (std::exchange(seen_in[collection.words[i]], d) != d) ++distinct[d];
    }
    return distinct;
}

/// Positions by reducer: each has those of a range of first words, with about equal numbers of positions. ends[r]: of
/// reducer r.
struct mapped {
    cpu_array<std::uint64_t> positions;
    std::vector<std::size_t> ends;
};
mapped map_by_first_word(cpu_place& place, const ngram_collection& collection) {
    const std::size_t words = collection.words.size();
    const std::size_t each = words / (place.threads() * reducers_for_each_thread) + 1;
    cpu_array<std::uint64_t> at(place, std::size_t{collection.vocabulary} + 2, "first words");
    std::fill_n(at.data(), at.size(), 0);
    in_checked_parts(place.ctx(), 0, words, neighbouring_values, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) ++at.data()[collection.words[i] + 1];
    });
    mapped result{cpu_array<std::uint64_t>(place, words, "suffixes"), {}};
    for (std::size_t w = 1; w < at.size(); ++w) {
        at.data()[w] += at.data()[w - 1];
        const std::size_t begin = result.ends.empty() ? 0 : result.ends.back();
        if (at.data()[w] - begin >= each) result.ends.push_back(at.data()[w]);
    }
    if (words != 0 && (result.ends.empty() || result.ends.back() != words)) result.ends.push_back(words);
    in_checked_parts(place.ctx(), 0, words, neighbouring_values, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i)
            result.positions.data()[at.data()[collection.words[i]]++] = i;
    });
    return result;
}

}  // namespace

std::vector<ngram_totals> suffix_sigma(cpu_place& place, const ngram_collection& collection,
                                       const document_table& documents, const ngram_options& options,
                                       const std::function<void(const ngram_rows&)>& sink) {
    ordered_rows out(options.only ? options.order : 1, options, sink, max_rows_waiting);
    if (collection.words.empty()) return out.totals();
    std::vector<std::uint32_t> distinct;
    if (options.smoothing == ngram_smoothing::absolute)
        distinct = count_distinct_words(place.ctx(), collection);
    const mapped all = map_by_first_word(place, collection);
    std::atomic<std::size_t> next{0};
    for_each_piece(place, std::min<std::size_t>(all.ends.size(), place.threads()), [&](std::size_t) {
        reducer mine(collection, documents, options, distinct);
        try {
            for (std::size_t r = next++; r < all.ends.size(); r = next++) {
                place.ctx().check_stop();
                const std::size_t begin = r == 0 ? 0 : all.ends[r - 1];
                piece_rows rows = out.capacity();
                mine.reduce(all.positions.span().subspan(begin, all.ends[r] - begin), rows);
                if (!out.complete(r, std::move(rows))) break;
            }
        } catch (...) {
            out.fail();
            throw;
        }
    });
    return out.totals();
}

}  // namespace quern::ngram_detail
