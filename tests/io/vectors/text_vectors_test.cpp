// SPDX-License-Identifier: Apache-2.0
// Words and numbers as text, and word2vec's binary file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "vector_bytes.hpp"

namespace quern::io::text_vectors_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using matrix = std::vector<std::vector<float>>;
using words = std::vector<std::string>;

words names_of(const vector_file& file) {
    return {file.names().begin(), file.names().end()};
}

std::string decimal(float value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
    return text;
}

bool same_bits(const matrix& one, const matrix& other) {
    if (one.size() != other.size()) return false;
    for (std::size_t i = 0; i < one.size(); ++i) {
        if (one[i].size() != other[i].size()) return false;
        for (std::size_t j = 0; j < one[i].size(); ++j)
            if (std::bit_cast<std::uint32_t>(one[i][j]) != std::bit_cast<std::uint32_t>(other[i][j]))
                return false;
    }
    return true;
}

matrix any_floats(std::size_t rows, std::size_t columns) {
    matrix made(rows, std::vector<float>(columns));
    for (auto& row : made) {
        for (float& value : row) {
            value = std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
            if (std::isnan(value)) value = 1;
        }
    }
    return made;
}

TEST_F(vector_files, text_of_every_kind_comes_back) {
    EXPECT_TRUE(rc::check([&] {
        const auto rows = *rc::gen::inRange<std::size_t>(1, 30),
                   columns = *rc::gen::inRange<std::size_t>(2, 30);
        const matrix values = any_floats(rows, columns);
        words names(rows);
        std::string glove, alone, comma, binary, gensim;
        const std::string header = std::to_string(rows) + " " + std::to_string(columns) + "\n";
        for (std::size_t i = 0; i < rows; ++i) {
            names[i] = i == 0 ? "the"
                              : *rc::gen::element<std::string>("w\xc3\xb6rter", "12", "#", ". . .", "\xff",
                                                               "a,b", "-0.5x");
            glove += names[i];
            binary += names[i].substr(0, names[i].find(' ')) + " " + little_all(values[i]) + "\n";
            gensim += names[i].substr(0, names[i].find(' ')) + " " + little_all(values[i]);
            for (std::size_t j = 0; j < columns; ++j) {
                const std::string number = decimal(values[i][j]);
                glove += *rc::gen::element(" ", "\t", "  ") + number;
                alone += (j == 0 ? *rc::gen::element("", "  ") : "\t") + number;
                comma += (j == 0 ? "" : ",") + number;
            }
            glove += *rc::gen::element("\n", "\r\n", " \n", "\n\n");
            alone += "\n";
            comma += "\n";
        }
        if (*rc::gen::arbitrary<bool>()) alone.pop_back();
        for (const unsigned threads : {1u, 3u}) {
            for (const std::string& text : {glove, header + glove, "\xef\xbb\xbf" + glove}) {
                const vector_file file = opened("a.txt", text, {}, threads);
                RC_ASSERT(same_bits(rows_of<float>(file), values));
                RC_ASSERT(names_of(file) == names);
            }
            for (const vector_file& file :
                 {opened("a.tsv", alone, {}, threads), opened("a.vec", header + alone, {}, threads),
                  opened("a.csv", comma, {}, threads),
                  opened("a.txt", "# remark\n\n" + alone, {}, threads)}) {
                RC_ASSERT(same_bits(rows_of<float>(file), values));
                RC_ASSERT(file.names().empty());
            }
        }
        for (std::string& name : names) name = name.substr(0, name.find(' '));
        for (const std::string& text : {header + binary, header + gensim}) {
            const vector_file file = opened("a.bin", text);
            RC_ASSERT(file.format() == "word2vec");
            RC_ASSERT(same_bits(rows_of<float>(file), values));
            RC_ASSERT(names_of(file) == names);
        }
    }));
}

