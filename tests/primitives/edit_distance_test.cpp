// SPDX-License-Identifier: Apache-2.0
// Every pair is computed with the bounds 0, d − 1, d, d + 1, one far beyond and some between, in both directions: the
// narrow methods, the wide ones and the point where they give up must all agree with the whole table.
#include "primitives/edit_distance/edit_distance.hpp"

#include <rapidcheck.h>

#include <string_view>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "quern/base/error.hpp"
#include "reference/edit_distance_reference.hpp"

namespace quern::edit_distance_test {
namespace {

using primitives::beyond_bound;
using primitives::bounded_pair;

template <class Unit>
using text = std::vector<Unit>;

template <class Unit>
struct string_list {
    std::vector<Unit> units;
    std::vector<std::uint64_t> offsets{0};

    std::uint32_t add(const text<Unit>& string) {
        units.insert(units.end(), string.begin(), string.end());
        offsets.push_back(units.size());
        return static_cast<std::uint32_t>(offsets.size() - 2);
    }
};

template <class Unit>
text<Unit> text_of(std::string_view characters) {
    return text<Unit>(characters.begin(), characters.end());
}

/// Letters 0 … `letters` − 1, of 32 bits spread over all of them, so that they fall together in no table.
template <class Unit>
Unit letter(std::uint64_t i) {
    return static_cast<Unit>(sizeof(Unit) == 1 ? i : i * 0x10fedu);
}
template <class Unit>
text<Unit> random_text(std::mt19937_64& random, std::size_t size, std::uint64_t letters) {
    text<Unit> made(size);
    for (Unit& unit : made) unit = letter<Unit>(random() % letters);
    return made;
}

/// With that many edits, anywhere or (`clustered`) close together.
template <class Unit>
text<Unit> edited(std::mt19937_64& random, text<Unit> from, std::size_t edits, std::uint64_t letters,
                  bool clustered = false) {
    const std::size_t centre = random() % (from.size() + 1);
    // One pass, because edits in the middle of long strings are slow: the edits before each unit.
    std::vector<std::size_t> places(edits);
    for (std::size_t& place : places)
        place = clustered ? std::min(from.size(), centre + random() % 64) : random() % (from.size() + 1);
    std::sort(places.begin(), places.end());
    text<Unit> made;
    std::size_t next = 0;
    for (std::size_t i = 0; i <= from.size(); ++i) {
        bool keep = i < from.size();
        for (; next < edits && places[next] == i; ++next) {
            const std::uint64_t kind = random() % 3;
            if (kind != 0) made.push_back(letter<Unit>(random() % letters));
            if (kind != 1) keep = false;
        }
        if (keep) made.push_back(from[i]);
    }
    return made;
}

/// Pairs whose distances are known, computed with many bounds.
template <class Unit>
struct queries {
    string_list<Unit> strings;
    std::vector<bounded_pair> pairs;
    std::vector<std::uint32_t> expected;

    void ask(std::uint32_t a, std::uint32_t b, std::uint32_t distance, std::uint32_t bound) {
        const std::uint32_t result = distance <= bound ? distance : beyond_bound;
        pairs.push_back({a, b, bound}), expected.push_back(result);
        pairs.push_back({b, a, bound}), expected.push_back(result);
    }
    void ask(const text<Unit>& a, const text<Unit>& b, std::uint32_t distance) {
        const std::uint32_t first = strings.add(a), second = strings.add(b);
        for (const std::uint32_t bound : {0u, 1u, distance / 2, distance, distance + 1,
                                          distance + distance / 3, 2 * distance + 10, 0x7fffffffu})
            ask(first, second, distance, bound);
        if (distance > 0) ask(first, second, distance, distance - 1);
    }
    void ask(const text<Unit>& a, const text<Unit>& b) { ask(a, b, reference::edit_distance(a, b)); }
};

/// The pairs of Make<Unit>; made once, because the whole tables take longer than everything else here.
template <class Make>
const auto& made_once() {
    static const auto queries = Make::made();
    return queries;
}

template <class Tested>
class edit_distance_test : public on_place<Tested> {
  protected:
    template <class Unit>
    void check(const queries<Unit>& requested) {
        const auto units = this->array(requested.strings.units);
        const auto offsets = this->array(requested.strings.offsets);
        const auto pairs = this->array(requested.pairs);
        auto distances = this->template output<std::uint32_t>(requested.pairs.size());
        primitives::edit_distances<Unit>(this->place(), units.view(), offsets.view(), pairs.view(),
                                         distances.span());
        const auto found = distances.host();
        for (std::size_t i = 0; i < found.size(); ++i) {
            const auto [a, b, bound] = requested.pairs[i];
            const auto length = [&](std::uint32_t s) {
                return requested.strings.offsets[s + 1] - requested.strings.offsets[s];
            };
            ASSERT_EQ(found[i], requested.expected[i])
                << "pair " << i << " of strings " << a << " and " << b << ", lengths " << length(a) << " and "
                << length(b) << ", bound " << bound << ", units of " << sizeof(Unit) << " bytes";
        }
    }

