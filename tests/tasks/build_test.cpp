// SPDX-License-Identifier: Apache-2.0
// The main task on small generated corpora: the contents of the store; its bytes depend only on the collection; bad
// input, interruption and damage are reported and leave nothing half-written.
#include "quern/tasks/build.hpp"
#include "corpus_fixture.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/files/name_lock.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/count.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/links/input_graph.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/opened_store.hpp"
#include "temporary_folder.hpp"

namespace quern::build_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

/// A reproducible corpus: words of a skewed vocabulary, some documents empty, links forward and back.
std::string generated_corpus(std::uint32_t documents, std::uint32_t words_each) {
    std::string lines;
    testing::made_numbers next(1);
    for (std::uint32_t d = 0; d < documents; ++d) {
        lines += "{\"id\":\"d" + std::to_string(d) + "\",\"title\":\"Title " + std::to_string(d) +
                 "\",\"text\":\"";
        const std::uint32_t count = d % 17 == 3 ? 0 : words_each;
        for (std::uint32_t w = 0; w < count; ++w) {
            const std::uint64_t r = next() % 1000;
            lines += "w" + std::to_string(r * r * r / 100'000 % 7000) + (w % 11 == 10 ? ". " : " ");
        }
        lines += "\",\"links\":[\"d" + std::to_string(next() % (documents + 2)) + "\",\"d" +
                 std::to_string(d) + "\"]}\n";
    }
    return lines;
}

class build_test : public ::testing::Test {
  protected:
    build_options options_for(const std::string& corpus, const std::string& name = "corpus.jsonl") {
        write_file(folder_ / name, corpus);
        build_options options;
        options.inputs = {folder_ / name};
        options.store = folder_ / "store";
        options.skip = all_build_stages;
        return options;
    }
    context context_with(unsigned threads, std::uint64_t memory = 0) {
        context ctx;
        ctx.threads = threads;
        ctx.memory_bytes = memory;
        ctx.scratch = folder_ / "scratch";
        return ctx;
    }
    std::map<std::string, std::string> store_files(const fs::path& store) {
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::directory_iterator(store)) {
            if (entry.path().filename() != store_layout::statistics) {
                files[entry.path().filename().string()] = read_file(entry.path());
            }
        }
        return files;
    }
    /// The folder has only the named files: no temporary file, no partial store.
    void expect_only(std::set<std::string> names) {
        names.insert("scratch");
        std::set<std::string> found;
        for (const auto& entry : fs::directory_iterator(folder_.path()))
            found.insert(entry.path().filename().string());
        found.insert("scratch");
        EXPECT_EQ(found, names);
        if (fs::exists(folder_ / "scratch")) {
            EXPECT_TRUE(fs::is_empty(folder_ / "scratch"));
        }
    }

    temporary_folder folder_;
};

