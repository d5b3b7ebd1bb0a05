// SPDX-License-Identifier: Apache-2.0
// Feedback and dependence models against a slow version: counts in lists of words, maps of numbers, and the reference of search
// with weighted words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "reference/search_reference.hpp"
#include "temporary_folder.hpp"

namespace quern::feedback_test {
namespace {

using testing::temporary_folder;
using words = std::vector<std::string>;

/// A collection as lists of words, and its store. Words w0, w1 … are less and less frequent.
struct collection {
    temporary_folder folder;
    std::vector<words> documents;
    std::vector<std::uint32_t> lengths;
    std::uint64_t total = 0;
    std::optional<search_engine> engine;

    collection(std::uint32_t size, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::ofstream file(folder.path() / "c.jsonl");
        for (std::uint32_t d = 0; d < size; ++d) {
            words document;
            std::string text;
            for (std::uint64_t n = 1 + random() % 40; n > 0; --n) {
                const auto word =
                    static_cast<unsigned>(std::pow(60.0, static_cast<double>(random() % 1000) / 1000) - 1);
                document.push_back("w" + std::to_string(word));
                text += document.back() + " ";
            }
            file << "{\"id\":\"d" << d << "\",\"text\":\"" << text << "\"}\n";
            lengths.push_back(static_cast<std::uint32_t>(document.size()));
            total += document.size();
            documents.push_back(std::move(document));
        }
        file.close();
        build_options options;
        options.inputs = {folder.path() / "c.jsonl"};
        options.store = folder.path() / "store";
        options.skip = all_build_stages;
        build(options, context::cpu(1));
        engine = search_engine::open(options.store, {});
    }

