// SPDX-License-Identifier: Apache-2.0
// Every method against counting with maps, on texts of every kind; the paper's example; sums of probabilities; the checks
// of the public functions.
#include "quern/ops/ngram_likelihood.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>

#include "on_each_place.hpp"
#include "ops/ngram_likelihood/ngram_texts.hpp"
#include "quern/base/error.hpp"
#include "temporary_folder.hpp"

namespace quern::ngram_likelihood_test {
namespace {

constexpr ngram_method every_method[] = {ngram_method::automatic, ngram_method::strings,
                                         ngram_method::dictionary, ngram_method::suffix_sigma};

std::string_view name_of(ngram_method method) {
    return ngram_method_names[static_cast<std::size_t>(method)];
}

template <class Tested>
class ngram_likelihood_on : public on_place<Tested> {
  protected:
    static bool runs_here(ngram_method method) {
        return method != ngram_method::suffix_sigma || std::is_same_v<typename Tested::place_type, cpu_place>;
    }

    static void expect_reference(const ngram_texts& texts, ngram_options options, const std::string& what) {
        const reference::ngram_counter counter(texts.documents(), options.order);
        options.history_counts = true;
        const auto expected = counter.rows(options);
        const std::vector<ngram_totals> totals = totals_of(texts, options);
        for (const ngram_method method : every_method) {
            if (method == ngram_method::strings && texts.has_unknown()) continue;
            if (!runs_here(method)) continue;
            options.method = method;
            const ngram_result found = ngram_likelihood(texts.view(), options, Tested::ctx());
            ASSERT_EQ(rows_of(found, texts, true), expected)
                << name_of(method) << ", order " << options.order << ", " << what;
            ASSERT_EQ(found.record.totals, totals) << name_of(method) << ", " << what;
            expect_collection(texts, options, expected, totals, what);
        }
    }

  private:
    /// The n-grams of the collection, each once: those of the rows.
    static void expect_collection(const ngram_texts& texts, const ngram_options& options,
                                  const std::vector<reference::ngram_row>& rows,
                                  std::vector<ngram_totals> totals, const std::string& what) {
        using counted = std::tuple<word_list, std::uint64_t, std::uint64_t>;  // with count and history's
        std::map<unsigned, std::vector<counted>> expected, found;
        for (const reference::ngram_row& row : rows) {
            std::vector<counted>& to = expected[row.n];
            counted ngram(row.words, row.in_collection, row.history_in_collection);
            if (to.empty() || to.back() != ngram) to.push_back(std::move(ngram));
        }
        for (ngram_totals& of_n : totals) of_n.rows = 0;
        const auto view = texts.view();
        const ngram_record record =
            count_collection_ngrams(view, options, Tested::ctx(), [&](const collection_ngrams& ngrams) {
                ASSERT_EQ(ngrams.positions.size(), ngrams.counts.size());
                ASSERT_EQ(ngrams.positions.size(), ngrams.history_counts.size());
                for (std::size_t i = 0; i < ngrams.counts.size(); ++i) {
                    ASSERT_LE(ngrams.positions[i] + ngrams.n, view.words.size());
                    const auto first = view.words.begin() + static_cast<std::ptrdiff_t>(ngrams.positions[i]);
                    found[ngrams.n].emplace_back(word_list(first, first + ngrams.n), ngrams.counts[i],
                                                 ngrams.history_counts[i]);
                }
            });
        ASSERT_EQ(found, expected) << name_of(options.method) << ", order " << options.order << ", " << what;
        ASSERT_EQ(record.totals, totals) << name_of(options.method) << ", " << what;
        ngram_options without = options;
        without.history_counts = false;
        count_collection_ngrams(view, without, Tested::ctx(), [&](const collection_ngrams& ngrams) {
            ASSERT_TRUE(ngrams.history_counts.empty());
        });
    }

