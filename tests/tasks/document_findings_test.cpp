// SPDX-License-Identifier: Apache-2.0
// What tasks found out about documents: read as it was written, matched with the documents of a corpus in order, and refused where it
// is damaged or of other documents.
#include "tasks/cluster/document_findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"
#include "tasks/filter/verdicts.hpp"

namespace quern::document_findings_test {
namespace {

using ::testing::ElementsAre;
using testing::write_file;

std::string bytes_of(const std::vector<std::uint64_t>& hashes) {
    std::string bytes;
    for (const std::uint64_t hash : hashes)
        append_finding(bytes, hash, std::string(hash % 200, 'v') + std::to_string(hash));
    return bytes + number_of_findings(hashes.size());
}

class findings_test : public testing::corpus_fixture {
  protected:
    /// A job with two tasks that share the first inputs, and one for the next.
    void write_job(const std::vector<std::vector<std::uint64_t>>& of_tasks) {
        job_plan plan;
        plan.request = {"filter", {}, folder_.path(), 3};
        for (const char* const part : {"0", "1", "0"})
            plan.tasks.push_back({.kind = "judge", .parameters = {{"part", part}}});
        write_plan(plan, folder_ / "job");
        for (std::uint32_t i = 0; i < of_tasks.size(); ++i)
            write_file(file_of_result(folder_ / "job", i, "found"), bytes_of(of_tasks[i]));
    }
    document_findings findings() const { return {folder_ / "job", "found"}; }
    static std::vector<std::string> taken(document_findings& from, const std::vector<std::uint64_t>& hashes,
                                          std::uint64_t parsed) {
        std::vector<std::string> found(hashes.size());
        from.take(hashes, parsed, [&](std::size_t i, std::string_view bytes) {
            found[i] = bytes.substr(bytes.find_last_of('v') + 1);
        });
        return found;
    }
};

TEST_F(findings_test, are_read_as_they_were_written) {
    const auto file = folder_ / "found";
    write_file(file, bytes_of({7, UINT64_MAX - 8, 0}));
    finding_reader reader(file);
    EXPECT_EQ(reader.documents(), 3u);
    EXPECT_EQ(reader.next().found, "vvvvvvv7");
    const finding_reader::finding second = reader.next();
    EXPECT_EQ(second.hash, UINT64_MAX - 8);
    EXPECT_EQ(second.found, std::string((UINT64_MAX - 8) % 200, 'v') + std::to_string(UINT64_MAX - 8));
    EXPECT_EQ(reader.next().found, "0");
    EXPECT_TRUE(reader.is_at_end());
    EXPECT_THROW(reader.next(), damaged_store);
}

TEST_F(findings_test, a_shorter_file_ends_early_wherever_it_is_cut) {
    const std::string whole = bytes_of({7, 199});
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto file = folder_ / std::to_string(size);
        write_file(file, whole.substr(0, size));
        const auto read_both = [&] {
            finding_reader reader(file);
            reader.next();
            reader.next();
        };
        EXPECT_THROW(read_both(), damaged_store) << size;
    }
}

TEST_F(findings_test, are_taken_in_order_by_part_and_input) {
    write_job({{2, 4, 2}, {5}, {9, 2}});
    document_findings from = findings();
    EXPECT_THAT(taken(from, {2, 5}, 2), ElementsAre("2", "5"));
    EXPECT_THAT(taken(from, {2}, 2), ElementsAre("2"));  // another one was refused for its id
    EXPECT_THAT(taken(from, {}, 0), ElementsAre());
    EXPECT_THAT(taken(from, {9, 2}, 2), ElementsAre("9", "2"));
    EXPECT_THROW(taken(from, {9}, 1), usage_error);
}

TEST_F(findings_test, other_documents_are_refused) {
    write_job({{2, 4}, {5}, {9}});
    const auto refuses = [&](const std::vector<std::uint64_t>& hashes) {
        document_findings from = findings();
        EXPECT_THROW(taken(from, hashes, hashes.size()), usage_error);
    };
    refuses({6});           // another text
    refuses({4});           // not in its place
    refuses({2, 5, 4, 9});  // more than the tasks of the first inputs had
    refuses({5, 7});
}

TEST(verdicts, are_read_as_they_were_written) {
    verdict_of_text made;
    made.found.reason = 130;
    made.found.value = std::string(199, 'v');
    made.found.emails = 300;
    const std::string bytes = bytes_of_verdict(made);
    const verdict_of_text read = verdict_of(bytes, "job");
    EXPECT_EQ(read.found.reason, 130);
    EXPECT_EQ(read.found.value, made.found.value);
    EXPECT_EQ(read.found.emails, 300u);
    EXPECT_FALSE(read.found.is_changed);
    EXPECT_EQ(read.text, "");
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_THROW(verdict_of(std::string_view(bytes).substr(0, size), "job"), damaged_store) << size;
    made.found.reason = -1;
    made.found.is_changed = true;
    made.text = "another text";
    const verdict_of_text changed = verdict_of(bytes_of_verdict(made), "job");
    EXPECT_EQ(changed.found.reason, -1);
    EXPECT_TRUE(changed.found.is_changed);
    EXPECT_EQ(changed.text, "another text");
}

}  // namespace
}  // namespace quern::document_findings_test
