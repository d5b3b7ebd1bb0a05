// SPDX-License-Identifier: Apache-2.0
// Texts that stay on a GPU: batches of any size have the pairs of `exhaustive`, before and after the rules of grams were learnt.
#include "ops/near_duplicates/resident/resident_texts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"

namespace quern::resident_texts_test {
namespace {

using namespace near_duplicates_detail;

struct text_batch {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};

    void add(const std::string& text) {
        bytes += text;
        offsets.push_back(bytes.size());
    }
    text_list list() const { return {bytes, offsets}; }
};

/// Words; near, equal and empty texts; one unit; one letter repeated; bytes that are no characters; around limits of scales.
std::vector<std::string> hostile_texts(std::uint64_t seed, std::size_t count) {
    std::mt19937_64 random(seed);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
        std::string text;
        const auto kind = random() % 16;
        if (kind < 7 && !all.empty()) {
            text = all[random() % all.size()];
            for (std::size_t edits = kind == 0 ? 0 : random() % (text.size() / 10 + 2);
                 edits > 0 && !text.empty(); --edits)
                text[random() % text.size()] =
                    static_cast<char>(random() % (kind == 1 ? 256 : 26) + (kind == 1 ? 0 : 'a'));
        } else if (kind == 7) {
            text = "";
        } else if (kind == 8) {
            text = static_cast<char>(random() % 256);
        } else if (kind == 9) {
            text = std::string(random() % 700, 'a');
        } else {
            constexpr std::size_t lengths[] = {10, 60, 127, 255, 500, 1020, 2047, 4090, 4100, 8190};
            const std::size_t length =
                lengths[random() % (tested_with().small_sizes ? 7 : 10)] + random() % 5;
            while (text.size() < length)
                text += "wd" + std::to_string(random() % 300) +
                        (random() % 20 == 0 ? "\xC3\xA9\xE4\xB8\xAD" : " ");
        }
        all.push_back(text);
    }
    const std::size_t longest = tested_with().small_sizes ? 9000 : 150'000;
    std::string text;
    while (text.size() < longest) text += "wd" + std::to_string(random() % 5000) + " ";
    all.push_back(text);
    text[100] = 'X';
    all.push_back(text);
    return all;
}

