// SPDX-License-Identifier: Apache-2.0
// Dictionaries of small generated corpora, compared with a map of words: for any threads and memory, and any damage of
// the file.
#include "quern/tasks/dictionary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "io/store/section.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "tasks/dictionary/word_collector.hpp"
#include "temporary_folder.hpp"

namespace quern::dictionary_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

using word_counts = std::map<std::string, std::uint64_t>;

/// Words with skewed frequencies and common prefixes, as lines of documents.
struct made_corpus {
    std::string lines;
    word_counts counts;

    made_corpus(std::size_t documents, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        for (std::size_t d = 0; d < documents; ++d) {
            for (std::size_t left = random() % 40; left > 0; --left) {
                const std::uint64_t rank = std::uint64_t{1} << random() % 12;
                std::string word = random() % 3 ? "word" : "straße";
                word += std::to_string(random() % rank);
                lines += word + '\n';
                ++counts[word];
            }
            lines += '\n';
        }
    }
};

context context_with(unsigned threads, const temporary_folder& scratch) {
    context ctx = context::cpu(threads);
    ctx.scratch = scratch.path();
    return ctx;
}

class dictionary_task : public ::testing::Test {
  protected:
    temporary_folder folder_;

    fs::path file(const std::string& name) const { return folder_.path() / name; }

    dictionary_options of_lines(const std::string& lines) const {
        write_file(file("corpus"), lines);
        dictionary_options options;
        options.inputs = {file("corpus")};
        options.input_format = "lines";
        options.file = file("made");
        options.force = true;
        return options;
    }

    word_dictionary made_of(const dictionary_options& options, unsigned threads = 2) const {
        make_dictionary(options, context_with(threads, folder_));
        return word_dictionary::open(options.file);
    }
};

void expect_holds(const word_dictionary& made, const word_counts& expected) {
    ASSERT_EQ(made.size(), expected.size());
    std::uint32_t id = 0;
    for (const auto& [word, count] : expected) {
        ASSERT_EQ(made.find(word), id);
        ASSERT_EQ(made.word(id), word);
        ASSERT_EQ(made.count(id), count);
        ++id;
    }
    EXPECT_EQ(made.find("absent"), std::nullopt);
    EXPECT_THROW(made.word(made.size()), std::out_of_range);
    EXPECT_THROW(made.count(made.size()), std::out_of_range);
}

TEST_F(dictionary_task, holds_every_word_whatever_the_threads) {
    const made_corpus corpus(3000, 1);
    const dictionary_options options = of_lines(corpus.lines);
    expect_holds(made_of(options, 1), corpus.counts);
    const std::string bytes = read_file(options.file);
    expect_holds(made_of(options, 3), corpus.counts);
    EXPECT_EQ(read_file(options.file), bytes);
}

TEST_F(dictionary_task, says_what_it_was_made_of) {
    const made_corpus corpus(300, 2);
    dictionary_options options = of_lines(corpus.lines);
    options.min_count = 3;
    const word_dictionary made = made_of(options);
    std::uint64_t all = 0, kept = 0;
    for (const auto& [word, count] : corpus.counts) {
        all += count;
        kept += count >= 3 ? count : 0;
    }
    const dictionary_info& info = made.info();
    EXPECT_TRUE(info.verbatim);
    EXPECT_EQ(info.min_count, 3U);
    EXPECT_EQ(info.occurrences, all);
    EXPECT_EQ(info.kept, kept);
    EXPECT_EQ(info.distinct, corpus.counts.size());
    EXPECT_EQ(info.words, made.size());
    EXPECT_EQ(info.file_bytes, fs::file_size(options.file));
    EXPECT_EQ(verify_dictionary(options.file, context::cpu(1)), info.file_bytes);
    EXPECT_EQ(read_dictionary_info(options.file).checksum, info.checksum);
    EXPECT_TRUE(is_dictionary(options.file));
    EXPECT_FALSE(is_dictionary(file("corpus")));
}

