// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_tokens.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quern::io::testing::html_tokens_test {
namespace {

/// Start tags as <name|attributes that count>, end tags as </name>, texts and raw contents in brackets.
std::string tokens_of(std::string_view html, bool foreign = false) {
    std::string out;
    html_tokens tokens(html);
    tokens.foreign(foreign);
    for (html_token token; tokens.next(token);) {
        const std::string text(token.text_or_name);
        if (token.what == html_token::text) out += "[" + text + "]";
        if (token.what == html_token::raw) out += "{" + text + "}";
        if (token.what == html_token::end) out += "</" + text + ">";
        if (token.what != html_token::start) continue;
        out += "<" + text;
        for (std::size_t i = 0; i < static_cast<std::size_t>(html_attribute::count); ++i) {
            const auto which = static_cast<html_attribute>(i);
            if (token.has(which)) out += "|" + std::to_string(i) + "=" + std::string(token[which]);
        }
        out += token.self_closing ? "/>" : ">";
    }
    return out;
}

TEST(html_tokens, cuts_tags_and_texts) {
    EXPECT_EQ(tokens_of("a<b>c</b >d<br/>"), "[a]<b>[c]</b>[d]<br/>");
    EXPECT_EQ(tokens_of("1 < 2 <3 <> a<"), "[1 < 2 <3 <> a<]");
    EXPECT_EQ(tokens_of("</>a</ b>c<?x?>d<!e>f"), "[a][c][d][f]");
    EXPECT_EQ(tokens_of("a</"), "[a</]");
    EXPECT_EQ(tokens_of("<B\nCLASS=x>"), "<B|1=x>");
    EXPECT_EQ(tokens_of(""), "");
}

TEST(html_tokens, attributes) {
    EXPECT_EQ(tokens_of("<a href=\"x>y\" id='z' class = w hidden>"), "<a|1=w|2=|3=x>y|4=z>");
    EXPECT_EQ(tokens_of("<a id=1 ID=2>"), "<a|4=1>");
    EXPECT_EQ(tokens_of("<a href=x/>"), "<a|3=x/>");
    EXPECT_EQ(tokens_of("<a =id=1 id=2>"), "<a|4=2>");
    EXPECT_EQ(tokens_of("<a id=>b"), "<a|4=>[b]");
    EXPECT_EQ(tokens_of("<a title=\"b\"id=c>"), "<a|4=c>");
    EXPECT_EQ(tokens_of("<a x='y"), "") << "cut off in a tag";
    EXPECT_EQ(tokens_of("<a x"), "");
}

TEST(html_tokens, comments) {
    EXPECT_EQ(tokens_of("a<!-- <b> -->c<!-->d<!--->e<!----!>f<!-- -- - --->g<!--"), "[a][c][d][e][f][g]");
    EXPECT_EQ(tokens_of("<!-- --!>a"), "[a]");
    EXPECT_EQ(tokens_of("<!-x>a<!->b"), "[a][b]");
}

TEST(html_tokens, raw_elements) {
    EXPECT_EQ(tokens_of("<script>a<b></scripts></SCRIPT >c"), "<script>{a<b></scripts>}</SCRIPT>[c]");
    EXPECT_EQ(tokens_of("<style></style><title>a</b></title>"), "<style></style><title>{a</b>}</title>");
    EXPECT_EQ(tokens_of("<textarea>a"), "<textarea>{a}");
    EXPECT_EQ(tokens_of("<plaintext>a</plaintext>"), "<plaintext>{a</plaintext>}");
    EXPECT_EQ(tokens_of("<script><!-- <script> </script> --></script>a"),
              "<script>{<!-- <script> </script> -->}</script>[a]");
    EXPECT_EQ(tokens_of("<script><!-- </script> -->a"), "<script>{<!-- }</script>[ -->a]");
    EXPECT_EQ(tokens_of("<script><!--><script></script>a"), "<script>{<!--><script>}</script>[a]");
    EXPECT_EQ(tokens_of("<title>a<b>", true), "<title>[a]<b>") << "within svg";
}

TEST(html_tokens, names) {
    EXPECT_EQ(html_name_of("TEXTAREA", html_hash("textarea")), html_name::textarea);
    EXPECT_EQ(html_name_of("annotation-xml", html_hash("annotation-xml")), html_name::annotation_xml);
    EXPECT_EQ(html_name_of("nosuch", html_hash("nosuch")), html_name::other);
    for (std::size_t i = 1; i < static_cast<std::size_t>(html_name::count); ++i) {
        const auto name = static_cast<html_name>(i);
        EXPECT_EQ(html_name_of(text_of(name), html_hash(text_of(name))), name) << text_of(name);
    }
}

}  // namespace
}  // namespace quern::io::testing::html_tokens_test
