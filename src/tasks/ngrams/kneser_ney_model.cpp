// SPDX-License-Identifier: Apache-2.0
// The formulas are those of ops/ngram_likelihood/kneser_ney.hpp. The adjusted counts of one length follow from the n-grams
// of the next: each adds 1 to its n-gram without the first word, which the trie finds. So a length is weighted when the
// next is linked, and four levels are held at a time.
#include "tasks/ngrams/kneser_ney_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/kneser_ney.hpp"
#include "tasks/ngrams/arpa_lines.hpp"
#include "tasks/ngrams/model_levels.hpp"
#include "tasks/ngrams/ngram_words.hpp"

namespace quern {
namespace {

using ngram_detail::kneser_ney_discounts, ngram_detail::kneser_ney_history;

class kneser_ney_model {
  public:
    kneser_ney_model(const ngram_corpus& corpus, unsigned order, const model_pruning& pruning,
                     collection_counts& counts, scratch_folder& scratch, table_share& share,
                     const context& ctx)
        : corpus_(corpus),
          order_(order),
          pruning_(pruning),
          counts_(counts),
          place_(ctx),
          levels_(corpus, counts, order, true, scratch, share, place_) {}

    std::uint64_t write(const std::function<void(std::string_view)>& sink) {
        const arpa_lines lines(corpus_, order_, place_.ctx(), sink);
        const std::uint64_t ngrams = write_head(lines);
        model_level older, parents = levels_.root(), nodes = levels_.take(1, parents);
        with_begin_ = nodes_of(corpus_.begin_mark, nodes);
        for (unsigned n = 1; n <= order_; ++n) {
            model_level next;
            if (n < order_) {
                next = levels_.take(n + 1, nodes);
                link(parents, nodes, next);
            }
            weight(n, parents, nodes);
            if (n > 1) write_level(lines, n - 1, older, parents);
            if (n < order_)
                with_begin_ = {nodes.children[with_begin_.begin], nodes.children[with_begin_.end]};
            older = std::move(parents);
            parents = std::move(nodes);
            nodes = std::move(next);
        }
        write_level(lines, order_, older, parents);
        lines.write_end();
        return ngrams;
    }

  private:
    struct node_range {
        std::uint64_t begin = 0, end = 0;
        bool contains(std::uint64_t i) const { return i >= begin && i < end; }
    };
    static node_range nodes_of(std::uint32_t word, const model_level& words) {
        const std::span<const std::uint32_t> all = words.last_words.span();
        const auto found = std::ranges::equal_range(all, word);
        return {static_cast<std::uint64_t>(found.begin() - all.begin()),
                static_cast<std::uint64_t>(found.end() - all.begin())};
    }

    bool is_special(std::uint32_t word) const {
        return word == corpus_.begin_mark || word == corpus_.end_mark || word == corpus_.vocabulary;
    }
    bool excludes(std::uint32_t word) const {
        return !pruning_.excluded_words.empty() && !is_special(word) && pruning_.excluded_words[word];
    }
    std::uint64_t threshold(unsigned n) const { return pruning_.thresholds[n - 1]; }

    std::uint64_t write_head(const arpa_lines& lines) {
        std::vector<std::uint64_t> sizes;
        for (unsigned n = 1; n <= order_; ++n) {
            std::uint64_t size = 0;
            counts_.of(n).for_each([&](std::span<const counted_ngram> part) {
                if (n > 1 && pruning_.excluded_words.empty()) {
                    for (const counted_ngram& g : part) size += g.count > threshold(n) ? 1 : 0;
                    return;
                }
                for_each_with_words<counted_ngram>(corpus_, part, n, place_.ctx(),
                                                   [&](const counted_ngram& g, const std::uint32_t* words) {
                                                       size += is_kept({words, n}, g.count) ? 1 : 0;
                                                   });
            });
            sizes.push_back(size);
        }
        kept_words_ = sizes[0] - (corpus_.sentences == 0 ? 0 : 1);
        sizes[0] += additional_words().size();
        std::uint64_t all = 0;
        for (const std::uint64_t size : sizes) all += size;
        lines.write_head(sizes);
        return all;
    }
    bool is_kept(std::span<const std::uint32_t> ngram, std::uint64_t count) const {
        if (ngram.size() == 1 && is_special(ngram.front())) return true;
        if (count <= threshold(static_cast<unsigned>(ngram.size()))) return false;
        return std::ranges::none_of(ngram, [&](std::uint32_t word) { return excludes(word); });
    }
    /// 1-grams that are not counted.
    std::vector<arpa_word> additional_words() const {
        std::vector<arpa_word> more;
        if (corpus_.sentences == 0) more = {{"<s>", 1}, {"</s>", 0}};
        if (corpus_.unknown == 0) more.push_back({unknown_ngram_word, unknown_});
        return more;
    }
    void write_level(const arpa_lines& lines, unsigned n, const model_level& parents,
                     const model_level& of) const {
        lines.write_level(n, parents, of, n == 1 ? additional_words() : std::vector<arpa_word>());
    }

    /// Finds the suffixes of `next` among `nodes`, and counts the words before these.
    void link(const model_level& before, model_level& nodes, model_level& next) {
        nodes.lefts = levels_.table<std::uint32_t>(nodes.size);
        in_checked_parts(place_.ctx(), 0, nodes.size, neighbouring_values,
                         [&](std::uint64_t begin, std::uint64_t end) {
                             std::ranges::fill(nodes.lefts.span().subspan(begin, end - begin), 0);
                         });
        struct nothing {};
        levels_.for_each_suffix(
            before, nodes, next, [](std::uint64_t, std::uint64_t, std::uint64_t) { return nothing(); },
            [&](std::uint64_t suffix) { __builtin_prefetch(&nodes.lefts[suffix], 1); },
            [&](std::uint64_t node, std::uint64_t suffix, nothing) {
                next.suffixes[node] = static_cast<std::uint32_t>(suffix);
                std::atomic_ref(nodes.lefts[suffix]).fetch_add(1, std::memory_order_relaxed);
            });
    }

