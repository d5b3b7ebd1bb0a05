// SPDX-License-Identifier: Apache-2.0
// Properties for any input: markup soup, hostile nesting, and the same documents for any unit size.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "io/corpus/wikipedia.hpp"
#include "io/corpus/wikitext.hpp"
#include "io/wikipedia/memory_source.hpp"
#include "processor_time.hpp"

namespace quern::io::wikitext_property_test {
namespace {

std::string joined(const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& part : parts) all += part;
    return all;
}

rc::Gen<std::string> markup_soup() {
    const auto piece = rc::gen::element<std::string>(
        "{{", "}}", "{{{", "}}}", "{", "}", "[[", "]]", "[", "]", "|", "\n", "\n\n", "{|", "|}", "\n{|\n",
        "\n|}\n", "|-", "\n|", "\n!", "==", "\n== H ==\n", "''", "'''", "'''''", "'", "<ref>", "</ref>",
        "<ref ", "/>", "<!--", "-->", "<math>", "</math>", "<nowiki>", "</nowiki>", "<pre>", "</pre>",
        "<table>", "</table>", "<br>", "<b", "<", ">", "[http://x ", "http://y", "File:a.jpg", "Category:b",
        "de:", ":", "#", "*", ";", "&nbsp;", "&amp;", "&#1;", "&", "__NOTOC__", "_", "-{", "}-", "zh-hans:x;",
        "(", ")", "（", "）", ",", " ", "word", "ü", "東", "\xFF", "\x01");
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), joined);
}

clean_text clean(const std::string& wikitext, const char* language = "zh") {
    wiki_site site;
    site.set_language(language);
    clean_text out;
    clean_wikitext(wikitext, site, out);
    return out;
}

RC_GTEST_PROP(wikitext_properties_test, soup_gives_tidy_text, ()) {
    const std::string source = *markup_soup();
    const std::string text = clean(source).text;
    RC_ASSERT(text.find("\n\n\n") == std::string::npos);
    RC_ASSERT(text.find("  ") == std::string::npos);
    RC_ASSERT(text.find(" \n") == std::string::npos);
    RC_ASSERT(text.find("\n ") == std::string::npos);
    for (const char c : text) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
    if (!text.empty()) RC_ASSERT(text.front() != '\n' && text.back() != '\n');
}

/// Braces in runs of even length, and single ones only in the marks of tables. Otherwise braces to the left and right
/// of a dropped part could become adjacent in the text: {{{}}{| is a brace, an empty template, and another brace.
void leave_out_braces_that_join(std::string& source) {
    for (const char brace : {'{', '}'}) {
        for (std::size_t at = 0; (at = source.find(brace, at)) != std::string::npos;) {
            const std::size_t end = std::min(source.find_first_not_of(brace, at), source.size());
            const bool opens_table = brace == '{' && end < source.size() && source[end] == '|';
            const bool ends_table = brace == '}' && at > 0 && source[at - 1] == '|';
            const bool table = end - at == 1 && (opens_table || ends_table);
            if ((end - at) % 2 == 1 && !table) source[brace == '{' ? at : end - 1] = '.';
            at = end;
        }
    }
}

RC_GTEST_PROP(wikitext_properties_test, no_paired_template_is_left, ()) {
    // <nowiki> and similar tags may show braces: they are excluded here.
    std::string source = *markup_soup();
    for (std::size_t at = 0; (at = source.find_first_of("<&", at)) != std::string::npos;) source[at] = '.';
    leave_out_braces_that_join(source);
    const std::string text = clean(source, "en").text;
    const std::size_t open = text.find("{{");
    if (open != std::string::npos) RC_ASSERT(text.find("}}", open) == std::string::npos);
}

RC_GTEST_PROP(wikitext_properties_test, text_without_markup_stays, ()) {
    const auto words = *rc::gen::container<std::vector<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))));
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    RC_ASSERT(clean(line).text == line);
}

std::string described(const parsed_unit& unit) {
    std::string all;
    for (const document& d : unit.documents) {
        all += "D " + d.id + "|" + d.title + "|" + d.text;
        for (const std::string& l : d.links) all += "|" + l;
        all += '\n';
    }
    for (const redirect& r : unit.redirects) all += "R " + r.from + ">" + r.to + "\n";
    for (const input_issue& i : unit.issues)
        all += "I " + std::to_string(i.line) + i.reason + (i.rejected ? "!" : "") + "\n";
    all += std::to_string(unit.counts.documents) + " " + std::to_string(unit.counts.rejected);
    for (const auto& [why, count] : unit.counts.skipped) all += " " + why + std::to_string(count);
    return all;
}