    reference::word_documents holders(const std::string& word) const {
        reference::word_documents found;
        for (std::uint32_t d = 0; d < documents.size(); ++d)
            if (const auto f = std::ranges::count(documents[d], word); f != 0)
                found[d] = static_cast<std::uint32_t>(f);
        return found;
    }
    reference::word_documents pairs(const std::string& a, const std::string& b) const {
        reference::word_documents found;
        for (std::uint32_t d = 0; d < documents.size(); ++d)
            for (std::size_t i = 0; i + 1 < documents[d].size(); ++i)
                if (documents[d][i] == a && documents[d][i + 1] == b) ++found[d];
        return found;
    }
    reference::word_documents windows(const std::string& a, const std::string& b, std::size_t window) const {
        reference::word_documents found;
        for (std::uint32_t d = 0; d < documents.size(); ++d)
            for (std::size_t i = 0; i < documents[d].size(); ++i) {
                const std::string& word = documents[d][i];
                if (word != a && word != b) continue;
                bool near = false;
                for (std::size_t j = i + 1; j < std::min(i + window, documents[d].size()); ++j)
                    near |= documents[d][j] == (word == a ? b : a);
                if (near) ++found[d];
            }
        return found;
    }
};

std::uint32_t fixed(double share) {
    return static_cast<std::uint32_t>(std::clamp(std::nearbyint(share * 65536), 1.0, 65536.0));
}

/// The query's terms by name.
std::map<std::string, reference::query_word> terms_of(const collection& in, const words& query,
                                                      const search_options& options) {
    std::map<std::string, reference::query_word> terms;
    const bool sdm = options.dependence == dependence_model::sdm;
    for (const std::string& word : query) {
        auto& term = terms[word];
        term.count = term.documents.empty() ? 1 : term.count + 1;
        term.documents = in.holders(word);
        if (sdm) term.weight = fixed(1 - options.ordered_weight - options.unordered_weight);
    }
    for (std::size_t i = 0; sdm && i + 1 < query.size(); ++i) {
        const auto add = [&](const std::string& name, reference::word_documents documents, double weight) {
            if (documents.empty()) return;
            auto& term = terms[name];
            term.count = term.documents.empty() ? 1 : term.count + 1;
            term.documents = std::move(documents);
            term.weight = fixed(weight);
        };
        add("\"" + query[i] + " " + query[i + 1], in.pairs(query[i], query[i + 1]), options.ordered_weight);
        add("#" + query[i] + " " + query[i + 1], in.windows(query[i], query[i + 1], options.window),
            options.unordered_weight);
    }
    std::erase_if(terms, [](const auto& term) { return term.second.documents.empty(); });
    return terms;
}

std::vector<scored_document> ranked(const collection& in,
                                    const std::map<std::string, reference::query_word>& terms,
                                    const search_options& options, std::size_t k) {
    std::vector<reference::query_word> list;
    for (const auto& [_, term] : terms) list.push_back(term);
    return reference::search(in.lengths, in.total, list, options.ranking, k);
}

/// Words of the best documents with their weights.
std::vector<std::pair<std::string, double>> feedback(const collection& in,
                                                     const std::vector<scored_document>& best,
                                                     const search_options& options) {
    const bool bo1 = options.feedback == feedback_method::bo1;
    std::vector<double> shares;
    double sum = 0;
    for (const auto& of : best) {
        const bool likelihood = options.ranking.model == ranking_model::dirichlet;
        shares.push_back(likelihood
                             ? canonical_power_of_ten((of.score() - best[0].score()) * 0x1.bcb7b1526e50ep-2)
                             : of.score());
        sum += shares.back();
    }
    std::map<std::string, double> weights;
    std::map<std::string, int> frequencies, holders;
    for (std::size_t d = 0; d < best.size(); ++d) {
        const words& document = in.documents[best[d].document];
        for (const std::string& word : std::set<std::string>(document.begin(), document.end())) {
            const auto f = std::ranges::count(document, word);
            weights[word] +=
                static_cast<double>(f) / static_cast<double>(document.size()) * (shares[d] / sum);
            frequencies[word] += static_cast<int>(f);
            ++holders[word];
        }
    }
    std::vector<std::pair<std::string, double>> list;
    const std::size_t n = in.documents.size();
    for (auto& [word, weight] : weights) {
        const auto all = in.holders(word);
        if (all.size() > std::max<std::size_t>(10, n / 10) || (bo1 && best.size() > 1 && holders[word] < 2))
            continue;
        double cf = 0;
        for (const auto& [_, f] : all) cf += f;
        const double p = cf / static_cast<double>(n);
        if (bo1)
            weight = (frequencies[word] * canonical_log((1 + p) / p) + canonical_log(1 + p)) *
                     0x1.71547652b82fep+0;
        list.emplace_back(word, weight);
    }
    std::ranges::stable_sort(list, std::ranges::greater{}, &std::pair<std::string, double>::second);
    list.resize(std::min<std::size_t>(list.size(), options.feedback_terms));
    double whole = 0;
    for (const auto& [_, weight] : list) whole = bo1 ? std::max(whole, weight) : whole + weight;
    for (auto& [_, weight] : list) weight /= whole;
    return list;
}

std::vector<scored_document> slow(const collection& in, const words& query, const search_options& options) {
    auto terms = terms_of(in, query, options);
    if (options.feedback == feedback_method::none) return ranked(in, terms, options, options.k);
    const auto best = ranked(in, terms, options, options.feedback_documents);
    const auto found =
        best.empty() ? std::vector<std::pair<std::string, double>>() : feedback(in, best, options);
    if (found.empty()) return ranked(in, terms, options, options.k);
    double whole = 0;
    for (const auto& [_, term] : terms) {
        const double mass = static_cast<double>(term.count) * term.weight;
        whole = options.feedback == feedback_method::bo1 ? std::max(whole, mass) : whole + mass;
    }
    std::map<std::string, double> shares;
    for (const auto& [name, term] : terms)
        shares[name] = options.original_weight * (static_cast<double>(term.count) * term.weight / whole);
    for (const auto& [word, weight] : found) shares[word] += (1 - options.original_weight) * weight;
    double highest = 0;
    for (const auto& [_, share] : shares) highest = std::max(highest, share);
    for (const auto& [name, share] : shares) {
        const bool added = !terms.contains(name);
        if (added && std::nearbyint(share / highest * 65536) < 1) continue;
        auto& term = terms[name];
        if (added) term.documents = in.holders(name);
        term.count = 1;
        term.weight = fixed(share / highest);
    }
    return ranked(in, terms, options, options.k);
}

void expect_slow(const collection& in, const words& query, const search_options& options) {
    std::string text;
    for (const std::string& word : query) text += word + " ";
    const search_result found = in.engine->search(text, options);
    const auto expected = slow(in, query, options);
    ASSERT_EQ(found.hits.size(), expected.size()) << text;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(found.hits[i].document, expected[i].document) << text << i;
        EXPECT_EQ(found.hits[i].score, expected[i].score()) << text << i;
    }
}

TEST(feedback, is_that_of_the_slow_version) {
    std::mt19937_64 random(3);
    for (const std::uint32_t size : {1u, 30u, 400u}) {
        const collection in(size, size);
        for (int trial = 0; trial < 40; ++trial) {
            words query;
            for (std::uint64_t n = 1 + random() % 5; n > 0; --n)
                query.push_back("w" + std::to_string(random() % 50));
            search_options options;
            options.snippets = false;
            options.ranking.model = trial % 3 == 0   ? ranking_model::dirichlet
                                    : trial % 3 == 1 ? ranking_model::bm25
                                                     : ranking_model::pl2;
            options.feedback = static_cast<feedback_method>(random() % 3);
            options.feedback_documents = 1 + static_cast<std::uint32_t>(random() % 12);
            options.feedback_terms = 1 + static_cast<std::uint32_t>(random() % 12);
            options.original_weight = static_cast<double>(random() % 5) / 4;
            options.dependence = static_cast<dependence_model>(random() % 2);
            options.window = 2 + static_cast<std::uint32_t>(random() % 8);
            options.k = 1 + random() % 500;
            expect_slow(in, query, options);
        }
    }
}

TEST(feedback, of_topics_is_that_of_queries_on_any_threads) {
    const collection in(300, 9);
    std::vector<search_topic> topics;
    for (int i = 0; i < 40; ++i)
        topics.push_back({std::to_string(i), "w" + std::to_string(i) + " w3 w" + std::to_string(40 - i)});
    search_options options;
    options.snippets = false;
    options.feedback = feedback_method::rm3;
    options.dependence = dependence_model::sdm;
    options.ranking.model = ranking_model::dirichlet;
    for (const unsigned threads : {1u, 4u}) {
        const auto results = in.engine->search(topics, options, context::cpu(threads));
        for (std::size_t t = 0; t < topics.size(); ++t) {
            const search_result alone = in.engine->search(topics[t].query, options);
            ASSERT_EQ(results[t].hits.size(), alone.hits.size());
            for (std::size_t i = 0; i < alone.hits.size(); ++i) {
                EXPECT_EQ(results[t].hits[i].document, alone.hits[i].document);
                EXPECT_EQ(results[t].hits[i].score, alone.hits[i].score);
            }
        }
    }
}

TEST(feedback, explanations_add_up) {
    const collection in(200, 4);
    search_options options;
    options.explain = true;
    options.feedback = feedback_method::bo1;
    options.dependence = dependence_model::sdm;
    const search_result found = in.engine->search("w5 w9 w3", options);
    ASSERT_FALSE(found.hits.empty());
    EXPECT_FALSE(found.similar_words.empty());
    for (const search_hit& hit : found.hits) {
        double sum = 0;
        for (const explained_term& term : hit.explanation) sum += term.score;
        EXPECT_EQ(sum, hit.score);
    }
}

TEST(feedback, refuses_what_does_not_go_together) {
    const collection in(5, 4);
    search_options options;
    options.ranking.model = ranking_model::ql;
    options.order = 2;
    options.feedback = feedback_method::rm3;
    EXPECT_THROW(in.engine->search("w1", options), usage_error);
    options = {};
    options.dependence = dependence_model::sdm;
    options.ordered_weight = 0.6;
    options.unordered_weight = 0.5;
    EXPECT_THROW(in.engine->search("w1", options), usage_error);
}

}  // namespace
}  // namespace quern::feedback_test
