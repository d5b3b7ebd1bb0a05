// SPDX-License-Identifier: Apache-2.0
// Verdicts of tasks: read as they were written, matched with the documents of a corpus in order, and refused where they are damaged
// or of other documents.
#include "tasks/filter/verdicts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {
namespace {

using ::testing::ElementsAre;
using testing::write_file;

verdict_of_text verdict(std::uint64_t hash, std::int32_t reason, const std::string& changed = {}) {
    verdict_of_text made;
    made.hash = hash;
    made.found.reason = reason;
    made.found.value = std::string(hash % 200, 'v');
    made.found.is_changed = !changed.empty();
    made.found.emails = 300;
    made.text = changed;
    return made;
}

std::string bytes_of(const std::vector<verdict_of_text>& verdicts) {
    std::string bytes;
    for (const verdict_of_text& each : verdicts) append_verdict(bytes, each);
    const std::uint64_t count = verdicts.size();
    return bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
}

class verdicts_test : public testing::corpus_fixture {
  protected:
    /// A job with two tasks that share the first inputs, and one for the next.
    void write_job(const std::vector<std::vector<verdict_of_text>>& of_tasks) {
        job_plan plan;
        plan.request = {"filter", {}, folder_.path(), 3};
        for (const char* const part : {"0", "1", "0"})
            plan.tasks.push_back({.kind = "judge", .parameters = {{"part", part}}});
        write_plan(plan, folder_ / "job");
        for (std::uint32_t i = 0; i < of_tasks.size(); ++i)
            write_file(file_of_result(folder_ / "job", i, "verdicts"), bytes_of(of_tasks[i]));
    }
    static std::vector<std::uint64_t> taken(job_verdicts& from, const std::vector<std::uint64_t>& hashes,
                                            std::uint64_t parsed) {
        std::vector<std::uint64_t> found;
        from.take(hashes, parsed, [&](std::size_t, verdict_of_text&& v) { found.push_back(v.hash); });
        return found;
    }
};

TEST_F(verdicts_test, are_read_as_they_were_written) {
    const auto file = folder_ / "verdicts";
    write_file(file,
               bytes_of({verdict(7, -1, "another text"), verdict(UINT64_MAX - 8, 130), verdict(0, -1)}));
    verdict_reader reader(file);
    EXPECT_EQ(reader.documents(), 3u);
    const verdict_of_text first = reader.next(), second = reader.next(), third = reader.next();
    EXPECT_EQ(first.text, "another text");
    EXPECT_EQ(first.found.reason, -1);
    EXPECT_EQ(first.found.emails, 300u);
    EXPECT_EQ(second.hash, UINT64_MAX - 8);
    EXPECT_EQ(second.found.reason, 130);
    EXPECT_EQ(second.found.value, std::string((UINT64_MAX - 8) % 200, 'v'));
    EXPECT_FALSE(third.found.is_changed);
    EXPECT_TRUE(reader.is_at_end());
    EXPECT_THROW(reader.next(), damaged_store);
}

TEST_F(verdicts_test, a_shorter_file_ends_early_wherever_it_is_cut) {
    const std::string whole = bytes_of({verdict(7, -1, "another text"), verdict(199, 3)});
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto file = folder_ / std::to_string(size);
        write_file(file, whole.substr(0, size));
        const auto read_both = [&] {
            verdict_reader reader(file);
            reader.next();
            reader.next();
        };
        EXPECT_THROW(read_both(), damaged_store) << size;
    }
}

TEST_F(verdicts_test, are_taken_in_order_by_part_and_input) {
    write_job(
        {{verdict(2, 1), verdict(4, 1), verdict(2, 1)}, {verdict(5, 1)}, {verdict(9, 1), verdict(2, 2)}});
    job_verdicts from(folder_ / "job");
    EXPECT_THAT(taken(from, {2, 5}, 2), ElementsAre(2, 5));
    EXPECT_THAT(taken(from, {2}, 2), ElementsAre(2));  // another one was refused for its id
    EXPECT_THAT(taken(from, {}, 0), ElementsAre());
    EXPECT_THAT(taken(from, {9, 2}, 2), ElementsAre(9, 2));
    EXPECT_THROW(taken(from, {9}, 1), usage_error);
}

TEST_F(verdicts_test, other_documents_are_refused) {
    write_job({{verdict(2, 1), verdict(4, 1)}, {verdict(5, 1)}, {verdict(9, 1)}});
    const auto refuses = [&](const std::vector<std::uint64_t>& hashes) {
        job_verdicts from(folder_ / "job");
        EXPECT_THROW(taken(from, hashes, hashes.size()), usage_error);
    };
    refuses({6});           // another text
    refuses({4});           // not in its place
    refuses({2, 5, 4, 9});  // more than the tasks of the first inputs judged
    refuses({5, 7});
}

}  // namespace
}  // namespace quern
