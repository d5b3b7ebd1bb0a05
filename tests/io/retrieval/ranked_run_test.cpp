// SPDX-License-Identifier: Apache-2.0
// Runs of random lines, compared with the same lines parsed the obvious way; scores with strtod.
#include "io/retrieval/ranked_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "quern/base/error.hpp"
#include "temporary_folder.hpp"

namespace quern::io::ranked_run_test {
namespace {

ranked_run run_of(const std::string& text) {
    const auto source = open_bytes_memory(text, "sample", {});
    return {*source, {}};
}

struct plain_entry {
    std::string document, rank;
    double score;
    std::uint64_t line;
};
struct plain_run {
    std::vector<std::string> order;  ///< of topics
    std::map<std::string, std::vector<plain_entry>> topics;
};

plain_run plainly(const std::string& text) {
    plain_run run;
    std::istringstream lines(text);
    std::string line;
    for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
        std::istringstream fields(line);
        std::string topic, second, document, rank, score;
        if (!(fields >> topic >> second >> document >> rank >> score)) continue;
        if (!run.topics.contains(topic)) run.order.push_back(topic);
        run.topics[topic].push_back({document, rank, std::strtod(score.c_str(), nullptr), number});
    }
    return run;
}

void expect_same(const ranked_run& run, const plain_run& expected) {
    ASSERT_EQ(run.topics().size(), expected.order.size());
    for (std::size_t t = 0; t < expected.order.size(); ++t) {
        const ranked_topic& topic = run.topics()[t];
        ASSERT_EQ(topic.id, expected.order[t]);
        const std::vector<plain_entry>& entries = expected.topics.at(expected.order[t]);
        ASSERT_EQ(topic.entries.size(), entries.size());
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const ranked_entry& entry = topic.entries[i];
            ASSERT_EQ(entry.document(), entries[i].document);
            ASSERT_EQ(entry.hash, static_cast<std::uint32_t>(hash64(entries[i].document)));
            ASSERT_EQ(std::bit_cast<std::uint64_t>(entry.score),
                      std::bit_cast<std::uint64_t>(entries[i].score))
                << entries[i].score;
            const auto rank = run.rank_of(entry);
            if (entries[i].rank.find_first_not_of("0123456789") == std::string::npos)
                ASSERT_EQ(std::to_string(*rank), entries[i].rank);
            else
                ASSERT_FALSE(rank);
            if (i % (1 + entries.size() / 500) != 0) continue;  // counts all lines before it
            try {
                run.refuse(entry, "reason");
            } catch (const invalid_input& refused) {
                ASSERT_EQ(refused.line(), entries[i].line);
                ASSERT_STREQ(refused.what(),
                             ("sample:" + std::to_string(entries[i].line) + ": reason").c_str());
            }
        }
    }
}

class random_text {
  public:
    explicit random_text(std::uint64_t seed) : random_(seed) {}
    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    std::string digits(std::uint64_t count) {
        std::string text;
        for (std::uint64_t i = 0; i < count; ++i) text += static_cast<char>('0' + below(10));
        return text;
    }
    /// Everything that a writer may print: short, long, with exponents, without digits on one side.
    std::string score() {
        std::string text = below(3) == 0 ? "-" : below(8) == 0 ? "+" : "";
        switch (below(6)) {
            case 0:
                return text + digits(1 + below(20));
            case 1:
                return text + digits(1 + below(10)) + "." + digits(below(18));
            case 2:
                return text + "." + digits(1 + below(18));
            case 3:
                return text + digits(1) + "." + digits(1 + below(30)) + "e" + (below(2) == 0 ? "-" : "+") +
                       digits(2);
            case 4:
                return text + digits(1 + below(9)) + "." + digits(1 + below(7));
            default:
                return text + digits(1) + "." + digits(15 + below(3));
        }
    }
    std::string blanks() {
        constexpr std::string_view kinds[] = {" ", "\t", "  ", " \t", "\v", "\f "};
        return std::string(kinds[below(4) != 0 ? below(2) : below(6)]);
    }
    std::string word() {
        constexpr std::string_view letters = "abz019-_.\x01\x7f\xc3\xa9\xff";
        std::string text;
        for (std::uint64_t length = 1 + below(below(9) == 0 ? 40 : 12); length-- > 0;)
            text += letters[below(letters.size())];
        return text;
    }
    std::string line(const std::string& topic) {
        const std::string between = below(9) != 0 ? "\t" : blanks();
        return (below(12) == 0 ? blanks() : "") + topic + between + (below(9) != 0 ? "Q0" : word()) +
               between + word() + blanks() + (below(6) == 0 ? word() : std::to_string(below(2000))) +
               blanks() + score() + blanks() + (below(5) == 0 ? "a tag of words" : "t") +
               (below(4) == 0 ? "\r\n" : "\n") + (below(20) == 0 ? " \r\n\n" : "");
    }

  private:
    std::mt19937_64 random_;
};

