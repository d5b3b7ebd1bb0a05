// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html.hpp"

#include <gmock/gmock.h>

#include <random>

#include "io/corpus/html_scan.hpp"
#include "io/corpus/html_tree.hpp"
#include "io/corpus/reading.hpp"
#include "processor_time.hpp"
#include "quern/base/error.hpp"

namespace quern::io::testing {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string text_of(std::string_view body) {
    return parse_html(body, "page.html").text;
}

TEST(html, joins_inline_and_parts_blocks) {
    EXPECT_EQ(text_of("<p>One <b>bo</b>ld\n  word.</p><p>Two<br>three<br><br>four</p><div>five<p>six</div>"),
              "One bold word.\n\nTwo\nthree\n\nfour\n\nfive\n\nsix");
    EXPECT_EQ(text_of("<ul><li>a<li>b</ul><h2>c</h2>d"), "a\nb\n\nc\n\nd");
    EXPECT_EQ(text_of("a&nbsp;b &lt;c&gt; &eacute;&#x1F600; &unknown;"), "a b <c> é😀 &unknown;");
}

TEST(html, keeps_the_lines_of_code) {
    EXPECT_EQ(text_of("<p>See</p><pre>int a;\n  int b;\r\n<span>c</span>\n\n  d</pre>after"),
              "See\n\nint a;\n  int b;\nc\n\n  d\n\nafter");
    EXPECT_EQ(text_of("x <code>a  b\n   c</code> y"), "x a b\nc y");
}

TEST(html, parts_table_cells_and_rows) {
    EXPECT_EQ(
        text_of("<table><caption>Cap</caption><tr><th>a<th>b</tr><tr><td>1</td><td> 2 </td></tr></table>end"),
        "Cap\n\na\tb\n1\t2\n\nend");
}

TEST(html, leaves_out_what_is_not_the_page) {
    EXPECT_EQ(
        text_of("<head><title>t</title><style>x</style></head><body><header>site</header><nav>menu</nav>"
                "<script>var x='<p>no</p>';</script><noscript>no</noscript><template><p>no</p></template>"
                "<svg><text>no</text></svg><p hidden>no</p><p style='color:red; display: none'>no</p>"
                "<div role=navigation>no</div><div class='x toc y'>no</div><div aria-hidden=true>no</div>"
                "<p>kept</p><aside>no</aside><footer>no</footer><button>no</button><!-- no --></body>"),
        "kept");
}

TEST(html, prefers_the_declared_main_text) {
    const std::string filler(200, 'x');
    EXPECT_EQ(text_of("<div>before</div><main><header><h1>H</h1></header><p>" + filler +
                      "</p></main><div>after</div>"),
              "H\n\n" + filler);
    EXPECT_EQ(text_of("<div>before</div><div id=content>" + filler + "</div>"), filler);
    EXPECT_EQ(text_of("<div>before</div><div role=main>" + filler + "</div>"), filler);
    EXPECT_EQ(text_of("<div id=content><div>frame</div><div id=mw-content-text>" + filler + "</div></div>"),
              filler);
    // Less than a third of the page: not the main text.
    EXPECT_EQ(text_of("<main>little</main><div>" + filler + "</div>"), "little\n\n" + filler);
    // One of several articles is part of a list.
    EXPECT_EQ(text_of("<article>" + filler + "</article><article>two</article>"), filler + "\n\ntwo");
}

TEST(html, titles) {
    EXPECT_EQ(parse_html("<title> A \n page </title><h1>Other</h1>", "").title, "A page");
    EXPECT_EQ(parse_html("<h1>Head <i>ing</i></h1>", "").title, "Head ing");
    EXPECT_EQ(parse_html("<title>Topic - The Site</title><h1>Topic</h1>", "").title, "Topic");
    EXPECT_EQ(parse_html("<title>Topics of all</title><h1>Topic</h1>", "").title, "Topics of all");
    EXPECT_EQ(parse_html("<svg><title>drawing</title></svg><title>page</title>", "").title, "page");
    EXPECT_EQ(parse_html("<p>none</p>", "").title, "");
}

TEST(html, a_heading_outside_of_the_main_text_belongs_to_it) {
    const std::string filler(100, 'x');
    EXPECT_EQ(text_of("<h1>Name</h1><p>frame</p><main>" + filler + "</main>"), "Name\n\n" + filler);
    EXPECT_EQ(text_of("<header><h1>Site</h1></header><main>" + filler + "</main>"), filler);
}

std::vector<std::string> links(std::string_view html, std::string_view path) {
    return parse_html(html, path).links;
}

TEST(html, resolves_links_to_paths_of_the_folder) {
    EXPECT_THAT(links("<a href='b.html'>1</a><a href='../c/d.html#part'>2</a><a href='./e%20f.html?q=1'>3</a>"
                      "<a href='/root.html'>4</a><a href=' sub/ '>5</a><a href='../..'>6</a><a "
                      "href='x&amp;y.html'>7</a>"
                      "<a href='b.html'>again</a>",
                      "en/cpp/a.html"),
                ElementsAre("en/cpp/b.html", "en/c/d.html", "en/cpp/e f.html", "root.html",
                            "en/cpp/sub/index.html", "index.html", "en/cpp/x&y.html", "en/cpp/b.html"));
    EXPECT_THAT(
        links("<a href='http://x/y'>1</a><a href='//x/y'>2</a><a href='mailto:a@b'>3</a><a "
              "href='#top'>4</a><a href=''>5</a>"
              "<a href='../../up.html'>6</a><a>7</a><a href='javascript:x()'>8</a><a href='%00'>9</a>",
              "en/a.html"),
        IsEmpty());
    EXPECT_THAT(links("<nav><a href='n.html'>n</a></nav><p><a href='k.html'>k</a></p>", "a.html"),
                ElementsAre("k.html"));
}

TEST(html, resolves_links_against_the_base) {
    EXPECT_THAT(links("<base href='../other/'><a href='b.html'>1</a>", "en/a.html"),
                ElementsAre("other/b.html"));
    EXPECT_THAT(links("<base href='https://site/'><a href='b.html'>1</a>", "en/a.html"), IsEmpty());
}

TEST(html, decodes_by_declaration) {
    EXPECT_EQ(text_of("<meta charset=windows-1251><p>\xCF\xF0\xE8\xE2\xE5\xF2"), "Привет");
    EXPECT_EQ(
        text_of("<meta http-equiv='Content-Type' content='text/html; charset=Shift_JIS'><p>\x93\xFA\x96\x7B"),
        "日本");
    EXPECT_EQ(text_of("<?xml version='1.0' encoding='gb2312'?><html><body><p>\xD6\xD0\xCE\xC4"), "中文");
    EXPECT_EQ(text_of("<meta charset=iso-8859-1><p>\xC3\xA9"), "é");  // valid UTF-8 is UTF-8
    EXPECT_EQ(text_of("<meta charset=iso-8859-1><p>\x93quoted\x94 \xE9"), "“quoted” é");
    EXPECT_EQ(text_of("<meta charset=iso-2022-jp><p>\x1B$BF|K\\\x1B(B"), "日本");
    EXPECT_EQ(text_of("\xFF\xFE<\0p\0>\0\xE9\0"s), "é");
    const auto guessed = parse_html("<p>caf\xE9", "");
    EXPECT_EQ(guessed.text, "café");
    EXPECT_EQ(guessed.repaired, "not UTF-8: read as Windows-1252");
    EXPECT_EQ(parse_html("<meta charset=utf-8><p>é", "").repaired, "");
}

TEST(html, reads_self_closed_elements_of_xhtml) {
    EXPECT_EQ(text_of("<?xml version='1.0'?><html><head><title/><script src='x'/></head><body><a "
                      "id='x'/><p>kept</p></body></html>"),
              "kept");
}

TEST(html, what_shows_nothing_leaves_no_trace) {
    EXPECT_EQ(text_of("a<!-- <p> -->b<script>if (a</b>c) '<!--'</script>c<style>p>a</style>d<<!-- x "
                      "-->b>e<!-->f<!-- --!>g-->h"),
              "abcd<b>efg-->h");
    EXPECT_EQ(text_of("a<!-- never closed"), "a");
    EXPECT_EQ(text_of("a<script>never closed"), "a");
}

TEST(html, zero_bytes_do_not_end_a_page) {
    EXPECT_EQ(text_of("<p>a\0b</p><p>c</p>"s), "a b\n\nc");
}

std::string repeated(std::string_view piece, std::size_t times) {
    std::string out;
    out.reserve(piece.size() * times);
    for (std::size_t i = 0; i < times; ++i) out += piece;
    return out;
}

/// Pages on which the standard's algorithm takes quadratic time or memory, or a recursive one the whole stack.
TEST(html, reads_hostile_pages_in_linear_time) {
    std::string attributes = "<div";
    for (int i = 0; i < 200'000; ++i) attributes += " a" + std::to_string(i);
    std::string fonts;
    for (int i = 0; i < 50'000; ++i) fonts += "<font size=" + std::to_string(i) + ">";
    const std::vector<std::string> pages = {
        repeated("<div>", 100'000) + "deep" + repeated("</div>", 100'000),
        repeated("<div>", 100'000) + "deep",
        repeated("<span><div></span>", 100'000) + "deep",
        repeated("<div><table><td></div></td></table>", 50'000) + "deep",
        repeated("<b><div></b>", 100'000) + "deep",
        fonts + repeated("<p>x", 50'000) + "deep",
        "<table>" + repeated("x<tr>", 200'000) + "</table>deep",
        "<table>" + repeated("<b></b>", 200'000) + "</table>deep",
        attributes + ">deep",
        repeated("<ul><li>", 100'000) + "deep",
        repeated("<h1><li>", 100'000) + "deep",
        repeated("<svg><g>", 100'000) + "</svg>deep",
        repeated("<a href=x><div>", 50'000) + "deep",
        repeated("<table><td>", 50'000) + "deep",
        repeated("<select><option>", 50'000) + "</select>deep",
        repeated("<template>", 50'000) + "deep",
        repeated("<form><div></form>", 50'000) + "deep",
        repeated("</p>", 200'000) + "deep",
        repeated("<li>x", 200'000) + "deep",
        repeated("<p>x<i>y</i>", 200'000) + "deep",
        repeated("<!-", 300'000) + "deep",
        repeated("&", 500'000) + "deep",
        repeated("<object><p>", 50'000) + "deep",
        repeated("<button><p>", 50'000) + "deep",
        repeated("<dd><div><dt>", 50'000) + "deep",
        repeated("<nobr>x", 50'000) + "deep",
        repeated("<body a=b>", 50'000) + "deep",
    };
    for (const auto& page : pages) {
        const double spent = quern::testing::processor_seconds([&] { parse_html(page, "a.html"); });
        // Ten seconds a megabyte are far above linear reading under sanitizers, and far below anything else.
        EXPECT_LT(spent, 10.0 * static_cast<double>(page.size() + 100'000) / 1e6) << page.substr(0, 60);
    }
    EXPECT_EQ(parse_html(pages[0], "").text, "deep");
    EXPECT_NE(parse_html(pages[0], "").repaired, "");
}

bool is_tame(std::string_view html) {
    std::string slim;
    std::uint64_t bytes = 0;
    return io::is_tame(html, slim, bytes);
}

/// The memory of a tame page's tree, and the estimate made before.
void expect_no_larger_tree_than_reported(const std::string& html) {
    std::string slim;
    std::uint64_t reported = 0;
    if (!io::is_tame(html, slim, reported)) return;
    const html_tree tree(slim);
    ASSERT_LE(tree.memory_bytes(), reported) << html.substr(0, 200);
}

TEST(html, the_size_of_a_tree_is_known_before_it_is_built) {
    const std::vector<std::string> parts = {"a",
                                            "word ",
                                            "<p>",
                                            "</p>",
                                            "<b>",
                                            "</b>",
                                            "<i a=b>",
                                            "</i>",
                                            "<br>",
                                            "</br>",
                                            "<xyzzy>",
                                            "</xyzzy>",
                                            "<table>",
                                            "<tr>",
                                            "<td>",
                                            "</table>",
                                            "<a href=x class='long name' title=t>",
                                            "</a>",
                                            "<li>",
                                            "<ul>",
                                            "</ul>",
                                            "&amp;",
                                            "&notit;",
                                            "<!-- c -->",
                                            "<!x>",
                                            "<?x>",
                                            "<title>t",
                                            "</title>",
                                            "<svg><g/>",
                                            "</svg>",
                                            "<math>",
                                            "<mi>",
                                            "</math>",
                                            "<select>",
                                            "<option>",
                                            "</select>",
                                            "<template>",
                                            "</template>",
                                            "<font a b c d e f g h>",
                                            "<nobr>",
                                            "<ruby>",
                                            "<rt>",
                                            "<textarea>",
                                            "</textarea>",
                                            "\n",
                                            "<div id=main>",
                                            "</div>",
                                            "<body a=b>",
                                            "<form>",
                                            "</form>",
                                            "<h1>",
                                            "</h1>",
                                            "<input type=x>",
                                            "<frameset>",
                                            "<isindex>",
                                            "<plaintext>",
                                            "<script>x</script>",
                                            "<style>y</style>",
                                            "<button>",
                                            "<object>",
                                            "</object>",
                                            "\xC3\xA9"};
    std::mt19937 random(7);
    for (int page = 0; page < 3000; ++page) {
        // Few kinds of parts in each page, so that every mixture of two or three occurs often.
        std::vector<std::string> some;
        for (std::size_t n = 1 + random() % 5; n != 0; --n) some.push_back(parts[random() % parts.size()]);
        std::string html;
        for (std::size_t n = random() % 400; n != 0; --n) html += some[random() % some.size()];
        expect_no_larger_tree_than_reported(html);
    }
    for (const char* part :
         {"<b><p>", "<b><i><u><p>x", "<i>a</i>", "<b>1<p>2</b>3</p>", "<br a=b c=d>", "a&lt;"})
        expect_no_larger_tree_than_reported(repeated(part, 20'000));
    expect_no_larger_tree_than_reported(repeated("<p>" + std::string(40'000, 'x'), 50));
}

TEST(html, a_tree_that_has_no_room_is_not_built) {
    const std::string page = repeated("<p>some words</p>", 1000);
    EXPECT_THROW(parse_html(page, "", {200'000}), out_of_memory);
    EXPECT_EQ(parse_html(page, "", {2'000'000}).text, parse_html(page, "").text);
    // Beyond a size that does not depend on the room, it is read without a tree.
    const html_page flat = parse_html("<html><body>" + repeated("<b><p>", 700'000) + "x", "", {64 << 20});
    EXPECT_EQ(flat.text, "x");
    EXPECT_NE(flat.repaired, "");
    EXPECT_THROW(parse_html(repeated("<a href=x>", 1'000'000), "", {20 << 20}), out_of_memory);
}

TEST(html, ordinary_pages_are_read_with_their_structure) {
    EXPECT_TRUE(is_tame(repeated("<div>", 300)));
    EXPECT_TRUE(is_tame("<table>" + repeated("<tr><td>1<td>2", 5000) + "</table>"));
    EXPECT_TRUE(is_tame(repeated("<p>para <b>bold</b> <a href=x>link</a><ul><li>a<li>b</ul>", 5000)));
    EXPECT_TRUE(is_tame(repeated("<p>unclosed <font size=2>font", 1000)));
    EXPECT_TRUE(is_tame(repeated("<dl><dt>a<dd>b</dl><a name=x>", 2000)));
    EXPECT_FALSE(is_tame(repeated("<div>", 600)));
}

}  // namespace
}  // namespace quern::io::testing
