// SPDX-License-Identifier: Apache-2.0
// Counting and weighing against the double loop of tests/reference, on every place.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <random>

#include "../../on_each_place.hpp"
#include "../../reference/word_counting_reference.hpp"
#include "../../temporary_folder.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::context_counter_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Words of a Zipf-like distribution, including unknown ones and ends of passages.
std::vector<std::uint32_t> random_text(std::size_t size, std::uint32_t words, std::uint64_t seed,
                                       unsigned unknown_in = 10, unsigned end_in = 15) {
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> text(size);
    for (std::uint32_t& id : text) {
        const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
        id = static_cast<std::uint32_t>(std::pow(static_cast<double>(words), unit)) - 1;
        if (unknown_in != 0 && random() % unknown_in == 0) id = unknown_word;
        if (end_in != 0 && random() % end_in == 0) id = passage_end;
    }
    return text;
}

void expect_valid(const context_matrix& matrix, std::uint32_t words, std::uint32_t relations) {
    ASSERT_EQ(matrix.words, words);
    ASSERT_EQ(matrix.relations, relations);
    ASSERT_EQ(matrix.offsets.size(), words + std::size_t{1});
    ASSERT_EQ(matrix.offsets.front(), 0);
    ASSERT_EQ(matrix.offsets.back(), matrix.columns.size());
    ASSERT_EQ(matrix.columns.size(), matrix.weights.size());
    for (std::uint32_t w = 0; w < words; ++w)
        for (std::uint64_t i = matrix.offsets[w]; i < matrix.offsets[w + 1]; ++i) {
            ASSERT_LT(matrix.columns[i], words * std::uint64_t{relations});
            ASSERT_TRUE(i == matrix.offsets[w] || matrix.columns[i - 1] < matrix.columns[i]);
        }
}

void expect_same(const context_matrix& got, const reference::weighted_reference& expected) {
    EXPECT_EQ(got.column_counts, expected.column_counts);
    ASSERT_EQ(got.columns.size(), expected.weights.size());
    std::size_t i = 0;
    std::uint32_t word = 0;
    for (const auto& [cell, weight] : expected.weights) {
        while (got.offsets[word + 1] == i) ++word;
        ASSERT_EQ(word, cell[0]);
        ASSERT_EQ(got.columns[i], cell[1]);
        // The double is within some 10^-15 of the formula, absolutely; then it is rounded once.
        const auto rounded = static_cast<double>(weight);
        ASSERT_NEAR(got.weights[i], rounded, rounded * 0x1p-24 + 0x1p-48) << word << " " << cell[1];
        ++i;
    }
}

void expect_same_bits(const context_matrix& a, const context_matrix& b) {
    EXPECT_EQ(a.offsets, b.offsets);
    EXPECT_EQ(a.columns, b.columns);
    EXPECT_EQ(a.column_counts, b.column_counts);
    ASSERT_EQ(a.weights.size(), b.weights.size());
    EXPECT_TRUE(a.weights.empty() ||
                std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)) == 0);
}

template <class Tested>
constexpr bool tight_memory_spills = std::is_same_v<typename Tested::place_type, cpu_place>;

