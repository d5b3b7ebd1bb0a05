// SPDX-License-Identifier: Apache-2.0
// Method `automatic` finds the same on one, two and three places, in units of any size, as on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "on_each_place.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/filter/rows_join.hpp"
#include "quern/base/error.hpp"
#include "several_places.hpp"

namespace quern::several_places_test {
namespace {

using namespace near_duplicates_detail;

struct corpus {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};

    void add(const std::string& text) {
        bytes += text;
        offsets.push_back(bytes.size());
    }
    text_list list() const { return {bytes, offsets}; }
};

/// Texts of up to `longest` bytes: new ones, equal ones, and copies with some edits.
corpus near_texts(std::uint64_t seed, std::size_t count, std::size_t longest) {
    std::mt19937_64 random(seed);
    corpus texts;
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        if (random() % 4 == 0) {
            text.resize(random() % (longest + 1));
            for (char& c : text) c = static_cast<char>('a' + random() % 6);
        }
        for (std::uint64_t edits = random() % 4; edits > 0 && !text.empty(); --edits)
            text[random() % text.size()] = static_cast<char>(random() % 3 == 0 ? '\xc3' : 'z');
        texts.add(text);
    }
    return texts;
}

constexpr join_sharing small_units{0, 1, 20'000, 16, 0};

template <class Tested>
class several_places_test : public on_place<Tested> {
  protected:
    static std::vector<chosen_device> choices() {
        std::vector<chosen_device> all;
        for (const std::size_t count : {1, 2, 3}) {
            all.push_back(choose_device(Tested::ctx(), "this test"));
            all.back().more = further_places(all.back(), count - 1);
        }
        return all;
    }
    static std::vector<duplicate_pair> found(const chosen_device& chosen, const corpus& texts,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             const join_sharing& sharing, duplicate_counts& counts,
                                             const context& ctx = Tested::ctx()) {
        std::string where;
        if (options.unit == edit_unit::byte) {
            return find_by_sketches<std::uint8_t>(chosen, texts.list(), {}, options, scope, sharing, ctx,
                                                  counts, where);
        }
        return find_by_sketches<std::uint32_t>(chosen, texts.list(), {}, options, scope, sharing, ctx, counts,
                                               where);
    }
    /// Every number of places finds what the CPU finds, with the same counts.
    void expect_same(const corpus& texts, const duplicate_options& options, const duplicate_scope& scope,
                     const join_sharing& sharing, const context& ctx = Tested::ctx()) {
        const auto truth = near_duplicates(texts.list(), options, scope, context::cpu(2)).pairs;
        std::vector<duplicate_counts> counts;
        for (const chosen_device& chosen : choices()) {
            EXPECT_EQ(found(chosen, texts, options, scope, sharing, counts.emplace_back(), ctx), truth)
                << 1 + chosen.more.size() << " places";
            if (scope.links_only) continue;
            EXPECT_EQ(counts.back().candidates, counts.front().candidates);
            EXPECT_EQ(counts.back().verified, counts.front().verified);
            EXPECT_EQ(counts.back().pairs, counts.front().pairs);
        }
    }
};
TYPED_TEST_SUITE(several_places_test, tested_places, tested_place_names);

TYPED_TEST(several_places_test, find_what_one_finds) {
    const corpus texts = near_texts(1, tested_with().small_sizes ? 300 : 1200, 120);
    for (const edit_unit unit : {edit_unit::byte, edit_unit::character}) {
        // Few old texts are compared on the devices, many on the host.
        for (const duplicate_scope& scope : {duplicate_scope{},
                                             {30, true},
                                             {250, true},
                                             {250, false},
                                             {0, true, true},
                                             {30, true, true},
                                             {0, true, true, true}}) {
            duplicate_options options;
            options.unit = unit;
            this->expect_same(texts, options, scope, small_units);
        }
    }
}

TYPED_TEST(several_places_test, in_tiles) {
    context ctx = TypeParam::ctx();
    ctx.gpu_memory_bytes = (700 << 10) + (std::uint64_t{9} << 20);  // 8 MB of candidates
    this->expect_same(near_texts(2, 900, 120), {}, {}, small_units, ctx);
    this->expect_same(near_texts(2, 900, 120), {}, {400, true}, small_units, ctx);
}

TYPED_TEST(several_places_test, any_texts) {
    EXPECT_TRUE(rc::check("any number of units gives the same", [this] {
        const corpus texts =
            near_texts(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(0, 40),
                       *rc::gen::inRange<std::size_t>(0, 60));
        duplicate_options options;
        options.threshold = {*rc::gen::inRange<std::uint64_t>(1, 500), 1000};
        const auto first_new =
            *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(texts.list().size() + 1));
        this->expect_same(texts, options,
                          {first_new, *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()},
                          {0, 1, *rc::gen::inRange<std::uint64_t>(1, 1000),
                           *rc::gen::inRange<std::size_t>(1, 20), *rc::gen::inRange<std::uint64_t>(0, 1000)});
        RC_ASSERT(!::testing::Test::HasFailure());
    }));
}

