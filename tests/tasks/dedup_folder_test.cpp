// SPDX-License-Identifier: Apache-2.0
// A folder of kept documents from a run that ended at any point of its work, and another one that continues: the same bytes
// as from one run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup.hpp"

namespace quern::dedup_folder_test {
namespace {

namespace fs = std::filesystem;
using testing::files_of;
using testing::write_file;

class dedup_folder_test : public testing::corpus_fixture {
  protected:
    /// Files with records among files that are documents, hidden files and such without documents.
    dedup_folder_test() {
        const auto lines = [](int from, int to) {
            std::string text;
            for (int i = from; i < to; ++i)
                text += fmt::format(R"({{"id":"{}","text":"Document {} is about {} and {}."}})"
                                    "\n",
                                    i % 40, i % 7, std::string(60, static_cast<char>('a' + i % 23)), i % 5);
            return text;
        };
        write_file(folder_ / "in/00.jsonl", lines(0, 20));
        write_file(folder_ / "in/01.md", "# A page\n\nAlone among records.\n");
        write_file(folder_ / "in/02.jsonl", "");
        write_file(folder_ / "in/.hidden", "not read");
        write_file(folder_ / "in/03/a.tsv", "x\tone text of a row\ny\tDocument of a row, quite different\n");
        write_file(folder_ / "in/03/b.txt", "Alone among records!\n");
        write_file(folder_ / "in/04.jsonl", lines(15, 60));
        write_file(folder_ / "in/05.csv", "id,text\n1,\"first, quoted\"\n2,second\n3,\"first, quoted\"\n");
        write_file(folder_ / "in/06.png", std::string("\0\1\2", 3));
        write_file(folder_ / "alone.jsonl", lines(100, 130));
        write_file(folder_ / "empty.jsonl", "");
    }

    dedup_options options(duplicate_method method = duplicate_method::automatic) const {
        dedup_options made;
        made.inputs = {folder_ / "alone.jsonl", folder_ / "in", folder_ / "empty.jsonl"};
        made.kept_folder = folder_ / "out";
        made.duplicates.method = method;
        made.list_pairs = false;
        made.shard_bytes = 1;  // a batch for each file with records
        made.prefer = {folder_ / "in/05.csv"};
        made.max_errors.share = 0.5;  // ids that occur again in their file
        return made;
    }

    std::map<std::string, std::string> whole(dedup_options of) const {
        of.kept_folder = folder_ / "whole";
        dedup(of, context_with()).write_kept_folder(context_with());
        auto files = files_of(folder_ / "whole");
        fs::remove_all(folder_ / "whole");
        return files;
    }

