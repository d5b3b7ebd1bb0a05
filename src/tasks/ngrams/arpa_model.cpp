// SPDX-License-Identifier: Apache-2.0
// The weights are those of ops/ngram_likelihood/back_off.hpp. Single words are discounted by delta whatever the
// smoothing, against a uniform distribution over the vocabulary and <unk>.
#include "tasks/ngrams/arpa_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/back_off.hpp"
#include "tasks/ngrams/arpa_lines.hpp"
#include "tasks/ngrams/model_levels.hpp"
#include "tasks/ngrams/ngram_words.hpp"

namespace quern {
namespace {

using ngram_detail::back_off_rule, ngram_detail::history_weights;

class arpa_model {
  public:
    arpa_model(const ngram_corpus& corpus, const ngram_options& options, collection_counts& counts,
               scratch_folder& scratch, table_share& share, const context& ctx)
        : corpus_(corpus),
          options_(options),
          counts_(counts),
          place_(ctx),
          levels_(corpus, counts, options.order, false, scratch, share, place_) {}

    std::uint64_t write(const std::function<void(std::string_view)>& sink) {
        const arpa_lines lines(corpus_, options_.order, place_.ctx(), sink);
        write_head(lines);
        model_level before, parents = levels_.root();
        for (unsigned n = 1; n <= options_.order; ++n) {
            model_level nodes = levels_.take(n, parents);
            if (n == 1)
                weight_words(parents, nodes);
            else
                set_weights(before, parents, nodes);
            if (n > 1) write_level(lines, n - 1, before, parents);
            before = std::move(parents);
            parents = std::move(nodes);
        }
        write_level(lines, options_.order, before, parents);
        lines.write_end();
        return ngrams_;
    }

  private:
    void write_head(const arpa_lines& lines) {
        counts_marks_ = corpus_.sentences >= options_.min_count && corpus_.sentences != 0;
        // <unk> is added if it is not counted, which depends on the corpus, and the marks.
        counts_unknown_ = corpus_.unknown >= options_.min_count && corpus_.unknown != 0;
        std::vector<std::uint64_t> sizes;
        for (unsigned n = 1; n <= options_.order; ++n) sizes.push_back(counts_.of(n).size());
        sizes[0] += (counts_marks_ ? 0 : 2) + (counts_unknown_ ? 0 : 1);
        for (const std::uint64_t size : sizes) ngrams_ += size;
        lines.write_head(sizes);
    }
    void write_level(const arpa_lines& lines, unsigned n, const model_level& parents,
                     const model_level& of) const {
        std::vector<arpa_word> more;
        if (n == 1 && !counts_marks_) more = {{"<s>", 0}, {"</s>", 0}};
        if (n == 1 && !counts_unknown_) more.push_back({unknown_ngram_word, unknown_});
        lines.write_level(n, parents, of, more);
    }

    back_off_rule rule_of(ngram_smoothing smoothing) const {
        return {smoothing, options_.lambda, options_.mu, options_.delta};
    }
    static std::uint64_t sum(std::span<const double> counts) {
        std::uint64_t all = 0;
        for (const double count : counts) all += static_cast<std::uint64_t>(count);
        return all;
    }

    void weight_words(model_level& parents, model_level& nodes) {
        const back_off_rule rule = rule_of(ngram_smoothing::absolute);
        const std::span<double> of_words = nodes.probabilities.span();
        // <s> is before words, but never a word after others.
        const std::uint64_t begin = corpus_.begin_mark, marks = counts_marks_ ? 1 : 0;
        std::uint64_t at = nodes.size, all = sum(of_words);
        if (marks != 0) {
            at = static_cast<std::uint64_t>(std::ranges::lower_bound(nodes.last_words.span(), begin) -
                                            nodes.last_words.span().begin());
            all -= static_cast<std::uint64_t>(of_words[at]);
        }
        const history_weights root =
            rule.after(corpus_.words.size() - corpus_.sentences, all, nodes.size - marks);
        parents.back_offs[0] = root.rest;
        const double uniform = 1 / static_cast<double>(nodes.size - marks + (counts_unknown_ ? 0 : 1));
        unknown_ = root.rest * uniform;
        for (double& of : of_words) of = rule.own(of, root.h) + root.rest * uniform;
        if (marks != 0) of_words[at] = 1;
    }

