// SPDX-License-Identifier: Apache-2.0
// The complete join of shingles on every place: against the reference, with weak hashes, in tiles, at the bound.
#include <gmock/gmock.h>

#include <atomic>
#include <random>

#include "on_each_place.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/papers/words/shingle.hpp"
#include "quern/base/error.hpp"
#include "reference/word_methods_reference.hpp"

namespace quern::shingle_places_test {
namespace {

using namespace near_duplicates_detail;
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

/// Copies of copies with a few edits, among unrelated documents; some empty, some the same, some of few words.
documents families(std::size_t count, std::uint32_t vocabulary, std::size_t longest, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    documents all;
    while (all.size() < count) {
        reference::words document;
        if (!all.empty() && random() % 2 == 0) {
            document = all[random() % all.size()];
            for (auto edits = random() % 5; edits-- > 0 && !document.empty();)
                document[random() % document.size()] = static_cast<std::uint32_t>(random() % vocabulary);
        } else {
            document.resize(random() % (random() % 8 == 0 ? 6 : longest + 1));
            for (std::uint32_t& w : document)
                w = static_cast<std::uint32_t>(std::min(random() % vocabulary, random() % vocabulary));
        }
        all.push_back(std::move(document));
    }
    return all;
}

duplicate_options options_for(unsigned width, const decimal& similarity) {
    duplicate_options options;
    options.method = duplicate_method::shingle;
    options.shingle = width;
    options.similarity = similarity;
    return options;
}

template <class Tested>
class shingle_places : public on_place<Tested> {
  protected:
    pairs find(const documents& all, const shingle_rule& rule, const decimal& similarity,
               const duplicate_scope& scope = {}) {
        const flat input(all);
        duplicate_counts counts;
        pairs found = find_by_shingles(this->place(), input.view(), rule, similarity, scope, counts);
        EXPECT_EQ(counts.compared, pairs_in_scope(static_cast<std::uint32_t>(all.size()), scope));
        EXPECT_LE(counts.candidates, counts.compared);
        return found;
    }
    std::size_t documents_to_compare() const { return tested_with().small_sizes ? 60 : 150; }
};
TYPED_TEST_SUITE(shingle_places, tested_places, tested_place_names);

TYPED_TEST(shingle_places, match_the_reference) {
    for (const std::size_t count : {2u, 33u, 100u}) {
        const documents all = families(std::min(count, this->documents_to_compare()), 60, 70, count);
        for (const unsigned width : {1u, 3u, 4u, 50u}) {
            for (const decimal similarity : {decimal{8, 10}, decimal{1, 2}, decimal{1, 20}, decimal{1, 1}}) {
                for (const duplicate_scope& scope :
                     {duplicate_scope{}, duplicate_scope{20, true}, duplicate_scope{20, false}}) {
                    EXPECT_EQ(this->find(all, {width}, similarity, scope),
                              reference::shingle_pairs(all, options_for(width, similarity), scope))
                        << count << " documents, width " << width << ", similarity " << similarity.value();
                }
            }
        }
    }
}

TYPED_TEST(shingle_places, hashes_decide_nothing) {
    const documents all = families(this->documents_to_compare(), 12, 40, 10);
    for (const unsigned width : {1u, 2u, 4u}) {
        for (const decimal similarity : {decimal{8, 10}, decimal{1, 2}, decimal{1, 10}}) {
            const pairs wanted = reference::shingle_pairs(all, options_for(width, similarity), {});
            // None, two bits and eight bits of a hash, where the table of counts and where the keys have them.
            for (const std::uint64_t hash_bits :
                 {std::uint64_t{0}, std::uint64_t{0x300}, std::uint64_t{3} << 62, std::uint64_t{0xff} << 30})
                EXPECT_EQ(this->find(all, {width, hash_bits}, similarity), wanted) << hash_bits;
        }
    }
}

TYPED_TEST(shingle_places, nothing_empty_and_the_same) {
    EXPECT_EQ(this->find({}, {4}, {8, 10}), pairs());
    EXPECT_EQ(this->find({{1, 2, 3, 4, 5}}, {4}, {8, 10}), pairs());
    EXPECT_EQ(this->find({{}, {}}, {4}, {8, 10}), (pairs{{0, 1, 0, 0}}));
    EXPECT_EQ(this->find({{}, {1}, {}, {}}, {4}, {8, 10}), (pairs{{0, 2, 0, 0}, {0, 3, 0, 0}, {2, 3, 0, 0}}));
    const documents same(40, {5, 5, 5, 5, 5, 5, 5});
    EXPECT_EQ(this->find(same, {4}, {1, 1}).size(), 40u * 39 / 2);
    // The same set from different words: classes of sets, not of texts.
    EXPECT_EQ(this->find({{1, 2, 1, 2, 1}, {2, 1, 2, 1, 2, 1}, {1, 2}}, {2}, {1, 1}), (pairs{{0, 1, 0, 2}}));
}

// 9 of 10 words: exactly nine tenths, and just above; 99 of 100 as well. Sizes that differ by the bound.
TYPED_TEST(shingle_places, at_the_bound) {
    documents all;
    for (const std::uint32_t size : {9u, 10u, 11u, 90u, 99u, 100u, 101u, 111u}) {
        all.emplace_back();
        for (std::uint32_t w = 0; w < size; ++w) all.back().push_back(w);
        all.push_back(all.back());
        all.back().back() = 1000 + size;  // one word in place of another
    }
    for (const decimal similarity : {decimal{9, 10}, decimal{900'000'001, 1'000'000'000}, decimal{99, 100},
                                     decimal{98, 100}, decimal{89, 100}, decimal{1, 1'000'000'000}}) {
        EXPECT_EQ(this->find(all, {1}, similarity),
                  reference::shingle_pairs(all, options_for(1, similarity), {}))
            << similarity.value();
    }
}

// Long documents, one shingle again and again, one list of postings with all sets.
TYPED_TEST(shingle_places, long_lists_and_repeats) {
    std::mt19937_64 random(4);
    const std::size_t long_size = tested_with().small_sizes ? 300 : 20'000;
    documents all;
    for (int copies = 0; copies < 3; ++copies) {
        all.emplace_back(long_size, 7);  // one shingle
        all.emplace_back();
        for (std::uint32_t i = 0; i < long_size; ++i) all.back().push_back(i % 1000);
        all.back()[random() % long_size] = 5000;
    }
    const std::size_t sharing = tested_with().small_sizes ? 40 : 300;
    for (std::uint32_t i = 0; i < sharing; ++i)  // all share two shingles of their three
        all.push_back({1, 2, 3, 4, 5, 10'000 + i});
    for (const decimal similarity : {decimal{8, 10}, decimal{1, 2}})
        EXPECT_EQ(this->find(all, {4}, similarity),
                  reference::shingle_pairs(all, options_for(4, similarity), {}));
}

// Each place finds the same in as little memory as holds one document's tile.
TYPED_TEST(shingle_places, the_same_in_tiles) {
    const documents all = families(tested_with().small_sizes ? 150 : 3000, 300, 60, 8);
    const flat input(all);
    cpu_place cpu(context::cpu(2));
    duplicate_counts of_cpu;
    const pairs wanted = find_by_shingles(cpu, input.view(), shingle_rule{2}, decimal{3, 10}, {}, of_cpu);
    ASSERT_GT(wanted.size(), 50u);
    EXPECT_EQ(this->find(all, {2}, {3, 10}), wanted);
    for (const std::uint64_t bytes_a_word : {20u, 40u, 200u}) {
        context ctx = this->place().ctx();
        ctx.gpu_memory_bytes = (4 << 20) + bytes_a_word * input.words.size();
        ctx.memory_bytes = (4 << 20) + 60 * input.words.size();
        duplicate_counts counts;
        const auto in_little = [&] {
            if constexpr (std::is_same_v<typename TestFixture::place_type, cpu_place>) {
                cpu_place little(ctx);
                return find_by_shingles(little, input.view(), shingle_rule{2}, decimal{3, 10}, {}, counts);
            } else {
                cuda_place little(ctx, this->place().ordinal());
                return find_by_shingles(little, input.view(), shingle_rule{2}, decimal{3, 10}, {}, counts);
            }
        };
        EXPECT_EQ(in_little(), wanted) << bytes_a_word;
    }
}

TYPED_TEST(shingle_places, ages_and_stops) {
    const documents all = families(this->documents_to_compare(), 40, 50, 12);
    for (const std::uint32_t first_new : {0u, 1u, 50u, 149u, 400u}) {
        for (const bool within : {true, false}) {
            const duplicate_scope scope{
                std::min<std::uint32_t>(first_new, static_cast<std::uint32_t>(all.size())), within};
            EXPECT_EQ(this->find(all, {2}, {1, 2}, scope),
                      reference::shingle_pairs(all, options_for(2, {1, 2}), scope));
        }
    }
    // Long enough that a table of counts in little memory is shared by many shingles.
    const documents many = families(tested_with().small_sizes ? 100 : 6000, 3000, 60, 1);
    const flat input(many);
    cpu_place cpu(context::cpu(2));
    duplicate_counts counts, of_cpu;
    EXPECT_EQ(find_by_shingles(this->place(), input.view(), shingle_rule{3}, decimal{3, 10}, {}, counts),
              find_by_shingles(cpu, input.view(), shingle_rule{3}, decimal{3, 10}, {}, of_cpu));
    EXPECT_EQ(counts.pairs, of_cpu.pairs);
}

}  // namespace
}  // namespace quern::shingle_places_test
