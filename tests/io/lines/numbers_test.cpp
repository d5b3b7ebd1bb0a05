// SPDX-License-Identifier: Apache-2.0
#include "io/lines/numbers.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "io/lines/line_kernels.hpp"
#include "io/matrix/matrix_market.hpp"
#include "on_every_target.hpp"

namespace quern::io::numbers_test {
namespace {

parsed_number number_of(const std::string& text) {
    const std::string padded = text + std::string(32, '\0');
    const parsed_number number = take_number(padded.data(), padded.data() + text.size());
    // As a field of a text, far from its end and at it.
    for (const std::string& whole : {text + " " + std::string(40, '9'), text}) {
        const parsed_number again = parse_double({whole.data(), text.size()}, whole.data() + whole.size());
        EXPECT_EQ(again.problem, number.problem) << text;
        if (number.problem != number_problem::none || std::isnan(number.value)) continue;
        EXPECT_EQ(std::bit_cast<std::uint64_t>(again.value), std::bit_cast<std::uint64_t>(number.value))
            << text;
    }
    return number;
}

TEST(numbers, runs_of_digits) {
    for (const std::uint64_t value : {0ull, 7ull, 12345678ull, 123456789ull, 1234567890123456ull,
                                      12345678901234567ull, 18446744073709551615ull}) {
        for (const char after : {' ', '/', ':', '\xff', '\0', 'a'}) {
            const std::string text = std::to_string(value) + after + "99999999999999999999999999";
            const char* at = text.data();
            const digit_run run = take_digits(at);
            EXPECT_EQ(run.value, value);
            EXPECT_TRUE(run.fits && run.canonical(text.data()));
            EXPECT_EQ(at - text.data(), run.digits);
            EXPECT_EQ(*at, after);
        }
    }
    const std::string large = "18446744073709551616" + std::string(20, ' ');
    const char* at = large.data();
    EXPECT_FALSE(take_digits(at).fits);
    EXPECT_EQ(at - large.data(), 20);
    EXPECT_EQ(integer_of("18446744073709551615"), 18446744073709551615u);
    for (const char* text :
         {"", "01", "-1", "+1", "1 ", "18446744073709551616", "99999999999999999999999", "1x"})
        EXPECT_EQ(integer_of(text), std::nullopt) << text;
}

/// The bits of the nearest double, and of the parsed one.
void expect_nearest(const std::string& text) {
    const parsed_number number = number_of(text);
    ASSERT_EQ(number.problem, number_problem::none) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(number.value),
              std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)))
        << text;
}

TEST(numbers, doubles_are_the_nearest) {
    for (const char* text :
         {"0",
          "-0",
          "+0.0",
          "1",
          "1.",
          ".5",
          "-.5e1",
          "9007199254740991",
          "9007199254740993",
          "9007199254740992.5",
          "1e22",
          "1e23",
          "123456789e22",
          "1e-22",
          "1e-23",
          "0.1",
          "0.30000000000000004",
          "5e-324",
          "2e-324",
          "1e-400",
          "-1e-400",
          "2.2250738585072014e-308",
          "2.2250738585072011e-308",
          "1.7976931348623157e308",
          "1.7976931348623158e308",
          "0000000000000000000000001",
          "1234567890123456789",
          "12345678901234567890",
          "0.1234567890123456789",
          "1e+5",
          "1E5",
          "1e0005",
          "0e99999999999",
          "179769313486231570000e288",
          "7e00",
          "0.00000000000000000000000000000000000000000000000000000000000000000000000000000000000001e80"})
        expect_nearest(text);
    std::mt19937_64 random(5);
    for (int i = 0; i < 200'000; ++i) {
        char text[64];
        const double value = std::bit_cast<double>(random());
        if (!std::isfinite(value)) continue;
        const char* const forms[] = {"%.17g", "%.6e", "%.15g", "%.1f"};
        std::snprintf(text, sizeof text, i % 4 == 3 ? "%.9f" : forms[i % 4],
                      i % 4 == 3 ? std::ldexp(static_cast<double>(random() >> 11), -40) : value);
        expect_nearest(text);
    }
}

TEST(numbers, what_is_none_and_what_is_too_large) {
    for (const char* text : {"",    "-",    "+",  ".",  "e5",  "1e",  "1e+",  "1.5.2", "--1",  "+-1",
                             "-+1", "0x10", "1 ", " 1", "1,5", "1d5", "nanx", "infin", "1e5x", "٣"})
        EXPECT_EQ(number_of(text).problem, number_problem::not_a_number) << text;
    for (const char* text : {"1e309", "-1e309", "1.7976931348623159e308", "1e99999999999999999999",
                             "100000000000000000000000000e300"})
        EXPECT_EQ(number_of(text).problem, number_problem::too_large) << text;
    EXPECT_TRUE(std::isnan(number_of("NaN").value));
    EXPECT_EQ(number_of("-inf").value, -HUGE_VAL);
    EXPECT_EQ(number_of("Infinity").value, HUGE_VAL);
}

TEST(numbers, kernels_on_every_instruction_set) {
    std::mt19937_64 random(6);
    std::string text(marks_window + 64, ' ');
    for (char& c : text)
        c = random() % 4 == 0 ? static_cast<char>(random()) : static_cast<char>('0' + random() % 10);
    std::vector<std::uint64_t> characters;
    std::vector<std::uint32_t> values;
    for (int i = 0; i < 517; ++i) {
        values.push_back(static_cast<std::uint32_t>(random() % 100'000'000 >> random() % 27));
        const std::string digits = std::to_string(values.back());
        std::uint64_t word = 0;
        std::memcpy(reinterpret_cast<char*>(&word) + 8 - digits.size(), digits.data(), digits.size());
        characters.push_back(word);
    }
    on_every_target([&] {
        for (const std::size_t size : {0u, 1u, 63u, 64u, 65u, 1000u, 4096u}) {
            std::vector<std::uint16_t> expected, found(marks_capacity);
            for (std::size_t i = 0; i < size; ++i)
                if (text[i] < '0' || text[i] > '9') expected.push_back(static_cast<std::uint16_t>(i));
            found.resize(mark_non_digits(text.data(), size, found.data()));
            EXPECT_EQ(found, expected);
        }
        for (std::size_t count = 0; count < values.size(); count = 2 * count + 1) {
            std::vector<std::uint32_t> found(count);
            number_range range{50'000, 60'000};
            convert_digits(std::span(characters).first(count), found.data(), range);
            std::uint32_t least = 50'000, largest = 60'000;
            for (std::size_t i = 0; i < count; ++i) {
                EXPECT_EQ(found[i], values[i]);
                least = std::min(least, values[i]);
                largest = std::max(largest, values[i]);
            }
            EXPECT_EQ(range.least, least);
            EXPECT_EQ(range.largest, largest);
        }
    });
}

}  // namespace
}  // namespace quern::io::numbers_test
