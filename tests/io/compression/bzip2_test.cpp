// SPDX-License-Identifier: Apache-2.0
// The block decoder of bzip2 against libbz2: every level, hard blocks, false and randomised ones.
#include <bzlib.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "io/byte_source.hpp"
#include "io/compression/bzip2_block.hpp"
#include "io/compression/packers.hpp"
#include "quern/base/error.hpp"

namespace quern::io::bzip2_test {
namespace {

using ::testing::HasSubstr;

/// The plain bytes, followed by "!" + reason if the source threw.
std::string unpack(std::string_view packed, unsigned threads) {
    context ctx;
    ctx.threads = threads;
    const auto source = open_bytes_memory(packed, "sample", ctx);
    std::string plain;
    std::string piece(1 << 18, '\0');
    try {
        while (const std::size_t count = source->read(piece)) plain.append(piece, 0, count);
    } catch (const invalid_input& problem) {
        plain += "!" + problem.reason();
    }
    return plain;
}

void expect_all_threads(std::string_view packed, const std::string& plain) {
    for (const unsigned threads : {1U, 2U, 3U, 8U}) ASSERT_TRUE(unpack(packed, threads) == plain) << threads;
}

std::vector<std::uint64_t> block_positions(std::string_view packed) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(packed.data()), packed.size());
    std::vector<std::uint64_t> found;
    for (std::uint64_t at = 0; (at = bzip2::find_block(bytes, at)) != UINT64_MAX; ++at) found.push_back(at);
    return found;
}

bool bit_at(std::string_view bytes, std::uint64_t at) {
    return static_cast<unsigned char>(bytes[at / 8]) >> (7 - at % 8) & 1;
}

void put_bits(std::string& bytes, std::uint64_t at, std::uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; ++i, ++at) {
        const auto mask = static_cast<char>(1 << (7 - at % 8));
        if (at / 8 >= bytes.size()) bytes += '\0';
        bytes[at / 8] =
            static_cast<char>(value >> (count - 1 - i) & 1 ? bytes[at / 8] | mask : bytes[at / 8] & ~mask);
    }
}

TEST(bzip2, every_level_over_several_blocks) {
    std::string plain =
        test::words(1'150'000, 1) + std::string(50'000, 'z') + test::random_bytes(200'000, 256, 2);
    for (int level = 1; level <= 9; ++level) {
        SCOPED_TRACE(level);
        expect_all_threads(test::pack_bzip2(plain, level), plain);
    }
}

TEST(bzip2, blocks_that_expand_fifty_times) {
    const std::string plain = std::string(100'000'000, 'x') + test::words(1000, 3);
    for (const unsigned threads : {1U, 4U}) EXPECT_TRUE(unpack(test::pack_bzip2(plain, 9), threads) == plain);
}