TEST_F(vector_files, numbers_are_the_nearest_floats) {
    // Short ones, long ones, and those next to the middle between two floats, where rounding through a double may be
    // wrong.
    std::mt19937_64 random(7);
    words texts = {"0",
                   "-0",
                   "0.0",
                   "-0.0e5",
                   "1e-46",
                   "-1e-46",
                   "7.1e-46",
                   "1.4e-45",
                   "1e-38",
                   "3.4028235e38",
                   "3.40282356e38",
                   "16777217",
                   "16777219",
                   "16777217.0000000001",
                   "16777216.9999999999",
                   "9007199254740993",
                   "1e22",
                   "1e23",
                   "0.1e-22",
                   "123456789012345678901234567890",
                   "0.000000000000000000000000000012345678901",
                   "+1.5",
                   "1.",
                   ".5",
                   "inf",
                   "-Infinity",
                   "1E+5",
                   "1e00005",
                   "00012.50",
                   "5e-324",
                   "1e-400"};
    for (int i = 0; i < 30'000; ++i) {
        std::string text = random() % 2 == 0 ? "-" : "";
        if (random() % 3 == 0) {
            const auto bits = static_cast<std::uint32_t>(random() % 0x7f000000);
            const double low = std::bit_cast<float>(bits), high = std::bit_cast<float>(bits + 1);
            char middle[64];
            std::snprintf(middle, sizeof middle, "%.*g", static_cast<int>(7 + random() % 20),
                          low + (high - low) / 2);
            text += middle;
        } else {
            const std::size_t digits = 1 + random() % 22, point = random() % (digits + 1);
            for (std::size_t d = 0; d < digits; ++d) {
                if (d == point) text += '.';
                text += static_cast<char>('0' + random() % 10);
            }
            if (random() % 2 == 0) text += "e" + std::to_string(static_cast<int>(random() % 60) - 35);
        }
        if (std::isinf(std::strtof(text.c_str(), nullptr))) continue;
        texts.push_back(text);
    }
    std::string file;
    matrix wanted;
    for (const std::string& text : texts) {
        file += text + " 1\n";
        wanted.push_back({std::strtof(text.c_str(), nullptr), 1});
    }
    const matrix got = rows_of<float>(opened("a.txt", file));
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i][0]), std::bit_cast<std::uint32_t>(wanted[i][0]))
            << texts[i];
}

TEST_F(vector_files, words_and_headers_of_text) {
    const auto names = [&](const std::string& text) { return names_of(opened("a.txt", text)); };
    EXPECT_THAT(names("the 1 2\nat name@domain.com 3 4\n. . . 5 6\n"),
                ElementsAre("the", "at name@domain.com", ". . ."));
    EXPECT_THAT(names("a 1 2\n 3 4\n"), ElementsAre("a", ""));
    EXPECT_THAT(names("2 2\n5 3 4\n7 5 6\n"),
                ElementsAre("5", "7"));  // words that are numbers, under a header
    EXPECT_THAT(names("2 1\n5 3\n7 5\n"), ElementsAre("5", "7"));
    EXPECT_THAT(names("5 3 4\n7 5 6\n"), IsEmpty());
    // Two integers are a vector if nothing shows that they are a header.
    EXPECT_THAT(rows_of<float>(opened("a.txt", "0 5\n3 4\n")),
                ElementsAre(ElementsAre(0, 5), ElementsAre(3, 4)));
    EXPECT_THAT(rows_of<float>(opened("a.txt", "7 8")), ElementsAre(ElementsAre(7, 8)));
    EXPECT_THAT(rows_of<float>(opened("a.txt", "1 3\n1 2 3\n")), ElementsAre(ElementsAre(1, 2, 3)));
    EXPECT_TRUE(std::isnan(rows_of<float>(opened("a.txt", "the nan\n"))[0][0]));

    const auto said = [&](const std::string& text) { return said_of("a.txt", text); };
    EXPECT_EQ(said("3 2\nthe 1 2\na 3 4\n"), ":1: says 3 rows; the file has 2");
    EXPECT_EQ(said("1 2\nthe 1 2\na 3 4\n"), ":1: says 1 rows; the file has 2");
    EXPECT_EQ(said("1 4000000000\nthe 1 2\n"),
              ":1: says 4000000000 numbers a row; the first row has 3 fields");
    EXPECT_THAT(said("1 0\nthe 1 2\n"), StartsWith(":1: says 0 numbers a row"));
    EXPECT_EQ(said("the 1 2\n\na 3\n"), ":3: 2 fields; the rows have a word and 2 numbers");
    EXPECT_EQ(said("the 1 2\na 3 4 5\n"), ":2: 4 fields; the rows have a word and 2 numbers");
    EXPECT_EQ(said("1 2\n3 4\n5 6 7\n"), ":3: 3 numbers; the rows have 2");
    EXPECT_EQ(said("1 2.5\n3\n"), ":2: 1 numbers; the rows have 2");
    EXPECT_EQ(said("the 1 2\na 3 x4\n"), ":2: the value 'x4' is not a number");
    EXPECT_EQ(said("the 1 2\na 3 4e50\n"), ":2: the value '4e50' is beyond float32");
    EXPECT_EQ(said("the 1 2\na 1,5 4\n"), ":2: the value '1,5' is not a number");
    EXPECT_THAT(said("the 1 2\na --1 4\n"), HasSubstr("'--1' is not a number"));
    EXPECT_THAT(said(""), Eq("the file holds no vectors"));
    EXPECT_THAT(said("\n# nothing\n"), Eq("the file holds no vectors"));
    EXPECT_THAT(said("word\n"), Eq("the first line is a word without numbers"));
    EXPECT_THAT(said_of("a.csv", "1,2\n3,,\n"), HasSubstr(":2: 1 numbers"));
}

