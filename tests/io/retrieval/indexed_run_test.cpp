// SPDX-License-Identifier: Apache-2.0
// Runs read topic by topic, compared with the same runs read whole.
#include "io/retrieval/indexed_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "io/retrieval/ranked_run.hpp"
#include "quern/base/error.hpp"
#include "temporary_folder.hpp"

namespace quern::io::indexed_run_test {
namespace {

void expect_same(const std::string& text) {
    const auto source = open_bytes_memory(text, "sample", {}), again = open_bytes_memory(text, "sample", {});
    const indexed_run indexed(*source);
    const ranked_run whole(*again, {});
    ASSERT_EQ(indexed.topics().size(), whole.topics().size());
    std::vector<retrieved_view> documents;
    std::uint64_t most = 0;
    for (std::size_t t = 0; t < whole.topics().size(); ++t) {
        const ranked_topic& expected = whole.topics()[t];
        EXPECT_EQ(indexed.topics()[t].id, expected.id);
        EXPECT_EQ(indexed.topics()[t].lines, expected.entries.size());
        indexed.read(indexed.topics()[t], documents);
        ASSERT_EQ(documents.size(), expected.entries.size());
        for (std::size_t i = 0; i < documents.size(); ++i) {
            EXPECT_EQ(documents[i].id, expected.entries[i].document());
            EXPECT_EQ(documents[i].score, expected.entries[i].score);
        }
        most = std::max(most, indexed.topics()[t].lines);
    }
    EXPECT_EQ(indexed.max_lines(), most);
}

TEST(indexed_run, has_the_topics_of_a_run_read_whole) {
    expect_same("");
    expect_same("\n \r\n");
    expect_same("7 Q0 a 1 2 t");
    expect_same("1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n\n1 Q0 b 2 1 t\n1\tQ0 c 3 1 t\r\n12 Q0 a 1 1 t\n");
    for (const unsigned topics : {1U, 2U, 31U, 4097U}) {
        for (const unsigned in_a_row : {1U, 3U, 255U}) {
            std::mt19937 chance(topics + in_a_row);
            std::string text;
            for (unsigned line = 0, topic = 0; line < 6000; ++line) {
                if (line % in_a_row == 0) topic = static_cast<unsigned>(chance()) % topics;
                text += std::to_string(topic) + " Q0 d" + std::to_string(line) + " 1 " +
                        std::to_string(chance() % 9) + " tag\n";
            }
            expect_same(text);
        }
    }
}

std::string refused(const std::string& text) {
    const auto source = open_bytes_memory(text, "sample", {});
    try {
        const indexed_run indexed(*source);
        std::vector<retrieved_view> documents;
        for (const indexed_topic& topic : indexed.topics()) indexed.read(topic, documents);
    } catch (const invalid_input& error) {
        return error.what();
    }
    return "accepted";
}

TEST(indexed_run, refuses_a_document_that_occurs_again_in_its_topic) {
    EXPECT_EQ(refused("1 Q0 a 1 5 t\n2 Q0 a 1 5 t\n1 Q0 b 2 4 t\n"), "accepted");
    EXPECT_EQ(refused("1 Q0 a 1 5 t\n2 Q0 a 1 5 t\n1 Q0 b 2 4 t\n1 Q0 b 2 4 t\n\n1 Q0 a 2 4 t\n"),
              "sample:4: duplicate document \"b\" in topic \"1\"");
    std::string all;
    for (int i = 0; i < 5000; ++i) all += "1 Q0 a 1 5 t\n";
    EXPECT_EQ(refused(all), "sample:2: duplicate document \"a\" in topic \"1\"");
}

TEST(indexed_run, counts_its_places) {
    const testing::temporary_folder folder;
    const std::filesystem::path path = folder / "run";
    std::ofstream out(path);
    for (int i = 0; i < 20'000; ++i) out << i << " Q0 a 1 5 t\n";
    out.close();
    memory_budget roomy(std::uint64_t{1} << 30), tight(std::uint64_t{1} << 20);
    EXPECT_EQ(indexed_run(path, {}, roomy).topics().size(), 20'000U);
    EXPECT_GT(roomy.used(), 20'000U * 100);
    EXPECT_THROW(indexed_run(path, {}, tight), out_of_memory);
    EXPECT_THROW(indexed_run(folder / "none", {}, tight), usage_error);
}

}  // namespace
}  // namespace quern::io::indexed_run_test
