// SPDX-License-Identifier: Apache-2.0
// The scores of many words on every place are those of Model::score one after the other, to the bit; and so are those of
// the kernel's walks, taken by the CPU.
#include "ops/language_model/held_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "on_each_place.hpp"
#include "ops/language_model/random_models.hpp"
#include "ops/language_model/trie_walk.hpp"
#include "quern/base/error.hpp"

namespace quern::held_model_test {
namespace {

struct text {
    std::vector<std::uint32_t> words;
    std::vector<std::uint8_t> begins;
};

/// `one_in`: how often a word has none before it.
text random_text(std::size_t size, std::uint32_t words, unsigned one_in, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    text made;
    for (std::size_t i = 0; i < size; ++i) {
        made.words.push_back(
            random() % 3 == 0 ? 7 % words : static_cast<std::uint32_t>(random() % (1 + random() % words)));
        made.begins.push_back(random() % one_in == 0 ? 1 : 0);
    }
    return made;
}

template <class Model>
std::vector<double> scores_one_by_one(const Model& model, const text& of) {
    std::vector<double> made;
    back_off_model::history history;
    for (std::size_t i = 0; i < of.words.size(); ++i) {
        if (of.begins[i] != 0) history = {};
        made.push_back(model.score(of.words[i], history));
    }
    return made;
}

template <class Trie>
std::vector<double> scores_by_walks(const Trie& trie, const text& of) {
    std::vector<double> made;
    std::uint32_t own[back_off_model::max_order], last[back_off_model::max_order];
    unsigned last_known = 0;
    for (std::size_t i = 0; i < of.words.size(); ++i) {
        const unsigned history = history_size(of.begins.data(), i, trie.order);
        const unsigned known = walk(trie, of.words.data(), i, history, own, 1);
        const unsigned before = history == 0 ? 0 : std::min(last_known, trie.order - 1);
        made.push_back(logarithm_of(known, before, probabilities_of<Trie>{trie, own, 1},
                                    back_offs_of<Trie>{trie, last, 1}));
        std::copy_n(own, known, last);
        last_known = known;
    }
    return made;
}

plain_trie trie_of(const back_off_model& model, std::vector<plain_trie::level>& levels) {
    for (unsigned n = 1; n <= model.order(); ++n) {
        const auto of = model.level_of(n);
        levels.push_back(
            {of.words.data(), of.logarithms.data(), of.back_offs.data(), of.children.data(), model.size(n)});
    }
    return {levels.data(), model.order()};
}

TEST(trie_walk, scores_are_those_of_the_model) {
    for (const unsigned order : {1U, 2U, 3U, 5U, 9U}) {
        for (const std::uint32_t words : {1U, 9U, 3000U}) {
            const back_off_model model = testing::random_model(order, words, 8000, order % 2 == 0, order);
            const text of = random_text(3000, words, 30, order + words);
            std::vector<plain_trie::level> levels;
            EXPECT_EQ(scores_by_walks(trie_of(model, levels), of), scores_one_by_one(model, of));
            for (const unsigned bits : {0U, 8U}) {
                const testing::aligned_bytes bytes(compact_model::encode(model, bits));
                const compact_model compact(bytes.view());
                EXPECT_EQ(scores_by_walks(compact_trie{compact.levels().data(), order}, of),
                          scores_one_by_one(compact, of))
                    << order << " " << words << " " << bits;
            }
        }
    }
}

TEST(trie_walk, nodes_with_many_children) {
    const back_off_model model = testing::model_with_many_children();
    const testing::aligned_bytes bytes(compact_model::encode(model, 0));
    const compact_model compact(bytes.view());
    text of;
    for (std::uint32_t w = 0; w < 210; ++w)
        for (const std::uint32_t v : {0U, 1U, 2U, 77U, 5998U, 5999U})
            for (const std::uint32_t word : {v, w, 0U}) {
                of.begins.push_back(of.words.size() % 3 == 0 ? 1 : 0);
                of.words.push_back(word);
            }
    EXPECT_EQ(scores_by_walks(compact_trie{compact.levels().data(), 3}, of), scores_one_by_one(model, of));
}

template <class Tested>
class held_model_test : public on_place<Tested> {
  public:
    using place_type = typename Tested::place_type;

    std::vector<double> scores(held_model<place_type>& held, const text& of) {
        auto words = this->array(of.words, beginning::one_off);
        auto begins = this->array(of.begins, beginning::one_off);
        auto made = this->template output<double>(of.words.size());
        held.score(words.view(), begins.view(), made.span());
        std::vector<double> again(of.words.size());
        held.score_host(of.words, of.begins, again);
        EXPECT_EQ(made.host(), again);
        return again;
    }
    void check(const any_ngrams& model, const text& of) {
        cpu_place host(context::cpu());
        held_model<place_type> held(this->place(), host, model);
        std::visit([&](const auto* m) { EXPECT_EQ(scores(held, of), scores_one_by_one(*m, of)); }, model);
    }
};
TYPED_TEST_SUITE(held_model_test, tested_places, tested_place_names);

TYPED_TEST(held_model_test, small) {  // for checkers, too
    const back_off_model model = testing::random_model(3, 40, 300, true, 3);
    const testing::aligned_bytes bytes(compact_model::encode(model, 4));
    const compact_model compact(bytes.view());
    for (const std::size_t size : {0U, 1U, 2U, 126U, 127U, 128U, 129U, 254U, 255U, 600U}) {
        const text of = random_text(size, 40, 9, size);
        this->check(&model, of);
        this->check(&compact, of);
    }
}

TYPED_TEST(held_model_test, every_order_and_form) {
    if (tested_with().small_sizes) GTEST_SKIP() << "small has the kernels";
    for (const unsigned order : {1U, 2U, 5U, 32U}) {
        constexpr std::uint32_t words = 3000;
        const back_off_model model =
            testing::random_model(order, words, order == 32 ? 300 : 10000, order == 2, order);
        const testing::aligned_bytes bytes(compact_model::encode(model, 0)),
            fewer(compact_model::encode(model, 8));
        const compact_model compact(bytes.view()), quantised(fewer.view());
        // Words that all have none before them, some, and long histories.
        for (const unsigned one_in : {1U, 20U, 100000U}) {
            const text of = random_text(12000, words, one_in, order);
            this->check(&model, of);
            this->check(&compact, of);
            this->check(&quantised, of);
        }
    }
}

TYPED_TEST(held_model_test, nodes_with_many_children) {
    const back_off_model model = testing::model_with_many_children();
    const testing::aligned_bytes bytes(compact_model::encode(model, 0));
    const compact_model compact(bytes.view());
    text of = random_text(6000, 210, 1000, 1);
    for (std::size_t i = 2; i < of.words.size(); i += 3) of.words[i] = 0;
    this->check(&compact, of);
    this->check(&model, of);
}

TYPED_TEST(held_model_test, sizes_that_differ) {
    const back_off_model model = testing::random_model(2, 9, 20, true, 1);
    cpu_place host(context::cpu());
    held_model<typename TestFixture::place_type> held(this->place(), host, &model);
    auto words = this->array(std::vector<std::uint32_t>(5));
    auto begins = this->array(std::vector<std::uint8_t>(4));
    auto made = this->template output<double>(5);
    EXPECT_THROW(held.score(words.view(), begins.view(), made.span()), usage_error);
}

}  // namespace
}  // namespace quern::held_model_test