TEST_F(dictionary_task, keeps_the_most_frequent_words_and_of_equals_the_first) {
    const made_corpus corpus(300, 3);
    std::vector<std::pair<std::string, std::uint64_t>> by_count(corpus.counts.begin(), corpus.counts.end());
    std::ranges::stable_sort(by_count, [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const std::uint32_t max : {1U, 2U, 10U, 100U, 300U, 1'000'000U}) {
        dictionary_options options = of_lines(corpus.lines);
        options.vocabulary = max;
        options.min_count = 2;
        word_counts expected;
        for (const auto& [word, count] : by_count) {
            if (expected.size() < max && count >= 2) expected.emplace(word, count);
        }
        expect_holds(made_of(options), expected);
    }
}

TEST_F(dictionary_task, reads_texts_by_their_options) {
    write_file(file("corpus.jsonl"),
               "{\"id\":\"1\",\"title\":\"Title\",\"text\":\"The Cat, the HAT: 42 cats!\"}\n");
    dictionary_options options;
    options.inputs = {file("corpus.jsonl")};
    options.file = file("made");
    options.force = true;
    expect_holds(made_of(options), {{"42", 1}, {"cat", 1}, {"cats", 1}, {"hat", 1}, {"the", 2}});
    EXPECT_FALSE(read_dictionary_info(options.file).titles);
    options.titles = true;
    expect_holds(made_of(options),
                 {{"42", 1}, {"cat", 1}, {"cats", 1}, {"hat", 1}, {"the", 2}, {"title", 1}});
    EXPECT_TRUE(read_dictionary_info(options.file).titles);
    options.titles = false;
    options.text.tokens = token_rule::letters;
    options.text.stop_words = "en";
    options.text.stem = stemmer::porter;
    const word_dictionary made = made_of(options);
    expect_holds(made, {{"cat", 2}, {"hat", 1}});
    EXPECT_EQ(made.info().text, options.text);
    EXPECT_FALSE(made.info().verbatim);
}

TEST_F(dictionary_task, holds_short_and_long_words_and_none) {
    const std::string words[] = {"a", "b", std::string(10'000, 'x'), std::string(10'000, 'x') + "y", "\x01"};
    std::string lines;
    word_counts expected;
    for (const std::string& word : words) {
        lines += word + '\n';
        expected[word] = 1;
    }
    expect_holds(made_of(of_lines(lines)), expected);
    expect_holds(made_of(of_lines("one")), {{"one", 1}});
    write_file(file("empty.jsonl"), "{\"id\":\"1\",\"text\":\"\"}\n");
    dictionary_options options;
    options.inputs = {file("empty.jsonl")};
    options.file = file("made");
    options.force = true;
    const word_dictionary none = made_of(options);
    expect_holds(none, {});
    EXPECT_EQ(none.with_prefix("a"), (std::pair<std::uint32_t, std::uint32_t>(0, 0)));
}

TEST_F(dictionary_task, finds_many_words_at_once_and_counts_the_unknown) {
    const made_corpus corpus(500, 4);
    const word_dictionary made = made_of(of_lines(corpus.lines));
    std::mt19937_64 random(4);
    std::vector<std::string> requested;
    std::uint64_t unknown = 0;
    for (int i = 0; i < 10'000; ++i) {
        requested.push_back((random() % 2 ? "word" : "straße") + std::to_string(random() % 4000));
        unknown += corpus.counts.contains(requested.back()) ? 0U : 1U;
    }
    ASSERT_GT(unknown, 0U);
    const std::vector<std::string_view> views(requested.begin(), requested.end());
    std::vector<std::uint32_t> ids(views.size());
    for (const unsigned threads : {1U, 3U}) {
        EXPECT_EQ(made.find(views, ids, context_with(threads, folder_)), unknown);
        for (std::size_t i = 0; i < ids.size(); ++i)
            ASSERT_EQ(ids[i], made.find(views[i]).value_or(made.size()));
    }
    // Elsewhere the same ids; a device that is asked for and missing is an error.
    const std::vector<std::uint32_t> expected = ids;
    ids.assign(ids.size(), 0);
    bool has_gpu = true;
    try {
        choose_device(context::cuda(), "this test");
    } catch (const device_error&) {
        has_gpu = false;
    }
    for (int time = 0; time < 2; ++time) {
        if (has_gpu) {
            EXPECT_EQ(made.find(views, ids, context::cuda()), unknown);
            EXPECT_EQ(ids, expected);
        } else {
            EXPECT_THROW(made.find(views, ids, context::cuda()), device_error);
        }
    }
    ids.pop_back();
    EXPECT_THROW(made.find(views, ids, context::cpu(1)), usage_error);
}

TEST_F(dictionary_task, words_with_a_beginning_are_a_range) {
    const made_corpus corpus(500, 5);
    const word_dictionary made = made_of(of_lines(corpus.lines));
    for (const char* prefix : {"", "w", "word1", "word19", "stra", "x", "word", "\xff"}) {
        const auto [first, last] = made.with_prefix(prefix);
        for (std::uint32_t id = 0; id < made.size(); ++id) {
            ASSERT_EQ(made.word(id).starts_with(prefix), id >= first && id < last) << prefix;
        }
    }
}

// A truncated or changed file is refused, by name, before it gives a wrong result.
TEST_F(dictionary_task, refuses_every_cut_and_every_flipped_bit) {
    const dictionary_options options = of_lines("one\ntwo\nthree\ntwo\n");
    made_of(options);
    const std::string whole = read_file(options.file);
    const fs::path damaged = file("damaged");
    const auto refused = [&](const std::string& bytes) {
        write_file(damaged, bytes);
        EXPECT_THROW(verify_dictionary(damaged, context::cpu(1)), damaged_store);
        EXPECT_THROW(word_dictionary::open(damaged), damaged_store);
    };
    for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 7)
        refused(whole.substr(0, size));
    for (std::size_t byte = 0; byte < whole.size(); ++byte) {
        const std::size_t bit = 8 * byte + byte % 8;
        std::string bytes = whole;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
        write_file(damaged, bytes);
        try {
            verify_dictionary(damaged, context::cpu(1));
            // Only zeros between the payload and its checksums, which no checksum covers.
            expect_holds(word_dictionary::open(damaged), {{"one", 1}, {"three", 1}, {"two", 2}});
        } catch (const damaged_store& e) {
            EXPECT_EQ(e.section(), "dictionary");
        }
    }
}