    /// Counted one by one.
    static std::vector<ngram_totals> totals_of(const ngram_texts& texts, const ngram_options& options) {
        std::vector<ngram_totals> totals;
        const auto& view = texts.view();
        for (unsigned n = options.only ? options.order : 1; n <= options.order; ++n) {
            ngram_totals& of_n = totals.emplace_back();
            of_n.n = n;
            std::map<word_list, std::map<std::size_t, std::uint64_t>> counts;
            for (std::size_t d = 0; d < texts.documents().size(); ++d) {
                const word_list& words = texts.documents()[d];
                for (std::size_t i = 0; i + n <= words.size(); ++i) {
                    const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
                    const word_list ngram(first, first + n);
                    ++of_n.occurrences;
                    of_n.with_unknown += std::ranges::count(ngram, view.vocabulary) != 0 ? 1 : 0;
                    ++counts[ngram][d];
                }
            }
            for (const auto& [ngram, documents] : counts) {
                std::uint64_t all = 0;
                for (const auto& [d, count] : documents) all += count;
                if (all < options.min_count) continue;
                ++of_n.distinct;
                of_n.rows += documents.size();
            }
        }
        return totals;
    }
};
TYPED_TEST_SUITE(ngram_likelihood_on, tested_places, tested_place_names);

TYPED_TEST(ngram_likelihood_on, every_method_gives_what_counting_with_maps_gives) {
    std::uint64_t seed = 1;
    for (const text_kind kind : every_text_kind) {
        for (const std::uint32_t vocabulary : {1u, 2u, 5u, 150u}) {
            for (const unsigned order : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 32u}) {
                if (tested_with().small_sizes && (seed++ % 12 != 0)) continue;
                const bool unknown = seed % 2 == 0;
                const auto texts = make_texts(kind, 12, 30, vocabulary, unknown, ++seed);
                this->expect_reference(texts, {.order = order, .only = seed % 3 == 0},
                                       "kind " + std::to_string(static_cast<int>(kind)) + ", " +
                                           std::to_string(vocabulary) + " words");
            }
        }
    }
}

TYPED_TEST(ngram_likelihood_on, every_smoothing_and_measure) {
    for (const bool only : {false, true}) {
        for (const double share : {0.0, 0.3, 1.0}) {
            const auto texts = make_texts(text_kind::skewed, 20, 40, 12, true, 5);
            for (const ngram_smoothing smoothing :
                 {ngram_smoothing::jelinek_mercer, ngram_smoothing::dirichlet, ngram_smoothing::absolute})
                this->expect_reference(texts,
                                       {.order = 3,
                                        .only = only,
                                        .smoothing = smoothing,
                                        .lambda = share,
                                        .mu = 50 * share,
                                        .delta = share},
                                       "a smoothing");
            this->expect_reference(
                texts, {.order = 2, .only = only, .measure = ngram_measure::bm25, .b = share}, "BM25");
        }
    }
}

TYPED_TEST(ngram_likelihood_on, rare_ngrams_are_excluded_and_change_no_count) {
    for (const std::uint64_t least : {2u, 3u, 40u}) {
        const auto texts = make_texts(text_kind::copied, 25, 30, 9, false, least);
        for (const auto smoothing : {ngram_smoothing::jelinek_mercer, ngram_smoothing::absolute})
            this->expect_reference(texts, {.order = 4, .smoothing = smoothing, .min_count = least},
                                   "a least count");
    }
}

TYPED_TEST(ngram_likelihood_on, any_documents) {
    if (tested_with().small_sizes) GTEST_SKIP() << "a hundred runs";
    EXPECT_TRUE(rc::check("as counted with maps", [] {
        const auto vocabulary = *rc::gen::inRange<std::uint32_t>(1, 6);
        const auto documents = *rc::gen::container<std::vector<word_list>>(
            rc::gen::container<word_list>(rc::gen::inRange(0u, vocabulary + 1)));
        const ngram_texts texts(documents, vocabulary);
        TestFixture::expect_reference(
            texts, {.order = *rc::gen::inRange(1u, 10u), .min_count = *rc::gen::inRange(1u, 4u)},
            "any documents");
        RC_ASSERT(!::testing::Test::HasFatalFailure());
    }));
}

TYPED_TEST(ngram_likelihood_on, pieces_join_where_a_collection_is_cut_for_threads) {
    const auto texts = make_texts(text_kind::skewed, 300, 400, 40, true, 3);
    this->expect_reference(texts, {.order = 3}, "many pieces");
    const auto one = make_texts(text_kind::one_word, 300, 300, 2, false, 4);
    this->expect_reference(one, {.order = 4}, "one word");
}

TYPED_TEST(ngram_likelihood_on, little_gpu_memory_gives_the_same_in_pieces) {
    for (const std::uint64_t kib : {1500, 900}) {  // with all words besides a piece; copied by the host
        const auto texts = make_texts(text_kind::uniform, 300, 300, 500, true, kib);
        for (const ngram_smoothing smoothing : {ngram_smoothing::jelinek_mercer, ngram_smoothing::absolute}) {
            const ngram_options options{.order = 4, .smoothing = smoothing, .history_counts = true};
            const ngram_result expected = ngram_likelihood(texts.view(), options, context::cpu(2));
            context ctx = TypeParam::ctx();
            ctx.gpu_memory_bytes = kib << 10;
            const ngram_result found = ngram_likelihood(texts.view(), options, ctx);
            if (std::is_same_v<typename TypeParam::place_type, cuda_place>) {
                EXPECT_GT(found.record.pieces, 1u);
            }
            EXPECT_EQ(found.record.totals, expected.record.totals);
            ASSERT_EQ(rows_of(found, texts, true), rows_of(expected, texts, true)) << kib << " KiB";
        }
    }
}

TEST(ngram_likelihood, little_memory_gives_the_same_by_sorted_runs) {
    const quern::testing::temporary_folder folder;
    for (const text_kind kind : {text_kind::skewed, text_kind::one_word, text_kind::periodic}) {
        const auto texts = make_texts(kind, 250, 300, 3000, true, 8);
        const ngram_options options{
            .order = 7, .smoothing = ngram_smoothing::absolute, .history_counts = true};
        const auto expected = rows_of(ngram_likelihood(texts.view(), options, context::cpu(1)), texts, true);
        for (const unsigned threads : {1u, 3u}) {
            context ctx = context::cpu(threads);
            ctx.memory_bytes = std::uint64_t{700} << 10;
            ctx.scratch = folder.path();
            const ngram_result found = ngram_likelihood(texts.view(), options, ctx);
            EXPECT_GT(found.record.bytes_spilled, 0u);
            ASSERT_EQ(rows_of(found, texts, true), expected) << threads << " threads";
            EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
        }
    }
}

TEST(ngram_likelihood, long_ties_are_sorted_by_what_follows) {
    // Longer ranges of equal words than one thread sorts, and documents that end within them.
    std::vector<word_list> documents{word_list(50'000, 1), word_list(20'000, 1), word_list(30'000, 1)};
    documents[1].back() = 0;
    documents[2].back() = 2;
    const ngram_texts texts(documents, 0x7ffffffe);  // two words a key
    ngram_options options{.order = 5, .history_counts = true, .method = ngram_method::dictionary};
    const auto expected = rows_of(ngram_likelihood(texts.view(), options, context::cpu(1)), texts, true);
    options.method = ngram_method::automatic;
    for (const unsigned threads : {1u, 3u}) {
        const ngram_result found = ngram_likelihood(texts.view(), options, context::cpu(threads));
        ASSERT_EQ(rows_of(found, texts, true), expected);
    }
}

TEST(ngram_likelihood, any_memory_from_little_to_enough_does) {
    const quern::testing::temporary_folder folder;
    const auto texts = make_texts(text_kind::skewed, 250, 300, 3000, true, 8);
    const ngram_options options{.order = 4, .history_counts = true};
    const auto expected = rows_of(ngram_likelihood(texts.view(), options, context::cpu(1)), texts, true);
    unsigned in_memory = 0;
    for (std::uint64_t kib = 600; kib < 40'000; kib = kib * 5 / 4) {
        context ctx = context::cpu(3);
        ctx.memory_bytes = kib << 10;
        ctx.scratch = folder.path();
        const ngram_result found = ngram_likelihood(texts.view(), options, ctx);
        ASSERT_EQ(rows_of(found, texts, true), expected) << kib << " KiB";
        in_memory += found.record.bytes_spilled == 0 ? 1 : 0;
    }
    EXPECT_GT(in_memory, 3u);
}

TEST(ngram_likelihood, a_word_of_very_many_documents_needs_little_memory) {
    // Neither counters of all documents nor all positions of the word fit.
    std::mt19937_64 random(9);
    std::vector<word_list> documents(30'000);
    for (word_list& document : documents) {
        for (std::uint64_t words = random() % 16; words != 0; --words)
            document.push_back(random() % 10 != 0 ? 0 : static_cast<std::uint32_t>(random() % 50));
    }
    const ngram_texts texts(documents, 50);
    const quern::testing::temporary_folder folder;
    for (const ngram_smoothing smoothing : {ngram_smoothing::dirichlet, ngram_smoothing::absolute}) {
        const ngram_options options{.order = 3, .smoothing = smoothing, .history_counts = true};
        const auto expected = rows_of(ngram_likelihood(texts.view(), options, context::cpu(2)), texts, true);
        for (const unsigned mib : {2U, 3U, 5U, 9U}) {
            context ctx = context::cpu(3);
            ctx.memory_bytes = std::uint64_t{mib} << 20;
            ctx.scratch = folder.path();
            ASSERT_EQ(rows_of(ngram_likelihood(texts.view(), options, ctx), texts, true), expected) << mib;
        }
    }
}

TEST(ngram_likelihood, too_little_memory_is_said) {
    const auto texts = make_texts(text_kind::skewed, 400, 400, 3000, true, 8);
    context ctx = context::cpu(1);
    ctx.memory_bytes = 1000;
    for (const ngram_method method :
         {ngram_method::automatic, ngram_method::dictionary, ngram_method::suffix_sigma})
        EXPECT_THROW(ngram_likelihood(texts.view(), {.method = method}, ctx), out_of_memory);
}

/// The paper's table 1: a, b, c, w, x, y, z are the words 0 to 6; documents 0, 1, 4 and 6 are padded with other words.
TYPED_TEST(ngram_likelihood_on, the_papers_example) {
    enum : std::uint32_t { a, b, c, w, x, y, z };
    const ngram_texts texts(
        {{}, {w}, {b, x, a, b, x, a, b, x, c}, {b, y, a}, {y}, {b, x, a, b, x, c}, {}, {b, w, z, b, x, b}},
        7);
    const ngram_options options{.order = 3, .history_counts = true};
    for (const ngram_method method : every_method) {
        ngram_options with_method = options;
        if (!this->runs_here(method)) continue;
        with_method.method = method;
        const auto found =
            rows_of(ngram_likelihood(texts.view(), with_method, TypeParam::ctx()), texts, true);
        const auto counts = [&](const word_list& words, std::uint32_t document) {
            for (const auto& row : found)
                if (row.words == words && row.document == document) return row;
            return reference::ngram_row{};
        };
        const auto in_2 = counts({b, x, a}, 2), in_5 = counts({b, x, a}, 5), in_7 = counts({b, x, b}, 7);
        EXPECT_EQ(in_2.in_collection, 3u);
        EXPECT_EQ(in_2.history_in_collection, 6u);
        EXPECT_EQ(in_2.in_document, 2u);
        EXPECT_EQ(in_5.in_document, 1u);
        EXPECT_EQ(in_2.history_in_document, 3u);
        EXPECT_EQ(in_5.history_in_document, 2u);
        EXPECT_EQ(in_7.history_in_document, 1u);
        EXPECT_EQ(in_2.weight, 0.5 * (2.0 / 3.0) + 0.5 * (3.0 / 6.0));
    }
}

TEST(ngram_likelihood, probabilities_after_a_history_sum_to_one) {
    const auto texts = make_texts(text_kind::skewed, 15, 60, 8, true, 11);
    const reference::ngram_counter counter(texts.documents(), 4);
    for (const auto smoothing :
         {ngram_smoothing::jelinek_mercer, ngram_smoothing::dirichlet, ngram_smoothing::absolute}) {
        for (const double lambda : {0.0, 0.4, 1.0}) {
            const ngram_options options{
                .order = 4, .smoothing = smoothing, .lambda = lambda, .mu = 7, .delta = lambda};
            const ngram_result found = ngram_likelihood(texts.view(), options, context::cpu(2));
            std::map<std::pair<word_list, std::uint32_t>, double> sums;
            std::map<std::pair<word_list, std::uint32_t>, std::set<std::uint32_t>> held;
            for (const auto& row : rows_of(found, texts, false)) {
                const word_list history(row.words.begin(), row.words.end() - 1);
                sums[{history, row.document}] += row.weight;
                held[{history, row.document}].insert(row.words.back());
            }
            ASSERT_GT(sums.size(), 400u);
            for (auto& [key, sum] : sums) {
                // Words that follow the history only elsewhere have no row.
                for (const std::uint32_t word : counter.of(key.first).followers) {
                    if (held[key].contains(word)) continue;
                    word_list ngram = key.first;
                    ngram.push_back(word);
                    sum += likelihood_of(counter.counts(ngram, key.second), options);
                }
                EXPECT_NEAR(sum, 1, 1e-12);
            }
        }
    }
}

TEST(ngram_likelihood, totals_say_what_was_counted_and_given) {
    const ngram_texts texts({{0, 1, 2, 0}, {}, {2}, {1, 2, 0, 1}}, 2);  // 2 is unknown
    for (const ngram_method method :
         {ngram_method::automatic, ngram_method::dictionary, ngram_method::suffix_sigma}) {
        const ngram_record record =
            ngram_likelihood(texts.view(), {.order = 3, .method = method}, context::cpu(1)).record;
        EXPECT_THAT(record.totals,
                    ::testing::ElementsAre(ngram_totals{1, 9, 3, 3, 7}, ngram_totals{2, 6, 4, 3, 6},
                                           ngram_totals{3, 4, 4, 3, 4}));
        EXPECT_EQ(record.place, "cpu: requested");
    }
}

TEST(ngram_likelihood, likelihoods_of_what_no_document_holds) {
    const ngram_options options{};
    EXPECT_EQ(likelihood_of({}, options), 0);
    EXPECT_EQ(likelihood_of({0, 0, 1, 4, 0}, options), 0.25);
    EXPECT_EQ(likelihood_of({0, 2, 1, 4, 1}, options), 0.125);
    EXPECT_EQ(likelihood_of({0, 0, 1, 4, 0}, {.smoothing = ngram_smoothing::dirichlet, .mu = 0}), 0.25);
}

template <class Error>
void expect_refused(const ngram_collection& collection, const ngram_options& options,
                    const std::string& words) {
    try {
        ngram_likelihood(collection, options, context::cpu(1));
        ADD_FAILURE() << "not refused: " << words;
    } catch (const Error& refused) {
        EXPECT_THAT(refused.what(), ::testing::HasSubstr(words));
    }
}

TEST(ngram_likelihood, refuses_what_is_wrong) {
    const std::vector<std::uint32_t> words{0, 1, 5, 2};
    const std::vector<std::uint64_t> documents{0, 2, 4}, falling{0, 3, 2, 4}, short_of{0, 3}, none;
    expect_refused<usage_error>({words, documents, 5}, {.order = 0},
                                "(expected a whole number from 1 to 32)");
    expect_refused<usage_error>({words, documents, 5}, {.order = 33},
                                "(expected a whole number from 1 to 32)");
    expect_refused<usage_error>({words, documents, 5}, {.lambda = 1.5},
                                "lambda: invalid value '1.5' (expected a number from 0 to 1)");
    expect_refused<usage_error>({words, documents, 5}, {.mu = std::numeric_limits<double>::quiet_NaN()},
                                "mu: invalid value 'nan'");
    expect_refused<usage_error>({words, documents, 5}, {.delta = -0.1}, "delta: invalid value");
    expect_refused<usage_error>({words, documents, 5}, {.min_count = 0},
                                "(expected a whole number of at least 1)");
    expect_refused<usage_error>({words, documents, 0xffffffff}, {}, "more than 2^32 - 2 words");
    expect_refused<invalid_value>({words, documents, 4}, {}, "word 2 is outside the vocabulary");
    expect_refused<invalid_value>({words, falling, 5}, {}, "see segment 1");
    expect_refused<invalid_value>({words, short_of, 5}, {}, "see segment 0");
    expect_refused<invalid_value>({words, none, 5}, {}, "see segment 0");
    const std::vector<std::uint64_t> immense{0, (std::uint64_t{1} << 63) + 5};
    expect_refused<invalid_value>({words, immense, 5}, {.order = 2}, "see segment 0");
    const std::vector<std::uint64_t> starts{0, 1, 2, 3};
    const std::vector<std::uint32_t> lengths{1, 1, 2, 1}, too_few{1};
    const ngram_options by_strings{.method = ngram_method::strings};
    expect_refused<usage_error>({{}, documents, 0, "abc", starts, too_few}, by_strings,
                                "4 starts of words, but 1 lengths");
    expect_refused<invalid_value>({{}, documents, 0, "abc", starts, lengths}, by_strings,
                                  "word 2 ends past the end of the text");
}

TYPED_TEST(ngram_likelihood_on, nothing_gives_nothing) {
    for (const ngram_method method : every_method) {
        if (!this->runs_here(method)) continue;
        for (const std::vector<std::uint64_t>& documents : {std::vector<std::uint64_t>{}, {0}, {0, 0, 0}}) {
            const ngram_result found =
                ngram_likelihood({{}, documents, 0}, {.order = 2, .method = method}, TypeParam::ctx());
            ASSERT_EQ(found.tables.size(), 2u);
            EXPECT_TRUE(found.tables[0].documents.empty());
            EXPECT_THAT(found.record.totals,
                        ::testing::ElementsAre(ngram_totals{.n = 1}, ngram_totals{.n = 2}));
        }
    }
}

TEST(ngram_likelihood, stops_on_request_and_rethrows_what_the_sink_throws) {
    const auto texts = make_texts(text_kind::skewed, 300, 400, 40, false, 3);
    const std::atomic<int> signal = 2;
    context ctx = context::cpu(3);
    ctx.stop_signal = &signal;
    for (const ngram_method method : every_method) {
        const ngram_options options{.method = method};
        EXPECT_THROW(ngram_likelihood(texts.view(), options, ctx), interrupted);
        EXPECT_THROW(ngram_likelihood(texts.view(), options, context::cpu(3),
                                      [](const ngram_rows&) { throw usage_error("enough"); }),
                     usage_error);
    }
}

}  // namespace
}  // namespace quern::ngram_likelihood_test
