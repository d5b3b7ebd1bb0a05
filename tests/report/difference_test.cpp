// SPDX-License-Identifier: Apache-2.0
#include "report/difference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "quern/ops/near_duplicates.hpp"
#include "report/duplicate_report.hpp"

namespace quern::report::difference_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using sequence = std::vector<std::uint32_t>;

/// Insertions and deletions, by the table of the longest common subsequence.
std::size_t fewest_edits(const sequence& a, const sequence& b) {
    std::vector<std::vector<std::size_t>> common(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            common[i][j] = a[i - 1] == b[j - 1] ? common[i - 1][j - 1] + 1
                                                : std::max(common[i - 1][j], common[i][j - 1]);
        }
    }
    return a.size() + b.size() - 2 * common[a.size()][b.size()];
}

std::size_t edits_of(const std::vector<change>& changes) {
    std::size_t edits = 0;
    for (const change& c : changes) edits += c.a_end - c.a_begin + c.b_end - c.b_begin;
    return edits;
}

/// The changes rise, do not touch, and the parts between them are equal.
bool leads_from_one_to_the_other(const sequence& a, const sequence& b, const std::vector<change>& changes) {
    std::size_t i = 0, j = 0;
    const auto equal_up_to = [&](std::size_t a_end, std::size_t b_end) {
        if (a_end < i || b_end < j || a_end - i != b_end - j) return false;
        const bool equal = std::equal(a.begin() + static_cast<std::ptrdiff_t>(i),
                                      a.begin() + static_cast<std::ptrdiff_t>(a_end),
                                      b.begin() + static_cast<std::ptrdiff_t>(j));
        i = a_end;
        j = b_end;
        return equal;
    };
    for (const change& c : changes) {
        if (!equal_up_to(c.a_begin, c.b_begin)) return false;
        if (c.a_end < c.a_begin || c.b_end < c.b_begin || (c.a_begin == c.a_end && c.b_begin == c.b_end))
            return false;
        i = c.a_end;
        j = c.b_end;
    }
    return equal_up_to(a.size(), b.size());
}

RC_GTEST_PROP(differences_test, are_fewest_and_lead_from_one_to_the_other, ()) {
    const auto letters = *rc::gen::inRange<std::uint32_t>(1, 5);
    const auto any = rc::gen::container<sequence>(rc::gen::inRange<std::uint32_t>(0, letters));
    const sequence a = *any, b = *any;
    const auto changes = differences(a, b);
    RC_ASSERT(leads_from_one_to_the_other(a, b, changes));
    RC_ASSERT(edits_of(changes) == fewest_edits(a, b));
    const auto max = *rc::gen::inRange<std::size_t>(0, 6);
    const auto cut = differences(a, b, max);
    RC_ASSERT(leads_from_one_to_the_other(a, b, cut));
    if (fewest_edits(a, b) > max) RC_ASSERT(cut.size() == 1U);
}

TEST(differences_test, of_pieces) {
    EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a\n", "\n", "b"));
    EXPECT_THAT(lines_of("a\n"), ElementsAre("a\n"));
    EXPECT_THAT(lines_of(""), IsEmpty());
    EXPECT_THAT(words_of("don't  é\xC3 x_1\n"),
                ElementsAre("don", "'", "t", "  ", "é", "\xC3", " ", "x_1", "\n"));
    EXPECT_THAT(differences(words_of("the red car"), words_of("the blue car")),
                ElementsAre(change{2, 3, 2, 3}));
    EXPECT_THAT(differences(words_of(""), words_of("x")), ElementsAre(change{0, 0, 0, 1}));
    EXPECT_THAT(differences(words_of("x y"), words_of("x y")), IsEmpty());
}

std::string page_of(const std::vector<std::string>& ids, const std::vector<std::string>& texts,
                    const std::vector<duplicate_pair>& pairs, const std::vector<duplicate_group>& groups) {
    duplicate_report page;
    page.summary.method = "auto";
    page.summary.params = "edit rate below 0.05";
    page.summary.largest_rate = 0.05;
    page.summary.documents = ids.size();
    page.pairs = pairs;
    page.groups = groups;
    page.id = [&](std::uint32_t d) { return std::string_view(ids[d]); };
    page.text = [&](std::uint32_t d) { return std::string_view(texts[d]); };
    std::string out;
    write_duplicate_report(page, [&](std::string_view piece) { out += piece; });
    return out;
}

TEST(duplicate_report_test, nothing_in_a_document_is_markup) {
    const std::string hostile = "<script>alert('\"&')</script>\x01\x1b[31m\xFF\u202E</td></table>";
    const std::string page =
        page_of({hostile, "b"}, {hostile + "one\nx", hostile + "two\nx"}, {{0, 1, 3, 100}}, {{{0, 1}, 0}});
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("alert('")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;&quot;&amp;&#39;)"));
    EXPECT_THAT(page, Not(HasSubstr("\x1b")));
    EXPECT_THAT(page, Not(HasSubstr("\xFF")));
    EXPECT_THAT(page, Not(HasSubstr("\u202E")));
    EXPECT_THAT(page, HasSubstr("<del>one</del>"));
    EXPECT_THAT(page, HasSubstr("<ins>two</ins>"));
    // Self-contained: no external resources.
    EXPECT_THAT(page, Not(HasSubstr("http")));
    EXPECT_THAT(page, Not(HasSubstr("src=")));
}

