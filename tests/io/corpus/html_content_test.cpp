// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "io/corpus/html.hpp"

namespace quern::io::testing::html_content_test {
namespace {

std::string text_of(std::string_view page) {
    return parse_html(page, "page.html").text;
}

/// A sentence longer than any label.
std::string sentence(int number) {
    return "Sentence " + std::to_string(number) +
           " of the article says something that takes more room than the label of a button or a menu would, "
           "at length.";
}

std::string sentences(int from, int to) {
    std::string out;
    for (int i = from; i <= to; ++i) out += "<p>" + sentence(i) + "</p>";
    return out;
}

std::string plain(int from, int to) {
    std::string out;
    for (int i = from; i <= to; ++i) out += (out.empty() ? "" : "\n\n") + sentence(i);
    return out;
}

TEST(html_content, words_of_classes_and_ids_tell_what_surrounds_a_text) {
    for (const char* tag :
         {"div class='site-cookieBanner'", "div id=related_posts", "ul class='social share'",
          "section class=\"x newsletter-box\"", "div class=mainMenu", "footer"}) {
        const std::string name(tag, std::string_view(tag).find_first_of(" ") == std::string_view::npos
                                        ? std::string_view(tag).size()
                                        : std::string_view(tag).find(' '));
        const std::string page = "<article>" + sentences(1, 4) + "<" + tag + ">out</" + name + "></article>";
        EXPECT_EQ(text_of(page), plain(1, 4)) << tag;
    }
    for (const char* tag :
         {"div class=shareholders", "div class=menuet", "div id=social-and-related-work-of-others"}) {
        const std::string page = "<article>" + sentences(1, 4) + "<" + tag + ">in</div></article>";
        EXPECT_EQ(text_of(page), plain(1, 4) + "\n\nin") << tag;
    }
}

TEST(html_content, a_likely_surrounding_with_half_of_the_text_or_the_heading_is_none) {
    EXPECT_EQ(text_of("<div class=has-sidebar>" + sentences(1, 3) + "</div><p>more"),
              plain(1, 3) + "\n\nmore");
    EXPECT_EQ(text_of("<div class=menu-open><h1>Name</h1><p>word</p></div>" + sentences(1, 3)),
              "Name\n\nword\n\n" + plain(1, 3));
}

TEST(html_content, lists_of_links_are_no_text) {
    std::string menu = "<ul>";
    for (int i = 0; i < 9; ++i) menu += "<li><a href=x.html>another page of this site</a></li>";
    menu += "</ul>";
    const auto page = parse_html("<h1>Name</h1>" + menu + sentences(1, 5), "page.html");
    EXPECT_EQ(page.text, "Name\n\n" + plain(1, 5));
    EXPECT_TRUE(page.links.empty());
    // But they are the text of a page of links.
    const auto index = parse_html("<h1>Index</h1>" + menu, "page.html");
    EXPECT_EQ(index.links.size(), 9U);
    EXPECT_TRUE(index.text.starts_with("Index\n\nanother page"));
}

TEST(html_content, links_in_sentences_and_cells_stay) {
    const std::string links =
        "<p>See <a href=a.html>one page about this and that</a> and "
        "<a href=b.html>another page about that and this</a>.</p>";
    EXPECT_TRUE(text_of("<div>" + sentences(1, 3) + links + "</div>").ends_with("about that and this."));
    EXPECT_TRUE(text_of(sentences(1, 3) + "<table><tr><td><a href=x>browser</a></td><td>shows pages</table>")
                    .ends_with("browser\tshows pages"));
}

TEST(html_content, goes_down_to_the_element_with_the_sentences) {
    const std::string page = "<div><div><h1>Name</h1></div><div><p>by somebody, today</p></div><div>" +
                             sentences(1, 9) +
                             "</div><div>short things</div><div>and more of them</div></div>";
    EXPECT_EQ(text_of(page), "Name\n\n" + plain(1, 9));
    // What introduces the text stays, what follows does not.
    const std::string introduced = "<div><div><p>" + sentence(0) + "</p></div><div>" + sentences(1, 9) +
                                   "</div><div><p>" + sentence(10) + "</p></div></div>";
    EXPECT_EQ(text_of(introduced), plain(0, 9));
}

TEST(html_content, sections_of_a_manual_stay_next_to_a_long_one) {
    const std::string usage = "<div><h2>Usage</h2><div><p>mill [OPTION]</div></div>",
                      options = "<div><h2>Options</h2><div>" + sentences(1, 9) + "</div></div>",
                      notes = "<div><div><h2>Notes</h2></div><p>" + sentence(10) + "</div>";
    EXPECT_EQ(text_of("<div id=content>" + usage + options + notes + "</div>"),
              "Usage\n\nmill [OPTION]\n\nOptions\n\n" + plain(1, 9) + "\n\nNotes\n\n" + sentence(10));
    // Two are an article and what surrounds it; so are those of other levels.
    EXPECT_EQ(text_of("<div id=content>" + options + notes + "</div>"), plain(1, 9));
    const std::string low = "<div><h3>More</h3><p>" + sentence(10) + "</div>";
    EXPECT_EQ(text_of("<div id=content>" + options + low + low + "</div>"), plain(1, 9));
}

TEST(html_content, comments_are_the_text_of_a_discussion_only) {
    const std::string comments = "<div class=comment><p>" + sentence(7) + "</p></div><div class=comment><p>" +
                                 sentence(8) + "</p></div><div class=comment><p>" + sentence(9) +
                                 "</p></div>";
    EXPECT_EQ(text_of("<div>" + sentences(1, 4) + "</div>" + comments), plain(1, 4));
    EXPECT_EQ(text_of("<h1>Question</h1>" + comments), "Question\n\n" + plain(7, 9));
}

TEST(html_content, text_for_readers_without_scripts) {
    EXPECT_EQ(text_of("<noscript>no</noscript>" + sentences(1, 2)), plain(1, 2));
    EXPECT_EQ(text_of("<div>loading</div><noscript>" + sentences(1, 2) + "</noscript>"),
              "loading\n\n" + plain(1, 2));
}

TEST(html_content, a_header_that_is_never_closed_does_not_hide_the_main_text) {
    EXPECT_EQ(text_of("<div class=header id=header><main>" + sentences(1, 2) + "</main>"), plain(1, 2));
}

TEST(html_content, the_content_of_a_wiki_is_whole) {
    std::string list = "<ul>";
    for (int i = 0; i < 9; ++i) list += "<li><a href=x.html>one of the things</a></li>";
    list += "</ul>";
    const std::string page =
        "<div id=mw-content-text>" + sentences(1, 2) + list + "<div class=related>kept</div></div>";
    EXPECT_TRUE(text_of(page).ends_with("one of the things\n\nkept"));
}

}  // namespace
}  // namespace quern::io::testing::html_content_test