    /// The adjusted count, before the node is weighted.
    std::uint64_t adjusted(const model_level& nodes, std::uint64_t i) const {
        return nodes.lefts.size() != 0 && !with_begin_.contains(i)
                   ? nodes.lefts[i]
                   : static_cast<std::uint64_t>(nodes.probabilities[i]);
    }
    /// <s> follows nothing.
    bool is_begin(unsigned n, std::uint64_t i) const { return n == 1 && with_begin_.contains(i); }

    kneser_ney_discounts discounts(unsigned n, const model_level& nodes) {
        using counts = std::array<std::uint64_t, 5>;
        const std::size_t pieces = pieces_for(place_, nodes.size, 1 << 14, 16);
        std::vector<counts> of_pieces(pieces);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            place_.ctx().check_stop();
            const auto [begin, end] = piece_of(nodes.size, pieces, p);
            counts found{};
            paced_checks checks(place_.ctx(), neighbouring_values);
            for (std::uint64_t i = begin; i < end; ++i) {
                checks.after(1);
                const std::uint64_t a = is_begin(n, i) ? 0 : adjusted(nodes, i);
                if (a < 5) ++found[a];
            }
            of_pieces[p] = found;
        });
        counts all{};
        for (const counts& of : of_pieces)
            for (std::size_t a = 0; a < all.size(); ++a) all[a] += of[a];
        const kneser_ney_discounts result(all);
        if (result.is_fallback() && nodes.size != 0)
            place_.ctx().log(
                log_level::warning,
                fmt::format("the n-grams of {} word{} are too few, or too regular, for Kneser-Ney "
                            "discounts; 0.5, 1 and 1.5 are used",
                            n, n == 1 ? "" : "s"));
        return result;
    }

    void weight(unsigned n, model_level& parents, model_level& nodes) {
        const kneser_ney_discounts of = discounts(n, nodes);
        if (n == 1) {
            const std::uint64_t words = kept_words_ + (corpus_.unknown == 0 ? 1 : 0);
            const double uniform = 1 / static_cast<double>(words);
            weight_children(n, parents, 0, 1, nodes, of, [&](std::uint64_t) { return uniform; });
            unknown_ = parents.back_offs[0] * uniform;
            for (std::uint64_t i = with_begin_.begin; i < with_begin_.end; ++i) nodes.probabilities[i] = 1;
        } else {
            const std::size_t pieces = pieces_for(place_, parents.size, 1 << 12, 16);
            for_each_piece(place_, pieces, [&](std::size_t p) {
                place_.ctx().check_stop();
                const auto [begin, end] = piece_of(parents.size, pieces, p);
                weight_children(n, parents, begin, end, nodes, of,
                                [&](std::uint64_t i) { return parents.probabilities[nodes.suffixes[i]]; });
            });
        }
        nodes.lefts = {};
    }

    /// Of the parents [begin, end). `shorter(i)`: the probability of node i after the history without its first word.
    template <class Shorter>
    void weight_children(unsigned n, model_level& parents, std::uint64_t begin, std::uint64_t end,
                         model_level& nodes, const kneser_ney_discounts& discounts,
                         const Shorter& shorter) const {
        const std::uint64_t past = parents.children[end];
        paced_checks checks(place_.ctx(), scattered_values);
        model_levels::for_each_by_suffix(parents, begin, end, [&](std::uint64_t q) {
            const std::uint64_t first = parents.children[q], last = parents.children[q + 1];
            checks.after(1 + last - first);
            const bool is_gone = n > 1 && parents.probabilities[q] == model_level::excluded;
            const auto is_kept = [&](std::uint64_t i) {
                if (n == 1 && is_special(nodes.last_words[i])) return true;
                return !is_gone && nodes.probabilities[i] > static_cast<double>(threshold(n)) &&
                       !excludes(nodes.last_words[i]);
            };
            kneser_ney_history history;
            for (std::uint64_t i = first; i < last; ++i) {
                if (n > 1 && i + model_levels::ahead < past)
                    __builtin_prefetch(&parents.probabilities[nodes.suffixes[i + model_levels::ahead]]);
                if (!is_begin(n, i)) history.add(adjusted(nodes, i), is_kept(i));
            }
            const double rest = parents.back_offs[q] = history.back_off(discounts);
            for (std::uint64_t i = first; i < last; ++i) {
                if (is_begin(n, i)) continue;
                const std::uint64_t a = adjusted(nodes, i);
                nodes.probabilities[i] =
                    is_kept(i)
                        ? (static_cast<double>(a) - discounts.of(a)) / history.sum() + rest * shorter(i)
                        : model_level::excluded;
            }
        });
    }

    const ngram_corpus& corpus_;
    unsigned order_;
    const model_pruning& pruning_;
    collection_counts& counts_;
    cpu_place place_;
    model_levels levels_;
    node_range with_begin_;         ///< of the level to be weighted: n-grams that begin with <s>
    std::uint64_t kept_words_ = 0;  ///< without <s>
    double unknown_ = 1;            ///< the probability of <unk>, if it is not counted
};

}  // namespace

std::uint64_t write_kneser_ney_model(const ngram_corpus& corpus, unsigned order, const model_pruning& pruning,
                                     collection_counts& counts, scratch_folder& scratch, table_share& share,
                                     const context& ctx, const std::function<void(std::string_view)>& sink) {
    return kneser_ney_model(corpus, order, pruning, counts, scratch, share, ctx).write(sink);
}

}  // namespace quern
