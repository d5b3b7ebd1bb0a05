// SPDX-License-Identifier: Apache-2.0
// The walk over disjoint grams in parts, and bitmaps made on a GPU: bit for bit those of the CPU.
#include "ops/near_duplicates/filter/device_sketcher.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "on_each_place.hpp"
#include "ops/near_duplicates/filter/gram_walk.hpp"

namespace quern::device_sketcher_test {
namespace {

using namespace near_duplicates_detail;

/// Which units begin a gram of the walk, one after another.
std::vector<bool> serial_walk(const std::vector<unsigned>& lengths) {
    std::vector<bool> met(lengths.size());
    for (std::size_t i = 0; i < lengths.size(); i += std::max(lengths[i], 1u)) met[i] = lengths[i] != 0;
    return met;
}

TEST(gram_walks, in_parts_meet_the_grams_of_one_walk) {
    EXPECT_TRUE(rc::check([] {
        const auto part = *rc::gen::inRange<unsigned>(1, 33);
        const auto lengths = *rc::gen::container<std::vector<unsigned>>(rc::gen::element(0u, 3u, 4u, 5u, 6u));
        const std::size_t parts = (lengths.size() + part - 1) / part;
        std::vector<walk_map> maps;
        for (std::size_t p = 0; p < parts; ++p)
            maps.push_back(map_of_walk(
                part, [&](unsigned i) { return p * part + i < lengths.size() ? lengths[p * part + i] : 0; }));
        std::vector<bool> met(lengths.size());
        walk_map before;
        for (std::size_t p = 0; p < parts; ++p) {
            for (std::size_t i = p * part + before(0); i < std::min(lengths.size(), (p + 1) * part);
                 i += std::max(lengths[i], 1u))
                met[i] = lengths[i] != 0;
            before = before.then(maps[p]);
        }
        RC_ASSERT(met == serial_walk(lengths));
    }));
}

TEST(gram_walks, maps_compose_in_any_grouping) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        std::mt19937 random(seed);
        const auto some = [&] {
            walk_map map;
            for (unsigned s = 0; s < walk_map::states; ++s)
                map.set(s, static_cast<unsigned>(random() % walk_map::states));
            return map;
        };
        const walk_map a = some(), b = some(), c = some();
        RC_ASSERT(a.then(b).then(c).bits() == a.then(b.then(c)).bits());
        RC_ASSERT(walk_map().then(a).bits() == a.bits());
        RC_ASSERT(a.then(walk_map()).bits() == a.bits());
        for (unsigned s = 0; s < walk_map::states; ++s) RC_ASSERT(a.then(b)(s) == b(a(s)));
    }));
}

template <class Unit>
struct sample_texts {
    std::vector<Unit> units;
    std::vector<std::uint64_t> offsets{0};

    std::size_t size() const { return offsets.size() - 1; }
    std::span<const Unit> text(std::size_t i) const {
        return std::span(units).subspan(offsets[i], offsets[i + 1] - offsets[i]);
    }
    template <class UnitAt>
    void add(std::size_t length, const UnitAt& unit_at) {
        for (std::size_t i = 0; i < length; ++i) units.push_back(static_cast<Unit>(unit_at(i)));
        offsets.push_back(units.size());
    }
};

/// Texts by ascending length: words, one letter, two letters, any units, a period.
template <class Unit>
sample_texts<Unit> samples() {
    std::mt19937 random(1);
    sample_texts<Unit> made;
    std::vector<std::size_t> lengths{0,    1,    2,    3,    4,    5,    6,    7,    15,   16,  17,
                                     31,   63,   64,   65,   127,  128,  129,  255,  511,  512, 1023,
                                     1024, 2047, 2048, 4094, 4095, 4096, 4097, 8191, 8192, 8193};
    if (!tested_with().small_sizes) lengths.insert(lengths.end(), {16384, 40000, 131072, 300001});
    for (const std::size_t n : lengths) {
        const std::string words = "the quick brown fox jumps over a lazy dog and then it sleeps ";
        std::size_t at = 0;
        made.add(n, [&](std::size_t) {
            if (random() % 6 == 0) at = random() % words.size();
            return static_cast<unsigned char>(words[at++ % words.size()]);
        });
        made.add(n, [](std::size_t) { return 'a'; });
        made.add(n, [&](std::size_t) { return 'a' + random() % 2; });
        made.add(n, [&](std::size_t) { return random() % (sizeof(Unit) == 1 ? 256 : 0x110100); });
        made.add(n, [](std::size_t i) { return i % 7 == 0 ? 0 : i % 250; });
    }
    return made;
}

