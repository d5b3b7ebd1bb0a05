// SPDX-License-Identifier: Apache-2.0
// Near words, compared with the whole table of distances to every word.
#include "text/near_words.hpp"
#include "text/near_word_finder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "base/utf8.hpp"
#include "on_every_target.hpp"
#include "quern/base/error.hpp"

namespace quern::text::near_words_test {
namespace {

std::vector<std::string> characters(const std::string& word) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t from = at;
        next_utf8(word, at);
        all.push_back(word.substr(from, at - from));
    }
    return all;
}

std::uint32_t last_cell(const std::string& x, const std::string& y, bool of_beginnings) {
    const auto a = characters(x), b = characters(y);
    std::vector<std::vector<std::uint32_t>> d(a.size() + 1, std::vector<std::uint32_t>(b.size() + 1));
    for (std::uint32_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::uint32_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min(
                {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    std::uint32_t least = d[a.size()][b.size()];
    if (of_beginnings)
        for (const auto& row : d) least = std::min(least, row[b.size()]);
    return least;
}

std::uint32_t distance(const std::string& x, const std::string& y) {
    return last_cell(x, y, false);
}
/// Of the nearest beginning of `word`.
std::uint32_t distance_of_beginning(const std::string& word, const std::string& requested) {
    return last_cell(word, requested, true);
}

/// Returns how many are near.
std::size_t expect_all(const std::vector<std::string>& sorted, const std::string& requested,
                       std::uint32_t bound) {
    dictionary_builder builder;
    for (const std::string& word : sorted) builder.append(word);
    const std::string bytes = builder.finish();
    const auto words = dictionary_view::open(bytes);
    std::vector<near_word> expected;
    for (std::uint32_t id = 0; id < sorted.size(); ++id)
        if (const auto far = distance(sorted[id], requested); far <= bound) expected.push_back({id, far});
    const auto found = near_words(*words, requested, bound, context());
    EXPECT_EQ(found.size(), expected.size()) << requested << ", bound " << bound;
    EXPECT_TRUE(found == expected) << requested << ", bound " << bound;
    const near_word_finder finder(*words);
    EXPECT_TRUE(finder.find(requested, bound, context()) == expected) << requested << ", bound " << bound;
    std::vector<near_word> beginning;
    for (std::uint32_t id = 0; id < sorted.size(); ++id)
        if (const auto far = distance_of_beginning(sorted[id], requested); far <= bound)
            beginning.push_back({id, far});
    EXPECT_TRUE(near_beginnings(*words, requested, bound, context()) == beginning)
        << requested << ", bound " << bound;
    return expected.size();
}

RC_GTEST_PROP(near_words_test, are_those_of_the_whole_table, ()) {
    // Few characters, so that many words are near; of one, two and three bytes, well-formed and ill-formed.
    const std::vector<std::string> letters{"a", "b", "c", "é", "ß", "\xE2", "\xE2\x82", "€", "\xFF"};
    const std::size_t few = *rc::gen::inRange<std::size_t>(2, letters.size() + 1);
    const auto word =
        rc::gen::map(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, few)),
                     [&](const std::vector<std::size_t>& picks) {
                         std::string made;
                         for (const std::size_t at : picks)
                             if (made.size() < 14) made += letters[at];
                         return made;
                     });
    auto sorted =
        *rc::gen::resize(400, rc::gen::container<std::vector<std::string>>(rc::gen::resize(9, word)));
    std::ranges::sort(sorted);
    sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
    for (std::uint32_t bound = 0; bound < 4; ++bound) expect_all(sorted, *rc::gen::resize(9, word), bound);
}

TEST(near_words_test, are_found_in_a_large_dictionary) {
    // Long ranges, so that the tree is walked and not only read.
    std::set<std::string> words;
    std::uint64_t state = 3;
    const auto next = [&](std::uint64_t below) {
        state = state * 6364136223846793005 + 1442695040888963407;
        return (state >> 33) % below;
    };
    while (words.size() < 60'000) {
        std::string word;
        for (std::uint64_t left = 2 + next(7); left > 0; --left) {
            const auto c = std::min(next(9), next(9));
            word += c == 7 ? "ö" : std::string(1, static_cast<char>('a' + c));
        }
        words.insert(word);
    }
    const std::vector<std::string> sorted(words.begin(), words.end());
    std::size_t found = 0;
    for (const std::string requested :
         {"abcabc", "hgfa", "öaöab", "", "b", "acbdaeb", "abababababab", "zzzz"})
        for (const std::uint32_t bound : {0U, 1U, 2U}) found += expect_all(sorted, requested, bound);
    EXPECT_GT(found, 1000U);
}

TEST(near_words_test, neighbours_exchanged_are_one_edit) {
    EXPECT_EQ(expect_all({"receive", "recite"}, "recieve", 1), 1U);
    EXPECT_EQ(expect_all({}, "a", 2), 0U);
}

TEST(near_words_test, are_given_up_when_the_run_is_stopped) {
    dictionary_builder builder;
    for (char c = 'a'; c <= 'z'; ++c)
        for (char d = 'a'; d <= 'z'; ++d) builder.append(std::string{c, d});
    const std::string bytes = builder.finish();
    const auto words = dictionary_view::open(bytes);
    std::atomic<int> stop{0};
    context ctx;
    ctx.stop_signal = &stop;
    EXPECT_EQ(near_words(*words, "qu", 1, ctx).size(), 52U);
    stop = 1;
    EXPECT_THROW(near_words(*words, "qu", 1, ctx), interrupted);
    EXPECT_THROW(near_word_finder(*words).find("qu", 1, ctx), interrupted);
}

// On every instruction set, with every number of words after the last whole vector.
TEST(near_words_test, sketches_exclude_no_near_word) {
    std::vector<std::string> words;
    std::uint64_t state = 5;
    for (std::size_t i = 0; i < 700; ++i) {
        std::string word;
        for (std::size_t left = i % 23; left > 0; --left) {
            state = state * 6364136223846793005 + 1442695040888963407;
            word += static_cast<char>('a' + (state >> 33) % 5);
        }
        words.push_back(i == 699 ? std::string(300, 'a') : word);
    }
    std::vector<std::uint64_t> letters;
    std::vector<std::uint8_t> lengths;
    for (const std::string& word : words) {
        letters.push_back(sketch_of(word).letters);
        lengths.push_back(sketch_of(word).length);
    }
    on_every_target([&] {
        for (std::size_t size = 600; size <= words.size(); ++size)
            for (const std::string& requested : {words[7], words[300], words[599], words[699]})
                for (const std::uint32_t bound : {0U, 1U, 2U}) {
                    std::vector<std::uint32_t> positions;
                    collect_near(letters.data(), lengths.data(), size, sketch_of(requested), bound,
                                 positions);
                    ASSERT_TRUE(std::ranges::is_sorted(positions));
                    ASSERT_LT(positions.size(), size / 2);
                    for (std::uint32_t i = 0; i < size; ++i)
                        if (size % 50 == 0 && distance(words[i], requested) <= bound) {
                            ASSERT_TRUE(std::ranges::binary_search(positions, i)) << words[i];
                        }
                }
    });
}

}  // namespace
}  // namespace quern::text::near_words_test