TEST_F(build_test, holds_what_was_read) {
    const auto options = options_for(
        "{\"id\":\"a\",\"title\":\"First\",\"text\":\"Red apples, red "
        "pears.\",\"links\":[\"b\",\"nowhere\",\"b\"]}\n"
        "{\"id\":7,\"text\":\"\"}\n"
        "{\"id\":\"b\",\"title\":\"Third\",\"text\":\"A red car\",\"links\":[\"a\"]}\n");
    const build_result result = build(options, context_with(1));
    EXPECT_EQ(result.counts.documents, 3U);
    EXPECT_EQ(result.words, 9U);
    EXPECT_EQ(result.vocabulary, 7U);
    EXPECT_EQ(result.postings, 8U);
    EXPECT_EQ(result.links, 3U);
    EXPECT_EQ(result.dangling_links, 1U);
    EXPECT_THAT(result.issues, IsEmpty());

    const opened_store store(options.store);
    EXPECT_EQ(store.id(0), "a");
    EXPECT_EQ(store.id(1), "7");
    EXPECT_EQ(store.title(2), "Third");
    EXPECT_EQ(store.text(0), "Red apples, red pears.");
    EXPECT_EQ(store.text(1), "");
    EXPECT_EQ(store.text(2), "A red car");
    EXPECT_THAT(store.collection().document_lengths, ElementsAre(5U, 0U, 4U));
    const posting_list red = store.words().find("red");
    EXPECT_EQ(red.document_frequency, 2U);
    EXPECT_EQ(red.collection_frequency, 3U);
    EXPECT_EQ(store.words().find("first").document_frequency, 1U);
    EXPECT_EQ(store.title_words().find("first").document_frequency, 1U);
    EXPECT_EQ(store.title_words().find("red").document_frequency, 0U);

    const store_info info = read_store_info(options.store);
    const auto section = [&](std::string_view name) {
        return store_layout::open_section(options.store, info, name);
    };
    EXPECT_THAT(section("link_ends").values<std::uint64_t>(0, 3), ElementsAre(2U, 2U, 3U));
    EXPECT_THAT(section("links").values<std::uint32_t>(0, 3), ElementsAre(2U, 2U, 0U));
    expect_only({"corpus.jsonl", "store"});
}

TEST_F(build_test, bytes_depend_on_the_collection_alone) {
    auto options = options_for(generated_corpus(6000, 200));
    build(options, context_with(1));
    const auto expected = store_files(options.store);
    EXPECT_GT(expected.size(), 10U);
    for (const auto& [threads, memory] :
         {std::pair{2U, std::uint64_t{0}}, {1U, std::uint64_t{1} << 20}, {5U, std::uint64_t{4} << 20}}) {
        options.store = folder_ / ("store-" + std::to_string(threads));
        options.force = true;
        const build_result result = build(options, context_with(threads, memory));
        EXPECT_EQ(result.statistics.counts.at("spilled_bytes") > 0, memory != 0);
        EXPECT_EQ(store_files(options.store), expected) << threads << " threads, " << memory << " bytes";
    }
}

TEST_F(build_test, texts_come_back_from_every_block) {
    const auto options = options_for(generated_corpus(900, 300));
    build(options, context_with(2));
    const opened_store store(options.store);
    EXPECT_GT(read_store_info(options.store).documents, 0U);
    std::size_t at = 0;
    const std::string corpus = read_file(options.inputs[0]);
    for (std::uint32_t d = 0; d < 900; ++d) {
        const std::size_t begin = corpus.find("\"text\":\"", at) + 8, end = corpus.find('"', begin);
        ASSERT_EQ(store.text(d), corpus.substr(begin, end - begin)) << d;
        at = end;
    }
}

TEST_F(build_test, repeated_ids_are_rejected_with_their_place) {
    auto options = options_for(
        "{\"id\":\"a\",\"text\":\"one\"}\n{\"id\":\"b\",\"text\":\"two\"}\n{\"id\":\"a\",\"text\":\"three\"}"
        "\n");
    try {
        build(options, context_with(2));
        FAIL() << "a repeated id was let through";
    } catch (const invalid_input& e) {
        EXPECT_EQ(e.line(), 3U);
        EXPECT_THAT(e.what(), HasSubstr("corpus.jsonl:3: duplicate id \"a\"; first used in " +
                                        options.inputs[0].string() + ":1"));
        EXPECT_THAT(e.what(), HasSubstr("--ids generate"));
    }
    expect_only({"corpus.jsonl"});

    options.max_errors = {.count = 1, .is_share = false};
    const build_result result = build(options, context_with(2));
    EXPECT_EQ(result.counts.documents, 2U);
    EXPECT_EQ(result.counts.rejected, 1U);
    EXPECT_FALSE(opened_store(options.store).words().dictionary().find("three"));
}

