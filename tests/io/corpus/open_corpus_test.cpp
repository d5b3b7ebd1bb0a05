// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "io/compression/packers.hpp"
#include "io/corpus/reading.hpp"
#include "quern/base/error.hpp"

namespace quern::io::testing::open_corpus_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(open_corpus, names_every_form_both_ways) {
    for (const auto form :
         {corpus_form::wikipedia, corpus_form::folder, corpus_form::jsonl, corpus_form::tsv, corpus_form::csv,
          corpus_form::trec, corpus_form::wikiextractor, corpus_form::lines, corpus_form::text_lines,
          corpus_form::text_paragraphs, corpus_form::binary}) {
        EXPECT_EQ(corpus_form_named(name_of(form)), form);
    }
    EXPECT_EQ(corpus_form_named("json"), std::nullopt);
    EXPECT_EQ(corpus_form_named(""), std::nullopt);
}

TEST(open_corpus, refuses_a_missing_path_by_name) {
    try {
        open_corpus({"/no/such/corpus.jsonl"}, {}, context{});
        FAIL();
    } catch (const usage_error& refused) {
        EXPECT_STREQ(refused.what(), "/no/such/corpus.jsonl: no such file or folder");
    }
}

// A list of some MiB, for which fresh memory would be slow.
TEST(open_corpus, uses_the_lists_of_documents_again) {
    const temporary_folder folder;
    std::string lines;
    for (int i = 0; i < 40000; ++i) lines += "a\n";
    corpus_options options;
    options.form = corpus_form::text_lines;
    options.unit_bytes = 10000 * 64;
    const auto reader = open_corpus({folder.write("lines", lines)}, options, context::cpu(1));
    std::vector<const document*> places;
    std::size_t documents = 0;
    while (const auto unit = reader->next()) {
        const parsed_unit parsed = unit->parse();
        documents += parsed.documents.size();
        if (parsed.documents.size() > 10000) places.push_back(parsed.documents.data());
    }
    EXPECT_EQ(documents, 40000U);
    ASSERT_GE(places.size(), 3U);
    for (const document* const place : places) EXPECT_EQ(place, places.front());
}

std::string refusal(std::string_view bytes, const std::string& name) {
    const temporary_folder folder;
    try {
        open_corpus({folder.write(name, bytes)}, {}, context{});
    } catch (const invalid_input& refused) {
        return refused.reason();
    }
    return "accepted";
}

TEST(open_corpus, says_what_it_cannot_tell) {
    using namespace std::string_literals;
    EXPECT_THAT(refusal("a,b\nc,d\n", "x.csv"),
                HasSubstr("found \"a\", \"b\" (tried wikipedia, jsonl, tsv, csv, trec, wikiextractor"));
    EXPECT_THAT(refusal("\x7F"
                        "ELF\0\0"s,
                        "program"),
                HasSubstr("not text"));
    EXPECT_THAT(refusal(" [\n {\"id\":1}]", "x.json"), HasSubstr("a JSON array"));
    EXPECT_THAT(refusal("{\n \"cells\": [\n ]\n}\n", "x.json"), HasSubstr("JSON, but not one object a line"));
    EXPECT_THAT(refusal("PK\3\4 x.txt", "x.zip"), HasSubstr("a zip archive: unpack it first"));
    EXPECT_THAT(refusal("PARE" + std::string(20, '\0'), "x.parquet"), HasSubstr("an encrypted Parquet file"));
    EXPECT_THAT(refusal("a.txt" + std::string(252, '\0') + "ustar" + std::string(250, '\0'), "x.tar"),
                HasSubstr("a tar archive"));
}