template <class Tested>
class context_counter_test : public on_place<Tested> {
  protected:
    /// The context of these tests; a counter opens its own place.
    context ctx() const {
        context made = Tested::ctx();
        made.memory_bytes = std::uint64_t{64} << 20;
        made.gpu_memory_bytes = std::uint64_t{256} << 20;
        made.scratch = scratch_.path();
        return made;
    }
    std::uint32_t relations_of(const counting_options& options) const {
        return options.relation == word_relation::position ? 2 * options.window : 1;
    }
    /// In pushes of random size, empty ones too.
    context_matrix count(const std::vector<std::uint32_t>& text, std::uint32_t words,
                         const counting_options& counting, const pmi_options& pmi, const context& on,
                         std::size_t max_at_once = 1000) {
        context_counter counter(words, 0, counting, on);
        std::mt19937_64 random(text.size());
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t size = std::min<std::size_t>(random() % (max_at_once + 1), text.size() - at);
            counter.push(std::span(text).subspan(at, size));
            at += size;
        }
        context_matrix matrix = counter.pmi(pmi);
        record_ = counter.record();
        return matrix;
    }
    void expect_as_reference(const std::vector<std::uint32_t>& text, std::uint32_t words,
                             const counting_options& counting, const pmi_options& pmi, const context& on) {
        const context_matrix got = count(text, words, counting, pmi, on);
        expect_valid(got, words, relations_of(counting));
        const auto counts = reference::count_text(text, counting);
        const auto expected = reference::pmi(counts, words, relations_of(counting), pmi);
        expect_same(got, expected);
        EXPECT_EQ(record_.words_read, text.size() - std::count(text.begin(), text.end(), passage_end));
        EXPECT_EQ(record_.cooccurrences, expected.total);
        EXPECT_EQ(record_.triples, counts.size());
        EXPECT_FALSE(record_.place.empty());
    }
    std::size_t files_left() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(scratch_.path()), {}));
    }

    counting_record record_;
    testing::temporary_folder scratch_;
};
TYPED_TEST_SUITE(context_counter_test, tested_places, tested_place_names);

TYPED_TEST(context_counter_test, a_text_by_hand) {
    // a b a | c b, unknown words at ?
    context_counter counter(3, 0, {.window = 2, .relation = word_relation::position}, this->ctx());
    counter.push(std::vector<std::uint32_t>{0, 1, unknown_word});
    counter.push(std::vector<std::uint32_t>{0, passage_end, 2, 1});
    const context_matrix matrix = counter.pmi({.discount = {0, 1}});
    // -2: b←a (the second); -1: b←a, and b←c; +1: a→b, c→b; +2: b→a. With columns r · 3 + w'.
    EXPECT_THAT(matrix.column_counts, ::testing::ElementsAre(0, 1, 0, 1, 0, 1, 0, 2, 0, 1, 0, 0));
    EXPECT_EQ(counter.record().cooccurrences, 6);
    EXPECT_EQ(counter.record().triples, 6);
    EXPECT_EQ(counter.record().words_read, 6);
    // Only b's left neighbours differ: log(1 · 2 / (2 · 1)) = 0 for either; every other pair has its own relation.
    EXPECT_TRUE(matrix.columns.empty());
}

TYPED_TEST(context_counter_test, every_option_matches_reference) {
    const auto text = random_text(3000, 40, 1);
    for (const auto relation : {word_relation::none, word_relation::position})
        for (const unsigned window : {1, 2, 3, 4, 7, 10})
            for (const bool self : {false, true}) {
                SCOPED_TRACE(::testing::Message()
                             << static_cast<int>(relation) << " " << window << " " << self);
                const counting_options counting{window, relation, self};
                for (const auto kind : {pmi_kind::conditional, pmi_kind::independent})
                    for (const decimal discount :
                         {decimal{0, 1}, decimal{95, 100}, decimal{999999999, 1000000000}})
                        this->expect_as_reference(text, 40, counting, {discount, kind, 0}, this->ctx());
            }
}