TEST_F(build_test, ids_of_earlier_files_get_their_file_in_front_and_links_follow) {
    auto options = options_for("");
    const fs::path a = folder_ / "a.jsonl", b = folder_ / "b.jsonl";
    write_file(a,
               "{\"id\":1,\"text\":\"apple\",\"links\":[2]}\n{\"id\":2,\"text\":\"pear\",\"links\":[1,3]}\n");
    write_file(
        b,
        "{\"id\":1,\"text\":\"cherry stone\",\"links\":[2,3]}\n{\"id\":3,\"text\":\"plum\",\"links\":[1]}\n"
        "{\"id\":2,\"text\":\"quince jam\",\"links\":[1,2]}\n");
    options.inputs = {a, b};
    const auto seen = [&](const fs::path& path) {
        const opened_store store(path);
        std::string all;
        for (std::uint32_t d = 0; d < store.info().documents; ++d) all += std::string(store.id(d)) + ";";
        for_each_link(store, [&](quern::link of) { all += fmt::format(" {}>{}", of.from, of.to); });
        return all;
    };
    const std::string expected =
        fmt::format("1;2;{0}:1;3;{0}:2; 0>1 1>0 1>3 2>4 2>3 3>2 4>2 4>4", b.string());
    for (const bool duplicates : {false, true}) {
        options.store = folder_ / (duplicates ? "with" : "without");
        options.skip = all_build_stages;
        if (duplicates) options.skip.erase(build_stage::duplicates);
        EXPECT_EQ(build(options, context_with(duplicates ? 2 : 1)).documents, 5U);
        EXPECT_EQ(seen(options.store), expected);
        // If added later, they are the same documents, once.
        build_options update = options;
        update.inputs = {a};
        update.store = folder_ / (duplicates ? "with_later" : "without_later");
        build(update, context_with(2));
        update.inputs = {b};
        update.update = true;
        for (int again = 0; again < 2; ++again) EXPECT_EQ(build(update, context_with(2)).documents, 5U);
        EXPECT_EQ(seen(update.store).substr(0, expected.find(' ')), expected.substr(0, expected.find(' ')));
    }
    options.force = true;
    options.ids = id_rule::global;
    EXPECT_THROW(build(options, context_with(2)), invalid_input);
    options.ids = id_rule::generate;
    build(options, context_with(2));
    EXPECT_EQ(opened_store(options.store).id(4), "b.jsonl:3");
}

TEST_F(build_test, a_corpus_of_rejected_records_says_so) {
    auto options = options_for("{\"id\":1,\"question\":\"x\"}\n{\"id\":2}\n");
    options.max_errors = {.share = 1};
    try {
        build(options, context_with(1));
        FAIL();
    } catch (const invalid_input& e) {
        EXPECT_THAT(e.what(), HasSubstr("holds no documents; 2 were rejected, the first because of " +
                                        options.inputs[0].string() + ":1: no text: expected"));
    }
}

TEST_F(build_test, errors_beyond_the_limit_leave_nothing) {
    std::string corpus = generated_corpus(50, 5);
    for (int i = 0; i < 3; ++i) corpus += "not JSON\n";
    auto options = options_for(corpus);
    options.max_errors = {.count = 2, .is_share = false};
    EXPECT_THROW(build(options, context_with(2)), invalid_input);
    options.max_errors = {.share = 0.05};
    EXPECT_THROW(build(options, context_with(2)), invalid_input);
    expect_only({"corpus.jsonl"});
    options.max_errors = {.share = 0.06};
    const build_result result = build(options, context_with(2));
    EXPECT_EQ(result.counts.rejected, 3U);
    ASSERT_EQ(result.issues.size(), 3U);
    EXPECT_EQ(result.issues[2].line, 53U);
}