TEST_F(vector_files, names_of_columns_are_pointed_out) {
    for (const auto* const text : {"id,x,y\na,1,2\n", "x,y\n1,2\n", "\xEF\xBB\xBFx,y\r\n1,2\r\n"})
        EXPECT_EQ(said_of("a.csv", text),
                  ":1: a line without numbers (expected a vector); if it names the columns, remove it");
    EXPECT_THAT(said_of("a.tsv", "\n\nid\tx\ty\na\t1\t2\n"), StartsWith(":3: a line without numbers"));
    const auto notes = [&](const std::string& text) {
        const vector_file file = opened("a.csv", text);
        return std::vector(file.notes().begin(), file.notes().end());
    };
    EXPECT_THAT(notes("0,1,2\n5,6,7\n"), ElementsAre(StartsWith("the first line, 0, 1 …, is a vector")));
    EXPECT_EQ(opened("a.csv", "0,1,2\n5,6,7\n").rows(), 2);
    for (const auto* const text :
         {"0,1,2\n", "1,2,3\n5,6,7\n", "0,1,3\n5,6,7\n", "0\n1\n", "0,1,2.5\n1,2,3\n"})
        EXPECT_THAT(notes(text), ElementsAre()) << text;
}

TEST_F(vector_files, the_first_bad_line_is_named_whatever_the_threads) {
    std::string text = "400000 2\n";
    for (int i = 0; i < 400'000; ++i)
        text += "word" + std::to_string(i) + (i == 150'001 || i == 399'999 ? " 1 x" : " 1 2") + "\n";
    for (const unsigned threads : {1u, 2u, 5u}) {
        put(at("a.vec"), text);
        EXPECT_EQ(said_by("a.vec", [&] { open_vectors(at("a.vec"), {}, context::cpu(threads)); }),
                  ":150003: the value 'x' is not a number");
    }
}

TEST_F(vector_files, a_line_at_the_very_end_of_a_page) {
    // Numbers are read sixteen bytes at a time, but never past the last page of the file.
    std::string text;
    while (text.size() < 8192 - 8) text += "1 2 3 4\n";
    text += "1 2 3 44";
    ASSERT_EQ(text.size(), 8192u);
    const matrix rows = rows_of<float>(opened("a.txt", text));
    EXPECT_EQ(rows.size(), 1024u);
    EXPECT_EQ(rows.back()[3], 44);
}

TEST_F(vector_files, binary_words_that_lie) {
    const std::string row = "word " + little(1.0f) + little(2.0f);
    const auto said = [&](const std::string& text) { return said_of("a.bin", text); };
    EXPECT_EQ(said("3 2\n" + row + row),
              "says 3 words of 2 float32 from offset 4, but the file ends at offset 30");
    EXPECT_EQ(said("2 2\n" + row + row.substr(0, 12)),
              "word 1 at offset 17 has 2 float32, but the file ends at offset 29");
    EXPECT_EQ(said("1 2\n" + row + row), "13 bytes follow the last of 1 words at offset 17");
    EXPECT_EQ(said("2 2\n" + row + std::string(13, 'x')),
              "word 1 at offset 17 does not end with a blank before offset 30");
    EXPECT_THAT(said("2\n" + row), StartsWith("not a word2vec file"));
    EXPECT_THAT(said(little(2) + little(2) + row), StartsWith("not a word2vec file"));
    EXPECT_THAT(said("1 0\n"), StartsWith("says 1 words of 0 numbers at offset 0"));
    EXPECT_THAT(said("18446744073709551615 2\n"), StartsWith("says 18446744073709551615 words"));
    EXPECT_THAT(said("4000000000 4000000000\n"),
                StartsWith("says 4000000000 words of 4000000000 float32 from"));
}

}  // namespace
}  // namespace quern::io::text_vectors_test
