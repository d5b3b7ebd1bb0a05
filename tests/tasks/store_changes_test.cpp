// SPDX-License-Identifier: Apache-2.0
// Stores whose documents change: synchronised, deleted, replaced. Each is compared, byte for byte, with a build from
// nothing of the documents as they are then.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"
#include "temporary_folder.hpp"

namespace quern::store_changes_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

class store_changes_test : public ::testing::Test {
  protected:
    context with_threads(unsigned threads) const {
        context ctx;
        ctx.threads = threads;
        ctx.scratch = folder_ / "scratch";
        return ctx;
    }
    build_options options_for(const fs::path& input, const std::string& store) const {
        build_options options;
        options.inputs = {input};
        options.store = folder_ / store;
        options.skip = all_build_stages;
        return options;
    }
    /// Every file but the statistics and what was read, by its path in the store.
    static std::map<std::string, std::string> bytes_of(const fs::path& store) {
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(store)) {
            if (!entry.is_regular_file() || entry.path().filename() == store_layout::statistics ||
                entry.path().extension() == ".log")
                continue;
            files[fs::relative(entry.path(), store).string()] = read_file(entry.path());
        }
        return files;
    }
    /// The names of the files that differ.
    static std::string difference(const fs::path& a, const fs::path& b) {
        const auto left = bytes_of(a), right = bytes_of(b);
        std::string names;
        for (const auto& [name, bytes] : left)
            if (!right.contains(name) || right.at(name) != bytes) names += name + ' ';
        for (const auto& [name, bytes] : right)
            if (!left.contains(name)) names += name + ' ';
        return names;
    }
    std::string sentence() {
        std::string text;
        for (std::uint64_t words = 5 + random_() % 30; words != 0; --words)
            text += fmt::format("w{} ", random_() % 50 * (random_() % 50));
        return text;
    }
    /// A JSON line; links may lead nowhere.
    std::string record(const std::string& id) {
        return fmt::format(R"({{"id":"{}","title":"t {}","text":"{}","price":{},"links":["r{}","r{}"]}})"
                           "\n",
                           id, random_() % 20, sentence(), random_() % 100, random_() % 60, random_() % 60);
    }

    temporary_folder folder_;
    testing::made_numbers random_{7};
};

TEST_F(store_changes_test, sync_gives_the_store_of_a_new_build_after_any_edits) {
    for (const bool all_stages : {false, true}) {
        const fs::path pages = folder_ / (all_stages ? "pages" : "plain");
        std::map<std::string, std::string> files;  // as they should be
        const auto write = [&](const std::string& name, const std::string& text) {
            fs::create_directories((pages / name).parent_path());
            write_file(pages / name, text);
            files[name] = text;
        };
        const auto page = [&] {
            std::string text = sentence() + sentence();
            if (all_stages && random_() % 3 == 0) {  // almost the text of another page
                const auto other = std::next(
                    files.begin(),
                    static_cast<std::ptrdiff_t>(random_() % std::max<std::size_t>(1, files.size())));
                if (other != files.end()) text = other->second.substr(other->second.find("<p>") + 3);
                if (random_() % 2 == 0) text[0] = 'x';
            }
            return fmt::format("<title>{}</title><p>{} <a href=\"p{}.html\">x</a>", random_() % 9, text,
                               random_() % 30);
        };
        for (int i = 0; i < 30; ++i) write(fmt::format("p{}.html", i), page());
        for (int round = 0; round < 20; ++round) {
            const auto before = files;
            for (std::uint64_t edits = round == 0 ? 0 : 1 + random_() % 5; edits != 0; --edits) {
                const std::uint64_t kind = random_() % 4;
                const std::string name =
                    std::next(files.begin(), static_cast<std::ptrdiff_t>(random_() % files.size()))->first;
                if (kind == 0) write(fmt::format("p{}.html", random_() % 60), page());
                if (kind == 1) write(name, page());
                if (kind < 2 || files.size() < 4) continue;
                const std::string text = files[name];
                fs::remove(pages / name);
                files.erase(name);
                if (kind == 3)
                    write(fmt::format("n{}/{}", random_() % 3, fs::path(name).filename().string()), text);
            }
            build_options sync = options_for(pages, all_stages ? "synced" : "plain_synced");
            build_options fresh = options_for(pages, "fresh");
            if (all_stages) sync.skip = fresh.skip = {};
            sync.sync = true;
            const build_result result = build(sync, with_threads(1 + round % 3));
            fresh.force = true;
            build(fresh, with_threads(2));
            ASSERT_EQ(difference(sync.store, fresh.store), "") << "round " << round;
            ASSERT_EQ(result.changes.has_value(), round != 0);
            if (all_stages && round != 0) {
                EXPECT_GT(result.statistics.counts.at("unchanged_texts"), files.size() / 2);
                EXPECT_GT(result.duplicates, 0U);
            }
            if (round == 0 || all_stages) continue;  // a near-duplicate is no document
            std::uint64_t added = 0, changed = 0, removed = 0;
            for (const auto& [name, text] : files) {
                added += before.contains(name) ? 0 : 1;
                changed += before.contains(name) && before.at(name) != text ? 1 : 0;
            }
            for (const auto& [name, text] : before) removed += files.contains(name) ? 0 : 1;
            EXPECT_EQ(result.changes->added, added);
            EXPECT_EQ(result.changes->changed, changed);
            EXPECT_EQ(result.changes->removed, removed);
        }
    }
}

