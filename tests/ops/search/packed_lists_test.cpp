// SPDX-License-Identifier: Apache-2.0
// Lists in a GPU's form, read as a kernel reads them.
#include "ops/search/packed_lists.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "ops/search/search_samples.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail::packed_lists_test {
namespace {

using namespace search_samples;

reference::word_documents read(const packed_lists& packed, std::size_t list) {
    reference::word_documents found;
    const packed_lists::place& place = packed.lists[list];
    const auto* const blocks = reinterpret_cast<const packed_block*>(packed.units.data() + place.at);
    const packed_unit* const numbers = packed.units.data() + place.at + place.blocks;
    std::uint64_t end = 0;
    for (std::uint32_t b = 0; b < place.blocks; ++b) {
        const packed_block& block = blocks[b];
        EXPECT_GE(block.lowest, end);
        std::uint64_t next = block.lowest;
        for (unsigned i = 0; i < block.size; ++i) {
            const packed_unit gaps = packed_row(numbers + block.at, block.gap_width, i / 4);
            const packed_unit extras =
                packed_row(numbers + block.at + block.gap_width, block.frequency_width, i / 4);
            next += gaps.lanes[i % 4];
            found[static_cast<std::uint32_t>(next)] = extras.lanes[i % 4] + 1;
            EXPECT_LE(extras.lanes[i % 4] + 1, place.max_frequency);
            ++next;
        }
        EXPECT_EQ(next, std::uint64_t{block.last} + 1);
        end = next;
    }
    return found;
}

TEST(packed_lists, hold_what_was_written) {
    for (const std::uint32_t documents : {1u, 127u, 128u, 129u, 256u, 5'000u}) {
        const auto collection = random_sample(documents, {1.0, 0.5, 0.05, 0.001, 0.9}, documents);
        std::vector<encoded_list> encoded;
        std::vector<posting_list> lists;
        for (const auto& word : collection.words) encoded.emplace_back(word, collection.lengths);
        for (const encoded_list& list : encoded) lists.push_back(list.view());
        for (const unsigned threads : {1u, 3u}) {
            const packed_lists packed =
                pack_lists(lists, collection.lengths, 0, documents, context::cpu(threads));
            std::uint64_t max = 0;
            for (std::size_t w = 0; w < lists.size(); ++w) {
                EXPECT_EQ(read(packed, w), collection.words[w]);
                max += max_units(lists[w], collection.lengths, 0, documents);
            }
            EXPECT_LE(packed.units.size(), max);
        }
    }
}

// The estimate for a range is the size of its blocks, and at most 65 units for a tail: half of the documents, half of it.
TEST(packed_lists, max_units_of_a_range) {
    const auto collection = random_sample(50'000, {0.9, 0.1, 0.003, 0.0001}, 9);
    for (const auto& word : collection.words) {
        const encoded_list encoded(word, collection.lengths);
        const posting_list list = encoded.view();
        const auto max = [&](std::uint64_t first, std::uint64_t last) {
            return max_units(list, collection.lengths, first, last);
        };
        for (const auto& [first, last] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                 {0, 50'000}, {0, 4'096}, {4'096, 8'192}, {0, 24'576}, {24'576, 50'000}, {49'152, 50'000}}) {
            const std::uint64_t units =
                pack_lists({&list, 1}, collection.lengths, first, last, context::cpu(1)).units.size();
            EXPECT_GE(max(first, last), units);
            EXPECT_LE(max(first, last), units + 66);
        }
        const std::uint64_t a_block = 65;  // lies in both halves
        EXPECT_LE(max(0, 24'576) + max(24'576, 50'000), max(0, 50'000) + a_block);
    }
}

// A range has at least its documents, and blocks that begin before it or end after it.
TEST(packed_lists, of_a_range) {
    const auto collection = random_sample(5'000, {0.7, 0.01}, 2);
    for (const auto& word : collection.words) {
        const encoded_list encoded(word, collection.lengths);
        const posting_list list = encoded.view();
        for (const auto& [first, last] :
             std::map<std::uint32_t, std::uint32_t>{{0, 1}, {1'024, 2'048}, {3'000, 5'000}, {4'999, 5'000}}) {
            const auto found =
                read(pack_lists({&list, 1}, collection.lengths, first, last, context::cpu(1)), 0);
            for (const auto& [document, frequency] : found) EXPECT_EQ(word.at(document), frequency);
            for (const auto& [document, frequency] : word)
                EXPECT_TRUE(document < first || document >= last || found.contains(document));
        }
    }
}

TEST(packed_lists, numbers_of_every_width) {
    sample collection;
    collection.lengths.assign(3'000, 1);
    collection.words.resize(33);
    for (unsigned width = 0; width < 33; ++width)
        for (std::uint32_t d = 0; d < 200; ++d)
            collection.words[width][d * 15] =
                static_cast<std::uint32_t>(
                    (d * 0x9e3779b97f4a7c15u >> (64 - width) & ((std::uint64_t{1} << width) - 1)) %
                    0xffffffffu) +
                1;
    for (const auto& word : collection.words) {
        const encoded_list encoded(word, {});
        const posting_list list = encoded.view();
        EXPECT_EQ(read(pack_lists({&list, 1}, collection.lengths, 0, 3'000, context::cpu(1)), 0), word);
    }
}

TEST(packed_lists, refuse_entries_that_cannot_be) {
    const auto collection = random_sample(1'000, {0.9}, 4);
    const encoded_list encoded(collection.words[0], collection.lengths);
    posting_list list = encoded.view();
    list.bytes = list.bytes.first(40);
    EXPECT_THROW(pack_lists({&list, 1}, collection.lengths, 0, 1'000, context::cpu(1)), damaged_store);
    EXPECT_THROW(max_units(list, collection.lengths, 0, 500), damaged_store);
}

}  // namespace
}  // namespace quern::search_detail::packed_lists_test
