// SPDX-License-Identifier: Apache-2.0
// Arrow files and streams that pyarrow wrote (make_files.py): the rows that pyarrow reads, for any units; damage, and files
// whose bytes become many.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "io/corpus/arrow_corpus.hpp"
#include "io/corpus/reading.hpp"
#include "io/parquet/pyarrow_files.hpp"
#include "quern/base/error.hpp"
#include "test_folder.hpp"

namespace quern::io::testing::arrow_corpus_test {
namespace {

namespace fs = std::filesystem;
using namespace pyarrow_files;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

fs::path file(const std::string& name) {
    return test_folder() / "io/arrow/files" / name;
}

class arrow_files : public ::testing::TestWithParam<std::string> {};

TEST_P(arrow_files, have_the_rows_that_pyarrow_reads) {
    const bool is_stream = GetParam().find("stream") != std::string::npos;
    const fs::path path = file(GetParam() + (is_stream ? ".arrows" : ".arrow"));
    const std::vector<nlohmann::json> rows = expected();
    ASSERT_FALSE(rows.empty());
    for (const std::uint64_t unit : {std::uint64_t{1}, std::uint64_t{500}, std::uint64_t{4} << 20}) {
        const parsed_unit all = read_all({path}, everything(unit));
        EXPECT_EQ(in_json(all), rows) << unit;
        EXPECT_THAT(issues(all), ElementsAre("6: the text is null", "17: the text is null"));
        EXPECT_EQ(all.counts.skipped.at("column without a form in JSON: raw"), 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(written_by_pyarrow, arrow_files,
                         ::testing::Values("plain", "lz4", "zstd", "stream", "stream_zstd", "large_lz4",
                                           "views", "views_zstd", "keys", "keys_stream_lz4", "version_4"),
                         [](const auto& each) { return each.param; });

TEST(arrow, records_are_those_of_a_parquet_file_with_the_same_rows) {
    corpus_options options;
    options.keep_records = true;
    options.fields.kept = {"price", "at", "meta.url", "marks"};
    const parsed_unit of_parquet = read_all({test_folder() / "io/parquet/files/plain.parquet"}, options);
    for (const std::string name : {"plain.arrow", "views_zstd.arrow", "keys_stream_lz4.arrows"}) {
        const parsed_unit all = read_all({file(name)}, options);
        ASSERT_EQ(all.documents.size(), of_parquet.documents.size());
        for (std::size_t i = 0; i < all.documents.size(); ++i) {
            EXPECT_EQ(all.documents[i].record, of_parquet.documents[i].record);
            EXPECT_EQ(all.documents[i].fields, of_parquet.documents[i].fields);
        }
    }
}

TEST(arrow, every_type_is_written_exactly_or_named) {
    const parsed_unit all = read_all({file("special_every_type.arrow")}, everything());
    ASSERT_EQ(all.documents.size(), 2U);
    EXPECT_EQ(all.documents[0].fields,
              R"({"i8":-128,"u16":65535,"u64":18446744073709551615,"half":0.5,"ms":"2024-02-29",)"
              R"("second":"2024-02-29T23:59:59","nano":"2024-02-29T23:59:59.123456789Z","hour":"01:02:03",)"
              R"("tick":"01:02:03.000000001","span":5,"small":1.5,)"
              R"("large":1000000000000000000000000000000000000000000000000000000000000,"empty":null,)"
              R"("pair":[1,2],"deep":[["a"],[]],"last":"after"})");
    EXPECT_EQ(all.documents[1].fields,
              R"({"i8":null,"u16":null,"u64":null,"half":null,"ms":null,"second":null,"nano":null,)"
              R"("hour":null,"tick":null,"span":null,"small":null,"large":null,"empty":null,"pair":null,)"
              R"("deep":null,"last":"all"})");
    EXPECT_EQ(all.counts.skipped.size(), 4U);
    for (const std::string name : {"bytes", "views", "choice", "runs"})
        EXPECT_EQ(all.counts.skipped.at("column without a form in JSON: " + name), 1U);
    corpus_options options = everything();
    options.fields.text = {"last"};
    const parsed_unit last = read_all({file("special_every_type.arrow")}, options);
    ASSERT_EQ(last.documents.size(), 3U);
    EXPECT_THAT(
        last.documents[2].fields,
        HasSubstr(
            R"("ms":"1969-12-31","second":"1969-12-31T23:59:59","nano":"1969-12-31T23:59:59.999999999Z")"));
    EXPECT_THAT(last.documents[2].fields, HasSubstr(R"("pair":[null,4],"deep":[null,["b",null]])"));
    EXPECT_THAT(last.documents[2].fields, HasSubstr(R"("small":-0.1,"large":-1)"));
}

TEST(arrow, integers_of_128_bits_have_all_their_digits) {
    const parsed_unit all = read_all({file("special_128_bits.arrow")}, everything());
    std::vector<std::string> fields;
    for (const document& d : all.documents) fields.push_back(d.fields);
    EXPECT_THAT(fields, ElementsAre(R"({"n":170141183460469231731687303715884105727,"last":"a"})",
                                    R"({"n":null,"last":"b"})",
                                    R"({"n":-170141183460469231731687303715884105728,"last":"c"})",
                                    R"({"n":-1,"last":"d"})"));
    EXPECT_EQ(all.counts.skipped.at("column without a form in JSON: u"), 1U);  // without sign
}

TEST(arrow, dictionaries_grow_and_are_replaced) {
    const parsed_unit all = read_all({file("special_dictionaries.arrows")});
    std::vector<std::string> texts;
    for (const document& d : all.documents) texts.push_back(d.text);
    EXPECT_THAT(texts, ElementsAre("a", "b", "c", "a", "other"));
    EXPECT_THAT(issues(all), ElementsAre("6: the text is null"));
    EXPECT_EQ(all.documents[4].id, "special_dictionaries.arrows:5");
}

TEST(arrow, what_cannot_be_read_is_refused_with_a_remedy) {
    corpus_options options;
    options.fields.text = {"body"};
    EXPECT_THAT(refusal(file("plain.arrow"), options),
                HasSubstr("no column \"body\"; the file has \"id\", \"text\""));
    options.fields.text = {"choice"};
    EXPECT_THAT(refusal(file("special_every_type.arrow"), options),
                HasSubstr("the text needs a column of strings, and \"choice\" is a column of"));
    EXPECT_THAT(refusal(file("special_nested_text.arrow")), HasSubstr("\"text\" is a list"));
    EXPECT_THAT(issues(read_all({file("special_nothing.arrow")})), IsEmpty());
    const temporary_folder folder;
    const std::string whole = bytes_of(file("plain.arrow"));
    EXPECT_THAT(refusal(folder.write("cut.arrow", whole.substr(0, whole.size() - 1))),
                HasSubstr("cut off: its footer is missing"));
    EXPECT_THAT(refusal(folder.write("old.feather", "FEA1" + std::string(40, '\0') + "FEA1")),
                HasSubstr("Feather of version 1: write it again as version 2"));
}

TEST(arrow, a_stream_that_is_cut_off_keeps_what_came_before) {
    const std::string whole = bytes_of(file("stream.arrows"));
    const temporary_folder folder;
    const fs::path path = folder.write("x", whole.substr(0, whole.size() - 300));
    const parsed_unit all = read_all({path});
    EXPECT_EQ(all.documents.size(), 13U);
    EXPECT_THAT(
        issues(all),
        ElementsAre("6: the text is null",
                    "mended 15: a message ends after the end of the file; the rows from here on are lost"));
    EXPECT_EQ(all.counts.incomplete, 1U);
}

TEST(arrow, a_damaged_batch_loses_its_rows_and_no_others_in_any_units) {
    std::string whole = bytes_of(file("plain.arrow"));
    const std::size_t at = whole.find("words of 8");
    ASSERT_NE(at, std::string::npos);
    // The offsets of the texts come before them: the first one of the batch.
    const std::size_t text = whole.rfind("words of 7", at);
    whole[text - 8] = '\x7f';
    whole[text - 7] = '\x7f';
    const temporary_folder folder;
    const fs::path path = folder.write("x.arrow", whole);
    const parsed_unit all = read_all({path}, everything());
    EXPECT_THAT(issues(all), ::testing::Contains(HasSubstr("8: the rows from here to 14 are lost: ")));
    EXPECT_EQ(all.documents.size(), 10U - 1);
    for (const std::uint64_t unit : {1, 100, 1000})
        EXPECT_EQ(shown(read_all({path}, everything(unit))), shown(all));
}

TEST(arrow, units_stay_small_where_a_few_bytes_become_many) {
    expect_small_units(file("special_repeated_text.arrow"));
}

TEST(arrow, a_batch_that_needs_more_than_the_memory_is_named) {
    corpus_options options;
    options.document_memory = 100 << 10;
    const auto reader = open_corpus({file("special_large.arrow")}, options, context{});
    parsed_unit all;
    while (const auto unit = reader->next()) {
        parsed_unit part;
        EXPECT_FALSE(unit->parse_within({10 << 10, false}, part));
        part = {};
        EXPECT_TRUE(unit->parse_within({100 << 10, true}, part));
        for (auto& each : part.issues) all.issues.push_back(each);
    }
    ASSERT_EQ(all.issues.size(), 1U);
    EXPECT_THAT(all.issues[0].reason,
                HasSubstr("the rows from here to 400 are lost: a record batch of an Arrow file needs"));
    EXPECT_EQ(read_all({file("special_large.arrow")}).documents.size(), 400U);
    EXPECT_EQ(shown(read_all({file("special_large.arrow")}, everything(1 << 10))),
              shown(read_all({file("special_large.arrow")}, everything())));
}

/// With little memory for a document: a changed length of lists may stand for billions of nulls.
std::string read_within(std::string_view bytes, std::uint64_t unit_bytes) {
    corpus_options options = everything(unit_bytes);
    options.document_memory = 32 << 20;
    const auto reader = read_arrow(arrow::ipc_file::over(bytes, "x", 1 << 20), options, context{});
    parsed_unit all;
    while (const auto unit = reader->next()) {
        parsed_unit part;
        EXPECT_TRUE(unit->parse_within({32 << 20, true}, part));
        std::ranges::move(part.documents, std::back_inserter(all.documents));
        std::ranges::move(part.issues, std::back_inserter(all.issues));
    }
    return shown(all);
}

/// Every byte of a file in turn, changed: read or refused, the same in any units.
TEST(arrow, any_changed_byte_is_survived) {
    for (const std::string name :
         {"keys.arrow", "views_zstd.arrow", "keys_stream_lz4.arrows", "special_every_type.arrow"}) {
        const std::string whole = bytes_of(file(name));
        for (std::size_t at = 0; at < whole.size(); ++at) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
            try {
                const std::string all = read_within(changed, 4 << 20);
                if (at % 16 == 0) {
                    EXPECT_EQ(read_within(changed, 1), all) << name << ' ' << at;
                }
            } catch (const invalid_input&) {
            } catch (const out_of_memory&) {
            }
        }
    }
}

}  // namespace
}  // namespace quern::io::testing::arrow_corpus_test
