// SPDX-License-Identifier: Apache-2.0
// N-grams counted on several places: the same rows, totals and order as on one.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/own_threads.hpp"
#include "device/place_set.hpp"
#include "on_each_place.hpp"
#include "ops/ngram_likelihood/ngram_methods.hpp"
#include "ops/ngram_likelihood/ngram_texts.hpp"
#include "ops/ngram_likelihood/text_counters.hpp"
#include "ops/ngram_likelihood/word_exchange.hpp"
#include "quern/base/error.hpp"
#include "several_places.hpp"

namespace quern::several_places_test {
namespace {

using namespace ngram_detail;

ngram_result empty_tables(const ngram_options& options) {
    ngram_result result;
    for (unsigned n = options.only ? options.order : 1; n <= options.order; ++n)
        result.tables.emplace_back().n = n;
    return result;
}

/// What is passed to a sink, from one thread at a time.
template <class Block, class Take>
auto one_at_a_time(std::atomic<int>& inside, const Take& take) {
    return [&inside, take](const Block& block) {
        EXPECT_EQ(++inside, 1);
        take(block);
        --inside;
    };
}

ngram_result rows_on(const chosen_device& chosen, const ngram_texts& texts, const ngram_options& options,
                     const context& ctx) {
    ngram_result found = empty_tables(options);
    std::atomic<int> inside = 0;
    found.record = count_ngrams_on(chosen, texts.view(), options, ctx,
                                   one_at_a_time<ngram_rows>(inside, [&](const ngram_rows& rows) {
                                       found.tables[rows.n - found.tables.front().n].append(rows);
                                   }));
    return found;
}

/// For each n the n-grams' words, counts and counts of histories.
struct counted {
    std::vector<word_list> ngrams;
    std::vector<std::uint64_t> counts, histories;
    bool operator==(const counted&) const = default;
};
std::vector<counted> collection_on(const chosen_device& chosen, const ngram_texts& texts,
                                   const ngram_options& options, std::vector<ngram_totals>& totals) {
    std::vector<counted> found(options.order + 1);
    const ngram_collection view = texts.view();
    std::atomic<int> inside = 0;
    const auto take = [&](const collection_ngrams& block) {
        counted& to = found[block.n];
        for (const std::uint64_t position : block.positions) {
            const auto first = view.words.begin() + static_cast<std::ptrdiff_t>(position);
            to.ngrams.emplace_back(first, first + block.n);
        }
        to.counts.insert(to.counts.end(), block.counts.begin(), block.counts.end());
        to.histories.insert(to.histories.end(), block.history_counts.begin(), block.history_counts.end());
    };
    totals = count_collection_on(chosen, view, options, context::cpu(3),
                                 one_at_a_time<collection_ngrams>(inside, take))
                 .totals;
    return found;
}

ngram_options requested(std::uint64_t number, unsigned order) {
    constexpr ngram_smoothing smoothings[] = {ngram_smoothing::jelinek_mercer, ngram_smoothing::absolute,
                                              ngram_smoothing::dirichlet};
    return {.order = order,
            .only = number % 5 == 0,
            .measure = number % 4 == 3 ? ngram_measure::bm25 : ngram_measure::likelihood,
            .smoothing = smoothings[number % 3],
            .min_count = number % 4 == 1 ? std::uint64_t{2} : 1,
            .history_counts = true};
}

void expect_same(const ngram_result& found, const ngram_result& expected, const ngram_texts& texts) {
    ASSERT_EQ(found.record.totals, expected.record.totals);
    ASSERT_EQ(rows_of(found, texts, true), rows_of(expected, texts, true));
}

template <class Tested>
class ngrams_on_several_places : public on_place<Tested> {
  protected:
    static chosen_device several(std::size_t count) {
        chosen_device chosen = choose_device(Tested::ctx(), "this test");
        chosen.more = further_places(chosen, count - 1);
        return chosen;
    }
};
/// The place of that number alone.
chosen_device choice_at(chosen_device chosen, std::size_t index) {
    if (index != 0) chosen.ordinal = chosen.more[index - 1];
    chosen.more.clear();
    return chosen;
}
TYPED_TEST_SUITE(ngrams_on_several_places, tested_places, tested_place_names);

TYPED_TEST(ngrams_on_several_places, are_those_of_one) {
    std::uint64_t number = 0;
    for (const text_kind kind : every_text_kind) {
        for (const std::uint32_t vocabulary : {1u, 40u, 70'000u}) {
            for (const unsigned order : {1u, 3u, 8u}) {
                const ngram_options options = requested(++number, order);
                const auto texts = make_texts(kind, 30, 60, vocabulary, number % 2 == 0, number);
                const ngram_result expected = ngram_likelihood(texts.view(), options, context::cpu(1));
                std::vector<ngram_totals> totals, of_several;
                const auto collection = collection_on(cpu_places(1), texts, options, totals);
                for (const std::size_t places : {2, 3}) {
                    SCOPED_TRACE(number);
                    const chosen_device chosen = this->several(places);
                    const ngram_result found = rows_on(chosen, texts, options, TypeParam::ctx());
                    expect_same(found, expected, texts);
                    EXPECT_LE(found.record.pieces, 8 * places);
                    ASSERT_EQ(collection_on(chosen, texts, options, of_several), collection);
                    ASSERT_EQ(of_several, totals);
                }
            }
        }
    }
}

/// The rows of a text, counted twice by one counter.
ngram_result rows_of_text(const chosen_device& chosen, const context& ctx, const ngram_text& text,
                          const ngram_options& options) {
    static const std::vector<std::string_view> words{"a", "and", "of", "that", "the", "they"};
    text_counters counters(ctx, chosen, words, 0);
    ngram_result found;
    for (int twice = 0; twice < 2; ++twice) {
        found = empty_tables(options);
        found.record = counters.count(text, options, [&](const ngram_rows& rows) {
            found.tables[rows.n - found.tables.front().n].append(rows);
        });
    }
    return found;
}

void expect_same_tables(const ngram_result& found, const ngram_result& expected) {
    ASSERT_EQ(found.record.totals, expected.record.totals);
    ASSERT_EQ(found.tables.size(), expected.tables.size());
    for (std::size_t t = 0; t < found.tables.size(); ++t) {
        const ngram_table &a = found.tables[t], &b = expected.tables[t];
        ASSERT_EQ(a.documents, b.documents);
        ASSERT_EQ(a.firsts, b.firsts);
        ASSERT_EQ(a.in_document, b.in_document);
        ASSERT_EQ(a.in_collection, b.in_collection);
        ASSERT_EQ(a.weights, b.weights);
        ASSERT_EQ(a.history_in_document, b.history_in_document);
        ASSERT_EQ(a.history_in_collection, b.history_in_collection);
    }
}

TYPED_TEST(ngrams_on_several_places, of_text_are_those_of_one) {
    constexpr std::string_view words[] = {"a", "of", "that", "they", "Other"};
    std::mt19937_64 random(3);
    std::string text;
    std::vector<std::uint64_t> documents{0};
    for (int d = 0; d < 60; ++d) {
        for (std::uint64_t i = random() % 70; i != 0; --i)
            (text += words[random() % std::size(words)]) += random() % 5 ? " " : "--";
        documents.push_back(text.size());
    }
    const ngram_text view{text, documents, true};
    for (std::uint64_t number = 0; number < 6; ++number) {
        const ngram_options options = requested(number, 1 + number % 4);
        const ngram_result expected = rows_of_text(cpu_places(1), context::cpu(2), view, options);
        for (const std::size_t places : {2, 3})
            expect_same_tables(rows_of_text(this->several(places), TypeParam::ctx(), view, options),
                               expected);
    }
}

TYPED_TEST(ngrams_on_several_places, of_few_documents_are_those_of_one) {
    // Shares without documents, and documents without words at their edges.
    const std::string text = "of they -- of they of a of they of";
    const std::uint64_t end = text.size();
    for (const std::vector<std::uint64_t>& documents :
         {std::vector<std::uint64_t>{0, end}, {0, 0, 0, 8, 11, end, end}, {0, 1, end}, {0, end - 1, end}}) {
        const ngram_text view{text, documents, true};
        const ngram_result expected = rows_of_text(cpu_places(1), context::cpu(2), view, requested(4, 3));
        for (const std::size_t places : {2, 3, 5})
            expect_same_tables(rows_of_text(this->several(places), TypeParam::ctx(), view, requested(4, 3)),
                               expected);
    }
    for (const std::vector<std::uint64_t>& documents : {std::vector<std::uint64_t>{}, {0}, {0, 0}}) {
        const ngram_text none{{}, documents, true};
        EXPECT_EQ(rows_of_text(this->several(3), TypeParam::ctx(), none, {}).record.totals[0].rows, 0U);
    }
}

TYPED_TEST(ngrams_on_several_places, of_no_words) {
    const ngram_texts none({}, 3), empty({{}, {}}, 3);
    for (const ngram_texts* texts : {&none, &empty})
        expect_same(rows_on(this->several(2), *texts, {.order = 2}, TypeParam::ctx()),
                    ngram_likelihood(texts->view(), {.order = 2}, context::cpu(1)), *texts);
}

TYPED_TEST(ngrams_on_several_places, fail_as_on_one) {
    const auto texts = make_texts(text_kind::uniform, 100, 100, 50, false, 1);
    const std::atomic<int> signal{2};
    context stopped = TypeParam::ctx();
    stopped.stop_signal = &signal;
    EXPECT_THROW((void)rows_on(this->several(2), texts, {}, stopped), interrupted);
    std::atomic<int> calls = 0;
    EXPECT_THROW((void)count_ngrams_on(this->several(3), texts.view(), {.order = 5}, TypeParam::ctx(),
                                       [&](const ngram_rows&) {
                                           if (++calls == 4) throw std::runtime_error("full");
                                       }),
                 std::runtime_error);
    EXPECT_EQ(calls, 4);
}

TYPED_TEST(ngrams_on_several_places, end_together_if_the_exchange_of_words_fails) {
    using place_type = typename TestFixture::place_type;
    constexpr std::size_t count = 3;
    const std::vector<std::uint32_t> words(50'000, 7);
    const chosen_device chosen = this->several(count);
    const context ctx = TypeParam::ctx();
    const row_sink none = [](const ngram_rows&) {};
    for (int round = 0; round < 10; ++round) {
        range_turns turns(count, 2, none);
        word_exchange<place_type> exchange(count);
        std::atomic<std::size_t> ready = 0;
        on_threads_of_their_own(count + 1, [&](std::size_t index) {
            turns.run([&] {
                if (index == count) {  // fails at some time while the others copy
                    while (ready < count) std::this_thread::yield();
                    std::this_thread::sleep_for(std::chrono::microseconds(20 * round));
                    throw std::runtime_error("fails");
                }
                opened_place<place_type> here(ctx, choice_at(chosen, index));
                placed_text<place_type> mine{array_from(here.place(), std::span(words)), {0, words.size()}};
                ++ready;
                const auto all = exchange.gather(here.place(), index, std::move(mine), turns);
                EXPECT_TRUE(!all || all->ids.size() == count * words.size());
                here.place().synchronise();
            });
        });
        EXPECT_THROW(turns.rethrow(), std::runtime_error);
    }
}

/// Two neighbouring words that are counted together at first are nearly a third of all.
ngram_texts with_two_frequent_words(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<word_list> documents(300);
    for (word_list& document : documents)
        for (int i = 0; i < 112; ++i)
            document.push_back(
                static_cast<std::uint32_t>(random() % 10 < 3 ? random() % 2 : random() % 70'000));
    return {std::move(documents), 70'000};
}

TEST(ngrams_on_several_places_of_little_memory, are_cut_further_or_counted_on_one) {
    for (std::uint64_t number = 0; number < 6; ++number) {
        const auto texts = with_two_frequent_words(number);
        const ngram_options options = requested(number, 1 + number % 4);
        const ngram_result expected = ngram_likelihood(texts.view(), options, context::cpu(2));
        context ctx = context::cpu(2);
        ctx.memory_bytes = std::uint64_t{1} << 30;
        const auto pieces = rows_on(cpu_places(2), texts, options, ctx).record.pieces;
        ctx.memory_bytes = std::uint64_t{2 * 1150} << 10;
        const ngram_result cut = rows_on(cpu_places(2), texts, options, ctx);
        expect_same(cut, expected, texts);
        EXPECT_EQ(cut.record.pieces, pieces + 1);
        ctx.memory_bytes = std::uint64_t{2 * 700} << 10;
        const ngram_result on_one = rows_on(cpu_places(2), texts, options, ctx);
        expect_same(on_one, expected, texts);
        EXPECT_EQ(on_one.record.pieces, 1U);
    }
}

}  // namespace
}  // namespace quern::several_places_test
