// SPDX-License-Identifier: Apache-2.0
// Near-duplicates found with the log of an earlier search are those of a search of all texts.
#include "tasks/store_build/duplicates_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/near_kept.hpp"
#include "temporary_folder.hpp"

namespace quern::unchanged_texts_test {
namespace {

namespace fs = std::filesystem;
using testing::read_file;
using testing::write_file;

/// A corpus that is edited.
struct edited_texts {
    std::vector<std::string> texts;
    testing::made_numbers random{11};

    std::string words(std::uint64_t count) {
        std::string text;
        for (; count != 0; --count) text += "w" + std::to_string(random(400)) + " ";
        return text;
    }
    std::size_t any() { return random(texts.size()); }
    std::string near(std::string text) {
        for (std::uint64_t edits = 1 + text.size() / 60; edits != 0 && !text.empty(); --edits)
            text[random(text.size())] = static_cast<char>('a' + random(26));
        return text;
    }
    /// New, a copy, an almost equal text, or none.
    std::string made() {
        const std::uint64_t kind = random(8);
        if (texts.empty() || kind < 4) return words(20 + random(80));
        if (kind == 4) return {};
        return kind == 5 ? texts[any()] : near(texts[any()]);
    }
    void edit() {
        const std::uint64_t kind = random(4);
        const auto place = [&] { return texts.begin() + static_cast<std::ptrdiff_t>(any()); };
        if (kind == 0) {
            texts.insert(place(), made());
        } else if (kind == 1) {
            std::string changed = random(2) == 0 ? near(texts[any()]) : made();
            *place() = std::move(changed);
        } else if (kind == 2) {
            texts.erase(place());
        } else {  // another name
            std::swap(*place(), *place());
        }
    }
};

struct concatenated {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};

    explicit concatenated(const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            bytes += text;
            offsets.push_back(bytes.size());
        }
    }
    text_list list() const { return {bytes, offsets}; }
};

class unchanged_texts_test : public testing::corpus_fixture {
  protected:
    static std::vector<removed_duplicate> removed_by(const text_list& texts,
                                                     const std::vector<duplicate_pair>& links,
                                                     const context& ctx) {
        std::vector<std::uint32_t> order;
        for (std::uint32_t i = 0; i < texts.size(); ++i)
            if (texts.length(i) != 0) order.push_back(i);
        return near_kept(texts, {}, links, {order, 0}, {}, ctx);
    }
    static std::vector<removed_duplicate> expected(const text_list& texts, const context& ctx) {
        duplicate_options slow;
        slow.method = duplicate_method::exhaustive;
        return removed_by(texts, near_duplicates(texts, slow, {}, ctx).pairs, ctx);
    }
    /// Searches with the log `before`, and writes the log `after`; the number of texts that were known.
    std::uint64_t searched(const text_list& texts, const std::string& before, const std::string& after,
                           const context& ctx, const std::string& key = "key") const {
        duplicates_log log(folder_ / before, folder_ / after, key);
        const duplicate_result found = log.links(texts, ctx);
        EXPECT_EQ(removed_by(texts, found.pairs, ctx), expected(texts, ctx));
        return log.unchanged();
    }
    void replace(const std::string& before, const std::string& after) const {
        fs::rename(folder_ / after, folder_ / before);
    }
};

TEST_F(unchanged_texts_test, removes_the_same_texts_after_any_edits) {
    edited_texts corpus;
    for (int i = 0; i < 120; ++i) corpus.texts.push_back(corpus.made());
    std::uint64_t removed = 0;
    for (int round = 0; round < 40; ++round) {
        const std::vector<std::string> before = corpus.texts;
        for (std::uint64_t edits = round == 0 ? 0 : corpus.random(12); edits != 0; --edits) corpus.edit();
        const auto is_known = [&](const std::string& text) { return std::ranges::count(before, text) != 0; };
        const auto known = static_cast<std::uint64_t>(std::ranges::count_if(corpus.texts, is_known));
        const concatenated texts(corpus.texts);
        const context ctx = context_with(1 + static_cast<unsigned>(round) % 3);
        ASSERT_EQ(searched(texts.list(), "log", "next", ctx), round == 0 ? 0 : known) << round;
        ASSERT_FALSE(HasFailure()) << round;
        replace("log", "next");
        removed += expected(texts.list(), ctx).size();
    }
    EXPECT_GT(removed, 400U);
}

