// SPDX-License-Identifier: Apache-2.0
// Each cleaning rule as small cases of wikitext with the expected prose.
#include "io/corpus/wikitext.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quern::io::wikitext_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

wiki_site italian() {
    wiki_site site;
    site.set_language("it");
    site.add_namespace("Speciale", -1);
    site.add_namespace("Discussione", 1);
    site.add_namespace("File", 6);
    site.add_namespace("Categoria", 14);
    site.add_namespace("Portale", 100);
    return site;
}

clean_text clean(std::string_view wikitext, const wiki_site& site = {}) {
    clean_text out;
    clean_wikitext(wikitext, site, out);
    return out;
}
std::string text(std::string_view wikitext, const wiki_site& site = {}) {
    return clean(wikitext, site).text;
}
std::vector<std::string> links(std::string_view wikitext, const wiki_site& site = {}) {
    return clean(wikitext, site).links;
}

struct golden {
    std::string_view name, wikitext, prose;
};
void PrintTo(const golden& g, std::ostream* out) {
    *out << g.name;
}

class wikitext_test : public ::testing::TestWithParam<golden> {};

TEST_P(wikitext_test, gives_the_prose_expected) {
    EXPECT_EQ(text(GetParam().wikitext), GetParam().prose);
}

std::string name_of_case(const ::testing::TestParamInfo<golden>& info) {
    return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(
    lines, wikitext_test,
    ::testing::Values(golden{"empty", "", ""}, golden{"one_line", "Plain text.", "Plain text."},
                      golden{"white_space", "  a\t b  \n\n\n\n c \n", "a b\n\nc"},
                      golden{"lines_of_a_paragraph", "a\nb\n\nc", "a\nb\n\nc"},
                      golden{"carriage_returns", "a\r\n\r\nb", "a\n\nb"},
                      golden{"control_characters", "a\x01\x02 b\x7F", "a b"},
                      golden{"heading", "a\n== H ==\nb", "a\n\nH\n\nb"},
                      golden{"heading_levels", "=A=\n======F======\n", "A\n\nF"},
                      golden{"heading_uneven", "=== A ==", "= A"},
                      golden{"heading_with_comment", "== A == <!-- c -->\nb", "A\n\nb"},
                      golden{"heading_with_template", "== A {{x}} ==\nb", "A\n\nb"},
                      golden{"heading_with_link", "== [[A|B]] ==", "B"},
                      golden{"heading_with_break", "== A<br>B ==", "A B"},
                      golden{"no_heading", "=x is text", "=x is text"}, golden{"only_equals", "==", "=="},
                      golden{"list", "* a\n** b\n# c\n: d\n; e", "a\nb\nc\nd\ne"},
                      golden{"rule", "a\n----\nb", "a\nb"}, golden{"rule_with_text", "-----x", "x"},
                      golden{"switches", "__NOTOC__a __TOC__\n__KEIN_INHALTSVERZEICHNIS__\n__БЕЗ_ОГЛ__", "a"},
                      golden{"no_switches", "__init__ and __FILE__ and a_b__c",
                             "__init__ and __FILE__ and a_b__c"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    templates, wikitext_test,
    ::testing::Values(golden{"plain", "a {{b}} c", "a c"},
                      golden{"with_arguments", "{{Infobox\n| a = [[b]]\n| c = {{d|e}}\n}}\nText", "Text"},
                      golden{"nested", "a{{b{{c{{d}}e}}f}}g", "ag"},
                      golden{"parser_function", "{{#if: x | [[y]] | {{z}} }}a", "a"},
                      golden{"parameter", "a{{{1|b}}}c", "ac"},
                      golden{"five_braces", "a{{{{{x}}}|y}}b", "ab"},
                      golden{"four_braces", "a{{{{x}}}}b", "a{}b"},
                      golden{"single_braces", "f{x} = {y}", "f{x} = {y}"},
                      golden{"unclosed", "a {{b c", "a {{b c"},
                      golden{"unclosed_then_good", "{{a\n\nText {{b}} more", "{{a\n\nText more"},
                      golden{"unopened", "a }} b", "a }} b"}, golden{"over_open_link", "{{a|[[b}}c", "c"},
                      golden{"alone_in_paragraph", "a\n{{x}}\nb", "a\nb"},
                      golden{"between_paragraphs", "a\n\n{{x}}\n\nb", "a\n\nb"},
                      golden{"as_list_item", "* {{x}}\n* b", "b"},
                      golden{"math_braces_inside", "{{x|<math>}}</math>}}a", "a"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    brackets, wikitext_test,
    ::testing::Values(golden{"empty_left", "Rome ({{IPA|x}}) is", "Rome is"},
                      golden{"empty_left_with_punctuation", "Rome ({{a}}, {{b}}; ) is", "Rome is"},
                      golden{"beginning_lost", "Rome ({{a}}; 753 BC) is", "Rome (753 BC) is"},
                      golden{"end_lost", "Rome (753 BC {{a}}) is", "Rome (753 BC) is"},
                      golden{"nested_empty", "a (({{b}})) c", "a c"},
                      golden{"wide", "東京（{{a}}）は", "東京は"},
                      golden{"kept_where_nothing_was_dropped", "call f() and g( )", "call f() and g( )"},
                      golden{"space_before_comma", "a {{b}}, c {{d}}.", "a, c."},
                      golden{"line_of_commas", "{{a}}, {{b}};\nc", "c"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    tables, wikitext_test,
    ::testing::Values(
        golden{"simple", "a\n{| class=x\n|-\n! h\n| c || d\n|}\nb", "a\nb"},
        golden{"nested", "{|\n|\n{|\n|x\n|}\n|y\n|}z", "z"}, golden{"indented", ":: {|\n|x\n|}\na", "a"},
        golden{"unclosed_to_heading", "a\n{|\n| b\n\nc\n== H ==\nd", "a\n\nH\n\nd"},
        golden{"unclosed_to_end", "a\n{|\n| b", "a"},
        golden{"unclosed_with_closed", "{|\n|x\n== H ==\n{|\n|y\n|}\nb", "H\n\nb"},
        golden{"remains", "a\n|-\n| x\n! h || i\n|}\nb", "a\nb"},
        golden{"prose_with_mark", "!Kung people", "!Kung people"},
        golden{"in_template", "{{box|\n{|\n| a\n|}\n}}b", "b"},
        golden{"template_ends_behind_bar", "{{box\n| a\n|}}b", "b"},
        golden{"html", "a <table><tr><td>x<table><tr><td>y</td></tr></table></td></tr></table> b", "a\nb"},
        golden{"html_unclosed", "a <table><tr><td>x</td><td>y", "a\nx y"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    links, wikitext_test,
    ::testing::Values(golden{"plain", "a [[b]] c", "a b c"}, golden{"label", "[[a|b]]", "b"},
                      golden{"trail", "[[bus]]es and [[a|b]]s", "buses and bs"},
                      golden{"label_with_bar", "[[a|b|c]]", "b|c"},
                      golden{"pipe_trick", "[[Boston, England|]] [[Help:Pipe (x)|]]", "Boston Pipe"},
                      golden{"section", "[[#a|b]]", "b"},
                      golden{"colon", "[[:Category:A]] [[:File:B.jpg|b]]", "Category:A b"},
                      golden{"category", "a\n[[Category:B]]\n[[category:C|D]]", "a"},
                      golden{"language", "a [[de:B]] [[zh-min-nan:C]] [[:fr:D|E]]", "a E"},
                      golden{"foreign", "[[wikt:a|b]] [[s:x|y]]", "b y"},
                      golden{"file", "[[File:a.jpg|thumb|left|A [[b|c]] with {{d}} and [http://e f].]]g",
                             "g"},
                      golden{"file_in_caption", "[[Image:a.jpg|x [[file:b.jpg|y]] z]]g", "g"},
                      golden{"file_alias", "[[Bild:a.jpg|x]][[Afbeelding:b.jpg]]g", "g"},
                      golden{"file_over_paragraphs", "[[File:a.jpg|b\n\nc]]d", "d"},
                      golden{"file_unclosed", "[[File:a.jpg|b\nc\n== H ==\nd", "c\n\nH\n\nd"},
                      golden{"unclosed", "a [[b c", "a [[b c"},
                      golden{"unclosed_then_good", "[[a\n[[b]] c]]", "[[a\nb c]]"},
                      golden{"label_over_paragraph", "[[a|b\n\nc]]", "[[a|b\n\nc]]"},
                      golden{"label_over_line", "[[a|b\nc]] d", "b\nc d"},
                      golden{"invalid", "[[a{b]] [[]] [[|c]]", "[[a{b]] [[]] [[|c]]"},
                      golden{"index", "a[0][1] = [x]", "a[0][1] = [x]"},
                      golden{"external", "[http://a.b/c?d=e label text]", "label text"},
                      golden{"external_bare", "see http://a.b/c.", "see http://a.b/c."},
                      golden{"external_unlabelled", "a [https://b] c", "a c"},
                      golden{"external_relative", "[//a.b c] [mailto:x@y.z mail]", "c mail"},
                      golden{"external_with_template", "[http://a/{{b}}/c d]", "d"},
                      golden{"external_in_file", "[[File:a|[http://b c]]]d", "d"},
                      golden{"external_unclosed", "[http://a b\nc]", "[http://a b\nc]"},
                      golden{"external_unclosed_in_template", "{{a|[http://b}}c", "c"},
                      golden{"italic_label", "[[a|''b'']]s", "bs"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    quotes, wikitext_test,
    ::testing::Values(golden{"italic_bold", "''a'' '''b''' '''''c'''''", "a b c"},
                      golden{"apostrophe", "it's the '90s", "it's the '90s"},
                      golden{"four", "''''a'''", "'a"}, golden{"six", "''''''a'''''", "'a"},
                      golden{"elision", "L'''amore'', forte\nper l'''Italia''",
                             "L'amore, forte\nper l'Italia"},
                      golden{"after_one_letter", "dell'''a'' '''b'''", "dell'a b"},
                      golden{"unclosed", "'''a\nb'' c", "a\nb c"},
                      golden{"each_line_alone", "'''a\n''b\nl'''c''", "a\nb\nl'c"},
                      golden{"in_dropped_template", "{{x|'''}}l'''a'' '''b'''", "l'a b"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    tags, wikitext_test,
    ::testing::Values(
        golden{"ref", "a<ref>b [[c]]</ref>d<ref name=\"e\" />f.", "adf."},
        golden{"ref_case", "a<REF name=x>b</Ref >c", "ac"}, golden{"ref_unclosed", "a<ref>b\n\nc", "a\n\nc"},
        golden{"ref_unclosed_then_ref", "a<ref>b <ref>c</ref> d", "a d"},
        golden{"references", "a\n<references/>\nb <references>\n<ref>x</ref>\n</references>c", "a\nb c"},
        golden{"references_unclosed", "a\n<references>\nb", "a\nb"},
        golden{"math", "a <math>x^{2}</math> b", "a b"},
        golden{"gallery", "a\n<gallery>\nFile:b.jpg|c\n</gallery>\nd", "a\nd"},
        golden{"source", "<source lang=c>int a;</source><syntaxhighlight>b</syntaxhighlight>c", "c"},
        golden{"others", "<timeline>a</timeline><score>b</score><imagemap>c</imagemap><hiero>d</hiero>e",
               "e"},
        golden{"nowiki", "<nowiki>[[a]] {{b}} '''c''' &amp;</nowiki>", "[[a]] {{b}} '''c''' &"},
        golden{"nowiki_empty", "a<nowiki/>b<nowiki />c", "abc"},
        golden{"nowiki_unclosed", "a<nowiki>[[b]]", "ab"},
        golden{"pre", "a<pre>b\n [[c]]</pre>d", "a\nb\n[[c]]\nd"},
        golden{"code", "<code>f(x)</code>", "f(x)"},
        golden{"stripped", "<span style=\"color:red\">a</span><sub>2</sub> <small>b</small>", "a2 b"},
        golden{"break", "a<br>b<br />c</br>d", "a\nb\nc\nd"},
        golden{"blocks", "<div class=x>a</div><p>b</p>c", "a\n\nb\n\nc"},
        golden{"less_than", "a < b, x<y and <foo> 1<2", "a < b, x<y and <foo> 1<2"},
        golden{"tag_without_end", "a <b c\n\nd>", "a <b c\n\nd>"},
        golden{"comment", "a<!-- b\n\nc -->d", "ad"},
        golden{"comment_alone_on_line", "a\n<!-- b -->\nc", "a\nc"},
        golden{"comment_then_list", "<!-- a -->* b", "b"},
        golden{"comment_unclosed", "a<!-- b\nc\n\nd", "a\n\nd"},
        golden{"includeonly", "a<includeonly>b</includeonly><noinclude>c</noinclude>", "ac"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    entities, wikitext_test,
    ::testing::Values(golden{"named", "a&ndash;b &eacute; &lt;x&gt; &quot;", "a–b é <x> \""},
                      golden{"numbers", "&#8211;&#x2013;&#X2013;", "–––"},
                      golden{"windows_1252", "&#150;&#133;", "–…"}, golden{"once", "&amp;nbsp;", "&nbsp;"},
                      golden{"none", "AT&T &foo; &; &# &#; &#x; a&b;", "AT&T &foo; &; &# &#; &#x; a&b;"},
                      golden{"not_markup", "&#91;&#91;a]] &lt;ref> &#39;&#39;b", "[[a]] <ref> ''b"},
                      golden{"control", "a&#0;&#1;&#xD800;&#x110000;b", "ab"}),
    name_of_case);

TEST(wikitext_variants_test, show_the_simplified_form_where_the_wiki_has_variants) {
    wiki_site chinese;
    chinese.set_language("zh");
    EXPECT_EQ(text("-{zh-hant:電腦;zh-hans:电脑;}-是", chinese), "电脑是");
    EXPECT_EQ(text("a-{b}-c", chinese), "abc");
    EXPECT_EQ(text("a-{R|b:c;}-d", chinese), "ab:c;d");
    EXPECT_EQ(text("a-{H|zh-cn:b;zh-tw:c}-d", chinese), "ad");
    EXPECT_EQ(text("-{zh-tw:b;zh-hk:c}-", chinese), "b");
    EXPECT_EQ(text("-{A|zh-tw:b;zh-cn:c}-", chinese), "c");
    EXPECT_EQ(text("a -{b c", chinese), "a -{b c");
    EXPECT_EQ(text("-{{x}}-a", chinese), "--a");
    EXPECT_THAT(links("-{[[a]]}-b", chinese), ElementsAre("A"));
    EXPECT_EQ(text("N-{4-x}-N"), "N-{4-x}-N");
}

TEST(wikitext_links_test, are_ids_in_order_with_repeats) {
    EXPECT_THAT(links("[[b c]] [[A_d|x]] [[b  c]]s"), ElementsAre("B_c", "A_d", "B_c"));
}

TEST(wikitext_links_test, lose_anchors_escapes_and_entities) {
    EXPECT_THAT(links("[[a#b|c]] [[:d]] [[caf%C3%A9]] [[AT&amp;T]] [[#x]] [[élan]] [[ß]]"),
                ElementsAre("A", "D", "Café", "AT&T", "Élan", "ß"));
}

TEST(wikitext_links_test, leave_out_other_namespaces_and_sites) {
    EXPECT_THAT(
        links("[[Category:A]] [[File:b.jpg|[[c]]]] [[de:d]] [[:fr:e]] [[wikt:f]] [[User:g]] [[Help:h|i]]"),
        IsEmpty());
    EXPECT_THAT(links("[[Star Trek: Voyager]] [[2001: Odyssey]]"),
                ElementsAre("Star_Trek:_Voyager", "2001:_Odyssey"));
}

TEST(wikitext_links_test, leave_out_what_is_dropped_with_its_surroundings) {
    EXPECT_THAT(links("{{x|[[a]]}} [[b]]\n{|\n|[[c]]\n|}\n<ref>[[d]]</ref>[[e]]"), ElementsAre("B", "E"));
    EXPECT_THAT(links("[[a]]\n{|\n|[[b]]\n==H==\n[[c]]"), ElementsAre("A", "C"));
}

TEST(wikitext_links_test, keep_their_case_where_the_wiki_tells_it_apart) {
    wiki_site site;
    site.set_first_letter(false);
    EXPECT_THAT(links("[[a b]]", site), ElementsAre("a_b"));
}

TEST(wikitext_links_test, know_the_wikis_own_namespaces) {
    EXPECT_EQ(text("[[Categoria:A]][[Immagine:b.jpg|x]]c [[Portale:D|e]]", italian()), "c e");
    EXPECT_THAT(links("[[categoria:A]] [[Portale:D|e]] [[DISCUSSIONE:F]] [[g]]", italian()),
                ElementsAre("G"));
}

TEST(wikitext_links_test, georgian_titles_keep_their_letters) {
    EXPECT_THAT(links("[[საქართველო]]"), ElementsAre("საქართველო"));
}

}  // namespace
}  // namespace quern::io::wikitext_test
