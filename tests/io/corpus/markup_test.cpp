// SPDX-License-Identifier: Apache-2.0
// Files of markup as text: Markdown, manual pages, reStructuredText, LaTeX, notebooks, subtitles, RTF.
#include <gmock/gmock.h>

#include <chrono>

#include "io/corpus/reading.hpp"

namespace quern::io::testing::markup_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

document read_as(const std::string& name, std::string_view bytes) {
    const temporary_folder folder;
    folder.write(name, bytes);
    auto all = read_all({folder.path()});
    EXPECT_EQ(all.documents.size(), 1U) << bytes;
    EXPECT_THAT(issues(all), IsEmpty());
    return all.documents.empty() ? document{} : std::move(all.documents[0]);
}

TEST(markup, markdown_is_rendered) {
    const document read =
        read_as("notes/a.md",
                "# Head *one* &amp; `two`\n\nA [link](sub/b.md#x), ![alt text](i.png) and "
                "[far](https://x.org/), [up](../c.md), "
                "<b>bold</b>\nsoft ~~gone~~  \nhard\n\n| a | b |\n|---|---|\n| 1 | [2](c.html) |\n\n- one\n- "
                "two\n  - three\n\n"
                "```py\ndef f():\n    return  *1*\n```\n\n<div>\n<p>Inner <img alt=\"logo\" src=\"x\"> <a "
                "href=\"d.md\">html</a></p>\n<script>bad()</script>\n</div>\n<!-- comment -->\n\nLast\n");
    EXPECT_EQ(read.title, "Head one & two");
    EXPECT_EQ(read.text,
              "Head one & two\n\nA link, alt text and far, up, bold soft "
              "gone\nhard\n\na\tb\n1\t2\n\none\ntwo\nthree\n\n"
              "def f():\n    return  *1*\n\nInner logo html\n\nLast");
    EXPECT_THAT(read.links, ElementsAre("notes/sub/b.md", "c.md", "notes/c.html", "notes/d.md"));
}

