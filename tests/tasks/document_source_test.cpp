// SPDX-License-Identifier: Apache-2.0
// Documents from memory: every task makes of them what it makes of the same documents in a file.
#include "quern/base/document_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "quern/quern.hpp"
#include "temporary_folder.hpp"

namespace quern::document_source_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

struct given {
    std::string id, title, text;
    std::vector<std::string> links;
};

/// Every tenth is a near-duplicate of the one before it; all have links, some titles.
std::vector<given> some_documents() {
    const std::vector<std::string> things = {"corn",  "salt",   "bread",  "water", "stone", "flour",
                                             "wheel", "barley", "bucket", "river", "oven",  "dough",
                                             "sack",  "cart",   "mule",   "bridge"};
    std::mt19937_64 random(4);
    const auto thing = [&] { return things[random() % things.size()]; };
    std::vector<given> made;
    for (std::size_t d = 0; d < 120; ++d) {
        std::string text;
        for (std::size_t i = 0; i < 40; ++i) {
            text += "the miller takes " + thing() + " and " + thing();
            text += i % 8 == 7 ? ". " : " ";
        }
        if (d % 10 == 9) text = made.back().text + "!";
        made.push_back({"d" + std::to_string(d),
                        d % 3 == 0 ? "About " + things[d / 3 % things.size()] : "",
                        text,
                        {"d" + std::to_string((d * 7) % 120)}});
    }
    return made;
}

void write_lines(const fs::path& path, const std::vector<given>& documents) {
    std::string lines;
    for (const given& d : documents) {
        lines +=
            R"({"id":")" + d.id + R"(","title":")" + d.title + R"(","text":")" + d.text + R"(","links":[)";
        for (const std::string& link : d.links) lines += (lines.ends_with('[') ? "\"" : ",\"") + link + '"';
        lines += "]}\n";
    }
    write_file(path, lines);
}

source_document view_of_given(const given& d) {
    return {.id = d.id, .title = d.title, .text = d.text, .links = d.links};
}

/// The files of a folder but statistics, by name.
std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file() && entry.path().filename() != "stats.json")
            found[entry.path().lexically_relative(folder).string()] = read_file(entry.path());
    }
    return found;
}

class document_source_test : public ::testing::Test {
  protected:
    document_source_test() : documents_(some_documents()) {
        write_lines(folder_ / "corpus.jsonl", documents_);
        ctx_.scratch = folder_.path();
    }

    /// Calls run(options) once with the documents in memory and once with the file.
    template <class Options, class Run>
    void both(Options options, const Run& run) {
        auto views = documents_ | std::views::transform(view_of_given);
        range_source source(views);
        options.source = &source;
        run(options, "memory");
        options.source = nullptr;
        options.inputs = {folder_ / "corpus.jsonl"};
        run(options, "file");
    }

    const temporary_folder folder_;
    const std::vector<given> documents_;
    context ctx_ = context::cpu(2);
};

TEST_F(document_source_test, gives_the_same_store) {
    both(build_options(), [&](build_options& options, const std::string& name) {
        options.store = folder_ / name;
        const build_result made = build(options, ctx_);
        EXPECT_EQ(made.counts.documents, 120U);
        EXPECT_GT(made.duplicates, 5U);
        EXPECT_GT(made.links, 90U);
    });
    const auto files = files_of(folder_ / "memory");
    EXPECT_GT(files.size(), 10U);
    EXPECT_EQ(files, files_of(folder_ / "file"));
}

TEST_F(document_source_test, gives_the_same_near_duplicates) {
    std::vector<std::vector<duplicate_pair>> pairs;
    std::vector<std::string> kept;
    dedup_options options;
    options.keep_records = true;
    both(options, [&](const dedup_options& requested, const std::string&) {
        const dedup_result found = dedup(requested, ctx_);
        pairs.emplace_back(found.pairs().begin(), found.pairs().end());
        EXPECT_EQ(found.id(3), "d3");
        std::string& text = kept.emplace_back();
        found.write_kept([&](std::string_view piece) { text += piece; });
    });
    EXPECT_GE(pairs[0].size(), 12U);
    EXPECT_EQ(pairs[0], pairs[1]);
    EXPECT_EQ(std::ranges::count(kept[0], '\n'), std::ranges::count(kept[1], '\n'));
    EXPECT_THAT(kept[0], HasSubstr(R"("id":"d0")"));
}