TEST_F(dictionary_task, of_another_version_says_what_to_do) {
    const dictionary_options options = of_lines("one\ntwo\n");
    made_of(options);
    std::string payload(io::section_view(options.file, "dictionary").all());
    const auto refusal_of_version = [&](std::uint32_t version) {
        std::memcpy(payload.data() + 8, &version, sizeof version);
        io::section_writer changed(file("changed"));
        changed.append(payload);
        changed.finish();
        try {
            word_dictionary::open(file("changed"));
        } catch (const damaged_store& e) {
            return std::string(e.what());
        }
        return std::string("none");
    };
    EXPECT_EQ(refusal_of_version(dictionary_format_version), "none");
    EXPECT_THAT(refusal_of_version(dictionary_format_version + 1), HasSubstr("install a newer Quern"));
    EXPECT_THAT(
        refusal_of_version(1),
        HasSubstr("has format version 1, but this program reads version 2; a Quern before 1.0 made it"));
}

TEST_F(dictionary_task, refuses_what_cannot_be_made) {
    dictionary_options options = of_lines("a\n");
    options.force = false;
    make_dictionary(options, context_with(1, folder_));
    EXPECT_THROW(make_dictionary(options, context_with(1, folder_)), usage_error);
    options.force = true;
    options.inputs = {file("made")};
    options.file = file("other");
    EXPECT_THROW(make_dictionary(options, context_with(1, folder_)), usage_error);
    options.inputs = {file("missing")};
    EXPECT_THROW(make_dictionary(options, context_with(1, folder_)), usage_error);
    options.inputs = {};
    EXPECT_THROW(make_dictionary(options, context_with(1, folder_)), usage_error);
    EXPECT_THROW(word_dictionary::open(file("missing")), usage_error);
    EXPECT_THROW(word_dictionary::open(folder_.path()), usage_error);
    EXPECT_THROW(word_dictionary::open(file("corpus")), damaged_store);
    EXPECT_FALSE(fs::exists(file("other")));
}

TEST(word_collector, merges_runs_from_disk_with_what_is_in_memory) {
    const temporary_folder folder;
    context ctx = context::cpu(3);
    ctx.scratch = folder.path();
    for (const std::uint64_t memory :
         {std::uint64_t{1} << 14, std::uint64_t{1} << 17, std::uint64_t{1} << 30}) {
        scratch_folder scratch(ctx);
        word_collector collected(scratch, memory);
        std::mt19937_64 random(memory);
        word_counts expected;
        for (int unit = 0; unit < 60; ++unit) {
            word_count_table words;
            for (int i = 0; i < 400; ++i) {
                std::string word(random() % 20, 'p');
                word += std::string(random() % 3, '\0') + std::to_string(random() % 2000);
                if (random() % 500 == 0) word += std::string(9000, 'q');
                const std::uint64_t times = random() % 4 == 0 ? random() >> 20 : 1;
                words.add(word, times);
                expected[word] += times;
            }
            collected.add(words);
        }
        EXPECT_EQ(collected.runs() > 1, memory < std::uint64_t{1} << 20);
        for (int pass = 0; pass < 2; ++pass) {
            std::vector<std::pair<std::string, std::uint64_t>> merged;
            collected.for_each(ctx,
                               [&](std::string_view word, std::uint64_t n) { merged.emplace_back(word, n); });
            ASSERT_TRUE(std::ranges::equal(merged, expected, [](const auto& a, const auto& b) {
                return a.first == b.first && a.second == b.second;
            })) << memory;
        }
    }
}

TEST_F(dictionary_task, real_text) {
    const char* const data = std::getenv("QUERN_DATA");
    const fs::path corpus = fs::path(data == nullptr ? "" : data) / "wikischools.jsonl.zst";
    if (!fs::exists(corpus)) GTEST_SKIP() << "needs wikischools.jsonl.zst in QUERN_DATA";
    dictionary_options options;
    options.inputs = {corpus};
    options.file = file("made");
    options.force = true;
    const word_dictionary made = made_of(options);
    EXPECT_GT(made.size(), 100'000U);
    std::string before;
    for (std::uint32_t id = 0; id < made.size(); ++id) {
        std::string word = made.word(id);
        ASSERT_TRUE(id == 0 || before < word);
        ASSERT_EQ(made.find(word), id);
        before = std::move(word);
    }
    context tight = context_with(1, folder_);
    tight.memory_bytes = std::uint64_t{48} << 20;
    const std::string bytes = read_file(options.file);
    EXPECT_GT(make_dictionary(options, tight).runs, 0U);
    EXPECT_EQ(read_file(options.file), bytes);
}

}  // namespace
}  // namespace quern::dictionary_test