std::string read_all(const std::string& bytes, std::uint64_t unit_bytes) {
    corpus_options options;
    options.unit_bytes = unit_bytes;
    const auto reader = read_wikipedia(std::make_unique<memory_source>(bytes), options, context());
    parsed_unit all;
    while (const auto unit = reader->next()) {
        parsed_unit one = unit->parse();
        all.counts += one.counts;
        std::move(one.documents.begin(), one.documents.end(), std::back_inserter(all.documents));
        std::move(one.redirects.begin(), one.redirects.end(), std::back_inserter(all.redirects));
        std::move(one.issues.begin(), one.issues.end(), std::back_inserter(all.issues));
    }
    return described(all);
}

RC_GTEST_PROP(wikipedia_properties_test, unit_size_changes_nothing, ()) {
    const auto piece = rc::gen::element<std::string>(
        "<mediawiki>", "</mediawiki>", "<siteinfo>",
        "<namespaces><namespace key=\"1\">N</namespace></namespaces>", "</siteinfo>", "<page>", "</page>\n",
        "<title>", "A b", "</title>", "<ns>0</ns>", "<ns>1</ns>", "<revision>", "</revision>", "<text>",
        "</text>", "[[x|y]] {{z}}", "#REDIRECT [[c]]", "<redirect title=\"d\"/>", "<!--", "-->", "<![CDATA[",
        "]]>", "&amp;", "&", "<", "\x01", "\xFF", "\n", "junk",
        "<page><title>Good</title><ns>0</ns><revision><text>good</text></revision></page>");
    const auto source = *rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), joined);
    const std::string expected = read_all(source, 1 << 20);
    RC_ASSERT(read_all(source, 1) == expected);
    RC_ASSERT(read_all(source, 50) == expected);
}

TEST(wikitext_properties_test, hostile_input_takes_linear_time) {
    const char* const pieces[] = {"{{",
                                  "{",
                                  "}}",
                                  "{{}",
                                  "[[",
                                  "]]",
                                  "[[a|",
                                  "[[File:a|",
                                  "[[File:a|\n",
                                  "[",
                                  "[http://",
                                  "[http://a b",
                                  "<",
                                  "<!--",
                                  "<!-",
                                  "<b",
                                  "<b ",
                                  "<ref",
                                  "<ref>",
                                  "<ref></ref",
                                  "<math>",
                                  "</math",
                                  "<nowiki>",
                                  "<pre>",
                                  "<table>",
                                  "'''",
                                  "''",
                                  "'",
                                  "\n{|",
                                  "\n|}",
                                  "\n{|\n[[File:a|",
                                  "{|",
                                  "-{",
                                  "-{a;",
                                  "__",
                                  "__A",
                                  "&",
                                  "&a",
                                  "&#",
                                  "(",
                                  "{{a}}(",
                                  "(,",
                                  "\n=",
                                  "\n=a=\n",
                                  "|",
                                  "[[a|{{",
                                  "{{[[a|b]]",
                                  "\n",
                                  "\n ",
                                  "<references>",
                                  "[[File:a|\n=b=\n",
                                  "l'''a''",
                                  "%",
                                  "[[%41",
                                  "<b\n"};
    for (const char* const piece : pieces) {
        std::string source;
        while (source.size() < (1u << 18)) source += piece;
        for (const char* const end : {"", "}}", "]]", "\n\n== x ==\n", "-->"}) {
            // A quadratic walk takes many seconds; a linear one some milliseconds.
            EXPECT_LT(quern::testing::processor_seconds([&] { clean(source + end); }), 5.0)
                << piece << " … " << end;
        }
    }
}

TEST(wikipedia_properties_test, hostile_dumps_take_linear_time) {
    for (const char* const piece :
         {"<", "<!--", "<![CDATA[", "<page>", "<page><!--", "<page><![CDATA[", "<?", "<mediawiki>",
          "<mediawiki><siteinfo>", "<revision>", "</page>", "<page><revision>", "<!DOCTYPE", "a<b "}) {
        std::string source = "<mediawiki><page><title>a</title>";
        while (source.size() < (1u << 18)) source += piece;
        EXPECT_LT(quern::testing::processor_seconds([&] { read_all(source, 4 << 20); }), 10.0) << piece;
    }
}

}  // namespace
}  // namespace quern::io::wikitext_property_test
