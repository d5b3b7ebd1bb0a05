// SPDX-License-Identifier: Apache-2.0
// Real dumps of seven wikis. The counts were worked out from the plain text by another method (regular
// expressions over <page>…</page>, Python's html.unescape).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "io/byte_source.hpp"
#include "io/corpus/wikipedia.hpp"

namespace quern::io::wikipedia_dumps_test {
namespace {

struct dump {
    const char* file;
    std::uint64_t documents, redirects, other_namespaces;
    const char* some_id;
    const char* begins;
};
void PrintTo(const dump& d, std::ostream* out) {
    *out << d.file;
}

class wikipedia_dumps_test : public ::testing::TestWithParam<dump> {};

TEST_P(wikipedia_dumps_test, are_read_whole) {
    const dump& expected = GetParam();
    const char* const data = std::getenv("QUERN_DATA");
    if (data == nullptr) GTEST_SKIP() << "QUERN_DATA is not set";
    const auto path = std::filesystem::path(data) / "wordsim" / "xml" / expected.file;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    corpus_options options;
    options.unit_bytes = 100000;
    const auto reader = read_wikipedia(open_bytes(path, context()), options, context());
    reading_counts counts;
    bool found = false;
    while (const auto unit = reader->next()) {
        const parsed_unit part = unit->parse();
        counts += part.counts;
        for (const input_issue& issue : part.issues) ADD_FAILURE() << issue.line << ": " << issue.reason;
        for (const document& d : part.documents) {
            if (d.id != expected.some_id) continue;
            found = true;
            EXPECT_THAT(d.text, ::testing::StartsWith(expected.begins));
            EXPECT_THAT(d.links, ::testing::Not(::testing::IsEmpty()));
        }
    }
    EXPECT_EQ(counts.documents, expected.documents);
    EXPECT_EQ(counts.redirects, expected.redirects);
    EXPECT_EQ(counts.rejected, 0);
    EXPECT_EQ(counts.damaged, 0);
    if (expected.other_namespaces == 0) {
        EXPECT_THAT(counts.skipped, ::testing::IsEmpty());
    } else {
        EXPECT_THAT(counts.skipped, ::testing::ElementsAre(::testing::Pair("page of another namespace",
                                                                           expected.other_namespaces)));
    }
    EXPECT_TRUE(found) << expected.some_id;
}

INSTANTIATE_TEST_SUITE_P(
    seven_wikis, wikipedia_dumps_test,
    ::testing::Values(
        dump{"bgwiki-latest-pages-articles-shortened.xml.bz2", 1, 0, 2, "Григориански_календар",
             "Григорианският календар (понякога наричан"},
        dump{"enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2", 106, 99, 1, "Anarchism",
             "Anarchism is a political philosophy that advocates self-governed societies"},
        dump{"enwiki-table-markup.xml.bz2", 5, 0, 0, "Constructive_vote_of_no_confidence",
             "The constructive vote of no confidence (in German: konstruktives Misstrauensvotum"},
        dump{"itwiki-small-dump.xml.gz", 608, 64, 75, "Armonium",
             "L'armonium o armonio (in francese, harmonium) è uno strumento"},
        dump{"nlwiki-20140927-pages-articles-sample.xml", 19, 2, 0, "Albert_Speer",
             "Berthold Konrad Hermann Albert Speer (Mannheim, 19 maart 1905"},
        dump{"smallwiki-latest-pages-articles.xml", 903, 147, 954, "Latgaļu_volūda",
             "Latgaļu volūda - baltu volūdu grupai pīdarūša"},
        dump{"viwiki-20240701-pages-articles-multistream4.excerpt.xml", 129, 75, 397, "Văn_Hữu_Chiến",
             "Văn Hữu Chiến (sinh năm 1954) là chính khách Việt Nam."}));

}  // namespace
}  // namespace quern::io::wikipedia_dumps_test
