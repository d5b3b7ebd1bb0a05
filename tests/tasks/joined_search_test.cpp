// SPDX-License-Identifier: Apache-2.0
// Score components besides the words': a store's link ranks, thesaurus and document vectors, compared with sums
// computed here from the store's data; and suggestions for unknown words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>

#include "added_outcome.hpp"
#include "base/canonical_math.hpp"
#include "corpus_fixture.hpp"
#include "device/place.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/similar.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store_build/stages.hpp"
#include "temporary_folder.hpp"

namespace quern::joined_search_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::temporary_folder;
using testing::write_file;

/// Documents about one of few subjects, whose words occur together and in no other; titles, links, some empty texts.
std::string corpus(std::uint32_t documents) {
    constexpr std::uint32_t subjects = 5, words_each = 12;
    testing::made_numbers next(11);
    std::string lines;
    for (std::uint32_t d = 0; d < documents; ++d) {
        const auto subject = static_cast<char>('a' + next(subjects));
        const auto word = [&] {
            const std::uint64_t number = std::min(next(words_each), next(words_each));
            return next(8) == 0 ? "common" + std::to_string(number)
                                : std::string(3, subject) + std::to_string(number);
        };
        std::string text;
        if (d % 17 != 5)
            for (std::uint64_t left = 5 + next(60); left > 0; --left)
                text += word() + (left % 9 == 0 ? ". " : left % 9 == 4 ? " every " : " ");
        std::string links;
        for (std::uint64_t left = next(4); left > 0; --left)
            links += (links.empty() ? "\"d" : ",\"d") + std::to_string(next(1 + next(documents))) + '"';
        lines += "{\"id\":\"d" + std::to_string(d) + "\",\"title\":\"" + (d % 3 == 0 ? word() : "") +
                 "\",\"text\":\"" + text + "\",\"links\":[" + links + "]}\n";
    }
    return lines;
}

std::int64_t fixed(double x) {
    return static_cast<std::int64_t>(std::nearbyint(x * 0x1p32));
}
std::int64_t fixed_score(const search_hit& hit) {
    return static_cast<std::int64_t>(hit.score * 0x1p32);
}

std::vector<std::pair<std::uint32_t, std::int64_t>> ranking_of(const search_result& result) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> ranking;
    for (const auto& hit : result.hits) ranking.emplace_back(hit.document, fixed_score(hit));
    return ranking;
}

class joined_search_test : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        folder = new temporary_folder;
        plain =
            make(*folder / "plain",
                 "{\"id\":\"a\",\"text\":\"grain grains train\"}\n{\"id\":\"b\",\"text\":\"grains mill\"}\n");
        whole = make(*folder / "whole", corpus(400));
        for (const auto stage : {make_link_ranks, make_thesaurus, make_document_vectors})
            testing::add_outcome(whole, stage(opened_store(whole), ctx()));
    }
    static void TearDownTestSuite() { delete folder; }
    static context ctx() {
        context one = context::cpu(2);
        one.scratch = *folder / "scratch";
        return one;
    }
    static fs::path make(const fs::path& store, const std::string& lines) {
        const fs::path file = store.string() + ".jsonl";
        write_file(file, lines);
        build_options options;
        options.inputs = {file};
        options.store = store;
        options.skip = all_build_stages;
        build(options, ctx());
        return store;
    }
    static search_options all_hits() {
        search_options options;
        options.k = 100'000;
        options.snippets = false;
        options.explain = true;
        return options;
    }

    /// Explanations add up, whatever their terms.
    static void expect_explained(const search_result& result) {
        ASSERT_FALSE(result.hits.empty());
        for (const auto& hit : result.hits) {
            std::int64_t sum = 0;
            for (const auto& term : hit.explanation) {
                EXPECT_EQ(term.part + term.background + term.length + term.title, term.score);
                sum += fixed(term.score);
            }
            EXPECT_EQ(sum, fixed_score(hit)) << hit.id;
        }
    }
    /// The score of the words alone for each document that has one of them.
    static std::map<std::uint32_t, std::int64_t> words_alone(const search_engine& engine,
                                                             const std::string& query,
                                                             search_options options) {
        options.prior = 0;
        options.like.reset();
        std::map<std::uint32_t, std::int64_t> scores;
        for (const auto& hit : engine.search(query, options).hits) scores[hit.document] = fixed_score(hit);
        return scores;
    }
    static void expect_ranking(const search_result& result,
                               const std::map<std::uint32_t, std::int64_t>& scores, std::size_t k) {
        std::vector<std::pair<std::uint32_t, std::int64_t>> expected(scores.begin(), scores.end());
        std::ranges::stable_sort(expected, std::ranges::greater(),
                                 &std::pair<std::uint32_t, std::int64_t>::second);
        if (expected.size() > k) expected.resize(k);
        EXPECT_EQ(ranking_of(result), expected);
    }

    static inline temporary_folder* folder;
    static inline fs::path plain, whole;
};

