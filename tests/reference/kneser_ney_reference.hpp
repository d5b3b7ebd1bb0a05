// SPDX-License-Identifier: Apache-2.0
// Modified Kneser-Ney smoothing, interpolated, by its formulas (Chen and Goodman 1998; pruning as Heafield et al. 2013):
// maps of n-grams, every sum over all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace quern::reference {

struct kneser_ney_model {
    using ngram = std::vector<std::string>;
    struct entry {
        double probability = 0, back_off = 1;
    };
    std::map<ngram, entry> entries;  ///< of the model's n-grams
    std::set<unsigned> fallbacks;    ///< lengths of n-grams for which the discounts' formula has no value

    struct pruning {
        std::vector<std::uint64_t> thresholds;  ///< of the order's length
        std::set<std::string> allowed;          ///< words; empty: all
    };

    kneser_ney_model(const std::vector<ngram>& sentences, unsigned order, const pruning& pruned) {
        std::map<ngram, std::uint64_t> count;
        std::map<ngram, std::set<std::string>> words_before;
        for (const ngram& sentence : sentences) {
            ngram marked{"<s>"};
            marked.insert(marked.end(), sentence.begin(), sentence.end());
            marked.emplace_back("</s>");
            for (std::size_t i = 0; i < marked.size(); ++i)
                for (std::size_t n = 1; n <= order && i + n <= marked.size(); ++n) {
                    const ngram g(marked.begin() + at(i), marked.begin() + at(i + n));
                    ++count[g];
                    if (i != 0) words_before[g].insert(marked[i - 1]);
                }
        }
        count.erase(ngram{"<s>"});  // follows nothing
        std::map<ngram, std::uint64_t> adjusted;
        for (const auto& [g, c] : count)
            adjusted[g] = g.size() == order || g.front() == "<s>" ? c : words_before.at(g).size();

        std::vector<std::array<double, 4>> discounts(order + 1);
        for (unsigned n = 1; n <= order; ++n) discounts[n] = discounts_of(adjusted, n);
        const auto discount = [&](const ngram& g) {
            return discounts[g.size()][std::min<std::uint64_t>(adjusted.at(g), 3)];
        };
        const auto is_kept = [&](const ngram& g) {
            if (g == ngram{"</s>"}) return true;
            const auto is_outside = [&](const std::string& word) {
                return !pruned.allowed.empty() && word != "<s>" && word != "</s>" &&
                       !pruned.allowed.contains(word);
            };
            return count.at(g) > pruned.thresholds[g.size() - 1] && std::ranges::none_of(g, is_outside);
        };
        std::map<ngram, double> sum, back_off;  // by history
        for (const auto& [g, a] : adjusted) {
            const ngram history(g.begin(), g.end() - 1);
            sum[history] += static_cast<double>(a);
            back_off[history] += is_kept(g) ? discount(g) : static_cast<double>(a);
        }
        for (auto& [history, rest] : back_off) rest /= sum.at(history);
        std::uint64_t words = 1;  // <unk>
        for (const auto& [g, c] : count) words += g.size() == 1 && is_kept(g) ? 1 : 0;
        const double least = (back_off.empty() ? 1 : back_off.at({})) / static_cast<double>(words);
        for (unsigned n = 1; n <= order; ++n)
            for (const auto& [g, a] : adjusted) {
                if (g.size() != n || !is_kept(g)) continue;
                const ngram history(g.begin(), g.end() - 1), shorter(g.begin() + 1, g.end());
                const double lower = n == 1 ? least : back_off.at(history) * entries.at(shorter).probability;
                entries[g].probability = (static_cast<double>(a) - discount(g)) / sum.at(history) + lower;
            }
        entries[{"<unk>"}].probability = least;
        entries[{"<s>"}].probability = 1;
        entries[{"</s>"}];
        for (auto& [g, e] : entries)
            if (g.size() < order && back_off.contains(g)) e.back_off = back_off.at(g);
    }

  private:
    static std::ptrdiff_t at(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

    std::array<double, 4> discounts_of(const std::map<ngram, std::uint64_t>& adjusted, unsigned n) {
        std::array<double, 5> of{};
        bool has_ngrams = false;
        for (const auto& [g, a] : adjusted) {
            if (g.size() != n) continue;
            has_ngrams = true;
            if (a < of.size()) of[a] += 1;
        }
        std::array<double, 4> made{};
        for (std::size_t a = 1; a < made.size(); ++a) {
            const double y = of[1] / (of[1] + 2 * of[2]), count = static_cast<double>(a);
            made[a] = count - (count + 1) * y * of[a + 1] / of[a];
            if (of[a] == 0 || !(made[a] >= 0) || made[a] > count) {
                if (has_ngrams) fallbacks.insert(n);
                return {0, 0.5, 1, 1.5};
            }
        }
        return made;
    }
};

}  // namespace quern::reference
