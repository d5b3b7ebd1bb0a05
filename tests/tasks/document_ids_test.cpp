// SPDX-License-Identifier: Apache-2.0
// Ids assigned one by one; properties of any corpus: names differ, no document is lost except repeats within its file,
// and ids that look generated do no harm.
#include "tasks/corpus/document_ids.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace quern::document_ids_test {
namespace {

using outcome = document_ids::outcome;

class settled {
  public:
    explicit settled(id_rule rule = id_rule::scoped) : ids(rule) {}

    outcome take(const std::string& path, std::uint32_t scope, std::uint64_t line, const std::string& id,
                 const std::string& text = "") {
        last = {};
        last.id = id;
        last.path = path;
        last.scope = scope;
        last.line = line;
        const auto next = static_cast<std::uint32_t>(names.size());
        const auto find = [&](std::string_view wanted) -> std::optional<std::uint32_t> {
            const auto at = numbers.find(std::string(wanted));
            return at == numbers.end() ? std::nullopt : std::optional(at->second);
        };
        const auto same = [&](std::uint32_t at) { return at < known && texts[at] == text; };
        const outcome found = ids.settle(last, next, find, same);
        if (found == outcome::fresh) {
            EXPECT_TRUE(numbers.emplace(last.id, next).second) << last.id;
            names.push_back(last.id);
            texts.push_back(text);
        }
        return found;
    }
    /// Treats everything so far as a store; assigns ids again.
    void begin_again() {
        known = static_cast<std::uint32_t>(names.size());
        ids = document_ids(id_rule::scoped);
    }

    document_ids ids;
    document last;
    std::map<std::string, std::uint32_t> numbers;
    std::vector<std::string> names, texts;
    std::uint32_t known = 0;
};

TEST(document_ids, of_another_file_get_it_in_front) {
    settled s;
    EXPECT_EQ(s.take("d/a", 1, 1, "x"), outcome::fresh);
    EXPECT_EQ(s.take("d/a", 1, 2, "x"), outcome::repeated);
    EXPECT_EQ(s.ids.reason(), "duplicate id \"x\"; first used in d/a:1");
    EXPECT_EQ(s.take("d/b", 2, 7, "x"), outcome::fresh);
    EXPECT_EQ(s.last.id, "d/b:x");
    EXPECT_EQ(s.last.given, "x");
    EXPECT_EQ(s.take("d/b", 2, 9, "x"), outcome::repeated);
    EXPECT_EQ(s.ids.reason(), "duplicate id \"x\"; first used in d/b:7");
    EXPECT_EQ(s.last.id, "x");
    // The same file again, and one with names like generated ones.
    EXPECT_EQ(s.take("d/b", 3, 7, "x"), outcome::fresh);
    EXPECT_EQ(s.last.id, "d/b#2:x");
    EXPECT_EQ(s.take("d/c", 4, 1, "d/c:x"), outcome::fresh);
    EXPECT_EQ(s.last.id, "d/c:x");
    EXPECT_EQ(s.take("d/c", 4, 2, "x"), outcome::fresh);
    EXPECT_EQ(s.last.id, "d/c#2:x");
    EXPECT_EQ(s.take("d/c", 4, 3, "d/c:x"), outcome::repeated);
    // Single-document files use their paths.
    EXPECT_EQ(s.take("v1/README", 5, 0, "README"), outcome::fresh);
    EXPECT_EQ(s.take("v2/README", 6, 0, "README"), outcome::fresh);
    EXPECT_EQ(s.last.id, "v2/README");
    EXPECT_EQ(s.take("v2/README", 7, 0, "README"), outcome::fresh);
    EXPECT_EQ(s.last.id, "v2/README#2");
}

TEST(document_ids, of_a_store_are_known_by_their_texts) {
    settled s;
    s.take("a", 1, 1, "x", "old");
    s.take("a", 1, 2, "y", "other");
    for (int again = 0; again < 3; ++again) {
        s.begin_again();
        EXPECT_EQ(s.take("b", 1, 1, "x", "new"), again == 0 ? outcome::fresh : outcome::known);
        EXPECT_EQ(s.last.id, "b:x");
        EXPECT_EQ(s.take("b", 1, 2, "y", "other"), outcome::known);
        EXPECT_EQ(s.last.id, "y");
        EXPECT_EQ(s.take("b", 1, 3, "y", "other"), outcome::repeated);
        EXPECT_EQ(s.ids.reason(), "duplicate id \"y\"; first used in b:2");
        EXPECT_EQ(s.take("b", 1, 4, "x", "third"), outcome::repeated);
    }
    EXPECT_EQ(s.names, (std::vector<std::string>{"x", "y", "b:x"}));
}

TEST(document_ids, global_ids_repeat_across_files_and_generated_ones_never) {
    settled global(id_rule::global);
    global.take("a", 1, 1, "x");
    EXPECT_EQ(global.take("b", 2, 1, "x"), outcome::repeated);
    EXPECT_EQ(global.ids.reason(), "duplicate id \"x\"; first used in an earlier file");
    settled generated(id_rule::generate);
    for (std::uint64_t line = 1; line < 4; ++line) {
        EXPECT_EQ(generated.take("d/a", 1, line, "x"), outcome::fresh);
        EXPECT_EQ(generated.last.id, "d/a:" + std::to_string(line));
    }
}

TEST(document_ids, differ_whatever_the_ids_look_like) {
    std::mt19937 random(5);
    const std::vector<std::string> parts = {"a", "b", ":", "#2", "#", "x", "1"};
    for (int round = 0; round < 200; ++round) {
        settled s;
        std::uint64_t expected = 0;
        std::uint32_t scope = 0;
        for (int file = 0; file < 6; ++file) {
            std::string path;
            for (std::size_t n = 1 + random() % 3; n > 0; --n) path += parts[random() % parts.size()];
            ++scope;
            std::set<std::string> own;
            for (std::uint64_t line = 1; line < 30; ++line) {
                std::string id;
                for (std::size_t n = 1 + random() % 4; n > 0; --n) id += parts[random() % parts.size()];
                const bool fresh = own.insert(id).second;
                expected += fresh ? 1 : 0;
                ASSERT_EQ(s.take(path, scope, line, id), fresh ? outcome::fresh : outcome::repeated)
                    << path << " " << id;
            }
        }
        EXPECT_EQ(s.names.size(), expected);
    }
}

}  // namespace
}  // namespace quern::document_ids_test