    /// The folder of the run that was left, which holds the one with the outputs; empty if there is none.
    fs::path work() const {
        for (const auto& entry : fs::directory_iterator(folder_.path()))
            if (entry.is_directory() && entry.path().filename().native().starts_with(".out.quern-"))
                return entry.path();
        return {};
    }
    unsigned batches() const {
        unsigned count = 0;
        while (fs::exists(work() / fmt::format("{:06}.json", count))) ++count;
        return count;
    }
    /// A run that ends before it writes anything.
    void leave(dedup_options of) const {
        of.resume = true;
        const dedup_result unpublished = dedup(of, context_with());
    }
    dedup_result resumed(dedup_options of) const {
        of.resume = true;
        return dedup(of, context_with());
    }
    void expect_resumed(const dedup_options& of, const std::map<std::string, std::string>& expected) const {
        ASSERT_NO_THROW(resumed(of).write_kept_folder(context_with()));
        EXPECT_EQ(files_of(folder_ / "out"), expected);
        EXPECT_EQ(work(), fs::path());
        EXPECT_FALSE(fs::exists(folder_ / ".out.quern-lock"));
        fs::remove_all(folder_ / "out");
    }
};

TEST_F(dedup_folder_test, a_run_continues_after_any_batch) {
    for (const auto method : {duplicate_method::automatic, duplicate_method::shingle}) {
        const dedup_options of = options(method);
        const auto expected = whole(of);
        leave(of);
        const unsigned all = batches();
        ASSERT_GE(all, 5U);
        for (unsigned kept = 0; kept <= all; ++kept) {
            SCOPED_TRACE(fmt::format("{} of {} batches", kept, all));
            if (work().empty()) leave(of);
            ASSERT_EQ(batches(), all);
            ASSERT_TRUE(fs::exists(work() / "choice.json"));
            if (kept < all) fs::remove(work() / "choice.json");
            for (unsigned b = kept; b < all; ++b) fs::remove(work() / fmt::format("{:06}.json", b));
            expect_resumed(of, expected);
        }
    }
}

TEST_F(dedup_folder_test, a_resumed_run_has_the_same_result_without_comparing) {
    for (const auto rule : {removal_rule::near_kept, removal_rule::connected}) {
        dedup_options of = options();
        of.rule = rule;
        leave(of);
        const dedup_result again = resumed(of);
        of.kept_folder.clear();
        const dedup_result once = dedup(of, context_with());
        ASSERT_GT(once.groups().size(), 3U);
        ASSERT_EQ(again.groups().size(), once.groups().size());
        for (std::size_t i = 0; i < once.groups().size(); ++i) {
            EXPECT_EQ(again.groups()[i].members, once.groups()[i].members);
            EXPECT_EQ(again.groups()[i].kept, once.groups()[i].kept);
        }
        EXPECT_TRUE(std::ranges::equal(again.removed(), once.removed()));
        EXPECT_EQ(again.documents(), once.documents());
        EXPECT_EQ(again.dropped(), once.dropped());
        EXPECT_EQ(again.counts.skipped, once.counts.skipped);
        for (std::uint32_t d = 0; d < once.documents(); ++d) {
            EXPECT_EQ(again.id(d), once.id(d));
            EXPECT_EQ(again.text(d), once.text(d));
        }
        for (const stage_statistics& stage : again.statistics.stages) EXPECT_NE(stage.name, "compare");
    }
}

TEST_F(dedup_folder_test, what_is_damaged_is_done_again) {
    const dedup_options of = options();
    const auto expected = whole(of);
    leave(of);
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(work())) {
        const std::string name = entry.path().filename();
        if (name.starts_with("000002.") || name.starts_with("choice.")) names.push_back(name);
    }
    ASSERT_EQ(names.size(), 10U);
    for (const std::string& name : names) {
        SCOPED_TRACE(name);
        if (work().empty()) leave(of);
        const fs::path file = work() / name;
        std::string bytes = testing::read_file(file);
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        write_file(file, bytes);
        expect_resumed(of, expected);
    }
}

TEST_F(dedup_folder_test, another_request_is_refused_and_the_run_stays) {
    leave(options());
    const unsigned all = batches();
    dedup_options other = options();
    other.resume = true;
    other.duplicates.threshold = parse_decimal("0.1");
    EXPECT_THROW(dedup(other, context_with()), usage_error);
    other = options();
    other.resume = true;
    other.store = folder_ / "store";
    EXPECT_THROW(dedup(other, context_with()), usage_error);
    EXPECT_EQ(batches(), all);
    expect_resumed(options(), whole(options()));
}

TEST_F(dedup_folder_test, without_resume_a_left_run_is_given_up) {
    leave(options());
    ASSERT_FALSE(work().empty());
    {
        const dedup_result unpublished = dedup(options(), context_with());
        EXPECT_FALSE(work().empty());
    }
    EXPECT_TRUE(work().empty());
}

TEST_F(dedup_folder_test, a_run_against_a_set_continues_with_its_outputs) {
    dedup_options of = options();
    write_file(folder_ / "set.jsonl", "{\"id\":\"s\",\"text\":\"Alone among records.\"}\n");
    of.against = {folder_ / "set.jsonl"};
    const auto expected = whole(of);
    of.resume = true;
    try {
        dedup(of, context_with()).write_kept_folder(context_with(), [] { throw usage_error("stopped"); });
        FAIL();
    } catch (const usage_error& why) {
        EXPECT_STREQ(why.what(), "stopped");
    }
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    EXPECT_TRUE(fs::exists(work() / "finished"));
    EXPECT_FALSE(is_kept_folder_complete(of));
    resumed(of).write_kept_folder(context_with());
    EXPECT_EQ(files_of(folder_ / "out"), expected);
    EXPECT_TRUE(is_kept_folder_complete(of));
    of.keep = keep_policy::last;
    EXPECT_FALSE(is_kept_folder_complete(of));
}

TEST_F(dedup_folder_test, what_appears_or_changes_after_it_was_read_has_no_output) {
    const dedup_options of = options();
    const dedup_result found = dedup(of, context_with());
    write_file(folder_ / "in/07.jsonl", "{\"id\":\"new\",\"text\":\"It appeared.\"}\n");
    write_file(folder_ / "in/02.jsonl", "{\"id\":\"more\",\"text\":\"It was empty.\"}\n");
    context ctx = context_with();
    std::vector<std::string> warnings;
    ctx.on_log = [&](log_level level, std::string_view text) {
        if (level == log_level::warning) warnings.emplace_back(text);
    };
    found.write_kept_folder(ctx);
    EXPECT_FALSE(fs::exists(folder_ / "out/07.jsonl"));
    EXPECT_FALSE(fs::exists(folder_ / "out/02.jsonl"));
    EXPECT_TRUE(fs::exists(folder_ / "out/00.jsonl"));
    EXPECT_THAT(warnings, ::testing::ElementsAre(::testing::HasSubstr("02.jsonl appeared or changed"),
                                                 ::testing::HasSubstr("07.jsonl appeared or changed")));
}

}  // namespace
}  // namespace quern::dedup_folder_test
