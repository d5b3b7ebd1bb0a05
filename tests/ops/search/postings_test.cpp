// SPDX-License-Identifier: Apache-2.0
#include "ops/search/postings.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>

#include "ops/search/search_samples.hpp"
#include "quern/base/error.hpp"

namespace quern::postings_test {
namespace {

using namespace quern::search_detail;
using reference::word_documents;
using search_samples::encoded_list;

word_documents decoded(const posting_list& list, std::span<const std::uint32_t> lengths) {
    word_documents result;
    for (postings_cursor cursor(list, lengths); !cursor.done(); cursor.next_block()) {
        cursor.decode();
        for (std::size_t i = 0; i < cursor.documents().size(); ++i)
            result.emplace_hint(result.end(), cursor.documents()[i], cursor.frequencies()[i]);
    }
    return result;
}

TEST(bit_packing, every_width_round_trips) {
    std::mt19937_64 random(1);
    for (unsigned width = 0; width <= 32; ++width) {
        std::uint32_t numbers[block_size], back[block_size];
        const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
        for (int round = 0; round < 20; ++round) {
            for (auto& number : numbers)
                number = static_cast<std::uint32_t>(round == 0 ? mask : random() & mask);
            std::string packed(packed_bytes(width), '?');
            pack_block(numbers, width, packed.data());
            unpack_block(packed.data(), width, back);
            ASSERT_EQ(std::memcmp(numbers, back, sizeof numbers), 0) << width;
        }
    }
}

TEST(postings, lists_of_every_size_round_trip) {
    for (const std::uint32_t size : {0u, 1u, 31u, 32u, 33u, 127u, 128u, 129u, 255u, 256u, 257u, 4097u}) {
        std::mt19937_64 random(size);
        word_documents documents;
        std::uint32_t document = 0;
        for (std::uint32_t i = 0; i < size; ++i) {
            document += 1 + static_cast<std::uint32_t>(random() % 20);
            documents[document] = 1 + static_cast<std::uint32_t>(random() % 4);
        }
        std::vector<std::uint32_t> lengths(document + 1);
        for (auto& length : lengths) length = 4 + static_cast<std::uint32_t>(random() % 100);
        const encoded_list list(documents, lengths);
        EXPECT_EQ(list.totals.document_frequency, size);
        EXPECT_EQ(decoded(list.view(), lengths), documents);
        EXPECT_NO_THROW(check_postings(list.view(), lengths));
    }
}

TEST(postings, one_writer_writes_list_after_list) {
    std::string out;
    postings_writer writer(out);
    std::vector<std::size_t> ends;
    for (std::uint32_t list = 0; list < 4; ++list) {
        for (std::uint32_t d = list; d < 300; d += list + 1) writer.add(d, d + 1);
        const auto totals = writer.finish_list();
        EXPECT_EQ(totals.document_frequency, (300 - list + list) / (list + 1));
        ends.push_back(out.size());
    }
    const auto empty = writer.finish_list();
    EXPECT_EQ(empty.document_frequency, 0u);
    EXPECT_EQ(out.size(), ends.back());
}

TEST(postings, a_list_of_all_documents_costs_no_bit_a_document) {
    word_documents documents;
    for (std::uint32_t d = 0; d < 1280; ++d) documents[d] = 1;
    EXPECT_EQ(encoded_list(documents, {}).bytes.size(), 160u);  // ten headers
}

TEST(postings, extreme_frequencies_round_trip) {
    constexpr std::uint32_t max = std::numeric_limits<std::uint32_t>::max();
    word_documents documents;
    for (std::uint32_t d = 0; d < 200; ++d) documents[d] = d % 2 == 0 ? max : d % 3 == 0 ? 65'535 : 65'534;
    const std::vector<std::uint32_t> lengths(200, max);
    const encoded_list list(documents, lengths);
    EXPECT_EQ(decoded(list.view(), lengths), documents);
    EXPECT_NO_THROW(check_postings(list.view(), lengths));
}

TEST(postings, writer_refuses_disorder) {
    std::string out;
    postings_writer writer(out);
    writer.add(5, 1);
    EXPECT_THROW(writer.add(5, 1), std::logic_error);
    EXPECT_THROW(writer.add(4, 1), std::logic_error);
    EXPECT_THROW(writer.add(6, 0), std::logic_error);
}

TEST(postings, cursor_seeks_the_block_of_any_document) {
    const auto sample = search_samples::random_sample(40'000, {0.2}, 3);
    const encoded_list list(sample.words[0], sample.lengths);
    std::mt19937_64 random(4);
    for (int round = 0; round < 300; ++round) {
        postings_cursor cursor(list.view(), sample.lengths);
        std::uint32_t target = 0;
        while (!cursor.done()) {
            target += static_cast<std::uint32_t>(random() % (round < 100 ? 100 : 30'000));
            cursor.seek_block(target);
            const auto next = sample.words[0].lower_bound(target);
            ASSERT_EQ(cursor.done(), next == sample.words[0].end());
            if (cursor.done()) break;
            cursor.decode();
            const auto found = std::lower_bound(cursor.documents().begin(), cursor.documents().end(), target);
            ASSERT_NE(found, cursor.documents().end());
            ASSERT_EQ(*found, next->first);
            ASSERT_LE(cursor.lowest(), *found);
        }
    }
}

TEST(postings, bounds_hold_for_what_they_cover) {
    const auto sample = search_samples::random_sample(5'000, {0.7}, 6);
    const encoded_list list(sample.words[0], sample.lengths);
    for (const std::uint32_t begin : {0u, 100u, 2'000u, 4'999u})
        for (const std::uint32_t end : {1u, 200u, 3'000u, 5'000u}) {
            postings_cursor cursor(list.view(), sample.lengths);
            cursor.seek_block(begin);
            postings_cursor::bounds all;
            cursor.visit_bounds(end, [&](const postings_cursor::bounds& block) {
                all.max_frequency = std::max(all.max_frequency, block.max_frequency);
                all.min_length = std::min(all.min_length, block.min_length);
            });
            for (auto it = sample.words[0].lower_bound(begin); it != sample.words[0].end() && it->first < end;
                 ++it) {
                EXPECT_LE(it->second, all.max_frequency);
                EXPECT_GE(sample.lengths[it->first], all.min_length);
            }
        }
}

// For any change of one byte: damage is reported, or the list is still well-formed.
TEST(postings, damaged_bytes_never_break_the_order) {
    const auto sample = search_samples::random_sample(700, {0.8}, 7);
    const encoded_list list(sample.words[0], sample.lengths);
    std::size_t named = 0, tried = 0;
    const auto try_bytes = [&](const std::string& bytes) {
        auto view = list.view();
        const std::vector<char> exact(bytes.begin(), bytes.end());
        view.bytes = exact;
        ++tried;
        try {
            std::uint64_t next = 0, count = 0;
            for (postings_cursor cursor(view, sample.lengths); !cursor.done(); cursor.next_block()) {
                cursor.decode();
                for (std::size_t i = 0; i < cursor.documents().size(); ++i, ++count) {
                    ASSERT_GE(cursor.documents()[i], next);
                    ASSERT_LT(cursor.documents()[i], 700u);
                    ASSERT_GE(cursor.frequencies()[i], 1u);
                    next = cursor.documents()[i] + std::uint64_t{1};
                }
            }
            ASSERT_EQ(count, view.document_frequency);
        } catch (const damaged_store& damage) {
            EXPECT_EQ(damage.section(), "postings");
            ++named;
        }
    };
    for (std::size_t at = 0; at < list.bytes.size(); ++at)
        for (const int flip : {1, 0x80, 0xff}) {
            auto bytes = list.bytes;
            bytes[at] = static_cast<char>(bytes[at] ^ flip);
            try_bytes(bytes);
        }
    for (std::size_t size = 0; size < list.bytes.size(); ++size) {
        named = 0;
        try_bytes(list.bytes.substr(0, size));
        ASSERT_EQ(named, 1u) << "cut to " << size;
    }
}

TEST(postings, check_finds_what_a_search_takes_on_trust) {
    const auto sample = search_samples::random_sample(700, {0.8}, 7);
    const encoded_list list(sample.words[0], sample.lengths);
    const auto expect_damage = [&](posting_list view, const std::vector<std::uint32_t>& lengths) {
        EXPECT_THROW(check_postings(view, lengths), damaged_store);
    };
    auto view = list.view();
    ++view.collection_frequency;
    expect_damage(view, sample.lengths);
    const std::string longer = list.bytes + '\0';
    view = list.view();
    view.bytes = longer;
    expect_damage(view, sample.lengths);
    auto shorter = sample.lengths;
    for (auto& length : shorter) length = 0;
    expect_damage(list.view(), shorter);
    std::string lower = list.bytes;
    lower[12] = 1, lower[13] = 0;  // the first block's largest frequency
    view = list.view();
    view.bytes = lower;
    expect_damage(view, sample.lengths);
}

RC_GTEST_PROP(postings, any_list_round_trips, (const std::map<std::uint16_t, std::uint16_t>& content)) {
    word_documents documents;
    for (const auto& [document, frequency] : content) documents[document] = frequency + 1u;
    const std::vector<std::uint32_t> lengths(65'536, 70'000);
    const encoded_list list(documents, lengths);
    RC_ASSERT(decoded(list.view(), lengths) == documents);
    check_postings(list.view(), lengths);
}

}  // namespace
}  // namespace quern::postings_test