// Documents of an input that ends early are kept; the number of lost ones is unknown. A single-document file is
// truncated.
TEST(open_corpus, an_input_that_ends_early_is_incomplete) {
    const temporary_folder folder;
    std::string lines;
    for (int i = 0; i < 5000; ++i) lines += "{\"id\":" + std::to_string(i) + ",\"text\":\"some text\"}\n";
    std::string packed = test::pack_gzip(lines);
    packed.resize(packed.size() / 2);
    const auto cut = read_all({folder.write("in/cut.jsonl.gz", packed)});
    EXPECT_GT(cut.documents.size(), 1000U);
    EXPECT_EQ(cut.counts.incomplete, 1U);
    EXPECT_EQ(cut.counts.truncated, 1U);
    EXPECT_TRUE(cut.issues.back().incomplete);
    EXPECT_EQ(read_all({folder.path() / "in"}).counts.incomplete, 1U);
    EXPECT_EQ(read_all({folder.write("text/nothing.jsonl.gz", packed.substr(0, 12)).parent_path()})
                  .counts.incomplete,
              1U);
    EXPECT_EQ(read_all({folder.write("page/nothing.html.gz", packed.substr(0, 12)).parent_path()})
                  .counts.incomplete,
              0U);
    std::string text = test::pack_gzip(test::words(100'000, 1));
    text.resize(text.size() / 2);
    const auto one = read_all({folder.write("one.txt.gz", text)});
    EXPECT_EQ(one.counts.truncated, 1U);
    EXPECT_EQ(one.counts.incomplete, 0U);
}

TEST(open_corpus, tells_forms_from_content) {
    const temporary_folder folder;
    const auto all = read_all({folder.write("one.txt", "\n {\"id\":\"json\",\"text\":\"\"}\n"),
                               folder.write("two.dat", "tsv\ttext\n"),
                               folder.write("three.dat", "long tsv\t" + std::string(100'000, 'x'))});
    EXPECT_THAT(ids(all), ElementsAre("json", "tsv", "long tsv"));
}

TEST(open_corpus, says_what_lines_of_json_lack) {
    const temporary_folder folder;
    const auto all =
        read_all({folder.write("x.dat", "{\"id\":1}\n{\"id\":2}\n"), folder.write("y.jsonl", "{\"id\":\n")});
    EXPECT_THAT(ids(all), ElementsAre());
    ASSERT_EQ(all.issues.size(), 3u);
    EXPECT_EQ(all.issues[0].reason,
              "no text: expected \"text\" (or \"contents\", \"content\", \"body\", \"document\", "
              "\"passage\", \"segment\", \"abstract\", \"raw_content\"), found \"id\" (--text-field names "
              "another)");
    EXPECT_THAT(all.issues[2].reason, HasSubstr("malformed JSON"));
}

TEST(open_corpus, a_text_may_open_with_marks) {
    const temporary_folder folder;
    const auto all = read_all({folder.write("x.txt", "{ braces }\n"),
                               folder.write("y.txt", "<doc>\nno DOCNO here\n</doc>\n"),
                               folder.write("z.txt", "{\n\"a\": 1\n}\n")});
    EXPECT_THAT(ids(all), ElementsAre("x.txt", "y.txt", "z.txt"));
}

TEST(open_corpus, reads_collections_in_utf16) {
    using namespace std::string_literals;
    std::string wide = "\xFF\xFE";
    for (const char c : "1\tone\n2\ttwo\n"s) wide += {c, '\0'};
    const temporary_folder folder;
    for (const std::uint64_t unit : {1, 1000}) {
        corpus_options options;
        options.unit_bytes = unit;
        EXPECT_THAT(ids(read_all({folder.write("x", wide)}, options)), ElementsAre("1", "2"));
    }
}

TEST(open_corpus, reads_dumps) {
    const temporary_folder folder;
    const auto dump = folder.write("dump",
                                   "<!-- made by hand -->\n<mediawiki><siteinfo><dbname>x</dbname></siteinfo>"
                                   "<page><title>A page</title><ns>0</ns><id>1</id><revision><text>"
                                   "'''Text''' and [[Other]].</text></revision></page></mediawiki>");
    const auto all = read_all({dump});
    ASSERT_THAT(ids(all), ElementsAre("A_page"));
    EXPECT_THAT(all.documents[0].links, ElementsAre("Other"));
}

TEST(open_corpus, documents_say_where_they_begin) {
    const auto lines_of = [](std::string_view bytes, corpus_form form) {
        std::vector<std::uint64_t> out;
        for (const auto& each : read_bytes(bytes, form).documents) out.push_back(each.line);
        return out;
    };
    EXPECT_THAT(lines_of("a\tx\n\nb\ty\n", corpus_form::tsv), ElementsAre(1u, 3u));
    EXPECT_THAT(lines_of("\n{\"id\":1,\"text\":\"\"}\n", corpus_form::jsonl), ElementsAre(2u));
    EXPECT_THAT(lines_of("\n\na\nb\n\nc\n", corpus_form::lines), ElementsAre(3u, 6u));
    EXPECT_THAT(
        lines_of("<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n\n<DOC>\n<DOCNO>2</DOCNO></DOC>", corpus_form::trec),
        ElementsAre(1u, 5u));
    EXPECT_THAT(lines_of("\n<doc id=\"1\" title=\"T\">\n</doc>\n<doc id=\"2\" title=\"T\">\n</doc>\n",
                         corpus_form::wikiextractor),
                ElementsAre(2u, 4u));
}

TEST(open_corpus, an_empty_file_holds_nothing) {
    const temporary_folder folder;
    EXPECT_EQ(shown(read_all({folder.write("x.jsonl", "")})), "");
    EXPECT_EQ(shown(read_bytes("", corpus_form::lines)), "");
    EXPECT_EQ(shown(read_bytes("", corpus_form::tsv)), "");
}

}  // namespace
}  // namespace quern::io::testing::open_corpus_test
