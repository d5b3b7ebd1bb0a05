// SPDX-License-Identifier: Apache-2.0
// Merged stores, compared byte for byte with the build of all their corpora in the same order.
#include "quern/tasks/merge.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/export.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/layout.hpp"
#include "temporary_folder.hpp"

namespace quern::merge_test {
namespace {

namespace fs = std::filesystem;
using testing::files_of;
using ::testing::HasSubstr;
using testing::made_numbers;
using testing::write_file;

using change_build = std::function<void(build_options&)>;

class merge_test : public testing::corpus_fixture {
  protected:
    /// Builds a store of each corpus, merges them, and builds one of all corpora; expects the same bytes. `part`: what only
    /// the builds of the parts have, `whole`: what the merged store has, too.
    merge_result expect_the_build_of_all(const std::vector<fs::path>& corpora,
                                         const std::set<build_stage>& skip, const change_build& change = {},
                                         unsigned threads = 2, std::uint64_t memory = 0) {
        build_options all;
        all.inputs = corpora;
        all.store = folder_ / "built";
        all.skip = skip;
        all.force = true;
        if (change) change(all);
        build(all, context_with(2));

        merge_options options;
        options.stores = parts_of(corpora, change);
        options.store = folder_ / "merged";
        options.skip = skip;
        options.ngrams = all.ngrams;
        options.force = true;
        const merge_result result = merge(options, context_with(threads, memory));
        EXPECT_EQ(differing_files(options.store, all.store), "");
        EXPECT_EQ(result.documents, read_store_info(all.store).documents);
        EXPECT_EQ(verify_store(options.store, context_with()), verify_store(all.store, context_with()));
        return result;
    }
    /// A store of each corpus, with all of its documents.
    std::vector<fs::path> parts_of(const std::vector<fs::path>& corpora, const change_build& change = {}) {
        std::vector<fs::path> stores;
        for (std::size_t i = 0; i < corpora.size(); ++i) {
            build_options part;
            part.inputs = {corpora[i]};
            part.store = folder_ / fmt::format("part_{}", i);
            part.skip = all_build_stages;
            part.force = true;
            if (change) change(part);
            part.ngrams = false;
            build(part, context_with(1));
            stores.push_back(part.store);
        }
        return stores;
    }
    static std::string differing_files(const fs::path& a, const fs::path& b) {
        const auto left = files_of(a), right = files_of(b);
        std::string names;
        for (const auto& [name, bytes] : left)
            if (!right.contains(name) || right.at(name) != bytes) names += name + ' ';
        for (const auto& [name, bytes] : right)
            if (!left.contains(name)) names += name + ' ';
        return names;
    }

    /// Files with these records, cut at random; each has one at least.
    std::vector<fs::path> cut(const std::vector<std::string>& records, std::size_t parts) {
        std::vector<std::size_t> ends = {records.size()};
        while (ends.size() < parts) {
            const std::size_t end = 1 + random_(records.size() - 1);
            if (std::ranges::find(ends, end) == ends.end()) ends.push_back(end);
        }
        std::ranges::sort(ends);
        std::vector<fs::path> files;
        std::size_t next = 0;
        for (std::size_t i = 0; i < parts; ++i) {
            std::string lines;
            while (next < ends[i]) lines += records[next++];
            files.push_back(written(lines, fmt::format("part_{}.jsonl", i)));
        }
        return files;
    }

    /// Words with frequencies as of a language, some of them only in few documents.
    std::string words(std::uint64_t count) {
        std::string text;
        for (; count != 0; --count) {
            const std::uint64_t word = random_(20) == 0 ? random_(100000) : random_(60) * random_(60);
            text += fmt::format("w{}{}", word, count % 13 == 0 ? ". " : " ");
        }
        return text;
    }
    /// With titles, links that lead anywhere or nowhere, fields of all types, near-duplicates, documents without text.
    std::vector<std::string> records(std::uint32_t documents) {
        std::vector<std::string> lines, texts;
        for (std::uint32_t d = 0; d < documents; ++d) {
            const std::uint64_t kind = random_(12);
            std::string text = words(kind == 0 ? 0 : kind == 1 ? 3000 : 30 + random_(300));
            if (kind == 2) text = "!!! ... ???";
            if (kind > 8 && d != 0) {
                text = texts[random_(d)];
                for (std::uint64_t edits = random_(4); edits != 0 && !text.empty(); --edits)
                    text[random_(text.size())] = static_cast<char>('a' + random_(26));
            }
            texts.push_back(text);
            std::string fields;
            if (random_(3) != 0)
                fields += fmt::format(R"(,"price":{}{})", random_(100), random_(40) == 0 ? ".5" : "");
            if (random_(2) != 0) fields += fmt::format(R"(,"tags":["t{}","t{}"])", random_(9), random_(9));
            if (random_(9) == 0) fields += fmt::format(R"(,"day":"2024-05-{:02}")", 1 + random_(28));
            if (random_(9) == 0) fields += R"(,"new":true)";
            lines.push_back(
                fmt::format(R"({{"id":"d{}","title":"{}","text":"{}","links":["d{}","d{}","d{}"]{}}})"
                            "\n",
                            d, random_(5) == 0 ? "" : fmt::format("Title of w{} {}", random_(50), d), text,
                            random_(documents + 20), random_(documents), d / 2, fields));
        }
        return lines;
    }