TEST_F(build_test, refused_requests_leave_the_store_alone) {
    auto options = options_for(generated_corpus(5, 5));
    build(options, context_with(1));
    const auto before = store_files(options.store);
    EXPECT_THROW(build(options, context_with(1)), usage_error);  // exists
    EXPECT_EQ(store_files(options.store), before);

    options.force = true;
    options.inputs = {folder_ / "absent.jsonl"};
    EXPECT_THROW(build(options, context_with(1)), usage_error);
    options.inputs = {folder_.path()};
    EXPECT_THROW(build(options, context_with(1)), usage_error);  // the store is within the input
    options.inputs = {options.store / "ids.section"};
    EXPECT_THROW(build(options, context_with(1)), usage_error);
    EXPECT_EQ(store_files(options.store), before);

    fs::create_directory(folder_ / "precious");
    write_file(folder_ / "precious" / "file", "keep me");
    options = options_for(generated_corpus(5, 5));
    options.force = true;
    options.store = folder_ / "precious";
    EXPECT_THROW(build(options, context_with(1)), usage_error);
    EXPECT_EQ(read_file(folder_ / "precious" / "file"), "keep me");
    write_file(folder_ / "precious" / "store.json", "{}");
    EXPECT_THROW(build(options, context_with(1)),
                 usage_error);  // a file of that name does not make it a store
    EXPECT_EQ(read_file(folder_ / "precious" / "file"), "keep me");

    options.store = folder_ / "store";
    write_file(options.store / "notes.txt", "mine");
    EXPECT_THROW(build(options, context_with(1)), usage_error);  // a store with one of the user's files
    EXPECT_EQ(read_file(options.store / "notes.txt"), "mine");
}

TEST_F(build_test, replaces_what_the_path_means_and_not_what_it_spells) {
    fs::create_directories(folder_ / "other" / "dir");
    fs::create_symlink(folder_ / "other" / "dir", folder_ / "link");
    write_file(folder_ / "store" / "file", "keep me");
    auto options = options_for(generated_corpus(5, 5));
    options.store = folder_ / "link" / ".." / "store";
    build(options, context_with(1));
    EXPECT_TRUE(is_store(folder_ / "other" / "store"));
    EXPECT_EQ(read_file(folder_ / "store" / "file"), "keep me");
}

TEST_F(build_test, word_lines_are_found_verbatim) {
    auto options = options_for("Apple\nNew York\n\npear\nApple\n", "corpus.lines");
    options.input_format = "lines";
    build(options, context_with(1));
    const auto engine = search_engine::open(options.store, context_with(1));
    EXPECT_EQ(engine.search("Apple", {}).hits.size(), 2U);
    EXPECT_EQ(engine.search("pear Apple", {}).hits.size(), 2U);
    EXPECT_THAT(engine.search("apple", {}).unknown_words, ElementsAre("apple"));
}

TEST_F(build_test, cut_documents_count_as_errors) {
    auto options = options_for("<DOC><DOCNO>1</DOCNO>whole</DOC>\n<DOC><DOCNO>2</DOCNO>cut", "corpus.trec");
    options.max_errors = {.count = 0, .is_share = false};
    EXPECT_THROW(build(options, context_with(1)), invalid_input);
    options.max_errors = {.count = 1, .is_share = false};
    const build_result result = build(options, context_with(1));
    EXPECT_EQ(result.counts.documents, 2U);
    EXPECT_EQ(result.counts.truncated, 1U);
}

TEST_F(build_test, a_document_that_does_not_fit_the_memory_is_rejected) {
    std::string corpus = generated_corpus(20, 20);
    corpus += "{\"id\":\"large\",\"text\":\"" + std::string(2 << 20, 'x') + "\"}\n";
    auto options = options_for(corpus);
    EXPECT_EQ(build(options, context_with(1, std::uint64_t{64} << 20)).counts.documents, 21U);
    options.force = true;
    options.max_errors = {.count = 1, .is_share = false};
    const build_result less = build(options, context_with(1, std::uint64_t{8} << 20));
    EXPECT_EQ(less.counts.documents, 20U);
    EXPECT_EQ(less.counts.rejected, 1U);
    EXPECT_EQ(less.issues[0].line, 21U);
    EXPECT_THAT(less.issues[0].reason, HasSubstr("that the memory allows"));
}

