// SPDX-License-Identifier: Apache-2.0
// What libsnappy writes is read back, and of damaged data the same is accepted, with the same bytes, as by libsnappy.
#include "io/compression/snappy_block.hpp"

#include <gtest/gtest.h>
#include <snappy.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace quern::io::snappy_block_test {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_bytes = 1 << 20;

std::optional<std::string> unpacked(std::string_view packed, std::size_t size) {
    // Memory of exactly that size, so that a memory checker sees what lies outside.
    const auto input = std::make_unique<char[]>(packed.size());
    if (!packed.empty()) std::memcpy(input.get(), packed.data(), packed.size());
    std::vector<char> plain(size);
    if (!decompress_snappy({input.get(), packed.size()}, plain)) return std::nullopt;
    return std::string(plain.begin(), plain.end());
}

std::optional<std::string> by_library(std::string_view packed) {
    std::size_t size = 0;
    if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &size) || size > max_bytes)
        return std::nullopt;
    std::string plain(size, '\0');
    if (!snappy::RawUncompress(packed.data(), packed.size(), plain.data())) return std::nullopt;
    return plain;
}

std::string packed(std::string_view plain) {
    std::string made;
    snappy::Compress(plain.data(), plain.size(), &made);
    return made;
}

/// Texts of runs, of words that repeat, and of bytes that do not.
std::string sample(std::mt19937& random) {
    std::string made;
    const std::size_t size = random() % 5000;
    while (made.size() < size) {
        switch (random() % 3) {
            case 0:
                made.append(1 + random() % 200, static_cast<char>(random()));
                break;
            case 1:
                made += "word" + std::to_string(random() % 30) + ' ';
                break;
            default:
                for (std::size_t left = random() % 90; left != 0; --left) made += static_cast<char>(random());
        }
        if (made.size() > 40 && random() % 4 == 0) made += made.substr(made.size() - 1 - random() % 40);
    }
    return made;
}

TEST(snappy_block_test, reads_what_the_library_writes) {
    std::mt19937 random(1);
    for (int time = 0; time < 500; ++time) {
        const std::string plain = sample(random);
        EXPECT_EQ(unpacked(packed(plain), plain.size()), plain) << time;
    }
    EXPECT_EQ(unpacked(packed(""), 0), "");
}

TEST(snappy_block_test, reads_each_element_of_the_format) {
    const auto length = [](std::size_t size) {
        std::string made;
        for (; size > 127; size >>= 7U) made += static_cast<char>((size & 127U) | 128U);
        return made += static_cast<char>(size);
    };
    std::string bytes;
    for (std::size_t i = 0; i < 100'000; ++i) bytes += static_cast<char>(i * i >> 5U);
    // Literals with their length in 1 to 4 bytes after the tag.
    for (const std::size_t number_bytes : {1U, 2U, 3U, 4U}) {
        const std::size_t size = number_bytes == 1 ? 200 : number_bytes == 2 ? 60'000 : bytes.size();
        std::string data = length(size);
        data += static_cast<char>((59 + number_bytes) << 2U);
        for (std::size_t i = 0; i < number_bytes; ++i)
            data += static_cast<char>((size - 1) >> (8 * i) & 255U);
        data += bytes.substr(0, size);
        EXPECT_EQ(unpacked(data, size), bytes.substr(0, size)) << number_bytes;
    }
    // Copies from every near offset, of every length, with offsets of 1, 2 and 4 bytes; enough after them that they are wide.
    for (std::size_t offset = 1; offset <= 70; ++offset) {
        for (std::size_t count = 1; count <= 64; ++count) {
            std::string plain = bytes.substr(0, 80);
            for (std::size_t i = 0; i < count; ++i) plain += plain[plain.size() - offset];
            plain += bytes.substr(0, 200);
            const auto with = [&](const std::string& copy) {
                std::string data = length(plain.size());
                data += "\xF0\x4F"sv;  // a literal of 80 bytes
                data += bytes.substr(0, 80);
                data += copy;
                data += "\xF0\xC7"sv;  // a literal of 200 bytes
                data += bytes.substr(0, 200);
                return data;
            };
            const auto tag = static_cast<char>((count - 1) << 2U), low = static_cast<char>(offset);
            const std::string two = {static_cast<char>(tag | 2), low, '\0'};
            const std::string four = {static_cast<char>(tag | 3), low, '\0', '\0', '\0'};
            EXPECT_EQ(unpacked(with(two), plain.size()), plain);
            EXPECT_EQ(unpacked(with(four), plain.size()), plain);
            if (count < 4 || count > 11) continue;
            const std::string one = {static_cast<char>((count - 4) << 2U | 1U), low};
            EXPECT_EQ(unpacked(with(one), plain.size()), plain);
        }
    }
}

TEST(snappy_block_test, refuses_damaged_data) {
    EXPECT_EQ(unpacked("", 0), std::nullopt);
    EXPECT_EQ(unpacked("\x05\x10"
                       "abcde"sv,
                       5),
              "abcde");
    EXPECT_EQ(unpacked("\x05\x10"
                       "abcde"sv,
                       4),
              std::nullopt)
        << "another length than expected";
    EXPECT_EQ(unpacked("\x05\x10"
                       "abcd"sv,
                       5),
              std::nullopt)
        << "a literal that is cut off";
    EXPECT_EQ(unpacked("\x04\x10"
                       "abcde"sv,
                       4),
              std::nullopt)
        << "more than its length";
    EXPECT_EQ(unpacked("\x06\x10"
                       "abcde"sv,
                       6),
              std::nullopt)
        << "less than its length";
    EXPECT_EQ(unpacked("\x09\x10"
                       "abcde\x01\x05"sv,
                       9),
              "abcdeabcd");
    EXPECT_EQ(unpacked("\x09\x10"
                       "abcde\x01\x06"sv,
                       9),
              std::nullopt)
        << "a copy from before the beginning";
    EXPECT_EQ(unpacked("\x09\x10"
                       "abcde\x01\x00"sv,
                       9),
              std::nullopt)
        << "a copy of itself";
    EXPECT_EQ(unpacked("\x09\x10"
                       "abcde\x01"sv,
                       9),
              std::nullopt)
        << "a copy without its offset";
    EXPECT_EQ(unpacked("\x80\x80\x80\x80\x80"sv, 0), std::nullopt) << "a length without an end";
}

TEST(snappy_block_test, accepts_what_the_library_accepts) {
    std::mt19937 random(2);
    std::size_t accepted = 0, refused = 0;
    for (int time = 0; time < 20'000; ++time) {
        std::string data = packed(sample(random).substr(0, 600));
        for (std::size_t changes = 1 + random() % 3; changes != 0; --changes)
            data[random() % data.size()] = static_cast<char>(random());
        if (random() % 4 == 0) data.resize(random() % data.size());
        std::size_t size = 0;
        if (!snappy::GetUncompressedLength(data.data(), data.size(), &size) || size > max_bytes) size = 0;
        const auto expected = by_library(data);
        ASSERT_EQ(unpacked(data, size), expected) << time;
        ++(expected ? accepted : refused);
    }
    EXPECT_GT(accepted, 1000U);
    EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace quern::io::snappy_block_test
