// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/feedback.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/canonical_math.hpp"

namespace quern {
namespace {

constexpr double log2_of_e = 0x1.71547652b82fep+0, log10_of_e = 0x1.bcb7b1526e50ep-2;

struct gathered_word {
    double weight = 0;  // rm3
    std::uint64_t occurrences = 0;
    std::uint32_t documents = 0;
};

/// P(d) of each document.
std::vector<double> shares_of(std::span<const scored_document> ranking, ranking_model model) {
    std::vector<double> shares;
    double sum = 0;
    for (const scored_document& of : ranking) {
        const double score = is_likelihood(model)
                                 ? canonical_power_of_ten((of.score() - ranking.front().score()) * log10_of_e)
                                 : std::max(of.score(), 0.0);
        shares.push_back(score);
        sum += score;
    }
    for (double& share : shares) share = sum > 0 ? share / sum : 1.0 / static_cast<double>(ranking.size());
    return shares;
}

std::unordered_map<std::uint32_t, gathered_word> gather(const opened_store& store,
                                                        std::span<const scored_document> ranking,
                                                        ranking_model model, const context& ctx) {
    const auto shares = shares_of(ranking, model);
    const auto tokens = store.tokens();
    std::unordered_map<std::uint32_t, gathered_word> words;
    std::vector<std::uint32_t> document;
    for (std::size_t d = 0; d < ranking.size(); ++d) {
        ctx.check_stop();
        document.clear();
        tokens.code->decode(tokens.words_of(ranking[d].document), document);
        const double length = static_cast<double>(document.size());
        std::ranges::sort(document);
        for (std::size_t i = 0, next; i < document.size(); i = next) {
            for (next = i; next < document.size() && document[next] == document[i];) ++next;
            gathered_word& of = words[document[i]];
            of.weight += static_cast<double>(next - i) / length * shares[d];
            of.occurrences += next - i;
            ++of.documents;
        }
    }
    return words;
}

double bo1_weight(const gathered_word& of, const posting_list& list, double documents) {
    const double p = static_cast<double>(list.collection_frequency) / documents;
    return (static_cast<double>(of.occurrences) * canonical_log((1.0 + p) / p) + canonical_log(1.0 + p)) *
           log2_of_e;
}

}  // namespace

std::vector<feedback_word> feedback_words(const opened_store& store, std::span<const scored_document> ranking,
                                          const search_options& options, const context& ctx) {
    ranking = ranking.first(std::min<std::size_t>(ranking.size(), options.feedback_documents));
    if (ranking.empty()) return {};
    const std::uint64_t documents = store.info().documents;
    const std::uint64_t max_holders = std::max<std::uint64_t>(10, documents / 10);
    const bool is_bo1 = options.feedback == feedback_method::bo1;
    std::vector<feedback_word> words;
    for (const auto& [word, of] : gather(store, ranking, options.ranking.model, ctx)) {
        const posting_list list = store.words().postings(word);
        if (list.document_frequency > max_holders) continue;
        if (is_bo1 && ranking.size() > 1 && of.documents < 2) continue;
        words.push_back({word, is_bo1 ? bo1_weight(of, list, static_cast<double>(documents)) : of.weight});
    }
    std::ranges::sort(words, [](const feedback_word& a, const feedback_word& b) {
        return a.weight != b.weight ? a.weight > b.weight : a.word < b.word;
    });
    words.resize(std::min<std::size_t>(words.size(), options.feedback_terms));
    double whole = 0;
    for (const feedback_word& of : words) whole = is_bo1 ? std::max(whole, of.weight) : whole + of.weight;
    for (feedback_word& of : words) of.weight /= whole;
    return words;
}

}  // namespace quern