    void set_weights(const model_level& before, model_level& parents, model_level& nodes) {
        const back_off_rule rule = rule_of(options_.smoothing);
        levels_.for_each_suffix(
            before, parents, nodes,
            [&](std::uint64_t q, std::uint64_t first, std::uint64_t last) -> history_weights {
                parents.back_offs[q] = 1;
                if (first == last) return {0, 1};
                const std::uint64_t seen = sum(nodes.probabilities.span().subspan(first, last - first));
                const history_weights of = rule.after(
                    nodes.histories.size() != 0 ? nodes.histories[first] : seen, seen, last - first);
                parents.back_offs[q] = of.rest;
                return of;
            },
            [&](std::uint64_t suffix) { __builtin_prefetch(&parents.probabilities[suffix]); },
            [&](std::uint64_t node, std::uint64_t suffix, const history_weights& of) {
                if (nodes.suffixes.size() != 0) nodes.suffixes[node] = static_cast<std::uint32_t>(suffix);
                double& p = nodes.probabilities[node];
                p = rule.own(p, of.h) + of.rest * parents.probabilities[suffix];
            });
    }

    const ngram_corpus& corpus_;
    const ngram_options& options_;
    collection_counts& counts_;
    cpu_place place_;
    model_levels levels_;
    std::uint64_t ngrams_ = 0;
    bool counts_unknown_ = false, counts_marks_ = false;
    double unknown_ = 1;  ///< of <unk>, if it is not counted
};

}  // namespace

std::uint64_t leave_out_unwritable_words(const ngram_corpus& corpus, collection_counts& counts,
                                         const context& ctx) {
    constexpr std::string_view white = std::string_view("\0\t\n\v\f\r ", 7);
    std::vector<bool> unwritable;  // by id; empty if there are none
    std::uint64_t words = 0;
    std::string first;
    const auto look_at = [&](const counted_ngram&, const std::uint32_t* ngram) {
        const std::uint32_t id = *ngram;
        if (id == corpus.vocabulary) return;  // <unk> itself
        const std::string_view word = corpus.word(id);
        const bool own = word == "<s>" || word == "</s>" || word == unknown_ngram_word;
        if (!own && word.find_first_of(white) == std::string_view::npos) return;
        if (words++ == 0) {
            first = word;
            unwritable.resize(corpus.vocabulary + std::size_t{1});
        }
        unwritable[id] = true;
    };
    counts.of(1).for_each([&](std::span<const counted_ngram> part) {
        for_each_with_words<counted_ngram>(corpus, part, 1, ctx, look_at);
    });
    if (words == 0) return 0;
    paced_checks checks(ctx, scattered_values);
    counts.remove_if([&](std::uint64_t position, unsigned n) {
        checks.after(1);  // anywhere in the text
        const std::span<const std::uint32_t> ngram = corpus.words.span().subspan(position, n);
        return std::ranges::any_of(ngram, [&](std::uint32_t id) { return unwritable[id]; });
    });
    ctx.log(log_level::warning,
            fmt::format(
                "the ARPA file lacks {} word{} that the format cannot hold (white space, <s>, </s>, <unk>), "
                "such as '{}', and the n-grams with {}",
                words, words == 1 ? "" : "s", first, words == 1 ? "it" : "them"));
    return words;
}

std::uint64_t write_arpa_model(const ngram_corpus& corpus, const ngram_options& options,
                               collection_counts& counts, scratch_folder& scratch, table_share& share,
                               const context& ctx, const std::function<void(std::string_view)>& sink) {
    return arpa_model(corpus, options, counts, scratch, share, ctx).write(sink);
}

}  // namespace quern
