// SPDX-License-Identifier: Apache-2.0
// The index of a synchronised store: words of unchanged documents come from the store before it. Each store is compared, byte for
// byte, with a build from nothing, and the number of documents that were taken over with what the edits left.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/layout.hpp"
#include "temporary_folder.hpp"

namespace quern::sync_index_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::read_file;
using testing::write_file;

struct record {
    std::string id, title, text, note;
    std::uint64_t price = 0;
    std::string link;

    std::string line() const {
        return fmt::format(R"({{"id":"{}","title":"{}","text":"{}","note":["{}"],"price":{},"links":["{}"]}})"
                           "\n",
                           id, title, text, note, price, link);
    }
};

class sync_index_test : public testing::corpus_fixture {
  protected:
    sync_index_test() {
        sync_.sync = true;
        fresh_.force = true;
        for (build_options* options : {&sync_, &fresh_}) {
            options->inputs = {folder_ / "records.jsonl"};
            options->skip = all_build_stages;
            options->store = folder_ / (options == &sync_ ? "synced" : "fresh");
        }
        for (int i = 0; i < 60; ++i) records_.push_back(made());
    }
    void index_fields() {
        for (build_options* options : {&sync_, &fresh_}) {
            options->fields.kept = {"price"};
            options->indexed_fields = {"note"};
        }
    }
    void skip_nothing() {
        for (build_options* options : {&sync_, &fresh_}) options->skip = {};
    }
    /// Some long texts, so that a few documents fill a block.
    record made() {
        record r;
        r.id = fmt::format("r{}", ++made_);
        r.title = fmt::format("t{} t{}", random_(9), random_(9));
        for (std::uint64_t words = random_(8) == 0 ? 2000 : random_(30); words != 0; --words)
            r.text += fmt::format("w{} ", random_(60) * random_(60));
        r.note = fmt::format("n{} n{}", random_(5), random_(5));
        r.price = random_(1000);
        r.link = fmt::format("r{}", random_(80));
        return r;
    }
    void write() const {
        std::string lines;
        for (const record& r : records_) lines += r.line();
        write_file(folder_ / "records.jsonl", lines);
    }
    /// Documents that were taken over; the store is that of a build from nothing.
    std::uint64_t synced(unsigned threads = 2) {
        context ctx = context_with(threads);
        ctx.seed = seed_;
        said_.clear();
        ctx.on_log = [this](log_level, std::string_view line) { said_.append(line) += '\n'; };
        result_ = build(sync_, ctx);
        ctx.on_log = {};
        build(fresh_, ctx);
        const auto store = bytes_of(sync_.store), expected = bytes_of(fresh_.store);
        for (const auto& [name, bytes] : expected)
            EXPECT_TRUE(store.contains(name) && store.at(name) == bytes) << name;
        EXPECT_EQ(store.size(), expected.size());
        EXPECT_TRUE(fs::is_empty(folder_ / "scratch"));
        const auto& counts = result_.statistics.counts;
        return counts.contains("unchanged_documents") ? counts.at("unchanged_documents") : 0;
    }
    std::uint64_t written_and_synced(unsigned threads = 2) {
        write();
        return synced(threads);
    }
    static std::map<std::string, std::string> bytes_of(const fs::path& store) {
        auto files = testing::files_of(store);
        std::erase_if(files, [](const auto& file) { return file.first.ends_with(".log"); });
        return files;
    }
    void damage(std::string_view section) const {
        const fs::path file = store_layout::file_of(sync_.store, section);
        std::string bytes = read_file(file);
        bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
        write_file(file, bytes);
    }

    build_options sync_, fresh_;
    std::vector<record> records_;
    std::uint64_t made_ = 0, seed_ = 0;
    testing::made_numbers random_{11};
    build_result result_;
    std::string said_;
};

TEST_F(sync_index_test, any_edits_of_records_in_any_order_give_the_store_of_a_new_build) {
    for (const bool with_fields : {false, true}) {
        if (with_fields) {
            index_fields();
            skip_nothing();
            sync_.store = folder_ / "with fields";
        }
        written_and_synced();
        for (unsigned round = 0; round < 8; ++round) {
            const std::size_t before = records_.size();
            std::size_t edits = 1 + random_(6);
            for (std::size_t edit = 0; edit < edits; ++edit) {
                const auto at = static_cast<std::ptrdiff_t>(random_(records_.size()));
                record& r = records_[static_cast<std::size_t>(at)];
                switch (random_(7)) {
                    case 0:
                        records_.insert(records_.begin() + at, made());
                        break;
                    case 1:
                        records_.erase(records_.begin() + at);
                        break;
                    case 2:
                        r.title = fmt::format("t{}", random_(20));
                        break;
                    case 3:
                        r.text += fmt::format("new{}", random_(1000));
                        break;
                    case 4:
                        r.price = random_(1000), r.note = "n7";
                        break;
                    case 5:
                        r.link = fmt::format("r{}", random_(80));
                        break;
                    default:
                        std::swap(r, records_[random_(records_.size())]);
                }
            }
            const std::uint64_t kept = written_and_synced(1 + round % 3);
            ASSERT_FALSE(HasFailure()) << "round " << round;
            if (!with_fields) {
                EXPECT_GE(kept + 2 * edits, before) << "a swap changes the order of two";
            }
        }
    }
}

