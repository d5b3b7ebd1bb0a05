// SPDX-License-Identifier: Apache-2.0
#include "quern/base/rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/utf8_output.hpp"

namespace quern::rows_test {
namespace {

using namespace std::string_view_literals;

struct written {
    std::string text;
    row_writer::sink sink() {
        return [this](std::string_view bytes) { text += bytes; };
    }
};

std::string one_row(row_format format, const std::vector<cell>& cells, unsigned width = 0) {
    std::vector<std::string> columns;
    for (std::size_t i = 0; i < cells.size(); ++i) columns.push_back("c" + std::to_string(i));
    written out;
    row_writer rows(format, columns, out.sink(), width);
    rows.row(cells);
    rows.finish();
    return out.text;
}

TEST(table_test, text_below_a_row_is_indented_and_broken_at_blanks) {
    const auto written_with = [](row_format format, unsigned width) {
        written out;
        row_writer rows(format, {"id"}, out.sink(), width);
        rows.row({"a"sv});
        rows.text_below("one two\tthree four five six");
        rows.row({"b"sv});
        rows.finish();
        return out.text;
    };
    EXPECT_EQ(written_with(row_format::table, 0), "id\na\n      one two three four five six\nb\n");
    EXPECT_EQ(written_with(row_format::table, 24), "id\na\n      one two three four\n      five six\nb\n");
    EXPECT_EQ(written_with(row_format::tsv, 0), "a\nb\n");
    EXPECT_EQ(written_with(row_format::jsonl, 0), "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
}

TEST(numbers_test, are_the_shortest_that_read_back) {
    EXPECT_EQ(shortest(0.1), "0.1");
    EXPECT_EQ(shortest(0.1F), "0.1");
    EXPECT_EQ(shortest(1.0), "1");
    EXPECT_EQ(shortest(-0.0), "-0");
    EXPECT_EQ(shortest(1e20), "1e+20");
    EXPECT_EQ(shortest(5e-324), "5e-324");
    EXPECT_EQ(shortest(2.0 / 3), "0.6666666666666666");
    EXPECT_EQ(shortest(16777216.0F), "16777216");
}

TEST(numbers_test, name_what_is_not_finite) {
    EXPECT_EQ(shortest(std::numeric_limits<double>::infinity()), "inf");
    EXPECT_EQ(shortest(-std::numeric_limits<float>::infinity()), "-inf");
    EXPECT_EQ(shortest(std::numeric_limits<double>::quiet_NaN()), "nan");
    EXPECT_EQ(shortest(-std::numeric_limits<float>::quiet_NaN()), "nan");
}

RC_GTEST_PROP(numbers_test, read_back_to_the_same_bits, (std::uint64_t bits)) {
    const auto value = std::bit_cast<double>(bits);
    RC_PRE(!std::isnan(value));
    RC_ASSERT(std::bit_cast<std::uint64_t>(std::strtod(shortest(value).c_str(), nullptr)) == bits);
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    RC_PRE(!std::isnan(narrow));
    RC_ASSERT(std::bit_cast<std::uint32_t>(std::strtof(shortest(narrow).c_str(), nullptr)) ==
              static_cast<std::uint32_t>(bits));
}

TEST(rows_test, tsv_replaces_breaks_by_one_space) {
    EXPECT_EQ(one_row(row_format::tsv, {"a\tb"sv, "c\r\nd"sv, "\n"sv}), "a b\tc d\t \n");
}

TEST(rows_test, json_is_written_as_it_stands) {
    const raw_json json{R"([{"a":"\\t"},1])"};
    EXPECT_EQ(one_row(row_format::jsonl, {1.5, json}), "{\"c0\":1.5,\"c1\":[{\"a\":\"\\\\t\"},1]}\n");
    EXPECT_EQ(one_row(row_format::tsv, {1.5, json}), "1.5\t[{\"a\":\"\\\\t\"},1]\n");
    EXPECT_EQ(one_row(row_format::table, {json}), "c0\n[{\"a\":\"\\\\t\"},1]\n");
}

TEST(rows_test, tsv_writes_integers_in_full) {
    EXPECT_EQ(one_row(row_format::tsv, {std::uint64_t{UINT64_MAX}, std::int64_t{INT64_MIN}, 1e300, 0.5F}),
              "18446744073709551615\t-9223372036854775808\t1e+300\t0.5\n");
}

TEST(rows_test, tsv_holds_no_headings_and_nothing_back) {
    written out;
    row_writer rows(row_format::tsv, {"x"}, out.sink());
    EXPECT_EQ(out.text, "");
    rows.row({"1"sv});
    EXPECT_EQ(out.text, "1\n");
    rows.finish();
    EXPECT_EQ(out.text, "1\n");
}

TEST(rows_test, json_escapes_what_it_must) {
    EXPECT_EQ(one_row(row_format::jsonl, {"q\" b\\ n\n t\t z\0 e\x1b d\x7f ü 😀"sv}),
              R"({"c0":"q\" b\\ n\n t\t z\u0000 e\u001b d\u007f ü 😀"})"
              "\n");
}

TEST(rows_test, json_has_no_word_for_not_a_number) {
    EXPECT_EQ(one_row(row_format::jsonl, {std::nan(""), -std::numeric_limits<float>::infinity(), 0.25}),
              "{\"c0\":null,\"c1\":null,\"c2\":0.25}\n");
}

TEST(rows_test, ill_formed_bytes_become_replacement_characters) {
    // A lone continuation byte; a truncated sequence; an overlong slash; a surrogate; beyond the last code point.
    const auto hostile = "a\x80z|\xE2\x82|\xC0\xAF|\xED\xA0\x80|\xF4\x90\x80\x80|\xFF"sv;
    const std::string tsv = one_row(row_format::tsv, {hostile});
    EXPECT_EQ(tsv, "a\uFFFDz|\uFFFD|\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD\uFFFD|\uFFFD\n");
    EXPECT_EQ(nlohmann::json::parse(one_row(row_format::jsonl, {hostile}))["c0"].get<std::string>() + "\n",
              tsv);
}

RC_GTEST_PROP(rows_test, json_is_read_back_by_another_parser,
              (const std::string& text, std::int64_t number)) {
    const std::string line = one_row(row_format::jsonl, {std::string_view(text), number});
    RC_ASSERT(line.find('\n') == line.size() - 1);
    const auto json = nlohmann::json::parse(line);  // throws for ill-formed UTF-8
    RC_ASSERT(json["c1"].get<std::int64_t>() == number);
    // A well-formed string is read back unchanged.
    bool well_formed = true;
    try {
        (void)nlohmann::json(text).dump();
    } catch (const nlohmann::json::exception&) {
        well_formed = false;
    }
    if (well_formed) RC_ASSERT(json["c0"].get<std::string>() == text);
}

RC_GTEST_PROP(rows_test, tsv_keeps_its_shape, (const std::string& a, const std::string& b)) {
    const std::string line = one_row(row_format::tsv, {std::string_view(a), std::string_view(b)});
    RC_ASSERT(std::count(line.begin(), line.end(), '\t') == 1);
    RC_ASSERT(std::count(line.begin(), line.end(), '\n') == 1);
    RC_ASSERT(std::count(line.begin(), line.end(), '\r') == 0);
}

TEST(rows_test, refuse_another_number_of_cells) {
    written out;
    row_writer rows(row_format::tsv, {"a", "b"}, out.sink());
    EXPECT_THROW(rows.row({"1"sv}), std::logic_error);
}

TEST(table_test, aligns_by_display_width) {
    written out;
    row_writer rows(row_format::table, {"rank", "word", "score"}, out.sink());
    rows.row({std::uint64_t{1}, "東京"sv, 12.34567});
    rows.row({std::uint64_t{10}, "e\u0301te\u0301"sv, 0.5});
    rows.row({std::uint64_t{100}, "summer"sv, 0.0});
    EXPECT_EQ(out.text, "");  // buffered
    rows.finish();
    EXPECT_EQ(out.text,
              "rank  word      score\n"
              "   1  東京    12.3457\n"
              "  10  e\u0301te\u0301      0.5000\n"
              " 100  summer   0.0000\n");
}

TEST(table_test, shows_four_digits_of_small_numbers) {
    written out;
    row_writer rows(row_format::table, {"rank"}, out.sink());
    for (const double rank : {0.33012, 0.0214286, -0.00460717, 0.00032148, 0.0999999}) rows.row({rank});
    rows.finish();
    EXPECT_EQ(out.text,
              "      rank\n"
              "    0.3301\n"
              "   0.02143\n"
              " -0.004607\n"
              "3.2148e-04\n"
              "   0.10000\n");
}

TEST(table_test, is_empty_without_rows) {
    written out;
    row_writer rows(row_format::table, {"a"}, out.sink());
    rows.finish();
    EXPECT_EQ(out.text, "");
}

TEST(table_test, can_be_begun_again) {
    written out;
    row_writer rows(row_format::table, {"a"}, out.sink());
    rows.row({"x"sv});
    rows.finish();
    rows.row({"longer"sv});
    rows.finish();
    EXPECT_EQ(out.text, "a\nx\na\nlonger\n");
}

TEST(table_test, cuts_the_longest_texts_to_the_terminal) {
    written out;
    row_writer rows(row_format::table, {"n", "title", "snippet"}, out.sink(), 30);
    rows.row({std::uint64_t{7}, "A title"sv, "a snippet far too long for thirty columns"sv});
    rows.finish();
    EXPECT_EQ(out.text,
              "n  title    snippet\n"
              "7  A title  a snippet far too…\n");
}

TEST(table_test, breaks_the_longest_texts_over_lines) {
    written out;
    row_writer rows(row_format::table, {"id", "note"}, out.sink(), 20);
    rows.wrap();
    rows.row({"a"sv, "one two three four five"sv});
    rows.row({"b"sv, "averyverylongwordindeed and"sv});
    rows.row({"c"sv, ""sv});
    rows.finish();
    EXPECT_EQ(out.text,
              "id  note\n"
              "a   one two three\n"
              "    four five\n"
              "b   averyverylongwor\n"
              "    dindeed and\n"
              "c\n");
}

TEST(table_test, marks_are_bold_only_on_request) {
    const std::vector<text_mark> marks{{0, 3}, {4, 7}};
    const auto with = [&](bool emphasised, bool wrapped, row_format format, unsigned width) {
        written out;
        row_writer rows(format, {"n", "text"}, out.sink(), width);
        if (emphasised) rows.emphasise();
        if (wrapped) rows.wrap();
        rows.row({std::uint64_t{1}, marked_text{"red red green", marks}});
        rows.text_below(marked_text{"red red green", marks});
        rows.finish();
        return out.text;
    };
    EXPECT_EQ(with(false, false, row_format::table, 0), "n  text\n1  red red green\n      red red green\n");
    EXPECT_EQ(with(true, false, row_format::tsv, 0), "1\tred red green\n");
    EXPECT_EQ(with(true, false, row_format::jsonl, 0), "{\"n\":1,\"text\":\"red red green\"}\n");
    EXPECT_EQ(with(true, false, row_format::table, 0),
              "n  text\n"
              "1  \x1b[1mred\x1b[22m \x1b[1mred\x1b[22m green\n"
              "      \x1b[1mred\x1b[22m \x1b[1mred\x1b[22m green\n");
    EXPECT_EQ(with(true, true, row_format::table, 11),
              "n  text\n"
              "1  \x1b[1mred\x1b[22m \x1b[1mred\x1b[22m\n"
              "   green\n"
              "      \x1b[1mred\x1b[22m \x1b[1mred\x1b[22m green\n");  // at least 16 columns
}

TEST(table_test, a_bold_word_that_is_cut_or_broken_stays_bold_to_its_end) {
    const std::vector<text_mark> marks{{2, 14}};
    const auto with = [&](bool wrapped) {
        written out;
        row_writer rows(row_format::table, {"text"}, out.sink(), 8);
        rows.emphasise();
        if (wrapped) rows.wrap();
        rows.row({marked_text{"a bcdefghijklm n", marks}});
        rows.finish();
        return out.text;
    };
    EXPECT_EQ(with(false), "text\na \x1b[1mbcdef…\x1b[22m\n");
    EXPECT_EQ(with(true), "text\na\n\x1b[1mbcdefghi\x1b[22m\n\x1b[1mjklm\x1b[22m n\n");
}

TEST(table_test, marks_that_fit_no_text_are_excluded) {
    const std::vector<text_mark> marks{{3, 3}, {1, 2}, {0, 1}, {2, 99}};
    written out;
    row_writer rows(row_format::table, {"text"}, out.sink());
    rows.emphasise();
    rows.row({marked_text{"abc", marks}});
    rows.finish();
    EXPECT_EQ(out.text, "text\na\x1b[1mb\x1b[22mc\n");
}

TEST(table_test, keeps_readable_columns_on_a_tiny_terminal) {
    written out;
    row_writer rows(row_format::table, {"a", "b"}, out.sink(), 5);
    rows.row({"abcdefghijkl"sv, "mnopqrstuvwx"sv});
    rows.finish();
    EXPECT_EQ(out.text, "a         b\nabcdefg…  mnopqrs…\n");
}

TEST(table_test, disarms_control_characters) {
    const std::string table = one_row(row_format::table, {"red\x1b[31m\a \u009b end"sv});
    EXPECT_EQ(table, "c0\nred [31m  \uFFFD end\n");
}

RC_GTEST_PROP(table_test, never_exceeds_the_terminal, (std::vector<std::string> texts)) {
    written out;
    row_writer rows(row_format::table, {"first", "second"}, out.sink(), 40);
    for (const auto& text : texts) rows.row({std::string_view(text), std::string_view(text)});
    rows.finish();
    for (std::size_t begin = 0; begin < out.text.size();) {
        const auto end = out.text.find('\n', begin);
        RC_ASSERT(end != std::string::npos);
        RC_ASSERT(report::display_width(std::string_view(out.text).substr(begin, end - begin)) <= 40U);
        begin = end + 1;
    }
}

TEST(width_test, counts_columns) {
    EXPECT_EQ(report::line_that_fits("one two three", 13), 13U);
    EXPECT_EQ(report::line_that_fits("one two three", 12), 7U);
    EXPECT_EQ(report::line_that_fits("one two three", 7), 7U);
    EXPECT_EQ(report::line_that_fits("one two three", 6), 3U);
    EXPECT_EQ(report::line_that_fits("onetwo", 3), 3U);
    EXPECT_EQ(report::line_that_fits("漢字漢字", 5), 6U);
    EXPECT_EQ(report::line_that_fits("漢字", 1), 3U);  // no line is empty
    EXPECT_EQ(report::display_width("abc"), 3U);
    EXPECT_EQ(report::display_width("漢字"), 4U);
    EXPECT_EQ(report::display_width("ｱ"), 1U);                   // halfwidth katakana
    EXPECT_EQ(report::display_width("Ａ"), 2U);                  // fullwidth letter
    EXPECT_EQ(report::display_width("e\u0301"), 1U);             // combining acute
    EXPECT_EQ(report::display_width("\u200d"), 0U);              // zero-width joiner
    EXPECT_EQ(report::display_width("각"), 2U);                  // composed syllable
    EXPECT_EQ(report::display_width("\u1100\u1161\u11a8"), 2U);  // the same, decomposed
}

TEST(width_test, cuts_between_characters) {
    EXPECT_EQ(report::cut_to_width("abcdef", 6), "abcdef");
    EXPECT_EQ(report::cut_to_width("abcdef", 5), "abcd…");
    EXPECT_EQ(report::cut_to_width("漢字漢字", 6), "漢字…");
    EXPECT_EQ(report::cut_to_width("漢字漢字", 8), "漢字漢字");
    EXPECT_EQ(report::cut_to_width("ab", 1), "…");
    EXPECT_EQ(report::cut_to_width("ab", 0), "");
    EXPECT_EQ(report::cut_to_width("e\u0301e\u0301e\u0301", 2), "e\u0301…");
}

TEST(trec_run_test, separates_fields_by_one_space) {
    std::string out;
    append_run_line(out, "7", "docs/a file.txt", 1, 12.5);
    append_run_line(out, "t\t1", "d\u00e9", 2, -0.25, "tag");
    EXPECT_EQ(out, "7 Q0 docs/a_file.txt 1 12.5 quern\nt_1 Q0 d\u00e9 2 -0.25 tag\n");
}

TEST(trec_run_test, finds_ids_that_are_written_alike) {
    using ids = std::vector<std::string_view>;
    using pair = std::pair<std::string_view, std::string_view>;
    EXPECT_EQ(alike_in_run(ids{}), std::nullopt);
    EXPECT_EQ(alike_in_run(ids{"a", "b", "a_b", "a__b"}), std::nullopt);
    EXPECT_EQ(alike_in_run(ids{"a b", "c d", "a-b"}), std::nullopt);
    EXPECT_EQ(alike_in_run(ids{"x", "a_b", "a b"}), pair("a_b", "a b"));
    EXPECT_EQ(alike_in_run(ids{"a b", "y", "a_b"}), pair("a_b", "a b"));
    EXPECT_EQ(alike_in_run(ids{"a b", "a\tb"}), pair("a\tb", "a b"));
    EXPECT_EQ(alike_in_run(ids{"\xff", "\xfe"}), pair("\xfe", "\xff"));  // both become U+FFFD
}

TEST(rows_test, nothing_is_an_empty_field_and_null) {
    const std::vector<cell> cells{std::monostate{}, "x"sv, std::monostate{}};
    EXPECT_EQ(one_row(row_format::tsv, cells), "\tx\t\n");
    EXPECT_EQ(one_row(row_format::jsonl, cells), "{\"c0\":null,\"c1\":\"x\",\"c2\":null}\n");
    EXPECT_EQ(one_row(row_format::table, cells), "c0  c1  c2\n    x\n");
}

}  // namespace
}  // namespace quern::rows_test