TEST_F(store_changes_test, sync_takes_stages_over_that_would_make_the_same_again) {
    using namespace std::chrono_literals;
    const fs::path pages = folder_ / "pages";
    std::map<std::string, std::string> titles, links, texts;
    const auto write = [&](const std::string& name) {
        write_file(pages / name, fmt::format("<title>{}</title><p>{}</p><a href=\"{}\"></a>", titles[name],
                                             texts[name], links[name]));
        fs::last_write_time(pages / name, fs::file_time_type::clock::now() - 1h);
    };
    for (int i = 0; i < 40; ++i) {
        const std::string name = fmt::format("p{}.html", i);
        titles[name] = fmt::format("w{}", i);
        links[name] = fmt::format("p{}.html", random_() % 40);
        for (int n = 0; n < 4; ++n) texts[name] += sentence();
        write(name);
    }
    build_options sync = options_for(pages, "synced"), fresh = options_for(pages, "fresh");
    sync.sync = fresh.force = sync.ngrams = fresh.ngrams = true;
    sync.skip = fresh.skip = {};
    context ctx = with_threads(2);
    const auto unchanged_stages = [&] {
        const build_result made = build(sync, ctx);
        build(fresh, ctx);
        EXPECT_EQ(difference(sync.store, fresh.store), "");
        const auto count = made.statistics.counts.find("unchanged_stages");
        return count == made.statistics.counts.end() ? 0 : count->second;
    };
    EXPECT_EQ(unchanged_stages(), 0U);
    ASSERT_TRUE(fs::exists(sync.store / store_layout::thesaurus));
    ASSERT_TRUE(fs::exists(store_layout::file_of(sync.store, store_layout::document_vectors)));
    ASSERT_TRUE(fs::exists(store_layout::file_of(sync.store, store_layout::pairs.postings)));
    const auto touch = [&] {
        fs::last_write_time(pages / "p3.html", fs::file_time_type::clock::now() - 2h - random_() % 999 * 1s);
    };
    touch();
    EXPECT_EQ(unchanged_stages(), 4U);
    links["p3.html"] = links["p3.html"] == "p4.html" ? "p5.html" : "p4.html";
    write("p3.html");
    EXPECT_EQ(unchanged_stages(), 3U);  // not the ranks
    titles["p3.html"] = "w7 w8 w9";
    write("p3.html");
    EXPECT_EQ(unchanged_stages(), 2U);  // the ranks and the thesaurus, which reads texts alone
    texts["p3.html"] += " w1 w2";
    write("p3.html");
    EXPECT_EQ(unchanged_stages(), 1U);  // the ranks

    // Not what is damaged, what is missing, and what another seed made.
    const auto damage = [](const fs::path& file) {
        std::string bytes = read_file(file);
        bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
        write_file(file, bytes);
    };
    damage(store_layout::file_of(sync.store, store_layout::link_ranks));
    for (const auto& entry : fs::directory_iterator(sync.store / store_layout::thesaurus))
        if (entry.path().extension() == manifests::section_extension) damage(entry.path());
    touch();
    EXPECT_EQ(unchanged_stages(), 2U);
    fs::remove_all(sync.store / store_layout::thesaurus);
    touch();
    EXPECT_EQ(unchanged_stages(), 3U);
    ctx.seed = 5;
    touch();
    EXPECT_EQ(unchanged_stages(), 0U);
    touch();
    EXPECT_EQ(unchanged_stages(), 4U);
}