TEST_F(build_test, what_is_spilled_is_not_indexed) {
    write_file(folder_ / "corpus" / "a.txt", "word");
    build_options options;
    options.inputs = {folder_ / "corpus"};
    options.store = folder_ / "store";
    context ctx = context_with(2);
    ctx.scratch = folder_ / "corpus";
    const build_result result = build(options, ctx);
    EXPECT_EQ(result.counts.documents, 1U);
    EXPECT_EQ(result.counts.skipped.at("hidden folder"), 1U);
    EXPECT_EQ(result.counts.skipped.size(), 1U);
}

TEST_F(build_test, a_store_may_lie_in_a_hidden_folder_of_the_input) {
    write_file(folder_ / "home" / "a.txt", "word");
    fs::create_directories(folder_ / "home" / ".cache" / "kept");
    fs::create_directories(folder_ / "home" / "seen");
    build_options options;
    options.inputs = {folder_ / "home"};
    options.store = folder_ / "home" / "seen" / "store";
    EXPECT_THROW(build(options, context_with(1)), usage_error);
    options.store = folder_ / "home" / ".cache" / "kept" / "store";
    EXPECT_EQ(build(options, context_with(1)).counts.documents, 1U);
}

TEST_F(build_test, reads_pipes_without_a_place) {
    const std::string line = "{\"id\":\"a\",\"text\":\"word\"}\n";
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
    ::close(ends[1]);
    build_options options;
    options.inputs = {"/proc/self/fd/" + std::to_string(ends[0])};
    options.store = folder_ / "store";
    EXPECT_EQ(build(options, context_with(1)).counts.documents, 1U);
    ::close(ends[0]);
}

TEST_F(build_test, paths_that_cannot_be_followed_are_errors_of_ours) {
    fs::create_symlink("loop", folder_ / "loop");
    auto options = options_for("{\"id\":\"a\",\"text\":\"word\"}\n");
    const fs::path good = std::exchange(options.inputs[0], folder_ / "loop");
    EXPECT_THROW(build(options, context_with(1)), error);
    options.inputs = {good};
    options.store = folder_ / "loop" / "store";
    EXPECT_THROW(build(options, context_with(1)), error);
    options.text.stop_words = (folder_ / "loop").string();
    EXPECT_THROW(build(options, context_with(1)), error);
}

TEST_F(build_test, force_replaces) {
    auto options = options_for("{\"id\":\"a\",\"text\":\"old\"}\n");
    build(options, context_with(1));
    options = options_for("{\"id\":\"a\",\"text\":\"new\"}\n");
    options.force = true;
    build(options, context_with(1));
    EXPECT_EQ(opened_store(options.store).text(0), "new");
    expect_only({"corpus.jsonl", "store"});
}

TEST_F(build_test, empty_corpus_is_reported) {
    for (const std::string corpus : {"", "\n\n"}) {
        EXPECT_ANY_THROW(build(options_for(corpus), context_with(1)));
        expect_only({"corpus.jsonl"});
    }
    for (const std::string name : {"empty.txt", "empty.md", "empty"}) {
        EXPECT_THROW(build(options_for("", name), context_with(1)), invalid_input) << name;
    }
    auto options = options_for("");
    options.inputs = {"/dev/null"};
    EXPECT_THROW(build(options, context_with(1)), invalid_input);
    // A file in a folder is a document even if it is empty.
    write_file(folder_ / "documents" / "empty.txt", "");
    options.inputs = {folder_ / "documents"};
    EXPECT_EQ(build(options, context_with(1)).counts.documents, 1U);
}