TEST(duplicate_report_test, says_how_far_pairs_are_apart) {
    const std::string page = page_of({"a", "b", "c"}, {"same", "same", "same!"},
                                     {{0, 1, 0, 8}, {0, 2, 1, 100}, {1, 2, 499, 10000}}, {{{0, 1, 2}, 0}});
    EXPECT_THAT(page, HasSubstr("<td>0 (equal)</td><td class=\"n\">1</td>"));
    EXPECT_THAT(page, HasSubstr("<td>from 0.01 to 0.0125</td><td class=\"n\">1</td>"));
    EXPECT_THAT(page, HasSubstr("<td>from 0.0475 to 0.05</td><td class=\"n\">1</td>"));
    EXPECT_THAT(page, HasSubstr("Group 0: 3 documents, kept <b>a</b>"));
    EXPECT_THAT(page, HasSubstr("<tr><th>a</th><th>c</th></tr>"))
        << "the farthest of those in a pair with it";
}

TEST(duplicate_report_test, shows_the_largest_groups_and_cuts_what_is_long) {
    std::vector<std::string> ids, texts;
    std::vector<duplicate_group> groups;
    std::string lines;
    for (int i = 0; i < 40'000; ++i) lines += "line " + std::to_string(i) + "\n";
    for (std::uint32_t g = 0; g < 30; ++g) {
        duplicate_group group;
        for (std::uint32_t k = 0; k < 2 + g % 7 * 20; ++k) {
            group.members.push_back(static_cast<std::uint32_t>(ids.size()));
            ids.push_back("g" + std::to_string(g) + "-" + std::to_string(k));
            texts.push_back("title " + std::to_string(k) + "\n" + (g == 6 ? lines : "x"));
        }
        group.kept = group.members[0];
        groups.push_back(group);
    }
    const std::string page = page_of(ids, texts, {}, groups);
    EXPECT_THAT(page, HasSubstr("Group 6: 122 documents"));
    EXPECT_THAT(page, HasSubstr("… and 72 more"));
    EXPECT_THAT(page, HasSubstr("equal lines"));
    EXPECT_THAT(page, HasSubstr("Up to 64 KiB of each are shown, from the beginning on."));
    EXPECT_THAT(page, Not(HasSubstr("line 20000"))) << "equal lines are left out";
    EXPECT_THAT(page, Not(HasSubstr("Group 0:"))) << "groups of two are not among the twenty largest";
    EXPECT_LT(page.size(), 200'000U);
}

TEST(duplicate_report_test, shows_long_texts_from_their_first_difference_on) {
    std::string lines;
    for (int i = 0; i < 20'000; ++i) lines += "line " + std::to_string(i) + "\n";
    const std::string unbroken(100'001, 'z'), umlauts = [] {
        std::string text = "z";  // so that any cut could split a letter
        for (int i = 0; i < 60'000; ++i) text += "\u00e4";
        return text;
    }();
    for (const std::string& same : {lines, unbroken, umlauts}) {
        const std::string page =
            page_of({"a", "b"}, {same + " old end", same + " new end"}, {{0, 1, 3, 1000}}, {{{0, 1}, 0}});
        EXPECT_THAT(page, HasSubstr("<del>old</del>"));
        EXPECT_THAT(page, HasSubstr("<ins>new</ins>"));
        EXPECT_THAT(page, HasSubstr("shortly before the first difference"));
        EXPECT_THAT(page, Not(HasSubstr("\uFFFD")));
        EXPECT_LT(page.size(), 10'000U);
    }
    const std::string cut = page_of({"a", "b"}, {unbroken, unbroken + "y"}, {{0, 1, 1, 1000}}, {{{0, 1}, 0}});
    EXPECT_THAT(cut, HasSubstr("from byte 98,977 on"));
    const std::string equal = page_of({"a", "b"}, {unbroken, unbroken}, {{0, 1, 0, 1000}}, {{{0, 1}, 0}});
    EXPECT_THAT(equal, HasSubstr("from the beginning on"));
}

TEST(duplicate_report_test, cuts_long_ids) {
    const std::string id = std::string(199, 'i') + "\u00e4" + std::string(100'000, 'd');
    const std::string page = page_of({id, "b"}, {"x", "x"}, {{0, 1, 0, 2}}, {{{0, 1}, 0}});
    EXPECT_THAT(page, HasSubstr("<b>" + std::string(199, 'i') + "…</b>"));
    EXPECT_LT(page.size(), 10'000U);
}

TEST(duplicate_report_test, of_nothing) {
    const std::string page = page_of({"a"}, {"x"}, {}, {});
    EXPECT_THAT(page, HasSubstr("<tr><th>pairs</th><td>0</td></tr>"));
    EXPECT_THAT(page, Not(HasSubstr("largest groups")));
}

}  // namespace
}  // namespace quern::report::difference_test
