// SPDX-License-Identifier: Apache-2.0
// What the stages add to a whole store: the same bits for any threads, equal to what the commands of their own say, and
// nothing where the store lacks what they need.
#include "tasks/build/stages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/link_rank.hpp"
#include "tasks/store/layout.hpp"
#include "temporary_folder.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

class Stages : public ::testing::Test {
  protected:
    fs::path store_of(const std::string& corpus, const std::string& name = "store") {
        write_file(folder_ / (name + ".jsonl"), corpus);
        build_options options;
        options.inputs = {folder_ / (name + ".jsonl")};
        options.store = folder_ / name;
        options.skip = all_build_stages;
        build(options, run_with(2));
        return options.store;
    }
    context run_with(unsigned threads, std::uint64_t memory = 0) {
        context run = context::cpu(threads);
        run.memory_bytes = memory;
        run.scratch = folder_ / "scratch";
        return run;
    }

    temporary_folder folder_;
};

/// Documents of which many name many others, themselves and some that there are not.
std::string linked_corpus(std::uint32_t documents) {
    std::string lines;
    std::uint64_t state = 7;
    const auto next = [&] { return (state = state * 6364136223846793005 + 1442695040888963407) >> 33; };
    for (std::uint32_t d = 0; d < documents; ++d) {
        lines += "{\"id\":\"d" + std::to_string(d) + "\",\"text\":\"page\",\"links\":[";
        for (std::uint64_t left = next() % 9; left > 0; --left) {
            lines +=
                "\"d" + std::to_string(next() % (1 + next() % (documents + 3))) + (left > 1 ? "\"," : "\"");
        }
        lines += "]}\n";
    }
    return lines;
}

TEST_F(Stages, LinkRanksAreThoseOfThePagerankCommand) {
    const fs::path store = store_of(linked_corpus(700));
    std::map<std::string, double> told;
    link_rank_options asked;
    asked.graph = store;
    rank_links(asked, run_with(1), [&](const ranked_node& node) { told[std::string(node.id)] = node.rank; });

    EXPECT_FALSE(opened_store(store).link_ranks());
    const fs::path section = store_layout::file_of(store, store_layout::link_ranks);
    const auto once = make_link_ranks(opened_store(store), run_with(1));
    const std::string bytes = read_file(section);
    const auto twice = make_link_ranks(opened_store(store), run_with(3));
    EXPECT_EQ(read_file(section), bytes);
    EXPECT_EQ(once.sections.front().checksum, twice.sections.front().checksum);
    EXPECT_GT(once.counts.at("link_rank_iterations"), 3U);

    add_outcome(store, once);
    add_outcome(store, once);
    EXPECT_EQ(read_store_info(store).sections.size(), opened_store(store).info().sections.size());
    const opened_store ranked(store);
    const auto ranks = ranked.link_ranks();
    ASSERT_TRUE(ranks);
    ASSERT_EQ(ranks->size(), 700U);
    std::uint64_t sum = 0;
    for (std::uint32_t d = 0; d < ranks->size(); ++d) {
        EXPECT_EQ(static_cast<double>((*ranks)[d]) / store_layout::link_rank_units,
                  told.at(std::string(ranked.id(d))));
        sum += (*ranks)[d];
    }
    EXPECT_NEAR(static_cast<double>(sum) / store_layout::link_rank_units, 1, 1e-4);
    EXPECT_GT(verify_store(store, run_with(2)), 0U);
}

TEST_F(Stages, AStoreWithoutLinksHasNoRanks) {
    const fs::path store = store_of("{\"id\":\"a\",\"text\":\"one\",\"links\":[\"b\"]}\n");
    const auto made = make_link_ranks(opened_store(store), run_with(1));
    EXPECT_THAT(made.sections, IsEmpty());
    EXPECT_FALSE(fs::exists(store_layout::file_of(store, store_layout::link_ranks)));
}

TEST_F(Stages, RanksOfAnotherCollectionAreFoundOut) {
    const fs::path large = store_of(linked_corpus(40), "large"), small = store_of(linked_corpus(30), "small");
    const auto ranks = make_link_ranks(opened_store(large), run_with(1));
    fs::copy_file(store_layout::file_of(large, store_layout::link_ranks),
                  store_layout::file_of(small, store_layout::link_ranks));
    add_outcome(small, ranks);
    try {
        verify_store(small, run_with(1));
        FAIL();
    } catch (const damaged_store& e) {
        EXPECT_THAT(e.what(), HasSubstr("link_ranks"));
    }
}

}  // namespace
}  // namespace quern