TEST_F(build_test, interruption_leaves_nothing) {
    const auto options = options_for(generated_corpus(2000, 50));
    for (const char* stage : {"read", "merge"}) {
        std::atomic<int> signal = 0;
        context ctx = context_with(2);
        ctx.stop_signal = &signal;
        ctx.on_progress = [&](const progress& now) {
            if (now.stage == stage) signal = 2;
        };
        EXPECT_THROW(build(options, ctx), interrupted) << stage;
        expect_only({"corpus.jsonl"});
    }
}

TEST_F(build_test, stop_words_of_a_file_travel_with_the_store) {
    auto options = options_for("{\"id\":\"a\",\"text\":\"the red the car\"}\n");
    write_file(folder_ / "stop.txt", "the\n");
    options.text.stop_words = (folder_ / "stop.txt").string();
    EXPECT_EQ(build(options, context_with(1)).words, 2U);
    fs::remove(folder_ / "stop.txt");
    const auto engine = search_engine::open(options.store, context_with(1));
    const search_result search_found = engine.search("the car", {});
    EXPECT_THAT(search_found.unknown_words, IsEmpty());
    EXPECT_EQ(search_found.hits.size(), 1U);
    EXPECT_EQ(read_file(options.store / "store.json").find(folder_.path().string()), std::string::npos);
}

TEST_F(build_test, an_opened_store_stays_as_it_was_when_another_takes_its_place) {
    auto options = options_for("{\"id\":\"a\",\"text\":\"the red the car\"}\n");
    options.text.stop_words = (folder_ / "stop.txt").string();
    write_file(folder_ / "stop.txt", "the\n");
    build(options, context_with(1));
    const auto engine = search_engine::open(options.store, context_with(1));
    const auto counter = ngram_counter::open(options.store, context_with(1));
    const auto expect_as_before = [&](const std::string& when) {
        // Each thread makes its analyzer at its first query.
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                EXPECT_TRUE(engine.search("the", {}).empty_query) << when;
                const search_result search_found = engine.search("red", {});
                ASSERT_EQ(search_found.hits.size(), 1U) << when;
                EXPECT_EQ(search_found.hits[0].snippet, "the red the car") << when;
                EXPECT_EQ(counter.count("the red car", context_with(1)).count, 1U) << when;
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(engine.store().documents, 1U);
    };
    expect_as_before("at first");
    write_file(folder_ / "stop.txt", "red\n");
    write_file(options.inputs[0],
               "{\"id\":\"b\",\"text\":\"the green bus\"}\n{\"id\":\"c\",\"text\":\"x\"}\n");
    options.force = true;
    build(options, context_with(1));
    ASSERT_EQ(read_store_info(options.store).documents, 2U);
    expect_as_before("replaced");
    fs::remove_all(options.store);
    expect_as_before("removed");
}

TEST_F(build_test, built_in_stop_words_win_over_files_of_the_same_name) {
    const fs::path before = fs::current_path();
    auto options = options_for("{\"id\":\"a\",\"text\":\"the red car\"}\n");
    write_file(folder_ / "en", "red\n");
    write_file(folder_ / "none", "red\n");
    fs::current_path(folder_.path());
    for (const auto& [name, words] : {std::pair("en", 2U), std::pair("none", 3U)}) {
        options.text.stop_words = name;
        options.force = true;
        EXPECT_EQ(build(options, context_with(1)).words, words);
        EXPECT_EQ(read_store_info(options.store).text.stop_words, name);
        EXPECT_FALSE(fs::exists(options.store / "stop_words.txt"));
    }
    fs::current_path(before);
}

TEST_F(build_test, words_are_made_with_the_stop_words_that_are_kept) {
    auto options = options_for("{\"id\":\"a\",\"text\":\"the red car\"}\n");
    const fs::path list = folder_ / "stop.txt";
    write_file(list, "the\n");
    options.text.stop_words = list.string();
    context ctx = context_with(1);
    ctx.on_progress = [&](const progress&) { write_file(list, "red\ncar\n"); };
    EXPECT_EQ(build(options, ctx).words, 2U);
    EXPECT_EQ(read_file(options.store / "stop_words.txt"), "the\n");
}