TEST_F(store_changes_test, sync_does_nothing_if_no_file_has_changed) {
    using namespace std::chrono_literals;
    const fs::path notes = folder_ / "notes";
    fs::create_directory(notes);
    const auto old = fs::file_time_type::clock::now() - 1h;
    for (const char* name : {"a.txt", "b.txt"}) {
        write_file(notes / name, std::string("the text of ") + name);
        fs::last_write_time(notes / name, old);
    }
    const auto wait = [] { std::this_thread::sleep_for(60ms); };  // until the time shows a later change
    wait();
    build_options options = options_for(notes, "store");
    options.sync = true;
    EXPECT_FALSE(build(options, with_threads(2)).changes.has_value());
    const auto time = fs::last_write_time(options.store / store_layout::manifest);
    const build_result again = build(options, with_threads(2));
    EXPECT_TRUE(again.changes->up_to_date);
    EXPECT_EQ(again.documents, 2U);
    EXPECT_EQ(fs::last_write_time(options.store / store_layout::manifest), time);

    // A file of the same size with another time is read again.
    write_file(notes / "a.txt", "THE TEXT OF a.txt");
    const build_result changed = build(options, with_threads(2));
    EXPECT_FALSE(changed.changes->up_to_date);
    EXPECT_EQ(changed.changes->changed, 1U);
    EXPECT_EQ(changed.changes->added + changed.changes->removed, 0U);
    // It was written so lately that a change within the clock's tick would not show: the next one reads it again.
    fs::last_write_time(notes / "a.txt", fs::file_time_type::clock::now() + 1h);
    EXPECT_FALSE(build(options, with_threads(2)).changes->up_to_date);
    EXPECT_FALSE(build(options, with_threads(2)).changes->up_to_date);
    fs::last_write_time(notes / "a.txt", old);
    wait();
    EXPECT_FALSE(build(options, with_threads(2)).changes->up_to_date);
    EXPECT_TRUE(build(options, with_threads(2)).changes->up_to_date);
    fs::remove(notes / "b.txt");
    EXPECT_EQ(build(options, with_threads(2)).changes->removed, 1U);
}

TEST_F(store_changes_test, delete_and_replace_give_the_store_of_what_remains) {
    std::map<int, std::string> records;  // those of the store, by number
    std::vector<int> order;
    const auto all_of = [&] {
        std::string lines;
        for (const int i : order) lines += records[i];
        return lines;
    };
    for (int i = 0; i < 40; ++i) {
        order.push_back(i);
        records[i] = record(fmt::format("r{}", i));
    }
    write_file(folder_ / "first.jsonl", all_of());
    build_options first = options_for(folder_ / "first.jsonl", "store");
    first.fields.kept = {"price"};
    build(first, with_threads(2));
    for (int round = 0; round < 25; ++round) {
        build_options change = options_for(folder_ / "new.jsonl", "store");
        std::uint64_t deleted = 0, replaced = 0, added = 0;
        if (round % 3 != 1) {
            const std::uint64_t first_id = random_() % 60;
            for (const std::uint64_t n : {first_id, first_id + 7}) {
                change.deleted_ids.push_back(fmt::format("r{}", n));
                deleted += std::erase(order, static_cast<int>(n));
            }
        }
        std::string lines;
        if (round % 3 != 0) {
            change.replace = true;
            const auto start = static_cast<int>(random_() % 50);
            for (int i = start; i < start + 6; i += 1 + static_cast<int>(random_() % 2)) {
                (std::erase(order, i) != 0 ? replaced : added) += 1;
                order.push_back(i);
                lines += records[i] = record(fmt::format("r{}", i));
            }
            write_file(folder_ / "new.jsonl", lines);
        } else {
            change.inputs.clear();
        }
        const build_result result = build(change, with_threads(1 + round % 3));
        EXPECT_EQ(result.changes->removed, deleted);
        EXPECT_EQ(result.changes->changed, replaced);
        EXPECT_EQ(result.changes->added, added);
        EXPECT_EQ(result.changes->unknown_ids, change.deleted_ids.size() - deleted);
        write_file(folder_ / "all.jsonl", all_of());
        build_options fresh = options_for(folder_ / "all.jsonl", "fresh");
        fresh.fields.kept = {"price"};
        fresh.force = true;
        build(fresh, with_threads(2));
        ASSERT_EQ(difference(change.store, fresh.store), "") << "round " << round;
    }
}