TYPED_TEST(several_places_test, few_pairs_are_compared_on_one) {
    chosen_device chosen = this->choices().back();
    std::string logged, where;
    context ctx = TypeParam::ctx();
    ctx.on_log = [&](log_level, std::string_view message) { logged += message; };
    duplicate_counts counts;
    find_by_sketches<std::uint8_t>(chosen, near_texts(3, 20, 30).list(), {}, {}, {}, {}, ctx, counts, where);
    EXPECT_THAT(logged, ::testing::HasSubstr("so few pairs are compared on one device, "));
}

TYPED_TEST(several_places_test, stop_when_requested) {
    const std::atomic<int> stop = 2;
    context ctx = TypeParam::ctx();
    ctx.stop_signal = &stop;
    duplicate_counts counts;
    for (const chosen_device& chosen : this->choices())
        EXPECT_THROW(this->found(chosen, near_texts(4, 300, 60), {}, {}, small_units, counts, ctx),
                     interrupted);
}

TEST(join_units, cover_the_rows_once) {
    const corpus texts = near_texts(5, 1500, 60);
    cpu_place place(context::cpu(2));
    const text_sketches none;
    const sketch_list sketches(place, texts.list(), none, edit_unit::byte, 200);
    const unit_texts<std::uint8_t> units(place, texts.list(), sketches);
    const text_classes classes(place, sketches, 0, sketches.size(), true);
    const gram_rules rules = learn_rules(place, units, classes);
    const join_input<std::uint8_t> input(place, units, sketches, classes, rules, {}, {5, 100}, true);
    for (const std::size_t places : {1, 2, 5}) {
        for (const std::optional<std::uint64_t>& bytes :
             {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(1),
              std::optional<std::uint64_t>(50'000)}) {
            std::uint32_t end = 0;
            for (const class_range& unit : cut_units(input, places, bytes, small_units)) {
                EXPECT_EQ(unit.first, end);
                EXPECT_LT(unit.first, unit.last);
                end = unit.last;
                const class_range held = input.classes_of(unit);
                EXPECT_TRUE(!bytes || held.last - held.first == 1 || input.sizes.bytes(held) <= *bytes);
            }
            EXPECT_EQ(end, input.rows.size());
        }
    }
}

TEST(unit_shares, hand_out_each_unit_once) {
    for (const std::size_t units : {0, 1, 2, 7, 30}) {
        for (const std::size_t places : {1, 2, 3, 8}) {
            unit_shares shares(units, places);
            std::vector<std::size_t> taken;
            std::mt19937_64 random(units + places);
            while (const auto unit = shares.take(random() % places)) taken.push_back(*unit);
            std::ranges::sort(taken);
            std::vector<std::size_t> all(units);
            std::iota(all.begin(), all.end(), 0);
            EXPECT_EQ(taken, all);
        }
    }
    unit_shares shares(8, 2);
    EXPECT_EQ(shares.take(1), 4U);
    for (const std::size_t unit : {0, 1, 2, 3, 7, 6})
        EXPECT_EQ(shares.take(0), unit);  // the last of the other
    shares.stop();
    EXPECT_EQ(shares.take(1), std::nullopt);
}

}  // namespace
}  // namespace quern::several_places_test