template <class Tested>
class resident_texts_test : public on_place<Tested> {
  protected:
    /// The pairs of texts that arrive in batches of `size`; every `refused`-th is compared and not added.
    static std::vector<duplicate_pair> in_batches(const std::vector<std::string>& texts,
                                                  const duplicate_options& options, std::size_t size,
                                                  std::size_t refused) {
        const context ctx = Tested::ctx();
        resident<held_texts> held(ctx, choose_device(ctx, "this test"), options);
        resident_texts* const resident = texts_of(held);
        std::vector<duplicate_pair> found;
        for (std::size_t begin = 0; begin < texts.size();) {
            text_batch batch;
            for (std::size_t i = begin; i < std::min(begin + size, texts.size()); ++i) batch.add(texts[i]);
            const auto sketches = sketch_texts(batch.list(), 0, options.unit, ctx);
            std::vector<resident_pair> pairs;
            const std::size_t count = resident->compare(batch.list(), sketches, true, pairs);
            EXPECT_GE(count, 1U);
            EXPECT_TRUE(std::ranges::is_sorted(pairs));
            for (const resident_pair& p : pairs) {
                const std::size_t earlier = p.is_in_batch ? begin + p.earlier : p.earlier;
                if (p.is_in_batch && earlier % refused == refused - 1) continue;
                found.push_back({static_cast<std::uint32_t>(earlier),
                                 static_cast<std::uint32_t>(begin + p.row), p.distance, p.of});
            }
            for (std::size_t i = 0; i < count; ++i)
                if ((begin + i) % refused != refused - 1)
                    resident->add(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(begin + i));
            begin += count;
        }
        std::ranges::sort(found, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
        return found;
    }
};
TYPED_TEST_SUITE(resident_texts_test, tested_places, tested_place_names);

TYPED_TEST(resident_texts_test, have_the_pairs_of_exhaustive) {
    if constexpr (!std::is_same_v<typename TypeParam::place_type, cuda_place>) {
        resident<held_texts> held(TypeParam::ctx(), choose_device(TypeParam::ctx(), "this test"),
                                  duplicate_options());
        EXPECT_EQ(texts_of(held), nullptr);
    } else {
        constexpr std::size_t refused = 9;
        const auto texts = hostile_texts(1, tested_with().small_sizes ? 60 : 500);
        text_batch all;
        for (const std::string& text : texts) all.add(text);
        for (const edit_unit unit : {edit_unit::byte, edit_unit::character}) {
            for (const decimal threshold : {decimal{1, 100}, decimal{1, 10}, decimal{1, 2}}) {
                duplicate_options options;
                options.unit = unit;
                options.threshold = threshold;
                options.method = duplicate_method::exhaustive;
                std::vector<duplicate_pair> expected;
                for (const duplicate_pair& p :
                     near_duplicates(all.list(), options, {}, TypeParam::ctx()).pairs)
                    if (p.a % refused != refused - 1) expected.push_back(p);
                EXPECT_FALSE(expected.empty());
                for (const std::size_t size : {std::size_t{1}, std::size_t{13}, texts.size()}) {
                    if (size == 1 && tested_with().small_sizes) continue;
                    EXPECT_EQ(this->in_batches(texts, options, size, refused), expected)
                        << threshold.value() << ", batches of " << size;
                }
            }
        }
    }
}

TYPED_TEST(resident_texts_test, grow_past_the_recent_ones_and_learn_new_rules) {
    if constexpr (std::is_same_v<typename TypeParam::place_type, cuda_place>) {
        std::mt19937_64 random(2);
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < (tested_with().small_sizes ? 300u : 20'000u); ++i) {
            std::string text;
            for (std::size_t n = 20 + random() % 200; text.size() < n;)
                text += "wd" + std::to_string(random() % 900) + " ";
            texts.push_back(i % 5 == 4 ? texts[random() % i] + "x" : text);
        }
        text_batch all;
        for (const std::string& text : texts) all.add(text);
        duplicate_options options;
        const auto expected = near_duplicates(all.list(), options, {}, context::cpu(0)).pairs;
        EXPECT_EQ(this->in_batches(texts, options, 999, texts.size() + 1), expected);
    } else {
        GTEST_SKIP() << "only GPUs hold texts";
    }
}

TYPED_TEST(resident_texts_test, without_the_batch_and_added_without_comparing) {
    if constexpr (std::is_same_v<typename TypeParam::place_type, cuda_place>) {
        const context ctx = TypeParam::ctx();
        resident<held_texts> held(ctx, choose_device(ctx, "this test"), duplicate_options());
        resident_texts* const resident = texts_of(held);
        text_batch old, fresh;
        for (const char* text : {"The miller grinds the corn at dawn.", "", "Salt."}) old.add(text);
        for (const char* text :
             {"The miller grinds the corn at dusk", "The miller grinds the corn at dawn!", "", "Salt"})
            fresh.add(text);
        resident->add_all(old.list(), sketch_texts(old.list(), 0, edit_unit::byte, ctx), 70);
        std::vector<resident_pair> pairs;
        EXPECT_EQ(resident->compare(fresh.list(), sketch_texts(fresh.list(), 0, edit_unit::byte, ctx), false,
                                    pairs),
                  4U);
        EXPECT_EQ(pairs, (std::vector<resident_pair>{{1, 70, false, 1, 70}, {2, 71, false, 0, 0}}));
        EXPECT_GT(resident->device_bytes(), 0U);
        EXPECT_EQ(resident->compare({}, {}, true, pairs), 0U);
    } else {
        GTEST_SKIP() << "only GPUs hold texts";
    }
}

}  // namespace
}  // namespace quern::resident_texts_test