TEST_F(document_source_test, gives_the_same_words_dictionary_ngrams_and_signatures) {
    both(words_options(), [&](words_options& options, const std::string& name) {
        options.space = folder_ / ("space_" + name);
        words(options, ctx_);
    });
    EXPECT_EQ(files_of(folder_ / "space_memory"), files_of(folder_ / "space_file"));

    both(dictionary_options(), [&](dictionary_options& options, const std::string& name) {
        options.file = folder_ / ("words_" + name);
        make_dictionary(options, ctx_);
    });
    EXPECT_EQ(read_file(folder_ / "words_memory"), read_file(folder_ / "words_file"));

    std::vector<std::string> rows;
    both(ngrams_options(), [&](const ngrams_options& options, const std::string&) {
        std::string& text = rows.emplace_back();
        ngrams_as_text(options, row_format::tsv, ctx_, [&](std::string_view piece) { text += piece; });
    });
    EXPECT_GT(rows[0].size(), 10'000U);
    EXPECT_EQ(rows[0], rows[1]);

    std::vector<std::vector<std::pair<std::string, fuzzy_signature>>> made(2);
    std::size_t run = 0;
    both(signature_options(), [&](const signature_options& options, const std::string&) {
        signatures(options, ctx_,
                   [&](std::string_view id, const fuzzy_signature& of) { made[run].emplace_back(id, of); });
        ++run;
    });
    EXPECT_EQ(made[0].size(), 120U);
    EXPECT_EQ(made[0], made[1]);
}

dedup_result dedup_of(document_source& source) {
    dedup_options options;
    options.source = &source;
    return dedup(options, context::cpu(1));
}

TEST_F(document_source_test, ranges_of_texts_are_numbered) {
    const std::vector<std::string> texts = {"one text", "another text", "one text"};
    range_source source(texts);
    const dedup_result found = dedup_of(source);
    EXPECT_THAT(found.pairs(), ElementsAre(duplicate_pair{0, 2, 0, 16}));
    EXPECT_EQ(found.id(2), "documents:3");
}

TEST_F(document_source_test, a_range_may_make_its_elements) {
    range_source source(std::views::iota(0, 1000) | std::views::transform([](int i) {
                            return std::pair("n" + std::to_string(i),
                                             "the text of number " + std::to_string(i % 999));
                        }));
    dedup_options options;
    options.source = &source;
    options.duplicates.threshold = {1, 1000};
    const dedup_result found = dedup(options, context::cpu(2));
    EXPECT_EQ(found.documents(), 1000U);
    EXPECT_THAT(found.pairs(), ElementsAre(duplicate_pair{0, 999, 0, 40}));
    EXPECT_EQ(found.id(999), "n999");
}

TEST_F(document_source_test, what_cannot_be_read_is_named_and_counted) {
    const std::vector<source_document> given = {{.id = "a", .title = {}, .text = "one"},
                                                {.id = "\xff", .title = {}, .text = "two"},
                                                {.id = "a", .title = {}, .text = "three"},
                                                {.id = "b", .title = "\xff", .text = "four \xff"}};
    range_source source(given);
    dedup_options options;
    options.source = &source;
    options.max_errors = {.count = 2, .is_share = false};
    const dedup_result found = dedup(options, context::cpu(1));
    EXPECT_EQ(found.documents(), 2U);
    EXPECT_EQ(found.counts.rejected, 2U);
    EXPECT_EQ(found.counts.damaged, 1U);
    ASSERT_EQ(found.issues.size(), 3U);
    EXPECT_EQ(found.issues[0].path, "documents");
    EXPECT_EQ(found.issues[0].line, 2U);
    EXPECT_EQ(found.issues[0].reason, "the id is not UTF-8");
    EXPECT_EQ(found.text(1), "four \xC3\xBF");
    range_source again(given);
    EXPECT_THROW(dedup_of(again), invalid_input);  // more than a hundredth
}

std::string refusal(const std::function<void()>& run) {
    try {
        run();
    } catch (const error& failed) {
        return failed.what();
    }
    return "nothing was refused";
}

TEST_F(document_source_test, refuses_files_next_to_a_source) {
    range_source none{std::vector<std::string>()};
    EXPECT_EQ(dedup_of(none).documents(), 0U);  // a source without documents is a result without documents
    dedup_options options;
    options.source = &none;
    options.inputs = {folder_ / "corpus.jsonl"};
    EXPECT_THAT(refusal([&] { dedup(options, ctx_); }), HasSubstr("cannot be combined"));
    options.inputs.clear();
    options.input_format = "jsonl";
    EXPECT_THAT(refusal([&] { dedup(options, ctx_); }), HasSubstr("applies to files"));
}

class failing_source final : public document_source {
    bool next(source_document& document) override {
        if (++calls_ == 500) throw std::runtime_error("the connection is lost");
        document = {.id = {}, .title = {}, .text = "a text"};
        return true;
    }
    int calls_ = 0;
};

TEST_F(document_source_test, what_a_source_throws_ends_the_run_and_leaves_no_store) {
    failing_source source;
    build_options options;
    options.source = &source;
    options.store = folder_ / "store";
    EXPECT_THROW(build(options, ctx_), std::runtime_error);
    for (const auto& entry : fs::directory_iterator(folder_.path()))
        EXPECT_EQ(entry.path().filename(), "corpus.jsonl");
}

TEST_F(document_source_test, hits_outlive_the_engine) {
    build_options options;
    auto views = documents_ | std::views::transform(view_of_given);
    range_source source(views);
    options.source = &source;
    options.store = folder_ / "store";
    options.skip = all_build_stages;
    build(options, ctx_);
    const search_result found = [&] {
        const auto engine = search_engine::open(options.store, ctx_);
        return engine.search("about corn", interactive_search());
    }();
    fs::remove_all(options.store);
    ASSERT_FALSE(found.hits.empty());
    EXPECT_EQ(found.hits[0].title, "About corn");
}

}  // namespace
}  // namespace quern::document_source_test