TEST_F(build_test, paths_below_a_file_are_no_stores) {
    write_file(folder_ / "file", "x");
    EXPECT_THROW(read_store_info(folder_ / "file" / "store"), usage_error);
    fs::create_symlink("loop", folder_ / "loop");
    EXPECT_THROW(read_store_info(folder_ / "loop" / "store"), usage_error);
}

TEST_F(build_test, kept_stop_words_are_verified) {
    auto options = options_for("{\"id\":\"a\",\"text\":\"the red car\"}\n");
    write_file(folder_ / "stop.txt", "the\n");
    options.text.stop_words = (folder_ / "stop.txt").string();
    build(options, context_with(1));
    verify_store(options.store, context_with(1));
    for (const bool missing : {false, true}) {
        write_file(options.store / "stop_words.txt", "red\n");
        if (missing) fs::remove(options.store / "stop_words.txt");
        EXPECT_THROW(verify_store(options.store, context_with(1)), damaged_store) << missing;
        EXPECT_THROW(search_engine::open(options.store, context_with(1)), damaged_store) << missing;
    }
}

TEST_F(build_test, damage_is_named_by_section) {
    const auto options = options_for(generated_corpus(400, 40));
    build(options, context_with(2));
    const store_info info = read_store_info(options.store);
    EXPECT_GT(verify_store(options.store, context_with(2)), 0U);
    for (const store_section& section : info.sections) {
        const fs::path file = store_layout::file_of(options.store, section.name);
        const std::string whole = read_file(file);
        std::string damaged = whole;
        damaged[whole.size() / 3] = static_cast<char>(damaged[whole.size() / 3] ^ 4);
        for (const std::string& bad : {damaged, whole.substr(0, whole.size() / 2), std::string()}) {
            write_file(file, bad);
            try {
                verify_store(options.store, context_with(2));
                ADD_FAILURE() << section.name << " damaged, and nothing said";
            } catch (const damaged_store& e) {
                EXPECT_EQ(e.section(), section.name);
            }
        }
        write_file(file, whole);
    }
    std::string manifest = read_file(options.store / "store.json");
    manifest[manifest.find("\"documents\"") + 14] ^= 1;
    write_file(options.store / "store.json", manifest);
    EXPECT_THROW(read_store_info(options.store), damaged_store);
}

TEST_F(build_test, cached_store_is_found_again_until_the_corpus_changes) {
    auto options = options_for("{\"id\":\"a\",\"text\":\"old\"}\n");
    options.store.clear();
    const fs::path first = cached_store(options, folder_ / "cache", context_with(1));
    EXPECT_EQ(cached_store(options, folder_ / "cache", context_with(1)), first);
    write_file(options.inputs[0], "{\"id\":\"a\",\"text\":\"longer\"}\n");
    const fs::path second = cached_store(options, folder_ / "cache", context_with(1));
    EXPECT_NE(second, first);
    EXPECT_EQ(opened_store(second).text(0), "longer");
    EXPECT_FALSE(fs::exists(first));  // one store per request, however often the corpus changes
    options.text.min_length = 2;
    const fs::path other = cached_store(options, folder_ / "cache", context_with(1));
    EXPECT_TRUE(is_store(second));
    EXPECT_TRUE(is_store(other));
}

TEST_F(build_test, cached_store_is_built_by_one_of_two_searches) {
    auto options = options_for("{\"id\":\"a\",\"text\":\"word\"}\n");
    std::future<fs::path> second;
    std::promise<void> waits;
    std::vector<std::string> said;
    context waiting = context_with(1), first = context_with(1);
    waiting.on_log = [&](log_level, std::string_view message) {
        said.emplace_back(message);
        if (message.starts_with("waiting")) waits.set_value();
    };
    first.on_progress = [&](const progress&) {
        if (second.valid()) return;
        second =
            std::async(std::launch::async, [&] { return cached_store(options, folder_ / "cache", waiting); });
        waits.get_future().wait();
    };
    const fs::path store = cached_store(options, folder_ / "cache", first);
    EXPECT_EQ(second.get(), store);
    EXPECT_THAT(said, ElementsAre(HasSubstr("building a store"), HasSubstr("waiting for another search"),
                                  HasSubstr("using the store kept in")));
}

