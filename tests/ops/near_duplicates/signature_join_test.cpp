// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/papers/signatures/signature_join.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <array>
#include <set>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/papers/signatures/signature_join_bits.hpp"
#include "ops/near_duplicates/texts/texts.hpp"
#include "reference/fuzzy_signature_reference.hpp"
#include "several_places.hpp"
#include "signature_texts.hpp"

namespace quern::signature_join_test {
namespace {

using namespace near_duplicates_detail;
using pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

pairs as_pairs(const std::vector<candidate>& found) {
    pairs all;
    for (const candidate& c : found) all.emplace_back(c.a, c.b);
    return all;
}

/// Signatures without texts, which some hashes could produce.
struct made_signatures {
    std::vector<std::uint8_t> letters, levels;
    std::vector<std::uint64_t> offsets{0};
    std::vector<fuzzy_signature> plain;  ///< letters as bytes 0 to 63

    void add(unsigned level, const std::string& at_level, const std::string& at_double) {
        for (const std::string& s : {at_level, at_double}) {
            letters.insert(letters.end(), s.begin(), s.end());
            offsets.push_back(letters.size());
        }
        levels.push_back(static_cast<std::uint8_t>(level));
        plain.push_back({std::uint64_t{1} << level, at_level, at_double});
    }
};

/// Strings of up to `longest` of the first `alphabet` letters, near copies among them, at three levels.
made_signatures make_signatures(std::uint64_t seed, std::size_t count, unsigned longest, unsigned alphabet) {
    std::mt19937_64 random(seed);
    std::vector<std::string> pool;
    const auto next = [&] {
        if (!pool.empty() && random() % 2 == 0) {
            std::string s = pool[random() % pool.size()];
            for (auto edits = random() % (2 + longest / 8); edits > 0 && !s.empty(); --edits) {
                const std::size_t at = random() % s.size();
                if (random() % 3 == 0)
                    s.erase(at, 1);
                else if (random() % 2 == 0 && s.size() < longest)
                    s.insert(at, 1, static_cast<char>(random() % alphabet));
                else
                    s[at] = static_cast<char>(random() % alphabet);
            }
            return s;
        }
        std::string s(random() % (longest + 1), '\0');
        for (char& c : s) c = static_cast<char>(random() % alphabet);
        pool.push_back(s);
        return s;
    };
    made_signatures made;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string letters = next();
        made.add(static_cast<unsigned>(random() % 3), letters, next());
    }
    return made;
}

/// By segments, in any number of parts; fewer numbers of many signatures.
std::vector<segments_choice> segments_choices(std::size_t signatures) {
    std::vector<segments_choice> choices;
    for (const unsigned parts : {0u, 1u, 2u, 3u, 32u})
        if ((!tested_with().small_sizes && signatures < 2000) || parts == 1 || parts == 3)
            choices.push_back({segments_use::always, parts});
    return choices;
}

template <class Tested>
class signature_join_test : public on_place<Tested> {
  protected:
    std::vector<candidate> join(const made_signatures& made, const duplicate_options& options,
                                const duplicate_scope& scope, duplicate_counts& counts) {
        const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
        const auto letters = this->array(made.letters);
        const auto levels = this->array(made.levels);
        const auto offsets = this->array(made.offsets);
        if constexpr (std::is_same_v<typename Tested::place_type, cpu_place>) {
            return join_signatures(this->place(),
                                   signature_view{letters.view(), offsets.view(), levels.view()}, bounds,
                                   scope, counts);
        } else {
            const device_signatures view{letters.view(), offsets.view(), levels.view()};
            const auto all =
                join_signatures(this->place(), view, bounds, scope, counts, {segments_use::never});
            for (const segments_choice& choice : segments_choices(made.levels.size())) {
                duplicate_counts by_segments;
                EXPECT_EQ(as_pairs(join_signatures(this->place(), view, bounds, scope, by_segments, choice)),
                          as_pairs(all))
                    << "by segments in " << choice.parts << " parts";
                EXPECT_EQ(by_segments.compared, counts.compared);
                EXPECT_EQ(by_segments.candidates, counts.candidates);
            }
            return all;
        }
    }