    made_numbers random_{11};
};

TEST_F(merge_test, gives_the_index_of_all_documents_for_any_cuts) {
    for (const std::size_t parts : {1, 2, 3, 5}) {
        for (const std::uint32_t documents : {7, 400}) {
            SCOPED_TRACE(fmt::format("{} parts, {} documents", parts, documents));
            merge_result result = expect_the_build_of_all(cut(records(documents), parts), all_build_stages,
                                                          {}, 1 + static_cast<unsigned>(parts) % 3);
            auto& counts = result.statistics.counts;
            EXPECT_EQ(counts["stores"], parts);
            if (documents != 400) continue;
            // Both kinds of blocks are tested.
            EXPECT_GT(counts["copied_text_blocks"], 5U);
            if (parts == 1) {
                EXPECT_EQ(counts["copied_text_blocks"], counts["text_blocks"]);
            }
            if (parts == 5) {
                EXPECT_LT(counts["copied_text_blocks"], counts["text_blocks"]);
            }
        }
    }
}

TEST_F(merge_test, keeps_fields_of_types_that_fit_all_documents) {
    for (const char* kept : {"price", "*"}) {
        expect_the_build_of_all(cut(records(300), 3), all_build_stages,
                                [kept](build_options& options) { options.fields.kept = {kept}; });
    }
    // A type that holds the values of both stores, and a field that only the second has.
    expect_the_build_of_all(
        {written(R"({"id":"1","text":"a","x":1,"y":"2024-05-01"})", "one.jsonl"),
         written(R"({"id":"2","text":"b","x":2.5,"y":"no date","z":null,"u":[1]})", "two.jsonl")},
        all_build_stages, [](build_options& options) { options.fields.kept = {"*"}; });
}

TEST_F(merge_test, runs_the_stages_on_all_documents) {
    for (const std::size_t parts : {1, 2, 3, 5}) {
        SCOPED_TRACE(parts);
        expect_the_build_of_all(cut(records(250), parts), {}, [](build_options& options) {
            options.fields.kept = {"*"};
            options.ngrams = true;
        });
        EXPECT_GT(read_store_info(folder_ / "merged").duplicates, 20U);
        EXPECT_TRUE(read_store_info(folder_ / "merged").thesaurus.has_value());
    }
    expect_the_build_of_all(cut(records(250), 3), {build_stage::thesaurus});
}

TEST_F(merge_test, adds_the_documents_of_each_day_to_a_store_with_near_duplicates) {
    const auto days = cut(records(300), 4);
    const auto parts = parts_of(days);
    build_options all;
    all.store = folder_ / "all";
    all.inputs = {days[0]};
    build(all, context_with());
    EXPECT_GT(read_store_info(all.store).duplicates, 0U);
    all.force = true;
    for (std::size_t day = 1; day < days.size(); ++day) {
        merge_options options;
        options.stores = {all.store, parts[day]};
        options.store = all.store;
        options.force = true;
        merge(options, context_with());
        build_options built = all;
        built.store = folder_ / "built";
        built.inputs.assign(days.begin(), days.begin() + static_cast<std::ptrdiff_t>(day) + 1);
        build(built, context_with());
        ASSERT_EQ(differing_files(all.store, built.store), "") << "day " << day;
    }
}

TEST_F(merge_test, resolves_links_and_redirects_of_all_stores) {
    const auto page = [](const std::string& title, const std::string& text) {
        return "<page><title>" + title + "</title><ns>0</ns><revision><text>" + text +
               "</text></revision></page>\n";
    };
    const auto dump = [&](const std::string& pages, const std::string& name) {
        return written("<mediawiki>\n" + pages + "</mediawiki>\n", name);
    };
    const std::string links = " [[Later]] [[Alias]] [[Town]] [[A]] [[Nowhere]] [[Town]] [[Chain]] [[Again]]";
    const std::vector<fs::path> corpora = {
        dump(page("A", "A mill by the river." + links) + page("Alias", "#REDIRECT [[Later]]") +
                 page("Town", "#REDIRECT [[A]]") + page("Chain", "#REDIRECT [[Alias]]") +
                 page("B", "[[Nowhere]]"),
             "a.xml"),
        dump(page("Later", "Salt comes from the sea." + links) +
                 page("Town", "Words about a town. [[B]] [[Alias]]") + page("Again", "#REDIRECT [[B]]"),
             "b.xml"),
        dump(page("Again", "#REDIRECT [[A]]") + page("C", links) + page("Nowhere", "Found at last."),
             "c.xml")};
    expect_the_build_of_all(corpora, all_build_stages);
    expect_the_build_of_all(corpora, {});
    EXPECT_GT(read_store_info(folder_ / "merged").links, 20U);
}

TEST_F(merge_test, merges_documents_without_words) {
    expect_the_build_of_all(
        {written(R"({"id":"1","text":""})", "a.jsonl"), written(R"({"id":"2","text":"?"})", "b.jsonl"),
         written(R"({"id":"3","text":""})", "c.jsonl")},
        all_build_stages);
    EXPECT_EQ(read_store_info(folder_ / "merged").vocabulary, 0U);
    expect_the_build_of_all(
        {written(R"({"id":"1","text":""})", "a.jsonl"), written(R"({"id":"2","text":"mill"})", "b.jsonl"),
         written(R"({"id":"3","title":"mill","text":""})", "c.jsonl")},
        {});
}

TEST_F(merge_test, forgets_words_of_which_all_documents_are_excluded) {
    const std::string text =
        "The mill by the river grinds the grain of all who come, and it takes a tenth of it";
    const auto line = [](const std::string& id, const std::string& title, const std::string& body) {
        return fmt::format(R"({{"id":"{}","title":"{}","text":"{}","links":["a","b","c"]}})"
                           "\n",
                           id, title, body);
    };
    expect_the_build_of_all(
        {written(line("a", "One mill", text) + line("x", "", "Something else."), "a.jsonl"),
         written(line("b", "Another river", text + " zq") + line("c", "", text), "b.jsonl"),
         written(line("d", "A third mill", text + "."), "c.jsonl")},
        {});
    EXPECT_EQ(read_store_info(folder_ / "merged").documents, 2U);
    EXPECT_EQ(read_store_info(folder_ / "merged").duplicates, 3U);
}

TEST_F(merge_test, keeps_the_text_options_and_a_list_of_stop_words) {
    write_file(folder_ / "stop.txt", "w1\nw2\nthe\n");
    expect_the_build_of_all(cut(records(60), 3), {}, [this](build_options& options) {
        options.text.stop_words = (folder_ / "stop.txt").string();
        options.text.stem = stemmer::porter;
        options.text.min_length = 2;
    });
}

TEST_F(merge_test, merges_word_lines) {
    expect_the_build_of_all(
        {written("One\nTwo\n\nThree\nOne\n", "a.txt"), written("Two\nFour\n\nOne\n", "b.txt")},
        all_build_stages, [](build_options& options) {
            options.input_format = "lines";
            options.ids = id_rule::generate;  // else both files number theirs alike
        });
    EXPECT_TRUE(read_store_info(folder_ / "merged").verbatim);
}

TEST_F(merge_test, merges_vectors_of_documents) {
    std::vector<fs::path> corpora = cut(records(40), 3);
    const auto vectors_of = [&](const std::vector<fs::path>& inputs) {
        std::string rows;
        for (int d = 0; d < 40; ++d)
            rows += fmt::format(R"({{"id":"d{}","vector":[{},0.5,{}]}})"
                                "\n",
                                d, d, -d * d);
        write_file(folder_ / "vectors.jsonl", rows);
        static_cast<void>(inputs);
        return folder_ / "vectors.jsonl";
    };
    expect_the_build_of_all(
        corpora, {}, [&](build_options& options) { options.vectors.file = vectors_of(options.inputs); });
    EXPECT_TRUE(store_layout::lists_section(read_store_info(folder_ / "merged"), store_layout::user_vectors));
}

TEST_F(merge_test, merges_lists_of_weights) {
    const auto line = [](int id, const std::string& vector) {
        return fmt::format(R"({{"id":"{}","vector":{{{}}}}})"
                           "\n",
                           id, vector);
    };
    const auto as_weights = [](build_options& options) { options.input_format = "weights"; };
    // Of another unit in each store, none of them rounded; of one unit, all rounded.
    expect_the_build_of_all({written(line(1, R"("mill":1.5,"salt":2)"), "a.jsonl"),
                             written(line(2, R"("mill":0.125,"sea":70000)"), "b.jsonl")},
                            {}, as_weights);
    expect_the_build_of_all({written(line(1, R"("mill":1.1,"salt":0.0001)"), "a.jsonl"),
                             written(line(2, R"("mill":0.0003,"sea":1.7)"), "b.jsonl")},
                            {}, as_weights);
    merge_options options;
    options.stores = parts_of({written(line(1, R"("mill":1.1,"salt":0.0001)"), "a.jsonl"),
                               written(line(2, R"("mill":0.0003,"sea":17.7)"), "b.jsonl")},
                              as_weights);
    options.store = folder_ / "rounded_twice";
    try {
        merge(options, context_with());
        ADD_FAILURE();
    } catch (const usage_error& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("part_0: its weights are rounded"));
    }
    EXPECT_FALSE(fs::exists(options.store));
}

TEST_F(merge_test, merges_lists_of_counts) {
    std::vector<fs::path> indexes;
    for (const fs::path& store : parts_of(cut(records(60), 3))) {
        std::string bytes;
        export_ciff(
            store, [&bytes](std::string_view more) { bytes += more; }, {}, context_with());
        indexes.push_back(folder_ / (store.filename().string() + ".ciff"));
        write_file(indexes.back(), bytes);
    }
    expect_the_build_of_all(indexes, {});
    EXPECT_EQ(read_store_info(folder_ / "merged").listed, word_listing::counts);
}

TEST_F(merge_test, gives_the_same_bytes_for_any_threads_and_memory) {
    const auto corpora = cut(records(300), 3);
    for (const unsigned threads : {1U, 4U})
        for (const std::uint64_t memory : {std::uint64_t{8} << 20, std::uint64_t{1} << 30})
            expect_the_build_of_all(corpora, {build_stage::thesaurus}, {}, threads, memory);
}

TEST_F(merge_test, refuses_stores_of_other_options_and_says_which) {
    const fs::path one = written(R"({"id":"1","text":"a mill","x":1})", "a.jsonl"),
                   two = written(R"({"id":"2","text":"a sea","x":1})", "b.jsonl");
    const fs::path first = parts_of({one}).front();
    const auto refusal = [&](const fs::path& corpus, const change_build& change) -> std::string {
        build_options other;
        other.inputs = {corpus};
        other.store = folder_ / "other";
        other.skip = all_build_stages;
        other.force = true;
        change(other);
        build(other, context_with());
        merge_options options;
        options.stores = {first, other.store};
        options.store = folder_ / "merged";
        std::string said;
        try {
            merge(options, context_with());
        } catch (const usage_error& refused) {
            said = refused.what();
        }
        EXPECT_FALSE(fs::exists(options.store));
        return said;
    };
    const std::string both = first.string() + " and " + (folder_ / "other").string() + " cannot be merged: ";
    EXPECT_THAT(refusal(two, [](build_options& o) { o.text.stem = stemmer::porter; }),
                HasSubstr(both + "--stem is none in the first, porter in the second"));
    EXPECT_THAT(refusal(two, [](build_options& o) { o.text.min_length = 3; }),
                HasSubstr(both + "--min-length is 1"));
    EXPECT_THAT(refusal(two, [](build_options& o) { o.text.stop_words = "en"; }),
                HasSubstr("--stop-words is none"));
    EXPECT_THAT(refusal(two, [](build_options& o) { o.text.language = "de"; }),
                HasSubstr("--language is auto"));
    EXPECT_THAT(refusal(two, [](build_options& o) { o.fields.kept = {"x"}; }),
                HasSubstr("--keep-fields is none in the first, x in the second"));
    EXPECT_THAT(
        refusal(written("one\ntwo\n", "lines.txt"), [](build_options& o) { o.input_format = "lines"; }),
        HasSubstr("is texts in the first, word lines in the second"));
    EXPECT_THAT(refusal(written(R"({"id":"w","vector":{"mill":1}})", "w.jsonl"),
                        [](build_options& o) { o.input_format = "weights"; }),
                HasSubstr("lists of weighted words in the second"));
    EXPECT_THAT(refusal(two,
                        [this](build_options& o) {
                            write_file(folder_ / "v.jsonl", R"({"id":"2","vector":[1,2]})");
                            o.vectors.file = folder_ / "v.jsonl";
                        }),
                HasSubstr("--vectors is none in the first, 2 dimensions in the second"));
    EXPECT_THAT(refusal(written(R"({"id":"1","text":"again"})", "again.jsonl"), [](build_options&) {}),
                HasSubstr("the id \"1\" is in both " + first.string()));
}

TEST_F(merge_test, refuses_near_duplicates_whose_texts_are_lost) {
    const std::string text = "The mill by the river grinds the grain of all who come, and it takes a tenth.";
    const auto line = [&](const std::string& id) {
        return fmt::format(R"({{"id":"{}","text":"{}"}})"
                           "\n",
                           id, text);
    };
    const fs::path plain = parts_of({written(line("a"), "a.jsonl")}).front();
    build_options with;
    with.inputs = {written(line("b") + line("c"), "b.jsonl")};
    with.store = folder_ / "with";
    build(with, context_with());
    merge_options options;
    options.store = folder_ / "merged";
    const auto refusal = [&]() -> std::string {
        try {
            merge(options, context_with());
        } catch (const usage_error& refused) {
            return refused.what();
        }
        return {};
    };
    options.stores = {plain, with.store};
    EXPECT_THAT(refusal(), HasSubstr(with.store.string() + " excluded 1 near-duplicate, whose texts"));
    options.stores = {with.store, plain};
    options.skip = {build_stage::duplicates};
    EXPECT_THAT(refusal(), HasSubstr("merge without --skip duplicates"));
    options.skip = {};
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(read_store_info(options.store).duplicates, 2U);
    // An id of a near-duplicate is an id, too.
    options.force = true;
    options.stores = {with.store, parts_of({written(line("c"), "c.jsonl")}).front()};
    EXPECT_THAT(refusal(), HasSubstr("the id \"c\" is in both"));
}

TEST_F(merge_test, leaves_the_older_store_after_an_error) {
    const auto corpora = cut(records(40), 2);
    merge_options options;
    options.stores = parts_of(corpora);
    options.store = folder_ / "merged";
    merge(options, context_with());
    const auto before = files_of(options.store);
    EXPECT_THROW(merge(options, context_with()), usage_error);  // it exists
    options.force = true;
    const std::vector<fs::path> parts = options.stores;
    const auto expect_refusal = [&](const std::vector<fs::path>& stores, const fs::path& store) {
        merge_options other;
        other.stores = stores;
        other.store = store;
        EXPECT_THROW(merge(other, context_with()), usage_error) << stores.size();
        EXPECT_FALSE(fs::exists(store));
    };
    expect_refusal({}, folder_ / "none");
    expect_refusal({folder_ / "missing"}, folder_ / "none");
    expect_refusal({parts[0], parts[0]}, folder_ / "none");
    expect_refusal(parts, parts[0] / "inside");

    for (const std::string_view name :
         {store_layout::tokens, store_layout::all_words.postings, store_layout::texts}) {
        const fs::path file = store_layout::file_of(options.stores[1], name);
        const std::string bytes = testing::read_file(file);
        std::string damaged = bytes;
        damaged[damaged.size() / 8] = static_cast<char>(damaged[damaged.size() / 8] ^ 1);
        write_file(file, damaged);
        EXPECT_THROW(merge(options, context_with()), damaged_store) << name;
        write_file(file, bytes);
    }
    context stopped = context_with();
    const std::atomic<int> signal = 2;
    stopped.stop_signal = &signal;
    EXPECT_THROW(merge(options, stopped), interrupted);
    EXPECT_EQ(files_of(options.store), before);
    for (const auto& entry : fs::directory_iterator(folder_.path()))
        EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr(".quern-"))) << "left over";
}

}  // namespace
}  // namespace quern::merge_test