TYPED_TEST(context_counter_test, sizes_of_text_and_vocabulary) {
    for (const std::size_t size : test_sizes())
        for (const std::uint32_t words : {1U, 2U, 15U, 16U, 17U, 127U, 128U, 1000U}) {
            if (size > 20'000) continue;  // the reference is slow
            SCOPED_TRACE(::testing::Message() << size << " words of " << words);
            this->expect_as_reference(random_text(size, words, size + words), words, {.window = 3}, {},
                                      this->ctx());
        }
}

TYPED_TEST(context_counter_test, nothing_to_count) {
    for (const std::uint32_t words : {0U, 1U, 5U}) {
        for (const auto& text :
             std::vector<std::vector<std::uint32_t>>{{},
                                                     {passage_end},
                                                     {passage_end, passage_end},
                                                     {unknown_word},
                                                     {unknown_word, unknown_word, passage_end}}) {
            const auto matrix = this->count(text, words, {}, {}, this->ctx());
            expect_valid(matrix, words, 1);
            EXPECT_TRUE(matrix.columns.empty());
            EXPECT_EQ(matrix.column_counts, std::vector<std::uint64_t>(words));
            EXPECT_EQ(this->record_.cooccurrences, 0);
        }
    }
    context_counter untouched(3, 0, {}, this->ctx());
    expect_valid(untouched.pmi({}), 3, 1);
}

TYPED_TEST(context_counter_test, hostile_texts) {
    const std::vector<std::uint32_t> one_word(500, 0), ends(300, passage_end);
    std::vector<std::uint32_t> in_turn(999), alone, far(4000, unknown_word);
    for (std::size_t i = 0; i < in_turn.size(); ++i) in_turn[i] = static_cast<std::uint32_t>(i % 3);
    for (std::uint32_t w = 0; w < 50; ++w) alone.insert(alone.end(), {w, passage_end});
    for (std::size_t i = 0; i < far.size(); i += 5) far[i] = static_cast<std::uint32_t>(i % 7);
    for (const auto& text : {one_word, ends, in_turn, alone, far})
        for (const auto relation : {word_relation::none, word_relation::position})
            for (const bool self : {false, true})
                this->expect_as_reference(text, 50, {5, relation, self}, {{0, 1}, pmi_kind::conditional, 0},
                                          this->ctx());
}

TYPED_TEST(context_counter_test, a_window_longer_than_every_passage) {
    this->expect_as_reference(random_text(2000, 30, 5), 30, {100, word_relation::position, true}, {},
                              this->ctx());
    this->expect_as_reference(random_text(600, 30, 6, 0, 0), 30, {100, word_relation::none, true}, {},
                              this->ctx());
}

TYPED_TEST(context_counter_test, min_weight) {
    const auto text = random_text(5000, 60, 9);
    for (const double least : {0.5, 1.0, 2.5, 100.0}) {
        const pmi_options pmi{{0, 1}, pmi_kind::conditional, least};
        this->expect_as_reference(text, 60, {}, pmi, this->ctx());
    }
}

TYPED_TEST(context_counter_test, memory_that_holds_a_little_at_a_time) {
    const auto text = random_text(200'000, 300, 3, 10, 200);
    for (const auto relation : {word_relation::none, word_relation::position}) {
        const counting_options counting{3, relation, false};
        const auto whole = this->count(text, 300, counting, {}, this->ctx());
        EXPECT_EQ(this->record_.runs_spilled, 0);
        context tight = this->ctx();
        tight.memory_bytes = std::uint64_t{relation == word_relation::none ? 1U : 4U} << 20;
        tight.gpu_memory_bytes = std::uint64_t{3} << 20;
        expect_same_bits(this->count(text, 300, counting, {}, tight), whole);
        EXPECT_GT(this->record_.runs_spilled, 1);
        EXPECT_GT(this->record_.bytes_spilled, 0);
        EXPECT_EQ(this->files_left(), 0);
    }
}

TYPED_TEST(context_counter_test, segments_of_many_lengths) {
    const auto text = random_text(6000, 5, 4, 10, 50);
    const counting_options counting{10, word_relation::none, false};
    const auto whole = this->count(text, 5, counting, {}, this->ctx());
    std::uint64_t max_runs = 0;
    for (std::uint64_t kib = 28; kib < 160; kib += 12) {
        context tight = this->ctx();
        tight.memory_bytes = (kib + (tight.threads > 1 ? 50 : 0)) << 10;
        tight.gpu_memory_bytes = std::uint64_t{3} << 20;
        expect_same_bits(this->count(text, 5, counting, {}, tight), whole);
        max_runs = std::max(max_runs, this->record_.runs_spilled);
    }
    // A GPU's keys of five words never run out of memory: it merges the results of the segments.
    if (tight_memory_spills<TypeParam>) {
        EXPECT_GT(max_runs, 1);
    }
}

TYPED_TEST(context_counter_test, memory_that_holds_no_counters) {
    context tight = this->ctx();
    tight.memory_bytes = 10'000;
    tight.gpu_memory_bytes = 10'000;
    EXPECT_THROW(this->count(random_text(1000, 5000, 1), 5000, {}, {}, tight), out_of_memory);
}

TYPED_TEST(context_counter_test, scratch_that_holds_no_run) {
    context tight = this->ctx();
    tight.memory_bytes = std::uint64_t{1} << 20;
    tight.gpu_memory_bytes = std::uint64_t{3} << 20;
    tight.scratch_bytes = 100;
    EXPECT_THROW(this->count(random_text(200'000, 300, 3), 300, {}, {}, tight), io_error);
    EXPECT_EQ(this->files_left(), 0);
}

TYPED_TEST(context_counter_test, a_stop_is_seen) {
    const std::atomic<int> stop{2};
    context stopped = this->ctx();
    stopped.stop_signal = &stop;
    EXPECT_THROW(this->count(random_text(5000, 30, 3), 30, {}, {}, stopped), interrupted);
}

TYPED_TEST(context_counter_test, a_large_text_has_the_bits_of_one_thread) {
    const auto text = random_text(large_size() / 4, 20'000, 7, 20, 60);
    for (const auto relation : {word_relation::none, word_relation::position}) {
        const counting_options counting{3, relation, false};
        context one = context::cpu(1), here = this->ctx();
        one.scratch = this->scratch_.path();
        one.memory_bytes = here.memory_bytes = std::uint64_t{1} << 30;
        here.gpu_memory_bytes = std::uint64_t{8} << 30;
        const auto expected = this->count(text, 20'000, counting, {}, one, 1 << 20);
        expect_same_bits(this->count(text, 20'000, counting, {}, here, 1 << 20), expected);
    }
}

std::vector<word_triple> random_triples(std::size_t size, std::uint32_t words, std::uint32_t relations,
                                        std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&] {
        return random() % 20 == 0 ? unknown_word
                                  : static_cast<std::uint32_t>(random() % words * (random() % words) / words);
    };
    std::vector<word_triple> triples(size);
    for (word_triple& t : triples)
        t = {draw(), static_cast<std::uint32_t>(random() % relations), draw(), random() % 4};
    return triples;
}

TYPED_TEST(context_counter_test, triples_match_reference) {
    for (const std::size_t size : {0, 1, 2, 100, 5000, 20'000})
        for (const bool self : {false, true})
            for (const auto kind : {pmi_kind::conditional, pmi_kind::independent}) {
                const auto triples = random_triples(size, 70, 5, size);
                context_counter counter(70, 5, {.count_self = self}, this->ctx());
                counter.push(std::span(triples).first(size / 3));
                counter.push(std::span(triples).subspan(size / 3));
                const pmi_options pmi{{95, 100}, kind, 0};
                const auto got = counter.pmi(pmi);
                expect_valid(got, 70, 5);
                const auto counts = reference::count_triples(triples, self);
                expect_same(got, reference::pmi(counts, 70, 5, pmi));
                EXPECT_EQ(counter.record().triples, counts.size());
            }
}

TYPED_TEST(context_counter_test, triples_beyond_memory) {
    const auto triples = random_triples(200'000, 400, 3, 2);
    context tight = this->ctx();
    const auto count = [&](const context& on, std::uint64_t& runs) {
        context_counter counter(400, 3, {}, on);
        counter.push(triples);
        auto matrix = counter.pmi({});
        runs = counter.record().runs_spilled;
        return matrix;
    };
    std::uint64_t runs = 0;
    const auto whole = count(this->ctx(), runs);
    EXPECT_EQ(runs, 0);
    tight.memory_bytes = std::uint64_t{5} << 20;
    expect_same_bits(count(tight, runs), whole);
    EXPECT_GT(runs, 1);
    EXPECT_EQ(this->files_left(), 0);
}

TYPED_TEST(context_counter_test, counts_up_to_two_to_the_63) {
    constexpr std::uint64_t half = std::uint64_t{1} << 62;
    const std::vector<word_triple> max{{0, 0, 1, half}, {1, 0, 0, half - 1}, {2, 0, 1, 1}};
    context_counter fits(3, 1, {}, this->ctx());
    fits.push(max);
    const auto matrix = fits.pmi({});
    expect_same(matrix, reference::pmi(reference::count_triples(max, false), 3, 1, {}));
    for (const std::uint64_t last : {std::uint64_t{2}, half, ~std::uint64_t{0}}) {
        context_counter beyond(3, 1, {}, this->ctx());
        beyond.push(std::vector<word_triple>{{0, 0, 1, half}, {1, 0, 0, half - 1}, {2, 0, 1, last}});
        EXPECT_THAT([&] { beyond.pmi({}); }, ThrowsMessage<usage_error>(HasSubstr("2^63")));
    }
}

TYPED_TEST(context_counter_test, refusals) {
    const context on = this->ctx();
    const auto made = [&](std::uint32_t words, std::uint32_t relations, counting_options options) {
        return context_counter(words, relations, options, on);
    };
    EXPECT_THROW(made(10, 1, {.window = 0}), usage_error);
    EXPECT_THROW(made(10, 1, {.window = 101}), usage_error);
    EXPECT_THROW(made(0xfffffffe, 1, {}), usage_error);
    EXPECT_THROW(made(0x40000000, 4, {}), usage_error);
    EXPECT_THROW(made(0x10000000, 0, {.window = 8, .relation = word_relation::position}), usage_error);

    context_counter counter(10, 2, {}, on);
    EXPECT_THAT(
        [&] {
            counter.push(std::vector<std::uint32_t>{1, 2, 10});
        },
        ThrowsMessage<usage_error>(HasSubstr("word 10 at position 2")));
    EXPECT_THROW(counter.push(std::vector<std::uint32_t>{0xfffffffd}), usage_error);
    EXPECT_THROW(counter.push(std::vector<word_triple>{{0, 2, 1, 1}}), usage_error);
    EXPECT_THROW(counter.push(std::vector<word_triple>{{0, 0, passage_end, 1}}), usage_error);
    EXPECT_THROW(counter.pmi({.discount = {1, 1}}), usage_error);
    EXPECT_THROW(counter.pmi({.discount = {0, 0}}), usage_error);
    EXPECT_THROW(counter.pmi({.min_weight = -1}), usage_error);
    EXPECT_THROW(counter.pmi({.min_weight = std::nan("")}), usage_error);
    // Rejected input has changed nothing.
    counter.push(std::vector<std::uint32_t>{1, 2, 1, 3});
    EXPECT_THROW(counter.push(std::vector<word_triple>{{0, 0, 1, 1}}), usage_error);
    const auto matrix = counter.pmi({});
    expect_same(matrix, reference::pmi(reference::count_text({1, 2, 1, 3}, {}), 10, 1, {}));
    EXPECT_THROW(counter.push(std::vector<std::uint32_t>{1}), usage_error);
    EXPECT_THROW(counter.pmi({}), usage_error);
}

TYPED_TEST(context_counter_test, properties) {
    const bool holds = rc::check("any text, any options, any memory: as the reference", [&] {
        const auto words = *rc::gen::inRange<std::uint32_t>(1, 40);
        const auto text = *rc::gen::container<std::vector<std::uint32_t>>(
            rc::gen::weightedOneOf<std::uint32_t>({{8, rc::gen::inRange<std::uint32_t>(0, words)},
                                                   {1, rc::gen::just(unknown_word)},
                                                   {1, rc::gen::just(passage_end)}}));
        const counting_options counting{*rc::gen::inRange(1U, 11U),
                                        *rc::gen::element(word_relation::none, word_relation::position),
                                        *rc::gen::arbitrary<bool>()};
        const pmi_options pmi{{*rc::gen::inRange<std::uint64_t>(0, 100), 100},
                              *rc::gen::element(pmi_kind::conditional, pmi_kind::independent),
                              *rc::gen::element(0.0, 0.3)};
        context on = this->ctx();
        if (*rc::gen::arbitrary<bool>()) on.memory_bytes = std::uint64_t{64} << 10;
        this->expect_as_reference(text, words, counting, pmi, on);
        RC_ASSERT(!::testing::Test::HasFailure());
    });
    EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace quern::context_counter_test