TEST(markup, tangled_markdown_takes_linear_time) {
    const auto repeated = [](std::string_view part, std::size_t bytes) {
        std::string out;
        while (out.size() < bytes) out.append(part);
        return out;
    };
    // Cells without end in a table of many columns; marks that open and never close.
    std::string table =
        "|" + repeated("a|", 60'000) + "\n|" + repeated("-|", 60'000) + "\n" + repeated("b\n", 60'000);
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string& text :
         {table, repeated("[a](<b", 200'000), repeated("*a_ ", 200'000), repeated("![[]()", 200'000),
          repeated("<!--", 200'000), repeated("> ", 20'000), repeated("`a``b", 200'000),
          repeated("&", 200'000), repeated("[a]: <\n", 200'000), repeated("\\(\\[", 200'000)}) {
        const temporary_folder folder;
        folder.write("a.md", text);
        EXPECT_EQ(read_all({folder.path()}).documents.size(), 1U);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(markup, manual_pages_are_laid_out) {
    const document page = read_as("man/quern.1",
                                  ".\\\" comment\n.TH QUERN 1 2026 x\n.SH NAME\nquern \\- grind "
                                  "\\fBtext\\fP\n.SH \"TWO WORDS\"\n.B quern\n"
                                  "[\\fB\\-k\\fR \\s-1\\fIN\\fR\\s0]\n.TP\n.BR \\-k \", \" \\-\\-count \" \" "
                                  "\\fIN\\fR\nThe count\\(emof "
                                  "\\[u00E9]t\\e.\nSecond line.\n.IP \\(bu 2\nbullet\n.PP\n.nf\n  code   "
                                  "here\n\nmore\n.fi\n.if t .B typeset\n.ie n "
                                  "\\{\\\n.B terminal\n\\}\n.el .B other\n.de XX\nhidden\n..\n.ds my "
                                  "\\(lqstring\\(rq\n.TS\ntab(|);\nl l.\na|b\n"
                                  "c|T{\nlong\n.B cell\nT}\n.TE\nSee \\*(my \\*[my]\n.BR man (1).\n");
    EXPECT_EQ(page.title, "QUERN(1)");
    EXPECT_EQ(
        page.text,
        "NAME\n\nquern - grind text\n\nTWO WORDS\n\nquern [-k N]\n\n-k, --count N\nThe count\u2014of "
        "\u00E9t\\. "
        "Second line.\n\n\u2022 bullet\n\n  code   here\n\nmore\n\nterminal\n\na\tb\nc\tlong cell\n\nSee "
        "\u201Cstring\u201D \u201Cstring\u201D man(1).");
    const document mdoc = read_as("ls.8",
                                  ".Dd today\n.Dt LS 8\n.Os\n.Sh NAME\n.Nm ls\n.Nd list files\n.Sh "
                                  "SYNOPSIS\n.Nm\n.Op Fl ab\n.Op Fl o Ar "
                                  "file\n.Ar name Ns = Ns Ar value , more\n.Bl -tag\n.It Fl a , -all\nShow "
                                  "all, see\n.Xr dir 1 .\n.It Cm "
                                  "stop\n.Dq quoted text .\n.El\n");
    EXPECT_EQ(mdoc.title, "LS(8)");
    EXPECT_EQ(mdoc.text,
              "NAME\n\nls \u2013 list files\n\nSYNOPSIS\n\nls [-ab] [-o file] name=value, more\n\n-a, "
              "--all\nShow all, "
              "see dir(1).\n\nstop\n\u201Cquoted text.\u201D");
}

TEST(markup, sections_of_the_manual_differ_from_other_numbers) {
    const temporary_folder folder;
    folder.write("log.1", "old lines\n");
    folder.write("alias.3", ".so man3/other.3\n");
    folder.write("page.3pm", ".TH P 3\n.SH NAME\nx\n");
    const auto all = read_all({folder.path()});
    EXPECT_THAT(ids(all), ElementsAre("page.3pm"));
    EXPECT_THAT(all.counts.skipped,
                ElementsAre(Pair("file: .1", 1), Pair("file: .3 (another name of a page)", 1)));
}

TEST(markup, restructured_text_keeps_the_names_of_what_is_described) {
    EXPECT_EQ(read_as("doc/api.rst",
                      ".. class:: Mill(stones)\n   :final:\n\n   It grinds.\n\n.. autoclass:: mills.Quern\n"
                      "   :members:\n\n.. autofunction:: grind\n\n.. only:: html\n\n   End.\n")
                  .text,
              "Mill(stones)\n\nIt grinds.\n\nmills.Quern\n\ngrind\n\nEnd.");
}

TEST(markup, restructured_text_loses_its_marks) {
    const document read = read_as("doc/r.rst",
                                  "=======\nTitle X\n=======\n\n.. comment here\n   more comment\n\nIntro "
                                  "with *emph*, ``lit *x*``, `link "
                                  "<other.rst>`_ and\n:doc:`guide/start`, :func:`~a.b.call`, "
                                  "name_.\n\nSection\n-------\n\n.. note:: Watch out\n   "
                                  "indented note\n\n.. code-block:: py\n   :linenos:\n\n   def f():\n       "
                                  "pass\n\nLiteral::\n\n    x  y\n      "
                                  "z\n\n===== =====\nA     B\n===== =====\n1     2\n===== "
                                  "=====\n\n+---+---+\n| a | b |\n+---+---+\n\n- item one\n "
                                  " cont\n- item two\n\n.. _target: http://x\n.. image:: x.png\n   :alt: "
                                  "nope\n\n.. toctree::\n   :maxdepth: 2\n\n  "
                                  " intro\n   Start <guide/start>\n");
    EXPECT_EQ(read.title, "Title X");
    EXPECT_EQ(read.text,
              "Title X\n\nIntro with emph, lit *x*, link and guide/start, call, name.\n\nSection\n\nWatch "
              "out\n\nindented "
              "note\n\ndef f():\n    pass\n\nLiteral:\n\nx  y\n  z\n\nA\tB\n1\t2\n\na\tb\n\nitem one "
              "cont\nitem two");
    EXPECT_THAT(read.links,
                ElementsAre("doc/other.rst", "doc/guide/start.rst", "doc/intro.rst", "doc/guide/start.rst"));
}

TEST(markup, latex_loses_its_commands) {
    const document read = read_as("x.tex",
                                  "\\documentclass[a4paper]{article}\n\\title{On "
                                  "\\emph{Mills}}\n\\newcommand{\\foo}[1]{bar #1}\n\\begin{document}\n"
                                  "\\maketitle\n% comment\n\\section{Intro \\textbf{bold}}\nThe caf\\'e, "
                                  "na\\\"{\\i}ve G\\\"odel stra\\ss e, see "
                                  "\\cite{x}~and \\ref{y}: 50\\% of $E = mc^2$ is\n\\emph{kept}---yes. "
                                  "``quoted''\\footnote{A note.}\n\\subsection"
                                  "*{Two}\n\\begin{itemize}\n\\item one\n\\item[b] "
                                  "two\n\\end{itemize}\n\\begin{tabular}{l|l}\na & b \\\\[2pt]\nc & "
                                  "d\n\\end{tabular}\n\\begin{verbatim}\n  x % "
                                  "y\n\\end{verbatim}\n\\begin{equation}\na+b\n\\end{equation}\n"
                                  "\\begin{thebibliography}{9}\n\\bibitem{x} "
                                  "Dropped.\n\\end{thebibliography}\n\\href{http://x}{shown}\n"
                                  "\\end{document}\n");
    EXPECT_EQ(read.title, "On Mills");
    EXPECT_EQ(read.text,
              "On Mills\n\nIntro bold\n\nThe caf\u00E9, na\u00EFve G\u00F6del stra\u00DFe, see and : 50% of "
              "E = mc^2 is "
              "kept\u2014yes. \u201Cquoted\u201D A note.\n\nTwo\n\none\nb two\n\na\tb\nc\td\n\n  x % "
              "y\n\na+b\n\nshown");
}

TEST(markup, latex_ends_where_tex_stops_reading) {
    EXPECT_EQ(read_as("x.tex",
                      "\\begin{document}\nmill \\verb|\\end{document}|\n\\end {document}\n"
                      "old draft\n\\section{Old}")
                  .text,
              "mill \\end{document}");
    EXPECT_EQ(read_as("y.tex", "last chapter\n\\end{document}\nrest").text, "last chapter");
}

TEST(markup, notebooks_show_their_sources) {
    const document read = read_as(
        "n.ipynb",
        "{\"cells\":[{\"cell_type\":\"markdown\",\"metadata\":{},\"source\":[\"# Note *book*\\n\",\"text "
        "[a](b.md)\"]},{\"outputs\":[{\"text\":[\"OUT\"]}],\"source\":\"print( "
        "1)\\n\",\"cell_type\":\"code\"}]}");
    EXPECT_EQ(read.title, "Note book");
    EXPECT_EQ(read.text, "Note book\n\ntext a\n\nprint( 1)");
    EXPECT_THAT(read.links, ElementsAre("b.md"));
    const temporary_folder folder;
    folder.write("a.ipynb", "{\"cells\":[{\"source\":\"x");
    folder.write("b.ipynb", "no");
    folder.write("c.ipynb", "{\"x\":1}");
    EXPECT_THAT(read_all({folder.path()}).counts.skipped, ElementsAre(Pair("file: .ipynb (damaged)", 3)));
}

TEST(markup, subtitles_show_what_is_said) {
    EXPECT_EQ(
        read_as("s.srt",
                "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>Hello</i> {\\an8}there\r\n\r\n2\r\n00:00:02,000 "
                "--> 00:00:03,000\r\nGeneral\r\nKenobi\r\n")
            .text,
        "Hello there\nGeneral\nKenobi");
    EXPECT_EQ(
        read_as("s.vtt",
                "WEBVTT\n\nNOTE x\n\nSTYLE\n::cue {}\n\nid\n00:01.000 --> 00:02.000\nroll\n\n00:02.000 --> "
                "00:03.000\nroll\nnext &amp; more\n")
            .text,
        "roll\nnext & more");
}

TEST(markup, rich_text_is_read_in_its_code_page) {
    const document read = read_as("r.rtf",
                                  "{\\rtf1\\ansi\\ansicpg1251{\\fonttbl{\\f0 Times;}}{\\info{\\title Rich "
                                  "{\\b Title}}{\\author X}}\\pard "
                                  "\\'cc\\'e8\\'f0 \\u8364? \\u-10179\\'3f\\u-8704? end\\par {\\b bold} "
                                  "text\\tab x\\{{\\*\\hidden y}{\\v z}\\line "
                                  "{\\pict\\bin5 }}}}}}last\\emdash\\par}");
    EXPECT_EQ(read.title, "Rich Title");
    EXPECT_EQ(read.text, "\u041C\u0438\u0440 \u20AC \U0001F600 end\n\nbold text\tx{\nlast\u2014");
}

}  // namespace
}  // namespace quern::io::testing::markup_test
