// SPDX-License-Identifier: Apache-2.0
// Parquet files that pyarrow wrote (make_files.py): the rows that pyarrow reads, for any units; damage, and files whose bytes
// become many.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "io/corpus/parquet_corpus.hpp"
#include "io/corpus/reading.hpp"
#include "io/parquet/pyarrow_files.hpp"
#include "quern/base/error.hpp"
#include "test_folder.hpp"

namespace quern::io::testing::parquet_corpus_test {
namespace {

namespace fs = std::filesystem;
using namespace pyarrow_files;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

fs::path file(const std::string& name) {
    return test_folder() / "io/parquet/files" / name;
}

class parquet_files : public ::testing::TestWithParam<std::string> {};

TEST_P(parquet_files, have_the_rows_that_pyarrow_reads) {
    const fs::path path = file(GetParam() + ".parquet");
    const std::vector<nlohmann::json> rows = expected();
    ASSERT_FALSE(rows.empty());
    for (const std::uint64_t unit : {std::uint64_t{1}, std::uint64_t{500}, std::uint64_t{4} << 20}) {
        const parsed_unit all = read_all({path}, everything(unit));
        EXPECT_EQ(in_json(all), rows) << unit;
        EXPECT_THAT(issues(all), ElementsAre("6: the text is null", "17: the text is null"));
        EXPECT_EQ(all.counts.skipped.at("column without a form in JSON: raw"), 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(written_by_pyarrow, parquet_files,
                         ::testing::Values("plain", "snappy_pages", "gzip_v2", "zstd_v2_fronts",
                                           "lz4_lengths"),
                         [](const auto& each) { return each.param; });

TEST(parquet, numbers_and_records_are_written_exactly) {
    corpus_options options;
    options.fields.kept = {"price", "at", "meta.url", "marks"};
    options.keep_records = true;
    const parsed_unit all = read_all({file("plain.parquet")}, options);
    EXPECT_EQ(
        all.documents[0].fields,
        R"({"price":-12.50,"at":"2024-02-29T23:59:59.123456Z","meta.url":"u","marks":{"a":1,"b":null}})");
    EXPECT_EQ(all.documents[2].fields,
              R"({"price":0.07,"at":"1969-12-31T01:02:03Z","meta.url":null,"marks":{}})");
    EXPECT_EQ(
        all.documents[1].record,
        "{\"id\":\"d1\",\"text\":\"words of 1 ça va \",\"title\":null,\"links\":null,\"lang\":\"de\","
        "\"count\":-2,\"byte\":0,\"good\":null,\"share\":null,\"score\":1e+300,\"price\":null,\"day\":null,"
        "\"at\":null,\"meta\":null,\"marks\":null}\n");
}

TEST(parquet, columns_are_chosen_by_name) {
    corpus_options options;
    options.fields.id = "count";
    options.fields.text = {"title", "meta.url"};
    options.fields.title = "lang";
    const parsed_unit all = read_all({file("plain.parquet")}, options);
    ASSERT_GE(all.documents.size(), 2U);
    EXPECT_EQ(all.documents[0].id, "1");
    EXPECT_EQ(all.documents[0].text, "one\n\nu");
    EXPECT_EQ(all.documents[0].title, "en");
    EXPECT_THAT(issues(all), ::testing::Contains("2: the text is null"));
    EXPECT_THAT(issues(all), ::testing::Contains("3: the id is null"));
}

TEST(parquet, brotli_is_read) {
    const parsed_unit all = read_all({file("special_brotli.parquet")});
    ASSERT_EQ(all.documents.size(), 3U);
    EXPECT_EQ(all.documents[2].text, "a text");
    EXPECT_EQ(issues(all), std::vector<std::string>{});
    const temporary_folder folder;
    std::string damaged = bytes_of(file("special_brotli.parquet"));
    for (std::size_t at = 24; at < 40; ++at) damaged[at] = '\x55';
    EXPECT_NE(read_all({folder.write("damaged.parquet", damaged)}).issues.size(), 0U);
}

TEST(parquet, what_cannot_be_read_is_refused_with_a_remedy) {
    corpus_options options;
    options.fields.text = {"body"};
    EXPECT_THAT(refusal(file("plain.parquet"), options),
                HasSubstr("no column \"body\"; the file has \"id\", \"text\""));
    options.fields.text = {"count"};
    EXPECT_THAT(refusal(file("plain.parquet"), options),
                HasSubstr("the text needs a column of strings, and \"count\" is a column of integers"));
    options.fields.text = {"meta"};
    EXPECT_THAT(refusal(file("plain.parquet"), options),
                HasSubstr("name a column within it, such as \"meta.url\""));
    EXPECT_THAT(refusal(file("special_nested_text.parquet")), HasSubstr("\"text\" is a list"));
    const temporary_folder folder;
    std::string lzo = bytes_of(file("special_brotli.parquet"));
    const std::string_view name_and_codec = "\x04text\x15\x08";  // of the column; 3 is LZO, as 6
    lzo.at(lzo.rfind(name_and_codec) + 6) = '\x06';
    EXPECT_THAT(refusal(folder.write("lzo.parquet", lzo)),
                HasSubstr("compressed by LZO, which is not read; write"));
    const std::string whole = bytes_of(file("plain.parquet"));
    EXPECT_THAT(refusal(folder.write("cut.parquet", whole.substr(0, whole.size() - 1))),
                HasSubstr("cut off"));
    std::string footer = whole;
    footer[whole.size() - 9] = '\x7f';
    footer[whole.size() - 8] = '\xff';
    footer[whole.size() - 7] = '\xff';
    EXPECT_THAT(refusal(folder.write("footer.parquet", footer)), HasSubstr("longer than the file"));
    EXPECT_THAT(refusal(folder.write("secret.parquet", "PARE" + std::string(40, '\0') + "PARE")),
                HasSubstr("an encrypted Parquet file"));
}

TEST(parquet, rows_without_ids_are_named_by_file_and_row) {
    const temporary_folder folder;
    fs::create_directory(folder.path() / "part");
    fs::copy(file("special_repeated_fronts.parquet"), folder.path() / "part/a.parquet");
    const parsed_unit all = read_all({folder.path()});
    ASSERT_EQ(all.documents.size(), 300U);
    EXPECT_EQ(all.documents[0].id, "part/a.parquet:1");
    EXPECT_EQ(all.documents[299].id, "part/a.parquet:300");
    EXPECT_EQ(all.documents[299].text, std::string(900, 'y'));
}

TEST(parquet, a_damaged_page_loses_its_rows_and_no_others_in_any_units) {
    std::string damaged = bytes_of(file("special_checksums.parquet"));
    const std::size_t at = damaged.find("text 50");
    ASSERT_NE(at, std::string::npos);
    damaged[at] = 'T';
    const temporary_folder folder;
    const fs::path path = folder.write("x.parquet", damaged);
    const parsed_unit all = read_all({path}, everything());
    EXPECT_EQ(all.documents.size(), 40U);
    EXPECT_THAT(issues(all),
                ElementsAre("41: the rows from here to 60 are lost: row group 0, column \"text\": the "
                            "checksum of a page does not agree with its bytes"));
    EXPECT_EQ(all.counts.incomplete, 1U);
    for (const std::uint64_t unit : {1, 100, 1000})
        EXPECT_EQ(shown(read_all({path}, everything(unit))), shown(all));
}

TEST(parquet, a_page_that_needs_more_than_the_memory_is_named) {
    corpus_options options;
    options.document_memory = 8 << 20;
    const auto reader = open_corpus({file("special_lie.parquet")}, options, context{});
    parsed_unit all;
    while (const auto unit = reader->next()) {
        parsed_unit part;
        EXPECT_FALSE(unit->parse_within({1 << 20, false}, part));
        part = {};
        EXPECT_TRUE(unit->parse_within({8 << 20, true}, part));
        for (auto& each : part.issues) all.issues.push_back(each);
    }
    ASSERT_EQ(all.issues.size(), 1U);
    EXPECT_THAT(all.issues[0].reason,
                HasSubstr("the rows from here to 3 are lost: a page of a Parquet file needs 1.8 GiB"));
    // With more memory its length is found to be wrong.
    EXPECT_THAT(issues(read_all({file("special_lie.parquet")})),
                ElementsAre(HasSubstr("damaged, or of another length than its header says")));
}

TEST(parquet, units_stay_small_where_a_few_bytes_become_many) {
    expect_small_units(file("special_repeated_text.parquet"));
}

TEST(parquet, a_stream_is_spooled_and_a_compressed_file_too) {
    const temporary_folder folder;
    const fs::path pipe = folder.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const std::string whole = bytes_of(file("plain.parquet"));
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << whole; });
    const parsed_unit all = read_all({pipe}, everything());
    writer.join();
    EXPECT_EQ(in_json(all), expected());
}

/// Every byte of a file in turn, changed: read or refused, and never more rows than there are.
TEST(parquet, any_changed_byte_is_survived) {
    for (const std::string name : {"zstd_v2_fronts", "snappy_pages"}) {
        const std::string whole = bytes_of(file(name + ".parquet"));
        for (std::size_t at = 0; at < whole.size(); ++at) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
            try {
                corpus_options options = everything();
                options.document_memory = 32 << 20;
                const auto opened = parquet::parquet_file::over(changed, "x", 1 << 20);
                if (opened->metadata().rows > 100000) continue;
                read_all(*read_parquet(opened, options, context{}));
            } catch (const invalid_input&) {
            } catch (const out_of_memory&) {
            }
        }
    }
}

}  // namespace
}  // namespace quern::io::testing::parquet_corpus_test
