// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html.hpp"

#include <gmock/gmock.h>

#include "io/corpus/reading.hpp"
#include "processor_time.hpp"
#include "quern/base/error.hpp"

namespace quern::io::testing::html_test {
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
        "<section><table><td>" + repeated("<div>", 508) + repeated("</section>", 200'000) + "deep",
        repeated("<b hidden>", 508) + repeated("<p></b>", 200'000) + "deep",
        repeated("<i class=nav><div></i>", 100'000) + "deep",
    };
    for (const auto& page : pages) {
        const double spent = quern::testing::processor_seconds([&] { parse_html(page, "a.html"); });
        // Ten seconds a megabyte are far above linear reading under sanitizers, and far below anything else.
        EXPECT_LT(spent, 10.0 * static_cast<double>(page.size() + 100'000) / 1e6) << page.substr(0, 60);
    }
    EXPECT_EQ(parse_html(pages[0], "").text, "deep");
    EXPECT_NE(parse_html(pages[0], "").repaired, "");
}

TEST(html, memory_is_charged_before_it_grows) {
    const std::string page = repeated("<p>some words</p>", 1000);
    EXPECT_THROW(parse_html(page, "", {50'000}), out_of_memory);
    EXPECT_EQ(parse_html(page, "", {500'000}).text, parse_html(page, "").text);
    EXPECT_THROW(parse_html(repeated("<a href=x>", 1'000'000), "", {20 << 20}), out_of_memory);
    // An element without text takes no memory, a text of a page no more than 20 times its bytes.
    EXPECT_EQ(parse_html(repeated("<b><p>", 700'000) + "x", "", {10 << 20}).text, "x");
    for (const char* piece : {"<p>x", "<i hidden>x</i>y", "<li>&lt;", "&nGt;", "<td>x", "x<br>"}) {
        const std::string tags = repeated(piece, 200'000);
        EXPECT_NO_THROW(parse_html(tags, "", {40 * tags.size()})) << piece;
    }
}

/// 100 MB of one thing. The sizes would take hours by anything but linear reading.
TEST(html, reads_pages_of_any_size) {
    const auto text_after = [](std::string page) { return parse_html(page + "<p>end", "").text; };
    EXPECT_EQ(text_after("<div title='" + std::string(100 << 20, 'x') + "'>"), "end");
    EXPECT_EQ(text_after(repeated("<div>", 1'000'000)), "end");
    EXPECT_EQ(text_after("<!--" + std::string(100 << 20, '-') + "-->"), "end");
    EXPECT_EQ(text_after("<script>" + repeated("<!--<script>", 1'000'000) + "--></script>"), "end");
    EXPECT_EQ(text_after(repeated("<a href=x>", 1'000'000)), "end");
    EXPECT_EQ(text_after(repeated("</div></table></p>", 1'000'000)), "end");
    EXPECT_EQ(text_after(repeated("&amp", 1'000'000)).size(), 1'000'000 + 5);
    EXPECT_EQ(text_after(repeated("&#x26;", 1'000'000)).size(), 1'000'000 + 5);
    EXPECT_EQ(text_after(repeated("&nosuchname", 1'000'000)).size(), 11'000'000 + 5);
    EXPECT_EQ(text_after("<title>" + repeated("</titl", 1'000'000) + "</title>"), "end");
}

TEST(html, what_is_nested_too_deeply_is_read_as_one_element) {
    const auto page =
        parse_html(repeated("<div>", 600) + "deep" + repeated("</div>", 600) + "<p>after</p>", "");
    EXPECT_EQ(page.text, "deep\n\nafter");
    EXPECT_EQ(page.repaired, "nested more than 512 deep: what is deeper is read as one element");
    EXPECT_EQ(parse_html(repeated("<div>", 500) + "deep", "").repaired, "");
    // Unclosed formatting, as old pages have it, does not count.
    EXPECT_EQ(parse_html(repeated("<font size=2>word <br>", 1000), "").repaired, "");
}

TEST(html, omitted_end_tags) {
    EXPECT_EQ(text_of("<p>a<p>b<ul><li>c<ul><li>d</ul>e<li>f</ul>g"), "a\n\nb\n\nc\n\nd\n\ne\nf\n\ng");
    EXPECT_EQ(text_of("<dl><dt>a<dd>b<dt>c<dd>d</dl>"), "a\nb\nc\nd");
    EXPECT_EQ(text_of("<table><tr><td>a<td>b<tr><td>c<tbody><tr><th>d</table>e"), "a\tb\nc\nd\n\ne");
    EXPECT_EQ(text_of("<h1>a<h2>b</h1>c"), "a\n\nb\n\nc");
    EXPECT_EQ(text_of("a</p>b</br>c</div>d"), "a\n\nb\ncd");
    EXPECT_EQ(text_of("<p hidden>no<p>yes"), "yes");
    EXPECT_EQ(text_of("<ruby>\u6F22<rp>(<rt>kan<rp>)</ruby>x"), "\u6F22x");
    EXPECT_EQ(text_of("<select><option>no<option>no</select>yes"), "yes");
}

TEST(html, tags_that_cross_each_other) {
    EXPECT_EQ(text_of("<b>a<p>b</b>c</p>d"), "a\n\nbc\n\nd");
    EXPECT_EQ(text_of("<i hidden>no<p>no</i>yes</p>"), "yes");
    EXPECT_EQ(text_of("<i hidden>no<i>no</i>no</i>yes"), "yes");
    EXPECT_EQ(text_of("<span hidden>no<div>no</span>no</div>no</span>yes"), "yes");
    // An end tag does not reach out of a cell.
    EXPECT_EQ(text_of("<div><table><tr><td>a</div></p>b</table>c"), "a\n\nb\n\nc");
    EXPECT_EQ(text_of("<form hidden><div></form>yes</div>"), "yes");
}

TEST(html, references_as_browsers_read_them) {
    EXPECT_EQ(text_of("&copy 2024 &notit; &amp&lt&#65&#x42;&#x43 &#150; &#0; &#xD800;"),
              "\u00A9 2024 \u00ACit; &<ABC \u2013 \uFFFD \uFFFD");
    EXPECT_EQ(parse_html("<a href='a?x&copy=1'>1</a><a href='b&amp;c'>2</a>", "p.html").links,
              (std::vector<std::string>{"a", "b&c"}));
    EXPECT_EQ(text_of("a&nbsp;b&#160;c\u00A0d"), "a b c d");
    EXPECT_EQ(text_of("<pre>&lt;a&gt;\n&amp;</pre>"), "<a>\n&");
}

TEST(html, drawings_and_formulas) {
    EXPECT_EQ(text_of("<svg><title>no</title><style>no</style><text>no</text></svg>yes"), "yes");
    EXPECT_EQ(text_of("<svg><text>no<p>yes"), "yes");
    EXPECT_EQ(text_of("<svg><foreignObject><p>no</p></foreignObject><text>no</text></svg>yes"), "yes");
    EXPECT_EQ(text_of("<math><mi>x</mi><annotation>no</annotation></math> is"), "x is");
    EXPECT_EQ(text_of("<svg/>yes"), "yes");
    EXPECT_EQ(text_of("<math><mtext><![CDATA[a<b>]]></mtext></math>"), "a<b>");
    EXPECT_EQ(text_of("x<![CDATA[no]]>y"), "xy");
}

TEST(html, the_shown_part_has_everything_that_is_seen) {
    const std::string page =
        "<nav>menu</nav><p>text</p><p hidden>no</p><noscript>no</noscript><footer>end</footer>";
    EXPECT_EQ(parse_html(page, "").text, "text");
    EXPECT_EQ(parse_html(page, "", {}, html_part::shown).text, "menu\n\ntext\n\nend");
}

}  // namespace
}  // namespace quern::io::testing::html_test
