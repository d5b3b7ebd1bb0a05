// SPDX-License-Identifier: Apache-2.0
// The methods of words against their references, and on adversarial data.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <random>

#include "on_every_target.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/papers/words/hamming_join.hpp"
#include "ops/near_duplicates/papers/words/shingle.hpp"
#include "ops/near_duplicates/papers/words/simhash.hpp"
#include "ops/near_duplicates/papers/words/word_sets.hpp"
#include "quern/base/error.hpp"
#include "reference/word_methods_reference.hpp"

namespace quern::words_test {

void PrintTo(const duplicate_pair& p, std::ostream* out) {
    *out << "(" << p.a << ", " << p.b << ": " << p.distance << " of " << p.of << ")";
}

namespace {

using namespace near_duplicates_detail;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using documents = std::vector<reference::words>;
using pairs = std::vector<duplicate_pair>;

struct flat {
    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> offsets{0};
    explicit flat(const documents& all) {
        for (const auto& document : all) {
            words.insert(words.end(), document.begin(), document.end());
            offsets.push_back(words.size());
        }
    }
    word_list view() const { return {words, offsets}; }
};

std::uint32_t vocabulary_of(const documents& all) {
    std::uint32_t end = 0;
    for (const auto& document : all)
        for (const std::uint32_t word : document) end = std::max(end, word + 1);
    return end;
}

duplicate_options options_for(duplicate_method method) {
    duplicate_options options;
    options.method = method;
    return options;
}

pairs find(const documents& all, const duplicate_options& options, const duplicate_scope& scope = {},
           unsigned threads = 1) {
    cpu_place place(context::cpu(threads));
    duplicate_counts counts;
    const flat input(all);
    if (options.method == duplicate_method::shingle)
        return find_by_shingles(place, input.view(), options, scope, counts);
    if (options.method == duplicate_method::simhash)
        return find_by_simhash(place, input.view(), vocabulary_of(all), options, scope, counts);
    return find_by_i_match(place, input.view(), vocabulary_of(all), options, scope, counts);
}

pairs expected(const documents& all, const duplicate_options& options, const duplicate_scope& scope = {}) {
    if (options.method == duplicate_method::shingle) return reference::shingle_pairs(all, options, scope);
    if (options.method == duplicate_method::i_match)
        return reference::i_match_pairs(all, vocabulary_of(all), scope);
    std::vector<std::uint64_t> hashes(vocabulary_of(all));
    for (std::uint32_t w = 0; w < hashes.size(); ++w) hashes[w] = hash_of_word_id(w);
    return reference::simhash_pairs(all, hashes, options, scope);
}

constexpr duplicate_method methods[] = {duplicate_method::shingle, duplicate_method::simhash,
                                        duplicate_method::i_match};

/// Families of near copies: words of a skewed vocabulary, each copy a few words away from its original or from
/// another copy; some the same, some empty, some of few words.
documents families(std::size_t count, std::uint32_t vocabulary, std::size_t longest, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto word = [&] {
        return static_cast<std::uint32_t>(
            std::min({random() % vocabulary, random() % vocabulary, random() % vocabulary}));
    };
    documents all;
    while (all.size() < count) {
        reference::words document;
        if (!all.empty() && random() % 2 == 0) {
            document = all[random() % all.size()];
            for (auto edits = random() % 4; edits-- > 0;) {
                const auto at =
                    document.begin() + static_cast<std::ptrdiff_t>(random() % (document.size() + 1));
                if (random() % 2 == 0)
                    document.insert(at, word());
                else if (at != document.end())
                    document.erase(at);
            }
        } else {
            document.resize(random() % (random() % 8 == 0 ? 6 : longest + 1));
            for (std::uint32_t& w : document) w = word();
        }
        all.push_back(std::move(document));
    }
    return all;
}

rc::Gen<documents> small_documents() {
    return rc::gen::mapcat(rc::gen::inRange(1u, 9u), [](unsigned vocabulary) {
        return rc::gen::container<documents>(
            rc::gen::container<reference::words>(rc::gen::inRange(0u, vocabulary)));
    });
}

rc::Gen<duplicate_scope> scope_of(std::size_t size) {
    return rc::gen::map(rc::gen::pair(rc::gen::inRange<std::size_t>(0, size + 2), rc::gen::arbitrary<bool>()),
                        [](std::pair<std::size_t, bool> drawn) {
                            return duplicate_scope{static_cast<std::uint32_t>(drawn.first), drawn.second};
                        });
}

duplicate_options random_options(duplicate_method method) {
    duplicate_options options = options_for(method);
    options.shingle = *rc::gen::inRange(1u, 8u);
    options.similarity = {*rc::gen::inRange<std::uint64_t>(1, 101), 100};
    options.hamming = *rc::gen::inRange(0u, 17u);
    options.cut = *rc::gen::inRange(-6, 7);
    return options;
}

RC_GTEST_PROP(word_methods, match_the_reference_on_few_words, ()) {
    const documents all = *small_documents();
    const duplicate_scope scope = *scope_of(all.size());
    for (const duplicate_method method : methods) {
        const duplicate_options options = random_options(method);
        const pairs wanted = expected(all, options, scope);
        RC_ASSERT(find(all, options, scope, 1) == wanted);
        RC_ASSERT(find(all, options, scope, 3) == wanted);
    }
}

RC_GTEST_PROP(word_methods, match_the_reference_on_near_copies, ()) {
    const documents all = families(*rc::gen::inRange<std::size_t>(2, 80), *rc::gen::inRange(1u, 400u), 40,
                                   *rc::gen::arbitrary<std::uint64_t>());
    const duplicate_scope scope = *scope_of(all.size());
    for (const duplicate_method method : methods) {
        const duplicate_options options = random_options(method);
        const pairs wanted = expected(all, options, scope);
        RC_ASSERT(find(all, options, scope, 1) == wanted);
        RC_ASSERT(find(all, options, scope, 3) == wanted);
    }
}

// Large enough for pieces, threads, and more than one table.
TEST(word_methods, find_the_same_with_any_number_of_threads) {
    const documents all = families(6000, 3000, 60, 1);
    for (const duplicate_method method : methods) {
        duplicate_options options = options_for(method);
        options.similarity = {3, 10};
        for (const duplicate_scope& scope :
             {duplicate_scope{}, duplicate_scope{2500, true}, duplicate_scope{2500, false}}) {
            const pairs one = find(all, options, scope, 1);
            EXPECT_GT(one.size(), 500u);
            EXPECT_TRUE(one == find(all, options, scope, 2));
            EXPECT_TRUE(one == find(all, options, scope, 7));
        }
    }
}

TEST(word_methods, match_the_reference_on_many_documents) {
    const documents all = families(300, 300, 60, 2);
    for (const duplicate_method method : methods) {
        duplicate_options options = options_for(method);
        for (const std::uint64_t percent : {1u, 10u, 33u, 80u, 100u}) {
            if (percent != 80 && method != duplicate_method::shingle) continue;
            options.similarity = {percent, 100};
            EXPECT_TRUE(find(all, options, {}, 4) == expected(all, options)) << percent;
        }
    }
}

TEST(word_methods, know_no_pair_of_fewer_than_two_documents) {
    for (const duplicate_method method : methods) {
        for (const documents& all : {documents{}, documents{{}}, documents{{0, 1, 2}}})
            EXPECT_THAT(find(all, options_for(method)), IsEmpty());
        EXPECT_EQ(find({{}, {0}}, options_for(method)), pairs());
    }
    // No offsets also mean no documents.
    cpu_place place(context::cpu(1));
    duplicate_counts counts;
    EXPECT_THAT(find_by_shingles(place, {}, {}, {}, counts), IsEmpty());
    EXPECT_THAT(find_by_simhash(place, {}, 0, {}, {}, counts), IsEmpty());
    EXPECT_THAT(find_by_i_match(place, {}, 0, {}, {}, counts), IsEmpty());
}

TEST(word_methods, documents_without_words) {
    const documents all{{}, {1}, {}, {}};
    const pairs empty_ones{{0, 2, 0, 0}, {0, 3, 0, 0}, {2, 3, 0, 0}};
    EXPECT_EQ(find(all, options_for(duplicate_method::shingle)), empty_ones);
    EXPECT_EQ(find(all, options_for(duplicate_method::simhash)),
              (pairs{{0, 2, 0, 64}, {0, 3, 0, 64}, {2, 3, 0, 64}}));
    EXPECT_THAT(find(all, options_for(duplicate_method::i_match)), IsEmpty());
}

TEST(word_methods, lists_may_begin_anywhere) {
    const std::vector<std::uint32_t> words{7, 7, 1, 2, 1, 2, 9};
    const std::vector<std::uint64_t> offsets{2, 4, 6};
    cpu_place place(context::cpu(1));
    duplicate_counts counts;
    EXPECT_THAT(find_by_shingles(place, {words, offsets}, {}, {}, counts),
                ElementsAre(duplicate_pair{0, 1, 0, 1}));
    EXPECT_THAT(find_by_simhash(place, {words, offsets}, 3, {}, {}, counts),
                ElementsAre(duplicate_pair{0, 1, 0, 64}));
}

// 200,000 copies of a template page, all but two of them old: 400,001 of 2 · 10¹⁰ pairs are requested.
TEST(word_methods, copies_cost_no_more_than_their_pairs) {
    documents all(200'000, {1, 2, 3, 4, 5, 6});
    for (std::uint32_t i = 0; i < 10; ++i)
        all.push_back({i, i});  // words in two documents, for a band of idf
    const auto old = static_cast<std::uint32_t>(all.size());
    all.insert(all.end(), 2, {1, 2, 3, 4, 5, 6});
    for (const duplicate_method method : {duplicate_method::shingle, duplicate_method::simhash}) {
        const pairs found = find(all, options_for(method), {old, true}, 2);
        ASSERT_EQ(found.size(), 400'001u);
        EXPECT_EQ(found.front().b, old);
        EXPECT_EQ(found.back().a, old);
        EXPECT_EQ(find(all, options_for(method), {old, false}, 2).size(), 400'000u);
    }
}

// Collisions neither make nor split a class.
TEST(word_methods, classes_do_not_depend_on_hashes) {
    const documents all = families(300, 4, 5, 9);
    const flat input(all);
    std::vector<std::uint8_t> alone(all.size());
    for (std::size_t d = 0; d < all.size(); d += 7) alone[d] = 1;
    std::vector<std::uint32_t> wanted;  // the class of each document, by comparing with all earlier ones
    std::uint32_t classes = 0;
    for (std::size_t d = 0; d < all.size(); ++d) {
        std::size_t same = 0;
        while (same < d && (alone[same] != 0 || alone[d] != 0 || all[same] != all[d])) ++same;
        wanted.push_back(same < d ? wanted[same] : classes++);
    }
    using list = std::span<const std::uint32_t>;
    std::uint64_t (*const hashes[])(list) = {hash_of_list, [](list) -> std::uint64_t { return 0; },
                                             [](list words) -> std::uint64_t { return words.size() / 2; }};
    cpu_place place(context::cpu(3));
    for (const auto hash : hashes) {
        const document_classes found = equal_lists(place, input.view(), alone, hash);
        EXPECT_EQ(found.class_of, wanted);
        ASSERT_EQ(found.size(), classes);
        for (std::uint32_t c = 0; c < classes; ++c) {
            EXPECT_TRUE(std::ranges::is_sorted(found[c]));
            for (const std::uint32_t d : found[c]) EXPECT_EQ(wanted[d], c);
        }
    }
}

TEST(word_methods, stop_when_requested) {
    const std::atomic<int> signal{15};
    context ctx = context::cpu(2);
    ctx.stop_signal = &signal;
    const documents all = families(50, 20, 20, 3);
    const flat input(all);
    duplicate_counts counts;
    cpu_place place(ctx);
    EXPECT_THROW(find_by_shingles(place, input.view(), {}, {}, counts), interrupted);
    EXPECT_THROW(find_by_simhash(place, input.view(), 20, {}, {}, counts), interrupted);
    EXPECT_THROW(find_by_i_match(place, input.view(), 20, {}, {}, counts), interrupted);
}

TEST(word_methods, count_the_pairs_that_the_scope_asks_for) {
    const documents all = families(50, 20, 20, 3);
    const flat input(all);
    cpu_place place(context::cpu(1));
    for (const auto& [scope, wanted] : {std::pair{duplicate_scope{}, 1225u},
                                        {duplicate_scope{20, true}, 1035u},
                                        {duplicate_scope{20, false}, 600u},
                                        {duplicate_scope{90, true}, 0u}}) {
        duplicate_counts counts;
        find_by_shingles(place, input.view(), {}, scope, counts);
        EXPECT_EQ(counts.compared, wanted);
        EXPECT_LE(counts.candidates, wanted);
    }
}

TEST(shingle, the_rose_of_the_literature) {
    // a rose is a rose is a rose: three different shingles of four words
    const reference::words rose{0, 1, 2, 0, 1, 2, 0, 1};
    EXPECT_EQ(reference::shingles_of(rose, 4).size(), 3u);
    duplicate_options options = options_for(duplicate_method::shingle);
    options.similarity = {2, 3};
    // without its last two words: (a rose is a), (rose is a rose), (is a rose is) still; without three: two of three
    EXPECT_THAT(
        find({rose, {0, 1, 2, 0, 1, 2}, {0, 1, 2, 0, 1}}, options),
        ElementsAre(duplicate_pair{0, 1, 0, 3}, duplicate_pair{0, 2, 1, 3}, duplicate_pair{1, 2, 1, 3}));
    options.similarity = {666'666'667, 1'000'000'000};  // just above two thirds
    EXPECT_THAT(find({rose, {0, 1, 2, 0, 1, 2}, {0, 1, 2, 0, 1}}, options),
                ElementsAre(duplicate_pair{0, 1, 0, 3}));
}

TEST(shingle, short_documents_are_one_shingle) {
    const documents all{{1, 1}, {1, 1, 1}, {1, 1}, {1}, {1, 1, 1, 1}, {1, 1, 1, 1, 1}};
    EXPECT_THAT(find(all, options_for(duplicate_method::shingle)),
                ElementsAre(duplicate_pair{0, 2, 0, 1}, duplicate_pair{4, 5, 0, 1}));
}

TEST(shingle, of_a_hundred_words_and_of_the_greatest_ids) {
    duplicate_options options = options_for(duplicate_method::shingle);
    options.similarity = {1, 2};
    documents all = families(60, 3, 300, 5);
    for (const std::size_t base : {3, 8, 20}) {
        all.push_back(reference::words(all[base]));
        all.back().push_back(2);
    }
    for (auto& document : all)
        for (std::uint32_t& word : document) word = 0xfffffffe - word;
    for (const unsigned width : {1u, 2u, 3u, 5u, 64u, 99u, 100u}) {
        options.shingle = width;
        EXPECT_EQ(find(all, options, {}, 3), expected(all, options)) << width;
    }
}

// Numbered in many parts if memory is short, and not at all if it does not suffice.
TEST(shingle, the_same_whatever_memory_there_is) {
    const documents all = families(2000, 300, 60, 8);
    const flat input(all);
    const pairs wanted = find(all, options_for(duplicate_method::shingle));
    ASSERT_GT(wanted.size(), 100u);
    for (const std::uint64_t bytes_a_word : {6u, 12u, 28u, 60u, 400u}) {
        context ctx = context::cpu(2);
        ctx.memory_bytes = bytes_a_word * input.words.size() + (1 << 17);
        cpu_place place(ctx);
        duplicate_counts counts;
        EXPECT_EQ(find_by_shingles(place, input.view(), {}, {}, counts), wanted) << bytes_a_word;
        EXPECT_LE(place.memory().peak(), ctx.memory_bytes);
    }
    context ctx = context::cpu(2);
    ctx.memory_bytes = input.words.size() / 2;
    cpu_place place(ctx);
    duplicate_counts counts;
    EXPECT_THROW(find_by_shingles(place, input.view(), {}, {}, counts), out_of_memory);
}

// Hashes that make different shingles equal, or all of them, cost time and change nothing.
TEST(shingle, hashes_decide_nothing) {
    const documents all = families(150, 12, 40, 10);
    const flat input(all);
    for (const unsigned width : {1u, 2u, 4u}) {
        duplicate_options options = options_for(duplicate_method::shingle);
        options.shingle = width;
        for (const decimal similarity : {decimal{8, 10}, decimal{1, 2}, decimal{1, 10}}) {
            options.similarity = similarity;
            for (const duplicate_scope& scope :
                 {duplicate_scope{}, duplicate_scope{60, true}, duplicate_scope{60, false}}) {
                const pairs wanted = expected(all, options, scope);
                for (const std::uint64_t hash_bits : {0x0u, 0x3u, 0xff0u}) {
                    cpu_place place(context::cpu(2));
                    duplicate_counts counts;
                    EXPECT_EQ(
                        find_by_shingles(place, input.view(), {width, hash_bits}, similarity, scope, counts),
                        wanted);
                }
            }
        }
    }
}

TEST(simhash, sums_of_the_literature) {
    // Two words, 1010 of weight 3 and 1110 of weight 2: [3 −3 3 −3] and [2 2 2 −2] are [5 −1 5 −5].
    const flat input({{0, 1}, {0}, {}});
    const std::vector<std::uint64_t> hashes{0b1010, 0b1110};
    const std::vector<std::uint8_t> weights{3, 2};
    cpu_place place(context::cpu(1));
    const auto with_cut = [&](std::int64_t cut) {
        return fingerprints_of(place, input.view(), hashes, weights, cut);
    };
    const std::uint64_t others = ~std::uint64_t{0b1111};
    EXPECT_THAT(with_cut(0), ElementsAre(0b1010, 0b1010, 0));
    EXPECT_THAT(with_cut(-1), ElementsAre(0b1010, 0b1010, others | 0b1111));
    EXPECT_THAT(with_cut(-2), ElementsAre(0b1110, 0b1010, others | 0b1111));
    EXPECT_THAT(with_cut(4), ElementsAre(0b1010, 0, 0));
    EXPECT_THAT(with_cut(5), ElementsAre(0, 0, 0));
    EXPECT_THAT(with_cut(-6), ElementsAre(others | 0b1111, others | 0b1111, others | 0b1111));
}

TEST(simhash, sums_of_many_words_do_not_overflow) {
    reference::words every(1000);
    for (std::uint32_t w = 0; w < every.size(); ++w) every[w] = w;
    const flat input({every});
    const std::vector<std::uint64_t> hashes(every.size(), 0xf0f0f0f0f0f0f0f0);
    cpu_place place(context::cpu(1));
    const std::vector<std::uint8_t> weights(every.size(), 5);
    EXPECT_THAT(fingerprints_of(place, input.view(), hashes, weights, 4999), ElementsAre(0xf0f0f0f0f0f0f0f0));
    EXPECT_THAT(fingerprints_of(place, input.view(), hashes, weights, 5000), ElementsAre(0));
}

TEST(simhash, takes_the_hashes_it_is_given) {
    const documents all = families(60, 50, 30, 4);
    const flat input(all);
    std::vector<std::uint64_t> hashes(vocabulary_of(all));
    for (std::uint32_t w = 0; w < hashes.size(); ++w) hashes[w] = w * 0x9e3779b97f4a7c15u;
    const duplicate_options options = options_for(duplicate_method::simhash);
    cpu_place place(context::cpu(1));
    duplicate_counts counts;
    const pairs truth = reference::simhash_pairs(all, hashes, options, {});
    EXPECT_EQ(find_by_simhash(place, input.view(), hashes, options, {}, counts), truth);

    word_list with_hashes = input.view();
    with_hashes.hashes = hashes;
    const auto vocabulary = static_cast<std::uint32_t>(hashes.size());
    EXPECT_EQ(near_duplicates(with_hashes, vocabulary, options, {}, context::cpu(1)).pairs, truth);
    EXPECT_NE(near_duplicates(input.view(), vocabulary, options, {}, context::cpu(1)).pairs, truth);
    EXPECT_THROW(near_duplicates(with_hashes, vocabulary + 1, options, {}, context::cpu(1)), usage_error);
}

// Fingerprints a few bits apart, including chains that cross the bound; every choice of blocks finds the same.
TEST(simhash, every_plan_finds_every_pair_once) {
    std::mt19937_64 random(6);
    std::set<std::uint64_t> different;
    while (different.size() < 600) {
        std::uint64_t value = random();
        for (int i = 0; i < 12; ++i) {
            different.insert(value);
            for (auto flips = random() % 5; flips-- > 0;) value ^= std::uint64_t{1} << random() % 64;
        }
    }
    std::vector<std::uint64_t> all(different.begin(), different.end());
    std::shuffle(all.begin(), all.end(), random);
    std::array<fingerprint_list, class_ages> lists;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
        lists[i % 3].fingerprints.push_back(all[i]);
        lists[i % 3].classes.push_back(i);
    }
    cpu_place place(context::cpu(3));
    for (const bool within_new : {true, false}) {
        const duplicate_scope scope{1, within_new};
        for (const auto& [bits, max_agreeing] :
             {std::pair{1u, 63u}, {2u, 4u}, {3u, 4u}, {7u, 2u}, {16u, 1u}, {16u, 2u}}) {
            std::vector<std::array<std::uint64_t, 3>> wanted;
            for (std::uint32_t a = 0; a < all.size(); ++a)
                for (std::uint32_t b = a + 1; b < all.size(); ++b) {
                    const auto distance = static_cast<unsigned>(std::popcount(all[a] ^ all[b]));
                    if (distance <= bits && may_pair(class_age(a % 3), class_age(b % 3), scope))
                        wanted.push_back({a, b, distance});
                }
            for (unsigned agreeing = 0; agreeing <= max_agreeing; agreeing += agreeing < 4 ? 1 : 59) {
                duplicate_counts counts;
                const auto found =
                    join_by_hamming_distance(place, lists, bits, {bits + agreeing, agreeing}, scope, counts);
                std::vector<std::array<std::uint64_t, 3>> got;
                for (const class_pair& p : found) got.push_back({p.a, p.b, p.distance});
                std::sort(got.begin(), got.end());
                EXPECT_TRUE(got == wanted) << bits << " bits, " << agreeing << " blocks agree";
            }
        }
    }
}

TEST(simhash, plans_have_more_tables_for_more_fingerprints) {
    EXPECT_EQ(plan_hamming_join(10, 3).agreeing, 0u);
    EXPECT_EQ(plan_hamming_join(100'000, 3).agreeing, 1u);
    EXPECT_GE(plan_hamming_join(100'000'000, 3).agreeing, 2u);
    for (unsigned bits = 1; bits <= 16; ++bits) {
        const hamming_plan plan = plan_hamming_join(1'000'000, bits);
        EXPECT_EQ(plan.blocks, bits + plan.agreeing);
        EXPECT_LE(plan.blocks, 64u);
    }
}

TEST(simhash, distances_are_counted_by_every_instruction_set) {
    std::mt19937_64 random(7);
    on_every_target([&] {
        for (const std::size_t size : {0u, 1u, 2u, 7u, 8u, 31u, 64u, 257u}) {
            std::vector<std::uint64_t> values(size);
            const std::uint64_t x = random();
            for (std::uint64_t& value : values) {
                value = x;
                for (auto flips = random() % 64; flips-- > 0;) value ^= std::uint64_t{1} << random() % 64;
            }
            for (const unsigned bits : {0u, 1u, 16u, 20u, 63u, 64u}) {
                std::vector<std::uint32_t> wanted, found(size);
                for (std::uint32_t i = 0; i < size; ++i)
                    if (static_cast<unsigned>(std::popcount(values[i] ^ x)) <= bits) wanted.push_back(i);
                found.resize(find_near(values.data(), size, x, bits, found.data()));
                EXPECT_EQ(found, wanted);
            }
        }
    });
}

TEST(i_match, quintiles_of_idf) {
    // Ten words occur, in 9, 7, 7, 5, 4, 3, 2, 1, 1, 1 documents: none is rarer than the rarest three.
    const std::vector<std::uint64_t> frequencies{1, 9, 7, 0, 7, 5, 4, 3, 2, 1, 1};
    EXPECT_THAT(idf_quintiles(frequencies, 9), ElementsAre(5, 1, 2, 0, 2, 2, 3, 3, 4, 5, 5));
    EXPECT_THAT(idf_quintiles({}, 3), IsEmpty());
    EXPECT_THAT(idf_quintiles(std::vector<std::uint64_t>{0, 0}, 3), ElementsAre(0, 0));
    EXPECT_THAT(idf_quintiles(std::vector<std::uint64_t>{2, 2}, 3), ElementsAre(5, 5));
}

TEST(i_match, neither_order_nor_rare_nor_common_words_count) {
    const documents all{{0, 1, 2, 9}, {8, 2, 1, 1, 0}, {0, 3, 4}, {0, 4, 3, 0, 5}, {0, 1, 3}, {0, 6}, {0, 7}};
    // in documents: 0 all, 1 and 3 three, 2 and 4 two, the others one
    EXPECT_THAT(find(all, options_for(duplicate_method::i_match)),
                ElementsAre(duplicate_pair{0, 1, 0, 1}, duplicate_pair{2, 3, 0, 1}));
}

}  // namespace
}  // namespace quern::words_test