TEST_F(build_test, cached_store_removes_what_killed_builds_of_older_content_left) {
    auto options = options_for("{\"id\":\"a\",\"text\":\"old\"}\n");
    const fs::path old = cached_store(options, folder_ / "cache", context_with(1));
    const fs::path folder = old.parent_path();
    const auto hidden = [&](const std::string& name, const std::string& end) {
        return folder / ("." + name + ".quern-" + end);
    };
    fs::create_directory(hidden(old.filename(), "abcdef"));
    fs::rename(old, hidden(old.filename(), "abcdef") / "folder");
    write_file(hidden(old.filename(), "lock"), "");
    fs::create_directory(hidden("at work", "abcdef"));
    const io::name_lock at_work(folder / "at work");

    write_file(options.inputs[0], "{\"id\":\"a\",\"text\":\"longer\"}\n");
    const fs::path store = cached_store(options, folder_ / "cache", context_with(1));
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    EXPECT_THAT(names, ::testing::UnorderedElementsAre(store.filename().string(), ".at work.quern-abcdef",
                                                       ".at work.quern-lock"));
}

TEST_F(build_test, cached_store_depends_on_what_is_read) {
    write_file(folder_ / "home" / "a.txt", "word");
    build_options options;
    options.inputs = {folder_ / "home"};
    const fs::path cache = folder_ / "home" / ".cache";
    const fs::path first = cached_store(options, cache, context_with(1));
    write_file(folder_ / "home" / ".git" / "index", "changes often");
    EXPECT_EQ(cached_store(options, cache, context_with(1)), first);
    write_file(folder_ / "home" / "below" / "b.txt", "word");
    EXPECT_EQ(opened_store(cached_store(options, cache, context_with(1))).info().documents, 2U);
    options.inputs = {"/dev/null"};
    EXPECT_THROW(cached_store(options, cache, context_with(1)), usage_error);
}

TEST_F(build_test, search_finds_ranks_and_shows) {
    const auto options = options_for(
        "{\"id\":\"apple\",\"title\":\"Apple\",\"text\":\"The apple is a fruit. Apple trees grow.\"}\n"
        "{\"id\":\"pear\",\"title\":\"Pear\",\"text\":\"The pear is a fruit.\"}\n"
        "{\"id\":\"car\",\"title\":\"Car\",\"text\":\"A car has wheels.\"}\n");
    build(options, context_with(1));
    const auto engine = search_engine::open(options.store, context_with(1));
    for (const ranking_model model : {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet}) {
        search_options search;
        search.ranking.model = model;
        const search_result search_found = engine.search("APPLE fruit quince", search);
        ASSERT_EQ(search_found.hits.size(), 2U);
        EXPECT_EQ(search_found.hits[0].id, "apple");
        EXPECT_EQ(search_found.hits[0].rank, 1U);
        EXPECT_EQ(search_found.hits[1].title, "Pear");
        EXPECT_THAT(search_found.hits[0].snippet, HasSubstr("apple is a fruit"));
        EXPECT_THAT(search_found.unknown_words, ElementsAre("quince"));
    }
    EXPECT_TRUE(engine.search("?!", {}).empty_query);
    EXPECT_THAT(engine.search("quince", {}).hits, IsEmpty());
    search_options other;
    other.text = text_options{.min_length = 3};
    EXPECT_THROW(engine.search("apple", other), usage_error);
}

}  // namespace
}  // namespace quern::build_test
