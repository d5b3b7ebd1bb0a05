// SPDX-License-Identifier: Apache-2.0
// Real collections, with counts determined by other means (grep, Python's json): skipped if the development data is not
// available.
#include <gmock/gmock.h>

#include <set>

#include "io/corpus/reading.hpp"
#include "quern/base/error.hpp"

namespace quern::io::testing::real_data_test {
namespace {

struct totals {
    std::uint64_t documents = 0, links = 0, resolved = 0, text_bytes = 0, titled = 0;
    reading_counts counts;
    std::string first_issue;
};

totals total_of(const std::vector<std::filesystem::path>& inputs, bool resolve = false) {
    totals out;
    std::set<std::string> ids;
    std::vector<std::string> targets;
    const auto reader = open_corpus(inputs, {}, context{});
    while (const auto unit = reader->next()) {
        auto part = unit->parse();
        out.counts += part.counts;
        if (!part.issues.empty() && out.first_issue.empty()) out.first_issue = part.issues.front().reason;
        for (auto& each : part.documents) {
            ++out.documents;
            out.links += each.links.size();
            out.text_bytes += each.text.size();
            out.titled += each.title.empty() ? 0 : 1;
            EXPECT_TRUE(ids.insert(each.id).second) << each.id;
            if (resolve) targets.insert(targets.end(), each.links.begin(), each.links.end());
        }
    }
    for (const auto& target : targets) out.resolved += ids.count(target);
    return out;
}

#define NEEDS_DATA(path)                  \
    const auto data = development_data(); \
    if (!data || !std::filesystem::exists(*data / (path))) GTEST_SKIP() << "QUERN_DATA has no " << (path)

TEST(real_data, wikischools) {
    NEEDS_DATA("wikischools.jsonl.zst");
    const auto all = total_of({*data / "wikischools.jsonl.zst"}, true);
    EXPECT_EQ(all.documents, 4598u);
    EXPECT_EQ(all.links, 119879u);
    EXPECT_EQ(all.resolved, 119879u);
    EXPECT_EQ(all.text_bytes, 97949960u);
    EXPECT_EQ(all.counts.rejected + all.counts.damaged, 0u) << all.first_issue;
}

TEST(real_data, neardup) {
    NEEDS_DATA("neardup/neardup_main.jsonl.zst");
    const auto all = total_of({*data / "neardup/neardup_main.jsonl.zst"});
    EXPECT_EQ(all.documents, 54708u);
    EXPECT_EQ(all.counts.rejected + all.counts.damaged, 0u) << all.first_issue;
}

TEST(real_data, wikiextractor_files) {
    NEEDS_DATA("wordsim/corpus_de/dewiki_wiki_00-14.txt.bz2");
    const auto german = total_of({*data / "wordsim/corpus_de/dewiki_wiki_00-14.txt.bz2"});
    EXPECT_EQ(german.documents, 4372u);
    EXPECT_EQ(german.titled, 4372u);
    EXPECT_EQ(german.counts.rejected + german.counts.damaged, 0u) << german.first_issue;
    // A folder of such files is read in their form.
    const auto chinese = total_of({*data / "wordsim/corpus_zh"});
    EXPECT_EQ(chinese.documents, 16991u);
    EXPECT_EQ(chinese.counts.rejected + chinese.counts.damaged, 0u) << chinese.first_issue;
}

TEST(real_data, eighteen_languages) {
    NEEDS_DATA("ir/multilang");
    const auto all = total_of({*data / "ir/multilang"});
    EXPECT_EQ(all.documents, 18u);
    EXPECT_EQ(all.counts.rejected + all.counts.damaged, 0u) << all.first_issue;
}

TEST(real_data, an_archive_is_refused_by_name) {
    NEEDS_DATA("ir/reuters21578/reut2.sgm.tar.zst");
    try {
        total_of({*data / "ir/reuters21578/reut2.sgm.tar.zst"});
        FAIL();
    } catch (const invalid_input& refused) {
        EXPECT_THAT(refused.reason(), ::testing::HasSubstr("tar archive"));
    }
}

/// Reuters-21578 from QUERN_DATA is an archive; REUTERS_FOLDER names the unpacked files.
TEST(real_data, reuters) {
    const char* folder = std::getenv("REUTERS_FOLDER");
    if (folder == nullptr) GTEST_SKIP() << "REUTERS_FOLDER is not set";
    const auto all = total_of({folder});
    EXPECT_EQ(all.documents, 15000u);
}

/// Debian's cppreference-doc-en-html, unpacked: CPPREFERENCE names its folder usr/share/cppreference/doc/html.
TEST(real_data, cppreference) {
    const char* folder = std::getenv("CPPREFERENCE");
    if (folder == nullptr) GTEST_SKIP() << "CPPREFERENCE is not set";
    const auto all = total_of({folder}, true);
    // 4,424 pages, and six style sheets and scripts.
    EXPECT_EQ(all.documents, 4430u);
    EXPECT_EQ(all.titled, 4430u);
    EXPECT_GT(static_cast<double>(all.resolved), 0.99 * static_cast<double>(all.links)) << all.links;
}

}  // namespace
}  // namespace quern::io::testing::real_data_test