TEST_F(store_changes_test, no_near_duplicate_is_lost_with_its_document) {
    const std::string text =
        "the quick brown fox jumps over the lazy dog while the mill grinds the corn to flour";
    write_file(folder_ / "c.jsonl",
               fmt::format("{{\"id\":\"a\",\"text\":\"{0}\"}}\n{{\"id\":\"b\",\"text\":\"{0}!\"}}\n"
                           "{{\"id\":\"c\",\"text\":\"something else\"}}\n",
                           text));
    build_options options = options_for(folder_ / "c.jsonl", "store");
    options.skip.erase(build_stage::duplicates);
    ASSERT_EQ(build(options, with_threads(2)).duplicates, 1U);
    const auto before = bytes_of(options.store);

    build_options change = options;
    change.inputs.clear();
    change.deleted_ids = {"a"};
    try {
        build(change, with_threads(2));
        FAIL();
    } catch (const usage_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("no text of near-duplicates: b; delete them too"));
    }
    write_file(folder_ / "a.jsonl", "{\"id\":\"a\",\"text\":\"new\"}\n");
    build_options replace = options_for(folder_ / "a.jsonl", "store");
    replace.replace = true;
    EXPECT_THROW(build(replace, with_threads(2)), usage_error);
    EXPECT_EQ(bytes_of(options.store), before);

    // A near-duplicate may go, or be replaced, alone.
    write_file(folder_ / "b.jsonl", "{\"id\":\"b\",\"text\":\"now different\"}\n");
    replace.inputs = {folder_ / "b.jsonl"};
    build_result result = build(replace, with_threads(2));
    EXPECT_EQ(result.documents, 3U);
    EXPECT_EQ(result.duplicates, 0U);
    EXPECT_EQ(result.changes->changed, 1U);
    change.deleted_ids = {"a", "c", "nobody"};
    result = build(change, with_threads(2));
    EXPECT_EQ(result.documents, 1U);
    EXPECT_THAT(result.changes->some_unknown_ids, ElementsAre("nobody"));
    change.deleted_ids = {"b"};
    EXPECT_THROW(build(change, with_threads(2)), usage_error);  // a store has at least one document
    change.deleted_ids = {"nobody"};
    EXPECT_EQ(build(change, with_threads(2)).changes->unknown_ids, 1U);
    change.deleted_ids.clear();
    EXPECT_THROW(build(change, with_threads(2)), usage_error);  // no corpus
}

TEST_F(store_changes_test, a_synchronised_store_follows_its_inputs_alone) {
    write_file(folder_ / "c.jsonl", "{\"id\":1,\"text\":\"x\"}\n");
    build_options options = options_for(folder_ / "c.jsonl", "store");
    options.sync = true;
    options.update = true;
    EXPECT_THROW(build(options, with_threads(1)), usage_error);
    options.update = false;
    build(options, with_threads(1));
    // Text options and stages are those of the store.
    options.text.stem = stemmer::porter;
    options.skip.clear();
    write_file(folder_ / "c.jsonl", "{\"id\":1,\"text\":\"running\"}\n");
    build(options, with_threads(1));
    const store_info info = read_store_info(options.store);
    EXPECT_EQ(info.text, text_options());
    EXPECT_TRUE(info.stages.empty());
}

}  // namespace
}  // namespace quern::store_changes_test