    template <template <class> class Make>
    void check_both() {
        check(made_once<Make<std::uint8_t>>());
        check(made_once<Make<std::uint32_t>>());
    }
};
TYPED_TEST_SUITE(edit_distance_test, tested_places, tested_place_names);

template <class Unit>
struct by_hand {
    static queries<Unit> made() {
        queries<Unit> requested;
        const auto ask = [&](std::string_view a, std::string_view b, std::uint32_t distance) {
            requested.ask(text_of<Unit>(a), text_of<Unit>(b), distance);
        };
        ask("", "", 0);
        ask("", "a", 1);
        ask("", "four", 4);
        ask("a", "a", 0);
        ask("a", "b", 1);
        ask("ab", "ba", 2);
        ask("kitten", "sitting", 3);
        ask("intention", "execution", 5);
        ask("abcdef", "bcdefa", 2);
        ask("aaaa", "aa", 2);
        ask("xaaaaaaaaay", "aaaaaaaaa", 2);
        requested.ask({0, 255, 0, 0}, {255, 0, 0, 255});
        if constexpr (sizeof(Unit) == 4) {
            requested.ask({0x1f600, 0x10ffff, 'a', 0}, {0x1f600, 'a', 0, 0x10000});
            requested.ask({0xffffffff, 0, 0xffffffff}, {0, 0xffffffff}, 1);
        }
        return requested;
    }
};
TYPED_TEST(edit_distance_test, matches_what_is_known) {
    this->template check_both<by_hand>();
    this->check(queries<std::uint8_t>());
}

/// Lengths around every power that may matter to a word, a vector, a warp or a tile.
template <class Unit>
struct around_words {
    static queries<Unit> made() {
        std::mt19937_64 random(3);
        queries<Unit> requested;
        std::vector<std::size_t> lengths = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513};
        if (!tested_with().small_sizes) lengths.insert(lengths.end(), {1023, 1024, 1025, 2047, 2048, 2049});
        for (const std::size_t length : lengths) {
            for (const std::uint64_t letters : {2, 20}) {
                const auto a = random_text<Unit>(random, length, letters);
                requested.ask(a, random_text<Unit>(random, length, letters));
                requested.ask(a, random_text<Unit>(random, length - length / 4, letters));
                requested.ask(a, edited(random, a, 1 + length / 20, letters));
            }
        }
        for (const std::size_t length : {1, 40, 100, 200})  // short with long
            requested.ask(random_text<Unit>(random, length, 4), random_text<Unit>(random, 600, 4));
        return requested;
    }
};
TYPED_TEST(edit_distance_test, matches_the_table_around_words) {
    this->template check_both<around_words>();
}

template <class Unit>
struct repeats {
    static queries<Unit> made() {
        std::mt19937_64 random(5);
        queries<Unit> requested;
        const std::size_t max = tested_with().small_sizes ? 200 : 1500;
        const text<Unit> equal(max, letter<Unit>(1));
        requested.ask(equal, text<Unit>(max / 3, letter<Unit>(1)));
        requested.ask(equal, text<Unit>(max - 70, letter<Unit>(2)));
        for (const std::size_t period : {2, 5, 64, 65}) {
            const auto once = random_text<Unit>(random, period, 3);
            text<Unit> a;
            while (a.size() < max) a.insert(a.end(), once.begin(), once.end());
            auto turned = a;
            std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(period / 2),
                        turned.end());
            requested.ask(a, turned);
            requested.ask(a, equal);
            requested.ask(a, edited(random, a, 40, 3));
            requested.ask(a, text<Unit>(a.begin() + 1, a.end() - 90));
        }
        return requested;
    }
};
TYPED_TEST(edit_distance_test, matches_the_table_on_repeats) {
    this->template check_both<repeats>();
}