TEST(ranked_run, any_lines_are_cut_as_the_obvious_way_cuts_them) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        random_text random(seed);
        const std::uint64_t topics = 1 + random.below(5);
        const bool mixed = random.below(3) == 0;
        std::string text;
        for (std::uint64_t i = 0, lines = random.below(300); i < lines; ++i) {
            const std::uint64_t topic = mixed ? random.below(topics) : i * topics / lines;
            text += random.line("1" + std::to_string(topic).substr(0, topic == 0 ? 0 : 1));
        }
        if (seed % 2 == 0 && text.ends_with('\n')) text.pop_back();
        SCOPED_TRACE(seed);
        expect_same(run_of(text), plainly(text));
    }
}

TEST(ranked_run, scores_are_the_nearest_doubles) {
    random_text random(7);
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += "1 Q0 d" + std::to_string(i) + " 1 " + random.score() + " t\n";
    for (const char* score :
         {"9007199254740993", "9007199254740992", "900719925474099.3", "0.000000000000001", "-0", "-0.0",
          "1e-400", "4.9e-324", "1.7976931348623157e308", "inf", "-inf", "123456789012345.6",
          "1234567890123456", "0.1234567890123456", "5.", ".5"})
        text += std::string("1 Q0 d 1 ") + score + " t\n";
    text += std::string(100, '\n');  // so that the fast path is used to the end
    const ranked_run run = run_of(text);
    EXPECT_EQ(run.lines(), 20'016u);
    expect_same(run, plainly(text));
}

TEST(ranked_run, a_file_a_byte_order_mark_and_ids_that_are_numbers) {
    const quern::testing::temporary_folder folder;
    std::ofstream(folder / "a.run") << "\xef\xbb\xbf"
                                       "7 Q0 12 1 3 t\n7 Q0 5 1 2 t\n";
    const ranked_run run(folder / "a.run", {});
    EXPECT_EQ(run.name(), (folder / "a.run").string());
    ASSERT_EQ(run.topics().size(), 1u);
    EXPECT_EQ(run.topics()[0].id, "7");
    EXPECT_TRUE(run.has_numbers_alone());
    EXPECT_FALSE(run_of("7 Q0 12 1 3 t\n7 Q0 05 1 2 t\n").has_numbers_alone());
    EXPECT_TRUE(run_of("").topics().empty());
    EXPECT_TRUE(run_of("\n \r\n").topics().empty());
    EXPECT_THROW(ranked_run(folder / "b.run", {}), usage_error);
    EXPECT_THROW(ranked_run(folder.path(), {}), usage_error);
}

TEST(ranked_run, what_is_no_run_is_refused_by_line) {
    const auto refused = [](const std::string& text) -> std::string {
        try {
            run_of(text);
        } catch (const invalid_input& found) {
            return found.what();
        }
        return "accepted";
    };
    EXPECT_EQ(refused("1 Q0 a 1 2 t\r\n\r\n1 Q0 b 1 2 \r\n"),
              "sample:3: a line of a run is `topic Q0 document rank score tag`");
    EXPECT_EQ(refused("1 Q0 a 1 2 t\n1 Q0 "),
              "sample:2: a line of a run is `topic Q0 document rank score tag`");
    EXPECT_EQ(refused("1 Q0 a 1 2 t\n1 Q0 b"),
              "sample:2: a line of a run is `topic Q0 document rank score tag`");
    EXPECT_EQ(refused("1 Q0 a 1 2 t\n1 Q0 b 1 0x2 t\n"), "sample:2: the score \"0x2\" is not a number");
    EXPECT_EQ(refused("1 Q0 a 1 2 t\n1 Q0 b 1 1,5 t" + std::string(60, 'x')),
              "sample:2: the score \"1,5\" is not a number");
    EXPECT_EQ(refused("1 Q0 a 1 2 t\n1 Q0 b 1 -1e309 t\n"), "sample:2: the score \"-1e309\" is out of range");
    EXPECT_EQ(refused("1 Q0 a 1 2 " + std::string(1 << 20, 't')), "sample:1: a line is longer than 1 MiB");
}

TEST(ranked_run, what_runs_hold_counts_against_a_budget_that_they_share) {
    // Topics alternate, and the first lines are longer than the others: entries are moved and more space is reserved.
    const quern::testing::temporary_folder folder;
    constexpr std::uint64_t lines = 6000;
    std::ofstream text(folder / "a.run");
    for (std::uint64_t i = 0; i < lines; ++i)
        text << i % 2 << " Q0 " << i << " 1 1 " << std::string(i < 500 ? 200 : 1, 't') << "\n";
    text.close();
    constexpr std::uint64_t held = lines * sizeof(ranked_entry);
    memory_budget memory(5 * held);  // reading one takes three times its size
    const ranked_run first(folder / "a.run", {}, memory);
    EXPECT_EQ(first.lines(), lines);
    EXPECT_EQ(memory.used(), held);
    EXPECT_GE(memory.peak(), 2 * held);
    const ranked_run second(folder / "a.run", {}, memory);
    EXPECT_EQ(memory.used(), 2 * held);
    const ranked_run third(folder / "a.run", {}, memory);
    EXPECT_THROW(ranked_run(folder / "a.run", {}, memory), out_of_memory);
}

}  // namespace
}  // namespace quern::io::ranked_run_test