constexpr ranking_model all_models[] = {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet,
                                        ranking_model::two_stage};

TEST_F(joined_search_test, the_prior_is_added_to_the_words) {
    const auto engine = search_engine::open(whole, ctx());
    const opened_store store(whole);
    const auto ranks = store.link_ranks().value();
    for (const ranking_model model : all_models)
        for (const double weight : {0.3, 25.0})
            for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{100'000}}) {
                auto options = all_hits();
                options.ranking.model = model;
                options.ranking.title_weight = 0.25;
                options.prior = weight;
                const std::string query = "aaa0 aaa3 common1 bbb2";
                auto scores = words_alone(engine, query, options);
                ASSERT_GT(scores.size(), 100U);
                for (auto& [document, score] : scores)
                    score +=
                        fixed(weight * canonical_log(static_cast<double>(ranks[document]) * (400 * 0x1p-62)));
                options.k = k;
                const auto result = engine.search(query, options);
                expect_ranking(result, scores, k);
                expect_explained(result);
                const auto& last = result.hits.front().explanation.back();
                EXPECT_EQ(last.list, explained_list::prior);
                EXPECT_NEAR(last.score, weight * std::log(*last.value), 1e-6);
            }
}

TEST_F(joined_search_test, similar_words_are_those_of_the_thesaurus) {
    const auto engine = search_engine::open(whole, ctx());
    const auto space = word_space::open(*opened_store(whole).thesaurus(), ctx());
    auto options = all_hits();
    options.expand = 3;
    options.expand_weight = 0.4;
    const std::string query = "aaa0 aaa0 ccc2 common0 every \"ccc4\" nowhere";
    const auto result = engine.search(query, options);
    const opened_store opened(whole);
    const auto in_most = [&](const std::string& word) {
        const auto list = opened.words().postings(opened.words().dictionary().find(word).value());
        return list.document_frequency > opened.info().documents / 2;
    };
    ASSERT_TRUE(in_most("every"));
    std::map<std::string, double> expected;
    for (const auto& [word, count] :
         std::map<std::string, int>{{"aaa0", 2}, {"ccc2", 1}, {"common0", 1}, {"every", 1}}) {
        int taken = 0;
        if (in_most(word)) continue;
        for (const neighbour& near : space.similar({{space.find(word).value()}, {}}, 20, ctx())) {
            const std::string other(space.word(near.word));
            if (other == "aaa0" || other == "ccc2" || other == "common0" || other == "ccc4" ||
                other == "every" || in_most(other) || taken == 3)
                continue;
            ++taken;
            expected[other] += count * std::nearbyint(near.score * 0.4 * 65536) / 65536;
        }
    }
    ASSERT_GE(expected.size(), 3U);
    std::map<std::string, double> found;
    for (const similar_word& word : result.similar_words) found[word.word] = word.weight;
    for (auto& [word, weight] : expected) weight = std::min(weight, 1.0);
    EXPECT_EQ(found, expected);
    expect_explained(result);
    bool shown = false;
    for (const auto& hit : result.hits)
        for (const auto& term : hit.explanation) {
            EXPECT_EQ(term.weight, found.contains(term.term) ? found[term.term] : 1) << term.term;
            EXPECT_EQ(term.similar_to.empty(), !found.contains(term.term));
            shown = shown || (term.weight < 1 && term.part > 0);
        }
    EXPECT_TRUE(shown);
    EXPECT_THAT(result.unknown_words, ElementsAre("nowhere"));

    // Finds more than the words alone.
    options.expand = 1;
    const auto more = engine.search("aaa9", options), alone = [&] {
        auto without = options;
        without.expand = 0;
        return engine.search("aaa9", without);
    }();
    EXPECT_GT(more.hits.size(), alone.hits.size());
    EXPECT_THAT(engine.search("nowhere", options).hits, IsEmpty());
}