/// Every number of edits, spread and close together; all units distinct, too.
template <class Unit>
struct rates {
    static queries<Unit> made() {
        std::mt19937_64 random(7);
        queries<Unit> requested;
        const std::size_t max = tested_with().small_sizes ? 300 : 2000;
        for (std::size_t edits = 1; edits <= max; edits = edits * 2 + random() % edits) {
            for (const bool clustered : {false, true}) {
                const std::size_t length = max / 2 + random() % max;
                const std::uint64_t letters = 2 + random() % 200;
                const auto a = random_text<Unit>(random, length, letters);
                requested.ask(a, edited(random, a, edits, letters, clustered));
            }
        }
        text<Unit> rising(max);
        for (std::size_t i = 0; i < max; ++i) rising[i] = static_cast<Unit>(i);
        requested.ask(rising, edited(random, rising, 150, 250));
        requested.ask(rising, text<Unit>(rising.rbegin(), rising.rend()));
        return requested;
    }
};
TYPED_TEST(edit_distance_test, matches_the_table_at_every_rate) {
    this->template check_both<rates>();
}

/// Letters that occur nowhere else, inserted or substituted: each costs exactly one edit. And strings without a common
/// letter: as many edits as the longer one has letters.
template <class Unit>
struct long_strings {
    static queries<Unit> made() {
        std::mt19937_64 random(11);
        queries<Unit> requested;
        const std::size_t length = tested_with().small_sizes ? 3'000 : 100'000;
        const auto a = random_text<Unit>(random, length, 200);
        for (const std::size_t edits : {1, 20, 40, 300, 1500}) {
            text<Unit> b;
            for (std::size_t i = 0; i < length; ++i) {
                const bool here = i * edits / length != (i + 1) * edits / length;
                if (here) b.push_back(letter<Unit>(201 + i % 50));
                if (!here || i % 3 != 0) b.push_back(a[i]);
            }
            requested.ask(a, b, static_cast<std::uint32_t>(edits));
        }
        const auto low = random_text<Unit>(random, 20'000, 100);
        text<Unit> high = random_text<Unit>(random, 18'000, 100);
        for (Unit& unit : high) unit = letter<Unit>(unit / letter<Unit>(1) + 100u);
        requested.ask(low, high, 20'000);
        return requested;
    }
};
TYPED_TEST(edit_distance_test, finds_few_edits_in_long_strings) {
    this->template check_both<long_strings>();
}

/// Tens of thousands of pairs of all lengths at once, many of one string.
template <class Unit>
struct many_pairs {
    static queries<Unit> made() {
        std::mt19937_64 random(13);
        queries<Unit> requested;
        const std::size_t count = tested_with().small_sizes ? 30 : 160;
        std::vector<text<Unit>> strings;
        for (std::size_t s = 0; s < count; ++s) {
            const std::size_t length = random() % (std::size_t{1} << random() % 10);
            strings.push_back(s < 3 || random() % 3 == 0
                                  ? random_text<Unit>(random, length, 4)
                                  : edited(random, strings[random() % s], random() % 20, 4));
            requested.strings.add(strings.back());
        }
        for (std::uint32_t a = 0; a < count; ++a)
            for (std::uint32_t b = 0; b <= a; ++b)
                requested.ask(a, b, reference::edit_distance(strings[a], strings[b]),
                              static_cast<std::uint32_t>(random() % 200));
        return requested;
    }
};
TYPED_TEST(edit_distance_test, takes_many_pairs_of_all_lengths) {
    this->template check_both<many_pairs>();
}

/// d(x, x) = 0, d(x, y) = d(y, x), d(x, z) ≤ d(x, y) + d(y, z); a bound truncates and changes nothing else.
TYPED_TEST(edit_distance_test, is_a_metric_that_bounds_cut) {
    EXPECT_TRUE(rc::check("distances are a metric", [this] {
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        string_list<std::uint8_t> strings;
        const std::uint64_t letters = 1 + random() % 6;
        const auto x = random_text<std::uint8_t>(random, random() % 1200, letters);
        const auto y = edited(random, x, random() % 200, letters),
                   z = edited(random, y, random() % 200, letters);
        for (const auto& s : {x, y, z}) strings.add(s);
        const auto bound = static_cast<std::uint32_t>(random() % 300);
        std::vector<bounded_pair> pairs;
        for (const std::uint32_t trimmed : {0x7fffffffu, bound})
            for (const auto& [a, b] : {std::pair{0u, 0u}, {0u, 1u}, {1u, 0u}, {1u, 2u}, {0u, 2u}})
                pairs.push_back({a, b, trimmed});
        const auto units = this->array(strings.units);
        const auto offsets = this->array(strings.offsets);
        const auto requested = this->array(pairs);
        auto distances = this->template output<std::uint32_t>(pairs.size());
        primitives::edit_distances<std::uint8_t>(this->place(), units.view(), offsets.view(),
                                                 requested.view(), distances.span());
        const auto d = distances.host();
        RC_ASSERT(d[0] == 0u);
        RC_ASSERT(d[1] == d[2]);
        RC_ASSERT(d[4] <= d[1] + d[3]);
        for (std::size_t i = 0; i < 5; ++i) RC_ASSERT(d[5 + i] == (d[i] <= bound ? d[i] : beyond_bound));
    }));
}

TYPED_TEST(edit_distance_test, refuses_sizes_that_differ) {
    const auto units = this->array(text_of<std::uint8_t>("ab"));
    const auto offsets = this->array(std::vector<std::uint64_t>{0, 1, 2});
    const auto pairs = this->array(std::vector<bounded_pair>{{0, 1, 1}});
    auto distances = this->template output<std::uint32_t>(2);
    EXPECT_THROW(primitives::edit_distances<std::uint8_t>(this->place(), units.view(), offsets.view(),
                                                          pairs.view(), distances.span()),
                 usage_error);
}

class edit_distance_cpu_test : public edit_distance_test<cpu_one_thread> {};
/// The strips of every instruction set, which have different heights.
TEST_F(edit_distance_cpu_test, agrees_on_every_target) {
    on_every_target([&] {
        check_both<around_words>();
        check_both<rates>();
        check_both<many_pairs>();
    });
}
/// One pair after another gives the same as all of them together.
TEST_F(edit_distance_cpu_test, takes_pairs_one_by_one) {
    std::mt19937_64 random(11);
    string_list<std::uint8_t> strings;
    std::vector<bounded_pair> pairs;
    for (std::uint32_t i = 0; i < 200; ++i) {
        const auto text = random_text<std::uint8_t>(random, random() % (i % 4 == 0 ? 3000 : 150), 4);
        const std::uint32_t a = strings.add(text);
        const std::uint32_t b = strings.add(edited(random, text, random() % 60, 4));
        pairs.push_back({a, b, static_cast<std::uint32_t>(random() % 70)});
    }
    std::vector<std::uint32_t> distances(pairs.size());
    primitives::edit_distances<std::uint8_t>(place(), strings.units, strings.offsets, pairs, distances);
    primitives::pair_aligner<std::uint8_t> aligner(place());
    const auto string = [&](std::uint32_t s) {
        return std::span<const std::uint8_t>(strings.units)
            .subspan(strings.offsets[s], strings.offsets[s + 1] - strings.offsets[s]);
    };
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto [a, b, bound] = pairs[i];
        ASSERT_EQ(aligner.distance(string(a), string(b), bound), distances[i]);
    }
    EXPECT_TRUE(std::ranges::count(distances, beyond_bound) > 10);
    EXPECT_TRUE(std::ranges::count(distances, beyond_bound) < 190);
}
TEST_F(edit_distance_cpu_test, refuses_what_is_out_of_range) {
    const std::vector<std::uint8_t> units(2);
    const std::vector<std::uint64_t> offsets = {0, 1, 2}, huge = {0, 1, std::uint64_t{1} << 32};
    std::vector<std::uint32_t> distances(1);
    const auto call = [&](bounded_pair pair, const std::vector<std::uint64_t>& where) {
        const std::vector<bounded_pair> pairs = {pair};
        primitives::edit_distances<std::uint8_t>(place(), units, where, pairs, distances);
    };
    EXPECT_NO_THROW(call({0, 1, 0x7fffffff}, offsets));
    EXPECT_THROW(call({0, 1, 0x80000000}, offsets), usage_error);
    EXPECT_THROW(call({0, 2, 1}, offsets), usage_error);
    EXPECT_THROW(call({0, 1, 1}, huge), usage_error);
}

}  // namespace
}  // namespace quern::edit_distance_test