TEST_F(sync_index_test, only_what_is_indexed_makes_a_document_another) {
    index_fields();
    EXPECT_EQ(written_and_synced(), 0U);
    records_[7].link = "r30";
    EXPECT_EQ(written_and_synced(), 60U) << "links are resolved anew for all documents";
    EXPECT_THAT(said_, HasSubstr("index: 0 of 60 documents indexed, the others from the store"));
    records_[7].title = "another";
    EXPECT_EQ(written_and_synced(), 59U);
    records_[8].price = 5000;
    records_[9].note = "another";
    EXPECT_EQ(written_and_synced(), 58U);
    std::rotate(records_.begin(), records_.end() - 1, records_.end());
    EXPECT_EQ(written_and_synced(), 59U) << "the one that was moved";
    EXPECT_THAT(said_, HasSubstr("index: 1 of 60 documents indexed, the others from the store"));
    EXPECT_EQ(result_.changes->changed, 0U);
}

TEST_F(sync_index_test, words_and_links_of_removed_documents_go_with_them) {
    records_[20].text = "only here";
    records_[20].title = "unique";
    records_[21].link = records_[20].id;
    written_and_synced();
    const std::uint64_t words = result_.vocabulary, links = result_.links;
    records_.erase(records_.begin() + 20);
    EXPECT_EQ(written_and_synced(), 59U);
    EXPECT_EQ(result_.vocabulary, words - 3);
    EXPECT_LT(result_.links, links);
    records_.resize(31);
    EXPECT_EQ(written_and_synced(), 31U);
    EXPECT_EQ(result_.changes->removed, 28U);
}

TEST_F(sync_index_test, titles_of_near_duplicates_and_texts_of_former_ones_are_indexed) {
    skip_nothing();
    for (int i = 0; i < 200; ++i) records_[5].text += fmt::format("v{} ", i);
    records_[40].text = records_[5].text + "x";
    written_and_synced();
    ASSERT_EQ(result_.duplicates, 1U);
    records_[40].title = "named otherwise";
    EXPECT_EQ(written_and_synced(), 58U) << "the kept document has other title words";
    records_[5].text = "now alone";
    EXPECT_EQ(written_and_synced(), 58U);
    EXPECT_EQ(result_.duplicates, 0U);
}

TEST_F(sync_index_test, ids_that_two_files_have_keep_their_links) {
    for (build_options* options : {&sync_, &fresh_}) options->inputs.push_back(folder_ / "more.jsonl");
    const auto write_more = [&](std::string_view text) {
        write_file(folder_ / "more.jsonl", fmt::format(R"({{"id":"r3","text":"{}"}})"
                                                       "\n"
                                                       R"({{"id":"m","text":"to its own","links":["r3"]}})"
                                                       "\n",
                                                       text));
    };
    write_more("first");
    written_and_synced();
    write_more("second");
    EXPECT_EQ(written_and_synced(), 61U);
    records_.erase(records_.begin() + 2);  // now the other one has its own id
    EXPECT_EQ(written_and_synced(), 60U);
}

TEST_F(sync_index_test, everything_is_indexed_where_little_is_known) {
    written_and_synced();
    for (int i = 0; i < 31; ++i) records_[static_cast<std::size_t>(i)].text += " more";
    EXPECT_EQ(written_and_synced(), 0U);
    EXPECT_THAT(said_, HasSubstr("index: all documents indexed: 31 of 60 are new or changed"));
    records_[0].text += " more";
    EXPECT_EQ(written_and_synced(), 59U);

    seed_ = 3;
    records_[0].text += " more";
    EXPECT_EQ(written_and_synced(), 0U);
    EXPECT_THAT(said_, HasSubstr("made by another version"));
    for (const std::string_view section : {store_layout::all_words.postings, store_layout::tokens}) {
        damage(section);
        records_[0].text += " more";
        EXPECT_EQ(written_and_synced(), 0U) << section;
        EXPECT_THAT(said_, HasSubstr("index: all documents indexed: " + sync_.store.string()));
    }
    records_[0].text += " more";
    EXPECT_EQ(written_and_synced(), 59U);
}

TEST_F(sync_index_test, updates_index_the_new_documents_alone) {
    for (const bool with_stages : {false, true}) {
        if (with_stages) {
            index_fields();
            skip_nothing();
        }
        sync_.store = folder_ / (with_stages ? "with stages" : "plain");
        write();
        sync_.sync = sync_.update = sync_.replace = false;
        sync_.deleted_ids = {};
        build(sync_, context_with());
        const auto changed = [&](const std::vector<record>& given) {
            std::string lines;
            for (const record& r : given) lines += r.line();
            sync_.inputs = {written(lines, "given.jsonl")};
            const std::uint64_t kept = synced();
            sync_.inputs = fresh_.inputs;
            return kept;
        };
        sync_.update = true;
        records_.push_back(made());
        records_.back().link = "r2";
        write();
        EXPECT_EQ(changed({records_.back()}), records_.size() - 1);
        EXPECT_THAT(said_, HasSubstr("index: 1 of "));

        sync_.replace = true;
        sync_.deleted_ids = {records_[4].id};
        record replaced = records_[9];
        replaced.text += " replaced";
        records_.erase(records_.begin() + 9);
        records_.erase(records_.begin() + 4);
        records_.push_back(replaced);
        write();
        EXPECT_EQ(changed({replaced}), records_.size() - 1);
    }
}

TEST_F(sync_index_test, word_lines_are_indexed_as_a_whole) {
    for (build_options* options : {&sync_, &fresh_}) {
        options->inputs = {folder_ / "words.txt"};
        options->input_format = "lines";
    }
    write_file(folder_ / "words.txt", "one\ntwo\n\nthree\n\nfour\n");
    EXPECT_EQ(synced(), 0U);
    write_file(folder_ / "words.txt", "one\ntwo\n\nthree\n\nfive\n");
    EXPECT_EQ(synced(), 0U);
    EXPECT_THAT(said_, HasSubstr("word lines"));
}

}  // namespace
}  // namespace quern::sync_index_test