    void expect_reference(const made_signatures& made, const duplicate_options& options,
                          const duplicate_scope& scope = {}) {
        duplicate_counts counts;
        const pairs found = as_pairs(join(made, options, scope, counts));
        EXPECT_EQ(found, reference::signature_candidates(made.plain, options, scope));
        EXPECT_EQ(counts.candidates, found.size());
        std::uint64_t compared = 0;
        for (std::size_t a = 0; a < made.plain.size(); ++a)
            for (std::size_t b = a + 1; b < made.plain.size(); ++b) {
                const std::size_t x = made.plain[a].letters.size(), y = made.plain[b].letters.size();
                compared += reference::in_scope(scope, a, b) &&
                            reference::allows(options, x > y ? x - y : y - x, x + y);
            }
        EXPECT_EQ(counts.compared, compared);
    }

    void expect_reference(const std::vector<std::string>& texts, const duplicate_options& options,
                          const duplicate_scope& scope = {}) {
        SCOPED_TRACE(::testing::Message()
                     << texts.size() << " texts, " << options.signature_length << " letters, "
                     << duplicate_method_names[static_cast<int>(options.method)]);
        std::vector<fuzzy_signature> signatures;
        for (const std::string& text : texts)
            signatures.push_back(reference::signature_of(text, options.signature_length));
        duplicate_counts counts;
        const pairs found = as_pairs(
            signature_candidates(this->place(), texts_to_sign(texts).list(), options, scope, counts));
        EXPECT_EQ(found, reference::signature_candidates(signatures, options, scope));
        EXPECT_EQ(counts.candidates, found.size());
    }
};
TYPED_TEST_SUITE(signature_join_test, tested_places, tested_place_names);

duplicate_options with(duplicate_method method, unsigned length = 100) {
    duplicate_options options;
    options.method = method;
    options.signature_length = length;
    return options;
}

constexpr duplicate_method all_methods[] = {duplicate_method::signature, duplicate_method::shared_memory,
                                            duplicate_method::global_memory};

TYPED_TEST(signature_join_test, every_method_matches_reference) {
    for (const duplicate_method method : all_methods) {
        this->expect_reference(families(1, 70, 3000), with(method));
        this->expect_reference(families(2, 60, 60), with(method));  // one letter a byte
        this->expect_reference(families(4, 12, 20'000), with(method, 1000));
    }
    this->expect_reference(families(3, 40, 20'000), with(duplicate_method::signature, 300));
    for (const unsigned length : {1u, 2u, 63u, 64u, 65u, 127u, 128u, 129u})
        this->expect_reference(families(length, 40, 2000), with(duplicate_method::signature, length));
}

TYPED_TEST(signature_join_test, few_and_empty_texts) {
    for (const duplicate_method method : all_methods)
        for (const std::vector<std::string>& texts : {std::vector<std::string>{},
                                                      {""},
                                                      {"a"},
                                                      {"", ""},
                                                      {"", "a", ""},
                                                      {"a", "a"},
                                                      std::vector<std::string>(70),
                                                      std::vector<std::string>(70, "the same")})
            this->expect_reference(texts, with(method));
}

TYPED_TEST(signature_join_test, hostile_texts) {
    this->expect_reference(hostile_texts(), with(duplicate_method::signature));
    this->expect_reference(hostile_texts(), with(duplicate_method::global_memory));
}

TYPED_TEST(signature_join_test, the_double_finds_what_settled_on_another_block_size) {
    std::mt19937_64 random(9);
    std::vector<std::string> texts;
    for (int i = 0; i < 60; ++i) {
        const std::string text = random_text(random, 3000 + random() % 400, 26);
        texts.push_back(text);
        texts.push_back(edited(random, text, 10));
    }
    duplicate_counts counts;
    const auto options = with(duplicate_method::signature);
    const auto found =
        as_pairs(signature_candidates(this->place(), texts_to_sign(texts).list(), options, {}, counts));
    std::size_t across = 0;
    for (const auto& [a, b] : found)
        across += signature_of(texts[a], 100).block_size != signature_of(texts[b], 100).block_size;
    EXPECT_GT(across, 0u);
    this->expect_reference(texts, options);
}

TYPED_TEST(signature_join_test, scopes) {
    const auto texts = families(5, 50, 1500);
    for (const duplicate_method method : all_methods)
        for (const std::uint32_t first_new : {0u, 1u, 25u, 49u, 50u})
            for (const bool within_new : {true, false})
                this->expect_reference(texts, with(method), {first_new, within_new});
    const auto made = make_signatures(6, 400, 10, 4);
    for (const std::uint32_t first_new : {1u, 200u, 399u})
        for (const bool within_new : {true, false})
            this->expect_reference(made, with(duplicate_method::signature), {first_new, within_new});
}

TYPED_TEST(signature_join_test, thresholds_and_slacks) {
    const auto made = make_signatures(7, 200, 40, 64);
    duplicate_options options = with(duplicate_method::signature);
    for (const decimal threshold : {decimal{1, 1000}, decimal{15, 100}, decimal{5, 10}})
        for (const decimal slack : {decimal{0, 1}, decimal{1, 1000}, decimal{1, 1}, decimal{2, 1},
                                    decimal{3, 1}, decimal{999'999'999, 1}}) {
            options.threshold = threshold;
            options.slack = slack;
            if (slack.numerator < 1000) {
                this->expect_reference(made, options);
            } else {
                duplicate_counts counts;
                EXPECT_EQ(this->join(made, options, {}, counts).size(), 200u * 199 / 2)
                    << "all are candidates";
            }
        }
}

TYPED_TEST(signature_join_test, made_signatures_of_all_lengths) {
    // More rows of one length than a tile of any size; letters that occur more often than a code counts.
    this->expect_reference(make_signatures(8, 2400, 1, 64), with(duplicate_method::signature));
    this->expect_reference(make_signatures(9, 300, 30, 1), with(duplicate_method::signature));
    this->expect_reference(make_signatures(10, 150, 128, 64), with(duplicate_method::signature, 128));
    this->expect_reference(make_signatures(11, 100, 200, 2), with(duplicate_method::signature, 200));
    this->expect_reference(make_signatures(12, 40, 400, 64), with(duplicate_method::signature, 400));
    this->expect_reference(make_signatures(13, 20, 1000, 64), with(duplicate_method::signature, 1000));
}

TYPED_TEST(signature_join_test, everything_is_near_everything) {
    // More than a queue of 2^22 pairs holds; every pair is found twice: at B, and at 2B.
    constexpr std::uint32_t count = 3000;
    made_signatures made;
    for (std::uint32_t i = 0; i < count; ++i) made.add(5, "\1\2\3", "\4");
    duplicate_counts counts;
    const auto found = this->join(made, with(duplicate_method::signature), {}, counts);
    ASSERT_EQ(found.size(), std::size_t{count} * (count - 1) / 2);
    std::size_t next = 0;
    for (std::uint32_t a = 0; a < count; ++a)
        for (std::uint32_t b = a + 1; b < count; ++b, ++next)
            ASSERT_TRUE(found[next].a == a && found[next].b == b);
}

TYPED_TEST(signature_join_test, long_signatures_share_segments) {
    // Sizes around those of warps and queues; signatures at both block sizes; more thresholds than one.
    for (const std::size_t size : {2u, 31u, 33u, 257u}) {
        this->expect_reference(make_signatures(20 + size, size, 100, 64), with(duplicate_method::signature));
        this->expect_reference(make_signatures(21 + size, size, 60, 3), with(duplicate_method::signature));
    }
    const auto made = make_signatures(19, 300, 70, 64);
    duplicate_options options = with(duplicate_method::signature, 256);
    for (const decimal threshold : {decimal{1, 1000}, decimal{2, 100}, decimal{5, 100}, decimal{6, 100}}) {
        options.threshold = threshold;
        this->expect_reference(made, options);
        this->expect_reference(made, options, {150, false});
        this->expect_reference(made, options, {299, true});
    }
}

TYPED_TEST(signature_join_test, equal_long_signatures_exceed_a_queue) {
    constexpr std::uint32_t count = 3000;
    std::mt19937_64 random(20);
    std::string one(70, '\0'), half(40, '\0');
    for (char& c : one) c = static_cast<char>(random() % 64);
    for (char& c : half) c = static_cast<char>(random() % 64);
    made_signatures made;
    for (std::uint32_t i = 0; i < count; ++i) made.add(5, one, half);
    duplicate_counts counts;
    EXPECT_EQ(this->join(made, with(duplicate_method::signature), {}, counts).size(),
              std::size_t{count} * (count - 1) / 2);
}

/// Little memory takes more parts, and less none.
TYPED_TEST(signature_join_test, little_memory_finds_the_same) {
    if constexpr (std::is_same_v<typename TypeParam::place_type, cpu_place>) {
        GTEST_SKIP() << "for GPUs";
    } else {
        const auto made = make_signatures(23, tested_with().small_sizes ? 300 : 1500, 100, 64);
        const duplicate_options options = with(duplicate_method::signature);
        const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
        duplicate_counts expected_counts;
        const pairs expected = as_pairs(this->join(made, options, {}, expected_counts));
        EXPECT_GT(expected.size(), 10u);
        std::set<unsigned> parts;
        for (const std::uint64_t mebibytes : {12u, 16u, 24u, 48u, 96u}) {
            context ctx = TypeParam::ctx();
            ctx.gpu_memory_bytes = mebibytes << 20;
            cuda_place place(ctx);
            const auto letters = array_from(place, std::span<const std::uint8_t>(made.letters)),
                       levels = array_from(place, std::span<const std::uint8_t>(made.levels));
            const auto offsets = array_from(place, std::span<const std::uint64_t>(made.offsets));
            parts.insert(gram_parts(made.letters.size(), place.memory().left() / 2));
            duplicate_counts counts;
            EXPECT_EQ(as_pairs(join_signatures(place, {letters.span(), offsets.span(), levels.span()}, bounds,
                                               {}, counts, {segments_use::always})),
                      expected)
                << mebibytes << " MiB";
        }
        if (!tested_with().small_sizes) {
            EXPECT_GT(parts.size(), 1u);
        }
    }
}

TYPED_TEST(signature_join_test, every_instruction_set_gives_the_same) {
    if (!std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of the CPU";
    const auto made = make_signatures(14, 400, 12, 6), longer = make_signatures(15, 60, 300, 20);
    on_every_target([&] {
        this->expect_reference(made, with(duplicate_method::signature));
        this->expect_reference(longer, with(duplicate_method::signature, 300));
    });
}

TYPED_TEST(signature_join_test, matches_reference_on_any_signatures) {
    EXPECT_TRUE(rc::check([&] {
        const auto longest = *rc::gen::inRange(1u, 90u);
        const auto made = make_signatures(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange(0, 40),
                                          longest, *rc::gen::inRange(1u, 65u));
        duplicate_options options = with(duplicate_method::signature, *rc::gen::inRange(longest, 1001u));
        options.threshold = {*rc::gen::inRange<std::uint64_t>(1, 501), 1000};
        const duplicate_scope scope{*rc::gen::inRange(0u, 40u), *rc::gen::arbitrary<bool>()};
        duplicate_counts counts;
        RC_ASSERT(as_pairs(this->join(made, options, scope, counts)) ==
                  reference::signature_candidates(made.plain, options, scope));
    }));
}

/// The first `count` places of the chosen kind.
template <class Tested>
chosen_device places_of(std::size_t count) {
    chosen_device chosen = choose_device(Tested::ctx(), "this test");
    chosen.more = further_places(chosen, count - 1);
    return chosen;
}

TYPED_TEST(signature_join_test, several_places_join_the_same) {
    const duplicate_options options = with(duplicate_method::signature);
    const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
    for (const std::size_t size : {0u, 1u, 2u, 40u, 1200u}) {
        const auto made = make_signatures(17, size, size < 1000 ? 70 : 12, 5);
        const signature_view view{made.letters, made.offsets, made.levels};
        for (const duplicate_scope scope : {duplicate_scope{}, {300, true}, {700, false}}) {
            if (scope.first_new > size) continue;
            duplicate_counts of_one;
            const pairs expected = as_pairs(this->join(made, options, scope, of_one));
            for (const std::size_t count : {1u, 2u, 3u}) {
                place_set places(TypeParam::ctx(), places_of<TypeParam>(count));
                duplicate_counts counts;
                EXPECT_EQ(as_pairs(join_signatures(places, view, bounds, scope, counts)), expected)
                    << size << " texts, " << count << " places";
                EXPECT_EQ(counts.compared, of_one.compared);
                EXPECT_EQ(counts.candidates, of_one.candidates);
                for (const segments_choice& choice : segments_choices(made.levels.size()))
                    EXPECT_EQ(as_pairs(join_signatures(places, view, bounds, scope, counts, choice)),
                              expected)
                        << "in " << choice.parts << " parts";
            }
        }
    }
}

TYPED_TEST(signature_join_test, several_places_find_the_same_pairs) {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};
    for (const std::string& text : families(18, 150, 900)) {
        bytes += text;
        offsets.push_back(bytes.size());
    }
    const text_list texts{bytes, offsets};
    duplicate_options options = with(duplicate_method::signature);
    for (const edit_unit unit : {edit_unit::byte, edit_unit::character}) {
        options.unit = unit;
        const duplicate_result expected = near_duplicates(texts, options, {}, TypeParam::ctx());
        EXPECT_GT(expected.pairs.size(), 10u);
        for (const std::size_t count : {2u, 3u}) {
            const chosen_device chosen = places_of<TypeParam>(count);
            duplicate_counts counts;
            std::string where;
            cpu_place decoding(context::cpu(2));
            const auto found = unit == edit_unit::byte
                                   ? find_by_signatures(chosen, texts, as_bytes(texts), options, {},
                                                        TypeParam::ctx(), counts, where)
                                   : find_by_signatures(chosen, texts, decode(decoding, texts).list(),
                                                        options, {}, TypeParam::ctx(), counts, where);
            EXPECT_EQ(found, expected.pairs);
            EXPECT_EQ(counts.verified, expected.counts.verified);
            EXPECT_EQ(counts.pairs, expected.counts.pairs);
            EXPECT_FALSE(where.empty());
        }
    }
}

TEST(signature_join, parts_are_as_few_as_memory_holds) {
    EXPECT_EQ(gram_parts(0, 0), 1u);
    EXPECT_EQ(gram_parts(1000, 48'000), 1u);
    EXPECT_EQ(gram_parts(1001, 48'000), 2u);
    EXPECT_EQ(gram_parts(1000, 12'000), 4u);
    EXPECT_EQ(gram_parts(1000, 11'952), 8u);
    EXPECT_EQ(gram_parts(1000, 0), max_gram_parts);
    EXPECT_EQ(gram_parts(~std::uint64_t{0}, ~std::uint64_t{0}), max_gram_parts);
}

TEST(signature_join, the_bit_distance_is_the_distance_up_to_its_bound) {
    std::mt19937_64 random(16);
    const auto expect = [&](auto words, std::size_t longest) {
        constexpr unsigned count = decltype(words)::value;
        for (int i = 0; i < 300; ++i) {
            const unsigned alphabet = random() % 2 == 0 ? 2 : 64;
            std::string a = random_text(random, 1 + random() % longest, alphabet),
                        b = random() % 2 == 0 ? edited(random, a, static_cast<unsigned>(random() % 20))
                                              : random_text(random, random() % (longest + 9), alphabet);
            std::vector<std::array<std::uint64_t, count>> masks(256);
            for (std::size_t p = 0; p < a.size(); ++p)
                masks[static_cast<std::uint8_t>(a[p])][p / 64] |= std::uint64_t{1} << p % 64;
            const auto distance = static_cast<int>(reference::table_distance(a, b));
            for (const int bound : {0, distance - 1, distance, 2000}) {
                const int found = bit_distance<count>(
                    [&](std::uint8_t letter, unsigned w) { return masks[letter][w]; },
                    static_cast<unsigned>(a.size()), reinterpret_cast<const std::uint8_t*>(b.data()),
                    static_cast<unsigned>(b.size()), bound);
                if (distance <= bound)
                    EXPECT_EQ(found, distance);
                else
                    EXPECT_GT(found, bound);
            }
        }
    };
    expect(std::integral_constant<unsigned, 1>(), 64);
    expect(std::integral_constant<unsigned, 2>(), 128);
    expect(std::integral_constant<unsigned, 4>(), 256);
}

}  // namespace
}  // namespace quern::signature_join_test
