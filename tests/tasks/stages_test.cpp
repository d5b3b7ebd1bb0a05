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
#include "quern/tasks/similar.hpp"
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

/// Sentences of a few patterns, so that words are used alike, in paragraphs; titles hold words of their own.
std::string worded_corpus(std::uint32_t documents) {
    std::string lines;
    std::uint64_t state = 3;
    const auto next = [&](std::uint64_t below) {
        state = state * 6364136223846793005 + 1442695040888963407;
        return (state >> 33) % below;
    };
    for (std::uint32_t d = 0; d < documents; ++d) {
        const std::uint64_t theme = next(5);
        lines += "{\"id\":\"d" + std::to_string(d) + "\",\"title\":\"Title " + std::to_string(theme) +
                 "\",\"text\":\"";
        for (std::uint64_t words = 1 + next(200), w = 0; w < words; ++w) {
            lines += "t" + std::to_string(theme) + "n" + std::to_string(next(30) * next(30) / 30);
            lines += w % 13 == 12 ? ".\\n\\n" : w % 5 == 4 ? " the " : " ";
        }
        lines += "\"}\n";
    }
    return lines;
}

std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name != store_layout::statistics) files[name] = read_file(entry.path());
    }
    return files;
}

TEST_F(Stages, AThesaurusIsTheSpaceOfTheCorpus) {
    const fs::path store = store_of(worded_corpus(300));
    const fs::path thesaurus = store / store_layout::thesaurus;
    const auto made = make_thesaurus(opened_store(store), run_with(1));
    const auto files = files_of(thesaurus);
    EXPECT_GT(files.size(), 10U);
    EXPECT_GT(made.counts.at("thesaurus_words"), 50U);
    ASSERT_TRUE(made.thesaurus);

    words_options asked;
    asked.inputs = {folder_ / "store.jsonl"};
    asked.space = folder_ / "space";
    asked.question = word_space::open(thesaurus, run_with(1)).question();
    words(asked, run_with(2));
    EXPECT_EQ(files_of(asked.space), files);
    asked.inputs = {store};
    asked.force = true;
    words(asked, run_with(3));
    EXPECT_EQ(files_of(asked.space), files);
    make_thesaurus(opened_store(store), run_with(3, 48 << 20));
    EXPECT_EQ(files_of(thesaurus), files);

    EXPECT_FALSE(opened_store(store).thesaurus());
    EXPECT_THROW(space_of(store), usage_error);
    add_outcome(store, made);
    EXPECT_EQ(opened_store(store).thesaurus(), thesaurus);
    EXPECT_EQ(space_of(store), thesaurus);
    EXPECT_EQ(space_of(thesaurus), thesaurus);
    const std::uint64_t bytes = verify_store(store, run_with(2));
    EXPECT_GT(bytes, verify_word_space(thesaurus, run_with(2)));

    // A space that is whole, and another store's.
    fs::remove_all(thesaurus);
    EXPECT_THROW(verify_store(store, run_with(1)), damaged_store);
    asked.question.min_count = 7;
    words(asked, run_with(1));
    fs::copy(asked.space, thesaurus);
    try {
        verify_store(store, run_with(1));
        FAIL();
    } catch (const damaged_store& e) {
        EXPECT_THAT(e.what(), HasSubstr("is not the one of this store"));
    }
}

TEST_F(Stages, AThesaurusHasTheStopWordsOfItsStore) {
    write_file(folder_ / "stop", "the\nt0n0\n");
    write_file(folder_ / "corpus.jsonl", worded_corpus(300));
    build_options options;
    options.inputs = {folder_ / "corpus.jsonl"};
    options.store = folder_ / "store";
    options.text.stop_words = folder_ / "stop";
    build(options, run_with(2));
    fs::remove(folder_ / "stop");
    add_outcome(options.store, make_thesaurus(opened_store(options.store), run_with(2)));
    const auto space = word_space::open(space_of(options.store), run_with(1));
    EXPECT_FALSE(space.find("the"));
    EXPECT_FALSE(space.find("t0n0"));
    EXPECT_TRUE(space.find("t0n1"));
    EXPECT_EQ(space.info().asked.at("stop-words"), read_store_info(options.store).text.stop_words);
    EXPECT_GT(verify_store(options.store, run_with(2)), 0U);
}

TEST_F(Stages, TooLittleForAThesaurusIsNoError) {
    for (const std::string corpus :
         {"{\"id\":\"a\",\"text\":\"\"}\n", "{\"id\":\"a\",\"text\":\"one two one\"}\n",
          "{\"id\":\"a\",\"text\":\"a\\n\\na\\n\\na\\n\\na\\n\\na\\n\\nb\\n\\nb\\n\\nb\\n\\nb\\n\\nb\"}\n"}) {
        const fs::path store = store_of(corpus);
        const auto made = make_thesaurus(opened_store(store), run_with(1));
        EXPECT_FALSE(made.thesaurus);
        EXPECT_FALSE(fs::exists(store / store_layout::thesaurus));
        fs::remove_all(store);
    }
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