template <class Unit>
gram_rules rules_of(const sample_texts<Unit>& texts, bool learnt) {
    cpu_place place(context::cpu(2));
    std::vector<std::uint8_t> sample;
    for (std::size_t i = 0; i < texts.units.size(); ++i)
        if (sample.size() < (std::size_t{1} << 17)) sample.push_back(folded(texts.units[i]));
    return gram_rules(place, learnt ? std::span<const std::uint8_t>(sample) : std::span<const std::uint8_t>(),
                      min_scale, 20);
}

template <class Tested>
class device_sketcher_test : public on_place<Tested> {
  protected:
    template <class Unit>
    void expect_the_same_bitmaps(bool learnt) {
        const sample_texts<Unit> texts = samples<Unit>();
        const gram_rules rules = rules_of(texts, learnt);
        constexpr std::size_t max_scales = 5;
        std::vector<text_to_sketch> requested;
        std::vector<std::uint64_t> expected;
        std::vector<std::uint32_t> populations;
        gram_sketcher sketcher(rules);
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::span<const Unit> text = texts.text(i);
            const unsigned own = scale_of(text.size());
            // None, its own, one below, and one above, too.
            const unsigned kind = static_cast<unsigned>(i % 4);
            const unsigned first = kind == 0 ? 1 : std::max(min_scale, own - (kind == 2 ? 1 : 0));
            const unsigned last = kind == 0 ? 0 : std::min(own + (kind == 3 ? 2 : 0), 20u);
            requested.push_back({texts.offsets[i], expected.size(), static_cast<std::uint32_t>(text.size()),
                                 static_cast<std::uint32_t>(i * max_scales), static_cast<std::uint8_t>(first),
                                 static_cast<std::uint8_t>(last)});
            sketcher.set(text);
            const auto room = [&](unsigned scale) {
                expected.resize(expected.size() + bitmap_words(scale));
                return expected.data() + expected.size() - bitmap_words(scale);
            };
            sketcher.write_all(own, room(own));
            populations.resize((i + 1) * max_scales, 77);
            for (unsigned scale = last; scale + 1 > first; --scale)
                populations[i * max_scales + last - scale] = sketcher.write_disjoint(scale, room(scale));
        }
        auto units = this->array(texts.units);
        auto bitmaps = this->template output<std::uint64_t>(expected.size());
        auto counts = this->array(std::vector<std::uint32_t>(populations.size(), 77));
        const device_rules on_device(this->place(), rules);
        sketch_on_device<Unit>(this->place(), units.view(), on_device, requested, bitmaps.span(),
                               counts.span());
        EXPECT_EQ(counts.host(), populations);
        const auto found = bitmaps.host();
        for (const text_to_sketch& text : requested) {
            const auto begin = static_cast<std::ptrdiff_t>(text.bitmaps);
            const std::size_t next = static_cast<std::size_t>(&text - requested.data()) + 1;
            const auto end = static_cast<std::ptrdiff_t>(next < requested.size() ? requested[next].bitmaps
                                                                                 : expected.size());
            EXPECT_TRUE(std::equal(expected.begin() + begin, expected.begin() + end, found.begin() + begin))
                << "a text of " << text.length << " units, number " << next - 1;
        }
    }
};
TYPED_TEST_SUITE(device_sketcher_test, tested_places, tested_place_names);

TYPED_TEST(device_sketcher_test, makes_the_bitmaps_of_the_cpu) {
    if constexpr (std::is_same_v<typename TypeParam::place_type, cuda_place>) {
        for (const bool learnt : {false, true}) {
            this->template expect_the_same_bitmaps<std::uint8_t>(learnt);
            this->template expect_the_same_bitmaps<std::uint32_t>(learnt);
        }
    } else {
        GTEST_SKIP() << "only GPUs make bitmaps this way";
    }
}

}  // namespace
}  // namespace quern::device_sketcher_test