TEST_F(joined_search_test, similar_words_go_with_every_model_and_histories) {
    const auto engine = search_engine::open(whole, ctx());
    for (const ranking_model model : all_models)
        for (const unsigned order : {1U, 3U}) {
            if (order > 1 && model != ranking_model::ql) continue;
            auto options = all_hits();
            options.ranking.model = model;
            options.ranking.title_weight = 0.25;
            options.order = order;
            options.expand = 5;
            options.prior = 0.7;
            options.like = 3;
            const auto result = engine.search("aaa0 aaa1 \"bbb0 bbb1\" common2", options);
            expect_explained(result);
            options.k = 5;
            options.like.reset();
            expect_explained(engine.search("aaa0 aaa1 bbb0", options));
        }
}

TEST_F(joined_search_test, documents_like_one_stand_by_their_cosines) {
    const auto engine = search_engine::open(whole, ctx());
    const opened_store store(whole);
    const vectors_view vectors = store.document_vectors().value();
    const auto row = [&](std::uint32_t d) {
        const auto* begin = reinterpret_cast<const std::int16_t*>(vectors.values.data() + d * vectors.stride);
        return std::vector<std::int16_t>(begin, begin + vectors.dimensions);
    };
    const auto cosines = [&](std::uint32_t liked, double weight) {
        std::map<std::uint32_t, std::int64_t> parts;
        for (std::uint32_t d = 0; d < vectors.rows; ++d) {
            const auto a = row(d), b = row(liked);
            if (d == liked || std::ranges::all_of(a, [](auto x) { return x == 0; })) continue;
            double sum = 0, of_a = 0, of_b = 0;  // integers below 2^53
            for (std::size_t i = 0; i < a.size(); ++i) {
                sum += a[i] * b[i];
                of_a += a[i] * a[i];
                of_b += b[i] * b[i];
            }
            parts[d] = fixed(weight * (sum / std::sqrt(of_a * of_b)));
        }
        return parts;
    };
    auto options = all_hits();
    for (const std::uint32_t liked : {3U, 250U}) {
        options.like = liked;
        options.like_weight = 2.5;
        const auto parts = cosines(liked, 2.5);
        ASSERT_GT(parts.size(), 300U);
        options.k = 100'000;
        const auto alone = engine.search("", options);
        expect_ranking(alone, parts, options.k);
        expect_explained(alone);
        // The nearest ones are of the same subject.
        const auto subject_of = [&](std::uint32_t d) {
            const std::string text = store.text(d);
            for (const char c : {'a', 'b', 'c', 'd', 'e'})
                if (text.find(std::string(3, c)) != std::string::npos) return c;
            return '-';
        };
        EXPECT_EQ(subject_of(liked), subject_of(alone.hits[0].document));

        auto joined = parts;
        for (const auto& [document, score] : words_alone(engine, "bbb0 common1", options))
            if (document != liked) joined[document] += score;
        for (const std::size_t k : {std::size_t{7}, std::size_t{100'000}}) {
            options.k = k;
            expect_ranking(engine.search("bbb0 common1", options), joined, k);
        }
        // A phrase must occur.
        options.k = 100'000;
        auto quoted = words_alone(engine, "\"bbb0 bbb1\"", options);
        quoted.erase(liked);
        ASSERT_FALSE(quoted.empty());
        for (auto& [document, score] : quoted) score += parts.at(document);
        expect_ranking(engine.search("\"bbb0 bbb1\"", options), quoted, options.k);
    }
    // Document 5 has no text.
    options.like = 5;
    EXPECT_THAT(engine.search("", options).hits, IsEmpty());
    EXPECT_FALSE(engine.search("aaa0", options).hits.empty());
}

TEST_F(joined_search_test, threads_give_the_same_answers_to_topics) {
    const auto engine = search_engine::open(whole, ctx());
    std::vector<search_topic> topics;
    for (int t = 0; t < 60; ++t)
        topics.push_back(
            {std::to_string(t), "aaa" + std::to_string(t % 7) + " ddd" + std::to_string(t % 5) + " common1"});
    auto options = all_hits();
    options.k = 20;
    options.prior = 0.5;
    options.expand = 4;
    options.like = 9;
    std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> one;
    for (const auto& topic : topics) one.push_back(ranking_of(engine.search(topic.query, options)));
    for (const unsigned threads : {1U, 4U}) {
        const auto recorded_params = engine.search(topics, options, context::cpu(threads));
        std::size_t seen = 0;
        for (std::size_t t = 0; t < topics.size(); ++t) EXPECT_EQ(ranking_of(recorded_params[t]), one[t]);
        engine.search_each(topics, options, context::cpu(threads), {},
                           [&](const search_topic&, const search_result& result, std::string_view) {
                               EXPECT_EQ(ranking_of(result), one[seen++]);
                           });
        EXPECT_EQ(seen, topics.size());
    }
}

TEST_F(joined_search_test, topics_with_another_list_stay_on_the_cpu) {
    const auto engine = search_engine::open(whole, ctx());
    const auto expect_cpu = [&](const search_options& options, const std::string& what) {
        context automatic = ctx();
        automatic.device = {};
        std::string said;
        automatic.on_log = [&](log_level, std::string_view message) { said = message; };
        const auto chosen = engine.choose_device(std::size_t{1} << 40, options, automatic);
        EXPECT_FALSE(chosen.cuda);
        if (has_cuda) {
            EXPECT_EQ(said, "device cpu: topics with " + what + " are ranked by the CPU");
            EXPECT_EQ("device cpu: " + chosen.reason, said);
        } else {
            EXPECT_EQ(said, "");  // there is no choice to report
        }
        EXPECT_EQ(engine.choose_device(1, options, context::cpu()).reason, "requested");
        try {  // a requested GPU must exist, and is reported as unusable
            context gpu = context::cuda();
            gpu.on_log = automatic.on_log;
            EXPECT_FALSE(engine.choose_device(1, options, gpu).cuda);
            EXPECT_EQ(said, "CUDA was requested, but topics with " + what + " are ranked by the CPU");
        } catch (const device_error&) {
        }
    };
    search_options prior, similar, like, histories, other_model;
    other_model.ranking.model = ranking_model::bm25_plus;
    expect_cpu(other_model, "the model bm25+");
    prior.prior = 0.05;
    expect_cpu(prior, "a prior");
    similar.expand = 1;
    expect_cpu(similar, "similar words");
    like.like = 3;
    expect_cpu(like, "a document to be like");
    histories.order = 2;
    EXPECT_THROW(engine.choose_device(1, histories, ctx()), usage_error);  // not with BM25
    histories.ranking.model = ranking_model::ql;
    expect_cpu(histories, "an order beyond 1");
}

TEST_F(joined_search_test, a_stopped_run_ends_the_list_of_documents_like_one) {
    const auto engine = search_engine::open(whole, ctx());
    std::atomic<int> stop = 2;
    context stopped = ctx();
    stopped.stop_signal = &stop;
    search_options options;
    options.like = 3;
    EXPECT_THROW(engine.search("", options, stopped), interrupted);
    stop = 0;
    EXPECT_EQ(ranking_of(engine.search("", options, stopped)), ranking_of(engine.search("", options)));
}

TEST_F(joined_search_test, explanations_stay_within_the_memory) {
    context small = ctx();
    small.memory_bytes = 256 << 10;
    const auto engine = search_engine::open(whole, small);
    search_options options = all_hits();
    EXPECT_THROW(engine.search("aaa0 bbb1 common2", options), out_of_memory);
    options.explain = false;
    const auto plain_result = engine.search("aaa0 bbb1 common2", options);
    ASSERT_GT(plain_result.hits.size(), 100U);
    options.explain = true;
    options.offset = plain_result.hits.size() - 10;  // of those shown
    const auto result = engine.search("aaa0 bbb1 common2", options);
    ASSERT_EQ(result.hits.size(), 10U);
    expect_explained(result);
}

TEST_F(joined_search_test, the_thesaurus_is_the_stores_own_and_opened_with_it) {
    const fs::path copy = *folder / "copy", other = make(*folder / "other", corpus(300));
    fs::copy(whole, copy, fs::copy_options::recursive);
    testing::add_outcome(other, make_thesaurus(opened_store(other), ctx()));
    search_options options = all_hits();
    options.expand = 3;
    const auto expected = search_engine::open(whole, ctx()).search("aaa0", options);
    ASSERT_FALSE(expected.similar_words.empty());
    const auto engine = search_engine::open(copy, ctx());

    fs::remove_all(copy / "thesaurus");
    EXPECT_THROW(search_engine::open(copy, ctx()), damaged_store);
    fs::copy(other / "thesaurus", copy / "thesaurus", fs::copy_options::recursive);
    EXPECT_THROW(search_engine::open(copy, ctx()), damaged_store);  // undamaged, but another store's
    fs::remove_all(copy);
    const auto result = engine.search("aaa0", options);
    EXPECT_EQ(ranking_of(result), ranking_of(expected));
    EXPECT_EQ(engine.thesaurus()->spelling("AAA0"), "aaa0");
    expect_explained(result);
}

TEST_F(joined_search_test, a_store_without_a_list_says_which_stage_makes_it) {
    const auto engine = search_engine::open(plain, ctx());
    EXPECT_FALSE(engine.has_link_ranks() || engine.has_thesaurus() || engine.has_document_vectors());
    const auto refused = [&](auto change, const std::string& why) {
        search_options options;
        change(options);
        try {
            engine.search("grain", options);
            ADD_FAILURE() << why;
        } catch (const usage_error& e) {
            EXPECT_THAT(e.what(), HasSubstr(why));
        }
    };
    refused([](search_options& o) { o.prior = 1; }, "the stage ranks");
    refused([](search_options& o) { o.expand = 1; }, "the stage thesaurus");
    refused([](search_options& o) { o.like = 0; }, "the stage vectors");
    refused([](search_options& o) { o.prior = -1; }, "prior");
    refused([](search_options& o) { o.prior = std::nan(""); }, "prior");
    refused([](search_options& o) { o.expand_weight = 0; }, "expand_weight");
    refused([](search_options& o) { o.like_weight = 1000; }, "like_weight");
    const auto other = search_engine::open(whole, ctx());
    search_options options;
    options.like = 400;
    EXPECT_THROW(other.search("aaa0", options), usage_error);
    options = search_options();
    options.expand = 20;
    EXPECT_FALSE(other.search("aaa0", options).hits.empty());
    options.expand = 21;
    try {
        other.search("aaa0", options);
        ADD_FAILURE() << "more similar words than there are";
    } catch (const usage_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("at most 20 similar words"));
    }
}

TEST_F(joined_search_test, suggests_known_words_for_unknown_ones) {
    const auto engine = search_engine::open(plain, ctx());
    search_options options;
    options.suggestions = 3;
    const auto suggested = [&](const std::string& query) {
        std::vector<std::string> all;
        for (const auto& of : engine.search(query, options).suggestions)
            for (const auto& word : of.words)
                all.push_back(of.unknown + " " + word.word + " " + std::to_string(word.distance) + " " +
                              std::to_string(word.documents));
        return all;
    };
    EXPECT_THAT(suggested("grian"), ElementsAre("grian grain 1 1"));
    EXPECT_THAT(suggested("rains mil"), ElementsAre("mil mill 1 1", "rains grains 1 2"));
    EXPECT_THAT(suggested("\"gain mill\""), ElementsAre("gain grain 1 1"));
    EXPECT_THAT(suggested("gains"), ElementsAre("gains grains 1 2"));
    EXPECT_THAT(suggested("trrain"), ElementsAre("trrain train 1 1", "trrain grain 2 1"));
    EXPECT_THAT(suggested("grann"), ElementsAre("grann grain 1 1"));
    EXPECT_THAT(suggested("brains"),
                ElementsAre("brains grains 1 2", "brains grain 2 1", "brains train 2 1"));
    EXPECT_THAT(suggested("g x grain nothinglike"), IsEmpty());
    options.suggestions = 1;
    EXPECT_THAT(suggested("rain"), ElementsAre("rain grain 1 1"));  // but not train: by bytes
    options.suggestions = 0;
    EXPECT_THAT(suggested("grian"), IsEmpty());
}

}  // namespace
}  // namespace quern::joined_search_test