TEST(bzip2, periodic_blocks_close_their_chain_early) {
    for (const std::size_t period : {1U, 2U, 3U, 5U, 1024U, 1023U, 4096U}) {
        std::string plain;
        const std::string unit = test::random_bytes(period, 256, period);
        while (plain.size() < 60'000) plain += unit;
        plain.resize(plain.size() / period * period);
        for (const std::size_t drop : {std::size_t{0}, std::size_t{1}}) {
            plain.resize(plain.size() - drop);
            expect_all_threads(test::pack_bzip2(plain), plain);
        }
    }
}

TEST(bzip2, sizes_around_the_parts_of_the_chain) {
    for (const std::size_t size :
         {1U, 2U, 3U, 7U, 8U, 9U, 1023U, 1024U, 1025U, 2048U, 8191U, 8192U, 8193U, 16'385U}) {
        const std::string plain = test::random_bytes(size, 200, size);
        expect_all_threads(test::pack_bzip2(plain), plain);
    }
}

RC_GTEST_PROP(bzip2_property, decodes_what_libbz2_packs, (std::vector<std::uint8_t> seed)) {
    std::string plain;
    for (const std::uint8_t byte : seed) {
        plain.append(byte % 7, static_cast<char>(byte));
        if (byte % 5 == 0) plain += plain.substr(0, plain.size() / 3);
        if (plain.size() > 400'000) break;
    }
    RC_ASSERT(unpack(test::pack_bzip2(plain, 1 + static_cast<int>(seed.size() % 9)), 1) == plain);
}

TEST(bzip2, finder_finds_a_magic_at_every_bit_position) {
    for (std::uint64_t at = 0; at < 200; ++at) {
        std::string bytes = test::random_bytes(40, 256, at);
        put_bits(bytes, at, bzip2::block_magic, bzip2::magic_bits);
        EXPECT_THAT(block_positions(bytes), ::testing::ElementsAre(at));
        bytes.resize((at + bzip2::magic_bits + 7) / 8);
        EXPECT_THAT(block_positions(bytes), ::testing::ElementsAre(at));
        bytes.resize(bytes.size() - 1);
        EXPECT_THAT(block_positions(bytes), ::testing::IsEmpty());
    }
}

TEST(bzip2, whole_blocks_before_damage_arrive_and_the_message_says_where) {
    const std::string plain = test::random_bytes(450'000, 256, 5);
    const std::string packed = test::pack_bzip2(plain, 1);
    const auto blocks = block_positions(packed);
    ASSERT_GE(blocks.size(), 4U);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        std::string damaged = packed;
        damaged[blocks[b] / 8 + 20'000] ^= 0x10;
        for (const unsigned threads : {1U, 2U, 4U}) {
            const std::string got = unpack(damaged, threads);
            const std::size_t mark = got.rfind('!');
            ASSERT_NE(mark, std::string::npos);
            EXPECT_THAT(got.substr(mark), HasSubstr("byte " + std::to_string(blocks[b] / 8)));
            EXPECT_TRUE(plain.starts_with(got.substr(0, mark)));
            EXPECT_GE(mark, b * 99'000);
        }
    }
}

/// A block's first stage written by hand, with 8-bit Huffman codes for all 256 symbols but the last: its symbols are
/// then arbitrary bytes, so that they can contain a block magic.
std::string stream_with_false_magics(std::string& plain);

TEST(bzip2, magic_numbers_inside_a_block_do_not_break_it) {
    std::string plain;
    const std::string packed = stream_with_false_magics(plain);
    bool sound = false;
    ASSERT_TRUE(test::unpack_bzip2(packed, sound) == plain);
    ASSERT_TRUE(sound);
    ASSERT_GT(block_positions(packed).size(), 100U);
    expect_all_threads(packed, plain);
    // Also between true neighbours.
    const std::string around = test::pack_bzip2(test::words(250'000, 1), 1);
    const std::string words = test::words(250'000, 1);
    expect_all_threads(around + packed + around + packed, words + plain + words + plain);
}

std::uint32_t block_checksum(std::string_view plain) {
    return ~bzip2::update_checksum(~0U, plain);
}

std::string stream_with_false_magics(std::string& plain) {
    // Symbols: RUNA 0, RUNB 1, 253 positions of the move-to-front list, end 255 (254 bytes in use). All 256 codes are 8
    // bits long and canonical: symbol s is the byte s.
    constexpr unsigned used = 254;
    std::vector<std::uint8_t> symbols;
    const std::string_view magic = "\x31\x41\x59\x26\x53\x59";
    for (int i = 0; i < 150; ++i) {
        for (int k = 0; k < i % 40; ++k)
            symbols.push_back(static_cast<std::uint8_t>(2 + (i * 7 + k * 13) % 250));
        for (const char byte : magic) symbols.push_back(static_cast<std::uint8_t>(byte));
    }
    symbols.push_back(used + 1);
    const std::size_t groups = (symbols.size() + 49) / 50;
    const auto size = static_cast<std::uint32_t>(symbols.size() - 1);
    std::string best;
    // The checksum is that of libbz2's output: write once, decode, and write again.
    std::uint32_t checksum = 0;
    for (int round = 0; round < 2; ++round) {
        std::string packed = "BZh1";
        std::uint64_t at = 32;
        const auto put = [&](std::uint64_t value, unsigned count) {
            put_bits(packed, at, value, count);
            at += count;
        };
        put(bzip2::block_magic, 48);
        put(checksum, 32);
        put(0, 1);
        put(size / 2, 24);
        put(0xffff, 16);
        for (int range = 0; range < 16; ++range) put(range == 15 ? 0xfffcU : 0xffffU, 16);
        put(2, 3);
        put(groups, 15);
        for (std::size_t i = 0; i < groups; ++i) put(0, 1);
        for (int table = 0; table < 2; ++table) {
            put(8, 5);
            for (unsigned i = 0; i < used + 2; ++i) put(0, 1);
        }
        for (const std::uint8_t symbol : symbols) put(symbol, 8);
        put(bzip2::end_magic, 48);
        put(checksum, 32);
        best = packed;
        bool sound = false;
        plain = test::unpack_bzip2(packed, sound);
        checksum = block_checksum(plain);
    }
    return best;
}

TEST(bzip2, randomised_blocks_of_old_writers) {
    // Set the flag of a valid block: libbz2 then reverses a randomisation that never happened, which gives other bytes;
    // with their checksum the stream is valid again.
    const std::string packed = test::pack_bzip2(test::words(30'000, 1) + std::string(500, 'a'), 1);
    std::string changed = packed;
    put_bits(changed, 32 + 48 + 32, 1, 1);
    bool sound = true;
    const std::string plain = test::unpack_bzip2(changed, sound);
    ASSERT_FALSE(sound);
    const std::uint32_t checksum = block_checksum(plain);
    put_bits(changed, 32 + 48, checksum, 32);
    // The stream's checksum follows the end magic.
    std::uint64_t end = changed.size() * 8;
    const auto magic_at = [&](std::uint64_t at) {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < 48; ++i) value = value << 1 | (bit_at(changed, at + i) ? 1U : 0U);
        return value == bzip2::end_magic;
    };
    for (end -= 80; !magic_at(end);) --end;
    put_bits(changed, end + 48, checksum, 32);
    ASSERT_TRUE(test::unpack_bzip2(changed, sound) == plain);
    ASSERT_TRUE(sound);
    expect_all_threads(changed, plain);
    const std::string words = test::words(200'000, 2);
    expect_all_threads(changed + test::pack_bzip2(words, 1) + changed, plain + words + plain);
    changed[200] ^= 1;
    EXPECT_THAT(unpack(changed, 1), HasSubstr("!"));
}

TEST(bzip2, a_block_larger_than_its_stream_allows_is_refused) {
    std::string packed = test::pack_bzip2(test::random_bytes(150'000, 256, 1), 2);
    packed[3] = '1';
    EXPECT_THAT(unpack(packed, 1), HasSubstr("larger than"));
}

TEST(bzip2, checksums_match_the_definition) {
    const std::string text = test::random_bytes(1000, 256, 1);
    for (std::size_t size = 0; size < 40; ++size) {
        std::uint32_t slow = ~0U;
        for (const char byte : text.substr(0, size)) {
            slow ^= static_cast<std::uint32_t>(static_cast<unsigned char>(byte)) << 24;
            for (int bit = 0; bit < 8; ++bit) slow = slow << 1 ^ (slow >> 31 ? 0x04c11db7U : 0U);
        }
        EXPECT_EQ(bzip2::update_checksum(~0U, std::string_view(text).substr(0, size)), slow);
    }
}

// On one processor the reader is often destroyed just when its only worker looks for another piece: if that worker
// missed the end and waited, it would never finish.
TEST(bzip2, a_source_ends_while_its_worker_reads) {
    constexpr std::string_view no_block("BZh3\x20\x2c\xdc\x2c\xdc\xff\x00\x00\x00\x33\x52\x03\x60\x0a\x75",
                                        19);
    std::thread([&] {
        cpu_set_t all, one;
        sched_getaffinity(0, sizeof all, &all);
        CPU_ZERO(&one);
        int cpu = 0;
        while (!CPU_ISSET(cpu, &all)) ++cpu;
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        context ctx;
        ctx.threads = 2;
        ctx.memory_bytes = 64 << 20;  // for one worker
        std::string out(100, '\0');
        for (int i = 0; i < 10'000; ++i) {
            const auto source = open_bytes_memory(no_block, "sample", ctx);
            EXPECT_THROW(source->read(out), invalid_input);
        }
    }).join();
}

TEST(bzip2, a_real_file_equals_what_libbz2_gives) {
    const char* data = std::getenv("QUERN_DATA");
    if (data == nullptr) GTEST_SKIP() << "QUERN_DATA is not set";
    const auto path = std::filesystem::path(data) / "wordsim/corpus_en/enwiki2015_AA.txt.bz2";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    std::ifstream file(path, std::ios::binary);
    std::string packed(std::istreambuf_iterator<char>(file), {});
    bool sound = false;
    const std::string plain = test::unpack_bzip2(packed, sound);
    ASSERT_TRUE(sound);
    for (const unsigned threads : {1U, 2U}) EXPECT_TRUE(unpack(packed, threads) == plain) << threads;
}

}  // namespace
}  // namespace quern::io::bzip2_test