TEST_F(unchanged_texts_test, a_text_that_connected_others_may_go) {
    // Each is near the next one only: without the second the first and the third are both kept.
    edited_texts corpus;
    std::string text = corpus.words(60);
    for (int i = 0; i < 5; ++i) {
        corpus.texts.push_back(text);
        for (std::size_t at = 0; at < 12; ++at) text[static_cast<std::size_t>(i) * 40 + at] = '#';
    }
    const context ctx = context_with();
    searched(concatenated(corpus.texts).list(), "log", "next", ctx);
    replace("log", "next");
    corpus.texts.erase(corpus.texts.begin() + 1);
    const concatenated texts(corpus.texts);
    EXPECT_EQ(searched(texts.list(), "log", "next", ctx), 4U);
    EXPECT_FALSE(expected(texts.list(), ctx).empty());
}

TEST_F(unchanged_texts_test, a_log_that_is_damaged_or_another_has_no_effect) {
    edited_texts corpus;
    for (int i = 0; i < 50; ++i) corpus.texts.push_back(corpus.made());
    const concatenated texts(corpus.texts);
    const context ctx = context_with();
    EXPECT_EQ(searched(texts.list(), "none", "log", ctx), 0U);
    const std::string whole = read_file(folder_ / "log");
    EXPECT_EQ(searched(texts.list(), "log", "next", ctx), 50U);
    EXPECT_EQ(read_file(folder_ / "next"), whole);
    EXPECT_EQ(searched(texts.list(), "log", "next", ctx, "another key"), 0U);
    for (std::size_t at = 5; at < whole.size(); at += 97) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        write_file(folder_ / "damaged", damaged);
        ASSERT_EQ(searched(texts.list(), "damaged", "next", ctx), 0U) << at;
        ASSERT_EQ(read_file(folder_ / "next"), whole);
    }
    for (const std::size_t left : {std::size_t{0}, std::size_t{10}, whole.size() / 2, whole.size() - 1}) {
        write_file(folder_ / "cut", whole.substr(0, left));
        ASSERT_EQ(searched(texts.list(), "cut", "next", ctx), 0U) << left;
    }
}

TEST_F(unchanged_texts_test, few_known_texts_are_compared_like_the_others) {
    edited_texts corpus;
    for (int i = 0; i < 40; ++i) corpus.texts.push_back(corpus.words(30));
    const std::vector<std::string> all = corpus.texts;
    const context ctx = context_with();
    searched(concatenated(all).list(), "none", "log", ctx);
    // A log that is more than twice as long as the corpus, and one that knows less than half of it.
    EXPECT_EQ(searched(concatenated({all.begin(), all.begin() + 19}).list(), "log", "next", ctx), 0U);
    EXPECT_EQ(searched(concatenated({all.begin(), all.begin() + 20}).list(), "log", "next", ctx), 20U);
    for (int i = 0; i < 41; ++i) corpus.texts.push_back(corpus.near(all[corpus.random(40)]));
    EXPECT_EQ(searched(concatenated(corpus.texts).list(), "log", "next", ctx), 0U);
    corpus.texts.pop_back();
    EXPECT_EQ(searched(concatenated(corpus.texts).list(), "log", "next", ctx), 40U);
}

TEST_F(unchanged_texts_test, without_room_all_texts_are_compared) {
    edited_texts corpus;
    for (int i = 0; i < 400; ++i) corpus.texts.push_back(corpus.words(30));
    const concatenated some({corpus.texts.begin(), corpus.texts.end() - 1}), texts(corpus.texts);
    context ctx = context_with();
    searched(some.list(), "none", "log", ctx);
    ctx.scratch_bytes = 10;
    searched(texts.list(), "log", "next", ctx);
    EXPECT_TRUE(fs::exists(folder_ / "next"));
    // Nor is there a log where it would take much of the memory.
    searched(texts.list(), "log", "none", context_with(2, 400'000));
    EXPECT_FALSE(fs::exists(folder_ / "none"));
    EXPECT_TRUE(fs::exists(folder_ / "next"));
}

}  // namespace
}  // namespace quern::unchanged_texts_test
